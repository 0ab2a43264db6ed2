package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes: "64KiB", "8MiB", "512".
type Size int64

// units are tried in order, so that "KiB" is found before its ending "B".
var units = []struct {
	name  string
	bytes int64
}{
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

// UnmarshalText reads a whole number of bytes with or without a unit: KiB, MiB, GiB (by 1024), KB, MB, GB
// (by 1000) or B. On an error s is unchanged.
func (s *Size) UnmarshalText(text []byte) error {
	number, unit := string(text), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = rest, u.bytes
			break
		}
	}
	n, err := count(number)
	switch {
	case strings.HasPrefix(number, "-"):
		return errors.New("a size cannot be negative")
	case !isDigits(number):
		return errors.New(`not a size; write a whole number with a unit, like "64KiB", "8MiB" or "512"`)
	case err != nil || n > math.MaxInt64/unit:
		return errors.New("the size is too large")
	}
	*s = Size(n * unit)
	return nil
}

// MarshalText writes the size with the largest unit that divides it.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String is the size with the largest binary unit that divides it: "8MiB", "1500B", "0B".
func (s Size) String() string {
	for _, u := range units[:3] {
		if s != 0 && int64(s)%u.bytes == 0 {
			return itoa(int64(s)/u.bytes) + u.name
		}
	}
	return itoa(int64(s)) + "B"
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
