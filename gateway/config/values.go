package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Every value type here reads and writes the text that stands in the file, so that koanf, the strict
// TOML decoder, the environment and JSON all agree on one notation.

// Duration is a span of time in the notation of time.ParseDuration: from 0 to 8760h (a year).
type Duration struct{ time.Duration }

// maxDuration keeps sums of a few durations far from overflow; nothing the gateway waits for is longer.
const maxDuration = 8760 * time.Hour

// UnmarshalText reads "250ms", "1m30s" or "0s". On an error d is unchanged.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	v, err := time.ParseDuration(s)
	switch {
	case err != nil && isDigits(s):
		return fmt.Errorf("a duration needs a unit (ns, us, ms, s, m, h), e.g. %q", s+"s")
	case err != nil || s == "":
		return errors.New(`not a duration; write it like "250ms", "2s", "1m30s" or "1h"`)
	case v < 0:
		return errors.New("a duration cannot be negative")
	case v > maxDuration:
		return errors.New("a duration is at most 8760h")
	}
	d.Duration = v
	return nil
}

// MarshalText writes the duration in its shortest form: "1m30s", "1h", "0s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the duration without the zero units that time.Duration prints: "10m", not "10m0s".
func (d Duration) String() string {
	s := d.Duration.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Seats is a pool's number of seats, or "auto".
type Seats struct {
	N    int // when not Auto, at least 1
	Auto bool
}

// maxCount bounds the counts that the file may give (seats, places in a queue, series), so that a slip
// of the keyboard is an error and not an allocation.
const maxCount = 10_000_000

// UnmarshalText reads a number from 1 to 10000000, or "auto". On an error s is unchanged.
func (s *Seats) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*s = Seats{Auto: true}
		return nil
	}
	n, err := count(string(text))
	if err != nil || n < 1 || n > maxCount {
		return fmt.Errorf(`seats are a whole number from 1 to %d, or "auto"`, maxCount)
	}
	*s = Seats{N: int(n)}
	return nil
}

// MarshalText writes the number, or "auto".
func (s Seats) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String is the number, or "auto".
func (s Seats) String() string {
	if s.Auto {
		return "auto"
	}
	return strconv.Itoa(s.N)
}

// count reads a whole number of plain decimal digits: no sign, no point, no exponent, no underscore.
func count(s string) (int64, error) {
	if !isDigits(s) {
		return 0, errors.New("not a whole number")
	}
	return strconv.ParseInt(s, 10, 64)
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
