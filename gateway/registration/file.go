package registration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"tidegate/gateway/config"
)

// format is the number of the file's form. Another number is another program's.
const format = 1

// maxFile bounds what is read back, in bytes: MaxAll registrations whose texts are as long as they may be, and take
// six bytes for each character in JSON, are below it.
const maxFile = 128 << 20

// maxText bounds what an owner wrote, in bytes, as far as it is read back.
const maxText = 4 << 10

// encode writes one registration a line: JSON that can be read and corrected by hand.
func encode(list []*Registration) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"format\":%d,\"registrations\":[", format)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i, reg := range list {
		if i > 0 {
			b.WriteByte(',')
		} else {
			b.WriteByte('\n')
		}
		if err := e.Encode(reg); err != nil {
			return nil, err
		}
	}
	b.WriteString("]}\n")
	return b.Bytes(), nil
}

// readFile reads what is kept; nothing where there is no file. odd says what could not be read: of the whole, or of
// single registrations, which are left out.
func readFile(path string) (list []*Registration, odd []error) {
	data, err := config.ReadKept(path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, []error{fmt.Errorf("cannot read the registrations: %w", err)}
	}
	return decode(data)
}

func decode(data []byte) (list []*Registration, odd []error) {
	var disk struct {
		Format        int               `json:"format"`
		Registrations []json.RawMessage `json:"registrations"`
	}
	switch err := json.Unmarshal(data, &disk); {
	case len(data) == 0:
		return nil, []error{errors.New("cannot read the registrations: the file is empty")}
	case err != nil:
		return nil, []error{fmt.Errorf("cannot read the registrations: %w", err)}
	case disk.Format != format:
		return nil, []error{fmt.Errorf("cannot read the registrations: their format is %d, and this program's is %d", disk.Format, format)}
	}
	for i, raw := range disk.Registrations {
		if len(list) == MaxAll {
			odd = append(odd, fmt.Errorf("%d registrations are more than the %d that are kept", len(disk.Registrations), MaxAll))
			break
		}
		var reg Registration
		err := json.Unmarshal(raw, &reg)
		if err == nil {
			err = reg.check()
		}
		if err != nil {
			odd = append(odd, fmt.Errorf("registration %d is passed over: %w", i+1, err))
			continue
		}
		list = append(list, &reg)
	}
	return list, odd
}

// check holds what was read against what Ask and Decide let in: the file may have been changed by hand.
func (r *Registration) check() error {
	if err := r.Words.check(); err != nil {
		return err
	}
	switch {
	case r.Caller == "" || len(r.Caller) > 128 || !utf8.ValidString(r.Caller):
		return fmt.Errorf("caller = %q is no caller's id", clip(r.Caller))
	case !ValidName(r.Semantic) || r.Semantic == Reserved:
		return fmt.Errorf("semantic = %q is no name of a semantic that can be registered", clip(r.Semantic))
	case r.Decision != Undecided && r.Decision != Approved && r.Decision != Refused:
		return fmt.Errorf("decision = %q: must be approved, refused or left out", clip(string(r.Decision)))
	case r.Asked.IsZero():
		return errors.New("asked is missing")
	case (r.Decision == Undecided) != r.Decided.IsZero():
		return errors.New("a decision has a time, and only a decision has")
	case len(r.By) > maxText || len(r.Reason) > maxText:
		return fmt.Errorf("by and reason are at most %d bytes", maxText)
	}
	return nil
}
