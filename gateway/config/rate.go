package config

import (
	"errors"
	"strings"
	"time"
)

// Rate is an amount of cost over a span: "200/s", "20/60s", "5/min". The zero value is "no rate".
// Two rates of the same N and Per may differ in Text; they limit alike.
type Rate struct {
	N    int64         // cost, at least 1
	Per  time.Duration // above 0, at most an hour
	Text string        // as written, and as shown
}

// maxProduct bounds amount x span in nanoseconds. Meters multiply the two in int64, and 4e18 leaves them
// room below 9.2e18 to add one more step. It allows 1.1 million an hour, or 4e9 a second.
const maxProduct = int64(4e18)

var errRate = errors.New(`not a rate; write it as amount/span, like "200/s", "20/60s", "5/min" or "5/1h"`)

// UnmarshalText reads "N/D": N a whole number of at least 1, D a unit (ms, s, min, m, h) with or without a
// number before it, above 0 and at most an hour. Empty text is no rate. On an error r is unchanged.
func (r *Rate) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		*r = Rate{}
		return nil
	}
	amount, span, ok := strings.Cut(s, "/")
	if !ok || !isDigits(amount) {
		return errRate
	}
	n, err := count(amount)
	if err != nil || n > maxProduct {
		return errors.New("the rate's amount is too large")
	}
	if n < 1 {
		return errors.New(`a rate's amount is at least 1; for less than one a second write a longer span, like "1/10s"`)
	}
	per, err := parseSpan(span)
	if err != nil {
		return err
	}
	if !fits(n, per) {
		return errors.New("the rate's amount is too large for its span: amount x span may be at most 4e9 seconds")
	}
	*r = Rate{N: n, Per: per, Text: s}
	return nil
}

// parseSpan reads the part of a rate behind the slash.
func parseSpan(s string) (time.Duration, error) {
	// Go knows no "min"; whoever writes rates by hand does.
	if rest, ok := strings.CutSuffix(s, "min"); ok && (rest == "" || isDigits(rest)) {
		s = rest + "m"
	}
	if s == "" || strings.ContainsAny(s[:1], "+-.") {
		return 0, errRate
	}
	if s[0] < '0' || s[0] > '9' {
		s = "1" + s
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errRate
	}
	if d <= 0 || d > time.Hour {
		return 0, errors.New("a rate's span is above 0 and at most 1h")
	}
	return d, nil
}

// fits says whether n x per, in nanoseconds, stays within maxProduct.
func fits(n int64, per time.Duration) bool {
	return per <= 0 || n <= maxProduct/int64(per)
}

// MarshalText writes the rate as it was written.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String is the rate as it was written; "" for no rate.
func (r Rate) String() string {
	if r.Text == "" && r.N > 0 {
		return itoa(r.N) + "/" + Duration{r.Per}.String()
	}
	return r.Text
}

// IsZero says that there is no rate.
func (r Rate) IsZero() bool { return r.N == 0 }

// PerSecond is the rate in cost a second; 0 for no rate.
func (r Rate) PerSecond() float64 {
	if r.N == 0 || r.Per <= 0 {
		return 0
	}
	return float64(r.N) / r.Per.Seconds()
}
