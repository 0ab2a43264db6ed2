package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// fields are the members of a JSON object that was sent. The standard decoding into a struct would take
// names in another case, let the last of two members of one name win and put a sign for bytes that
// are no UTF-8: each of them changes what somebody wrote down, silently.
type fields map[string]json.RawMessage

// parseObject reads a body that is one JSON object with members among allowed. An empty body is an
// object without members. A member that is null counts as not given.
func parseObject(body []byte, allowed ...string) (fields, error) {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return fields{}, nil
	}
	if !utf8.Valid(body) {
		return nil, badRequest("The body is not UTF-8.")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, badRequest("The body must be one JSON object with %s.", strings.Join(allowed, ", "))
	}
	f, seen := fields{}, map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		name, _ := token.(string) // the decoder takes nothing else for a name
		switch {
		case !slices.Contains(allowed, name):
			return nil, badRequest("There is no member %q; there is %s.", name, strings.Join(allowed, ", "))
		case seen[name]:
			return nil, badRequest("The member %s is given twice.", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, notJSON(err)
		}
		if string(value) != "null" {
			f[name] = value
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, badRequest("The body goes on after the JSON object's end.")
	}
	return f, nil
}

func notJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badRequest("The body is no JSON: it ends too early.")
	}
	return badRequest("The body is no JSON: %v.", err)
}

// text is a member that is a string; empty where it is not given.
func (f fields) text(name string) (string, error) {
	raw, given := f[name]
	if !given {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", badRequest("%s must be a string.", name)
	}
	return s, nil
}

// plain is a member that is a string, a number, true or false, as a config file has it without quotes.
func (f fields) plain(name string) (string, error) {
	raw := f[name]
	if len(raw) == 0 || raw[0] == '"' {
		return f.text(name)
	}
	if raw[0] == '{' || raw[0] == '[' {
		return "", badRequest("%s must be a string, a number, true or false.", name)
	}
	return string(raw), nil
}

// number is a member that is a whole number of at least low. It must be given.
func (f fields) number(name string, low int) (int, error) {
	n := low - 1
	if raw, given := f[name]; given {
		if err := json.Unmarshal(raw, &n); err != nil {
			n = low - 1
		}
	}
	if n < low {
		return 0, badRequest("%s must be given, as a whole number of at least %d.", name, low)
	}
	return n, nil
}
