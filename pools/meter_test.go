package pools

import (
	"testing"
	"time"
)

var t0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// after is the moment s seconds after t0.
func after(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

// table plays calls against one meter and checks each answer.
type table struct {
	*testing.T
	m Meter
}

func newTable(t *testing.T, l Limit) *table {
	t.Helper()
	if err := l.Valid(); err != nil {
		t.Fatal(err)
	}
	return &table{t, NewMeter(l, t0)}
}

func (c *table) take(s float64, cost int64, want bool) {
	c.Helper()
	if got := c.m.Take(after(s), cost); got != want {
		c.Fatalf("at %vs: Take(%d) = %v, want %v", s, cost, got, want)
	}
}

func (c *table) ready(s float64, cost int64, want float64) {
	c.Helper()
	if got := c.m.Ready(after(s), cost); !got.Equal(after(want)) {
		c.Fatalf("at %vs: Ready(%d) is at %v, want %vs", s, cost, got.Sub(t0), want)
	}
}

func (c *table) left(s float64, remaining, used int64) {
	c.Helper()
	if got := c.m.Remaining(after(s)); got != remaining {
		c.Fatalf("at %vs: Remaining = %d, want %d", s, got, remaining)
	}
	if got := c.m.Used(after(s)); got != used {
		c.Fatalf("at %vs: Used = %d, want %d", s, got, used)
	}
	if got, want := c.m.Idle(after(s)), used == 0; got != want {
		c.Fatalf("at %vs: Idle = %v, want %v", s, got, want)
	}
}

func TestWindowPaysUpToNInAnySpan(t *testing.T) {
	c := newTable(t, Limit{N: 3, Per: time.Second})
	c.left(0, 3, 0)
	c.take(0.0, 1, true)
	c.take(0.9, 2, true)
	c.take(0.99, 1, false)
	c.ready(0.99, 1, 1.0)
	c.ready(0.99, 2, 1.9)
	c.take(1.0, 1, true) // the first has left, at its very end
	c.left(1.0, 0, 3)
	c.ready(1.0, 3, 2.0)
	c.left(1.9, 2, 1)
	c.left(2.0, 3, 0)
}

func TestWindowAcrossItsEdgePaysNoMoreThanOnce(t *testing.T) {
	c := newTable(t, Limit{N: 100, Per: time.Minute})
	for range 100 {
		c.take(59.9, 1, true)
	}
	c.take(60.1, 1, false)
	c.ready(60.1, 1, 119.9)
	c.take(119.9, 100, true)
}

func TestBucketPaysItsDepthThenTheRate(t *testing.T) {
	c := newTable(t, Limit{N: 10, Per: time.Second, Burst: 5})
	c.left(0, 5, 0)
	c.take(0, 5, true)
	c.take(0, 1, false)
	c.ready(0, 1, 0.1)
	c.ready(0, 5, 0.5)
	c.left(0.05, 0, 5)
	c.take(0.1, 1, true)
	c.left(0.35, 2, 3)
	c.left(3600, 5, 0) // an hour of silence stores no more than the depth
	c.take(3600, 5, true)
	c.take(3600.05, 1, false)
}

func TestRefusedCostChangesNothing(t *testing.T) {
	for _, l := range []Limit{{N: 5, Per: time.Second}, {N: 5, Per: time.Second, Burst: 5}} {
		c := newTable(t, l)
		c.take(0, 2, true)
		c.take(0, 5, false)
		c.left(0, 3, 2)
		c.take(0, 3, true) // exactly enough
		c.left(0, 0, 5)
	}
}

func TestCostAboveTheDepthIsNeverReady(t *testing.T) {
	for _, l := range []Limit{{N: 5, Per: time.Second}, {N: 50, Per: time.Second, Burst: 5}} {
		c := newTable(t, l)
		c.take(0, 6, false)
		if got := c.m.Ready(t0, 6); got.Before(t0.AddDate(200, 0, 0)) {
			t.Errorf("%+v: Ready(6) = %v", l, got)
		}
	}
}

func TestCostOfNothingIsAlwaysPaid(t *testing.T) {
	for _, l := range []Limit{{N: 1, Per: time.Second}, {N: 1, Per: time.Second, Burst: 1}} {
		c := newTable(t, l)
		c.take(0, 1, true)
		for _, cost := range []int64{0, -7} {
			c.take(0, cost, true)
			c.ready(0, cost, 0)
			c.m.Return(t0, t0, cost)
			c.left(0, 0, 1)
		}
	}
}

func TestReturnGivesBackWhatWasPaidThen(t *testing.T) {
	c := newTable(t, Limit{N: 4, Per: time.Second})
	c.take(0.0, 1, true)
	c.take(0.2, 2, true)
	c.take(0.4, 1, true)
	c.m.Return(after(0.5), after(0.2), 2)
	c.left(0.5, 2, 2)
	c.take(0.5, 2, true)
	c.ready(0.5, 2, 1.4) // what was returned frees nothing a second time
	c.m.Return(after(1.1), after(0.0), 1)
	c.left(1.1, 1, 3) // it had left the window already

	c = newTable(t, Limit{N: 10, Per: time.Second, Burst: 4})
	c.take(0, 4, true)
	c.m.Return(after(0), after(0), 3)
	c.left(0, 3, 1)
	c.m.Return(after(0.05), after(0), 1)
	c.left(0.05, 4, 0) // never above its depth
	c.take(0.05, 4, true)
	c.take(0.1, 1, false)
}

func TestReturnWithinACellFindsItsPayment(t *testing.T) {
	c := newTable(t, Limit{N: 1000, Per: time.Second})
	c.take(0.001, 600, true)
	c.take(0.002, 400, true)
	c.take(0.003, 1, false)
	c.m.Return(after(0.9), after(0.001), 600)
	c.left(0.9, 600, 400)
	c.m.Return(after(1.005), after(0.002), 400) // its cell ends at 7.8125 ms
	c.left(1.005, 1000, 0)
	c.take(1.01, 1000, true)
	c.m.Return(after(2.3), after(1.01), 1000)
	c.left(2.3, 1000, 0)
}

func TestPaidAndReturnedForEverKeepsTheRingSmall(t *testing.T) {
	c := newTable(t, Limit{N: 2, Per: time.Hour})
	for i := range 1000 {
		c.take(float64(i), 1, true)
		c.take(float64(i)+0.1, 1, true)
		c.m.Return(after(float64(i)+0.2), after(float64(i)), 1)
		c.m.Return(after(float64(i)+0.3), after(float64(i)+0.1), 1)
	}
	if n := len(c.m.window.ring); n > 4 {
		t.Errorf("the ring has %d places for at most 2 payments", n)
	}
}

func TestTimeThatRunsBackRefillsNothing(t *testing.T) {
	for _, l := range []Limit{{N: 4, Per: time.Second}, {N: 4, Per: time.Second, Burst: 4}, {N: 400, Per: time.Second}} {
		c := newTable(t, l)
		n := l.N
		c.take(8*3600, n, true)
		c.take(0, 1, false)
		c.left(0, 0, n)
		c.take(8*3600-0.001, 1, false)
		c.m.Return(after(0), after(8*3600-0.002), n) // stamped a little later than its payer thought
		c.left(0, n, 0)
		c.take(0, n, true)
		at := c.m.Ready(after(0), 1)
		if at.Before(after(8 * 3600)) {
			t.Errorf("%+v: ready at %v, before the latest moment seen", l, at)
		}
		if !c.m.Take(at, 1) {
			t.Errorf("%+v: not paid when it was said to be", l)
		}
	}
}

func TestMonotonicTimeIsUsedWhereItIs(t *testing.T) {
	now := time.Now()
	m := NewMeter(Limit{N: 1, Per: time.Second}, now)
	m.Take(now, 1)
	at := m.Ready(now.Add(time.Millisecond), 1)
	if at == at.Round(0) { // Round drops the monotonic part
		t.Error("the moment said has no monotonic part, though all moments given have one")
	}
	if got := at.Sub(now); got != time.Second {
		t.Errorf("ready after %v, want 1s", got)
	}
}

func TestVeryLateMomentsAreHarmless(t *testing.T) {
	for _, l := range []Limit{{N: 1, Per: time.Hour}, {N: 1_000_000, Per: time.Hour}, {N: 4e18, Per: 1, Burst: 4e18}, {N: 1, Per: time.Hour, Burst: 1}} {
		c := newTable(t, l)
		n := l.Depth()
		c.take(0, n, true)
		late := t0.AddDate(5000, 0, 0)
		if !c.m.Take(late, n) || c.m.Remaining(late) != 0 {
			t.Errorf("%+v: not full again after ages", l)
		}
	}
}
