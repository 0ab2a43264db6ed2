package gateway

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func TestRateLimitFields(t *testing.T) {
	var all strings.Builder
	for _, c := range []struct {
		rule      string
		n         int64
		per       time.Duration
		remaining int64
		reset     time.Duration
	}{
		{"paid/reports/export", 20, time.Minute, 3, 12 * time.Second},
		{"semantic/chat", 200, time.Second, 200, 0},
		{"free/*/*", 5, time.Minute, -2, 1},
		{"free/*/chat", 50, 250 * time.Millisecond, 0, 50 * time.Millisecond},    // 200 a second
		{"free/*/chat", 10, 1500 * time.Millisecond, 1, 1500 * time.Millisecond}, // 13.3 in two seconds
		{"free/*/chat", 1, time.Hour, 1, time.Hour},
		{`odd "name"\`, 1, time.Second, 0, time.Second},
		{"套餐/*/chat", 1, time.Second, 0, time.Second},
		{"huge", math.MaxInt64, time.Nanosecond, math.MaxInt64, math.MaxInt64},
	} {
		fmt.Fprintf(&all, "RateLimit-Policy: %s\nRateLimit: %s\n",
			appendRateLimitPolicy(nil, c.rule, c.n, c.per), appendRateLimit(nil, appendSFString(nil, c.rule), c.remaining, c.reset))
	}
	golden(t, "ratelimit.txt", all.String())
}

func TestRateLimitFieldsAreMadeWithoutAllocation(t *testing.T) {
	dst, name := make([]byte, 0, 128), appendSFString(nil, "paid/reports/export")
	if n := testing.AllocsPerRun(100, func() {
		dst = appendRateLimitPolicy(dst[:0], "paid/reports/export", 20, time.Minute)
		dst = appendRateLimit(dst[:0], name, 3, time.Second)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzRateLimitFieldsAreStructuredFields(f *testing.F) {
	f.Add("paid/*/chat", int64(20), int64(time.Minute), int64(3), int64(time.Second))
	f.Fuzz(func(t *testing.T, rule string, n, per, remaining, reset int64) {
		for _, got := range [][]byte{
			appendRateLimitPolicy(nil, rule, n, time.Duration(per)), appendRateLimit(nil, appendSFString(nil, rule), remaining, time.Duration(reset)),
		} {
			s := string(got)
			if s[0] != '"' {
				t.Fatalf("%q: no String", s)
			}
			i := 1
			for ; s[i] != '"'; i++ {
				if s[i] == '\\' {
					if i++; s[i] != '"' && s[i] != '\\' {
						t.Fatalf("%q: bad escape", s)
					}
				} else if s[i] < ' ' || s[i] >= 0x7f {
					t.Fatalf("%q: bad byte", s)
				}
			}
			for param := range strings.SplitSeq(strings.TrimPrefix(s[i+1:], ";"), ";") {
				key, value, _ := strings.Cut(param, "=")
				if len(key) != 1 || len(value) == 0 || len(value) > 15 || strings.Trim(value, "0123456789") != "" || (key == "t" || key == "w") && value == "0" {
					t.Fatalf("%q: parameter %q", s, param)
				}
			}
		}
	})
}
