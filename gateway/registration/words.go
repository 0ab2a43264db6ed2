package registration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"tidegate/gateway/config"
)

// MaxBody bounds what a caller may send for one registration, in bytes.
const MaxBody = 8 << 10

// MaxDescription bounds a description, in characters.
const MaxDescription = 500

// maxRate bounds an expected rate, in bytes.
const maxRate = 32

// Fault is what is wrong with the words of a caller.
type Fault struct {
	Kind   FaultKind
	Member string // that it is about; "": of the whole
}

// FaultKind is one way in which they can be wrong.
type FaultKind uint8

const (
	NotJSON         FaultKind = iota // or not one object, or not UTF-8
	UnknownMember                    // there is none of the name
	MemberTwice                      // given twice
	NoString                         // another type
	NoDescription                    // missing or blank
	LongDescription                  // over MaxDescription
	OddDescription                   // control characters, or such as are no text
	NoRate                           // not a rate
)

// Malformed says that it is no body of the kind at all; else it is one, and what it says makes no sense.
func (f *Fault) Malformed() bool { return f.Kind <= NoString }

// Error says it in English.
func (f *Fault) Error() string {
	what := [...]string{
		NotJSON: "the body is not one JSON object in UTF-8", UnknownMember: "there is no such member",
		MemberTwice: "the member is there twice", NoString: "the member is no string",
		NoDescription: "the description is missing", LongDescription: "the description is too long",
		OddDescription: "the description has characters that are no text", NoRate: "this is no rate",
	}[f.Kind]
	if f.Member != "" {
		return f.Member + ": " + what
	}
	return what
}

// ParseWords reads the body of a registration: a JSON object with description and, if the caller likes, expected_rate.
// It takes nothing else, since a member in another case or given twice would silently not say what its writer meant.
// Its error is a *Fault.
func ParseWords(body []byte) (w Words, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if first, err := d.Token(); err != nil || first != json.Delim('{') || !utf8.Valid(body) {
		return Words{}, &Fault{Kind: NotJSON}
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, isName := token.(string)
		switch {
		case err != nil || !isName:
			return Words{}, &Fault{Kind: NotJSON}
		case name != "description" && name != "expected_rate":
			return Words{}, &Fault{UnknownMember, clip(name)}
		case seen[name]:
			return Words{}, &Fault{MemberTwice, name}
		}
		seen[name] = true
		value, err := d.Token()
		text, isText := value.(string)
		switch {
		case err != nil:
			return Words{}, &Fault{Kind: NotJSON}
		case !isText:
			return Words{}, &Fault{NoString, name}
		case name == "description":
			w.Description = strings.TrimSpace(text)
		default:
			w.ExpectedRate = text
		}
	}
	if _, err := d.Token(); err != nil {
		return Words{}, &Fault{Kind: NotJSON}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Words{}, &Fault{Kind: NotJSON}
	}
	return w, w.check()
}

func (w *Words) check() error {
	var rate config.Rate
	switch {
	case w.Description == "":
		return &Fault{NoDescription, "description"}
	case utf8.RuneCountInString(w.Description) > MaxDescription:
		return &Fault{LongDescription, "description"}
	case strings.ContainsFunc(w.Description, odd):
		return &Fault{OddDescription, "description"}
	case len(w.ExpectedRate) > maxRate || rate.UnmarshalText([]byte(w.ExpectedRate)) != nil:
		return &Fault{NoRate, "expected_rate"}
	}
	return nil
}

// odd are characters that whoever reads a list would not see, or would see it jumbled by. The replacement character
// stands where an escape meant none.
func odd(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// clip keeps what a stranger wrote short.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
