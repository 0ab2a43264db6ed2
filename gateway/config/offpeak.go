package config

import (
	"errors"
	"strings"
)

// OffPeak is a quiet span of the day, in minutes after midnight; To may be below From (over midnight).
type OffPeak struct {
	From, To int    // from 0 to 1439; From counts in, To does not
	Text     string // "01:00-06:00"
}

// UnmarshalText reads "HH:MM-HH:MM". An end of 24:00 is midnight. On an error o is unchanged.
func (o *OffPeak) UnmarshalText(text []byte) error {
	s := string(text)
	from, to, _ := strings.Cut(s, "-")
	f, ok1 := clock(from)
	t, ok2 := clock(to)
	if to == "24:00" {
		t, ok2 = 0, true
	}
	if !ok1 || !ok2 {
		return errors.New(`not a span of the day; write it like "01:00-06:00"`)
	}
	if f == t {
		return errors.New("the span is empty: it begins when it ends")
	}
	*o = OffPeak{From: f, To: t, Text: s}
	return nil
}

// clock reads "HH:MM", from 00:00 to 23:59, as minutes after midnight.
func clock(s string) (minutes int, ok bool) {
	if len(s) != 5 || s[2] != ':' || !isDigits(s[:2]) || !isDigits(s[3:]) {
		return 0, false
	}
	h := int(s[0]-'0')*10 + int(s[1]-'0')
	m := int(s[3]-'0')*10 + int(s[4]-'0')
	return h*60 + m, h < 24 && m < 60
}

// MarshalText writes the span as it was written.
func (o OffPeak) MarshalText() ([]byte, error) { return []byte(o.Text), nil }

// String is the span as it was written.
func (o OffPeak) String() string { return o.Text }
