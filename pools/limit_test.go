package pools

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestStepIsTheTimeThatCostTakesAtTheSteadyRate(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		cost  int64
		want  time.Duration
	}{
		{Limit{N: 20, Per: time.Minute}, 1, 3 * time.Second},
		{Limit{N: 200, Per: time.Second}, 1, 5 * time.Millisecond},
		{Limit{N: 100, Per: time.Second, Burst: 7}, 50, 500 * time.Millisecond},
		{Limit{N: 3, Per: time.Second}, 1, 333333334 * time.Nanosecond}, // rounded up
		{Limit{N: 3, Per: time.Second}, 3, time.Second},
		{Limit{N: 3, Per: time.Second}, 0, 0},
		{Limit{N: 3, Per: time.Second}, -1, 0},
		{Limit{N: 4e18, Per: 1}, 4e18, 1},
		{Limit{N: 4e18, Per: 1}, 1, 1},
		{Limit{N: 1, Per: time.Hour, Burst: 1e6}, 1e6, 1e6 * time.Hour},
		{Limit{N: 1, Per: time.Hour}, math.MaxInt64, math.MaxInt64}, // saturated
	} {
		if got := c.limit.Step(c.cost); got != c.want {
			t.Errorf("%+v.Step(%d) = %v, want %v", c.limit, c.cost, got, c.want)
		}
	}
}

func TestLimitsThatCannotWorkAreNamedWithTheirRemedy(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		want  string // part of the error; "": valid
	}{
		{Limit{N: 1, Per: 1}, ""},
		{Limit{N: 1, Per: time.Hour, Burst: 1_111_111}, ""},
		{Limit{N: 4e18, Per: 1, Burst: 4e18}, ""},
		{Limit{N: 0, Per: time.Second}, "disable"},
		{Limit{N: -5, Per: time.Second}, "1 or more"},
		{Limit{N: 1}, "above 0"},
		{Limit{N: 1, Per: -time.Second}, "above 0"},
		{Limit{N: 1, Per: time.Hour + 1}, "at most 1h"},
		{Limit{N: 1, Per: time.Second, Burst: -1}, "leave it out"},
		{Limit{N: 2_000_000, Per: time.Hour}, "at most 1111111 "},
		{Limit{N: 1, Per: time.Hour, Burst: 1_111_112}, "at most 1111111 "},
		{Limit{N: math.MaxInt64, Per: 1}, "at most 4000000000000000000 "},
	} {
		err := c.limit.Valid()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v.Valid() = %v, want %q in it", c.limit, err, c.want)
		}
	}
}

func TestDepthIsTheMostOnePaymentCanCost(t *testing.T) {
	if got := (Limit{N: 20, Per: time.Minute}).Depth(); got != 20 {
		t.Errorf("window: %d, want 20", got)
	}
	if got := (Limit{N: 20, Per: time.Minute, Burst: 5}).Depth(); got != 5 {
		t.Errorf("bucket: %d, want 5", got)
	}
}
