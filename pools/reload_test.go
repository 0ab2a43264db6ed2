package pools

import (
	"testing"
	"time"
)

func TestSetLimitKeepsWhatWasPaid(t *testing.T) {
	window := func(n int64, per time.Duration) Limit { return Limit{N: n, Per: per} }
	bucket := func(n int64, per time.Duration, burst int64) Limit { return Limit{n, per, burst} }
	for _, c := range []struct {
		name             string
		from             Limit
		take             int64
		to               Limit
		remaining, used  int64
		readyAfter       float64 // for a cost of 1, in s after the change
		returns          int64   // of the payment
		remainingReturns int64
	}{
		{"bucket deeper", bucket(1, time.Second, 100), 40, bucket(1, time.Second, 150), 110, 40, 0, 40, 150},
		{"bucket shallower", bucket(1, time.Second, 100), 40, bucket(1, time.Second, 30), 0, 30, 1, 40, 30},
		{"bucket a little shallower", bucket(1, time.Second, 100), 40, bucket(1, time.Second, 90), 50, 40, 0, 10, 60},
		{"bucket at another rate", bucket(1, time.Second, 100), 40, bucket(7, time.Minute, 100), 60, 40, 0, 0, 60},
		{"deep bucket over a short span to a shallow one over a long", bucket(1, 1, 4e18), 3e18, bucket(1, time.Hour, 1e6), 0, 1e6, 3600, 0, 0},
		{"window wider", window(50, time.Second), 40, window(60, time.Second), 20, 40, 0, 40, 60},
		{"window narrower", window(50, time.Second), 40, window(30, time.Second), 0, 40, 1, 10, 0},
		{"window narrower, within it", window(50, time.Second), 20, window(30, time.Second), 10, 20, 0, 20, 30},
		{"window to cells", window(100, time.Second), 40, window(1000, time.Second), 960, 40, 0, 40, 1000},
		{"window from cells", window(1000, time.Second), 40, window(100, time.Second), 60, 40, 0, 40, 100},
		{"window over another span", window(10, time.Second), 4, window(30, time.Minute), 18, 12, 0, 12, 30},
		{"window over another span, full", window(10, time.Second), 10, window(30, time.Minute), 0, 30, 60, 0, 0},
		{"window to bucket", window(10, time.Second), 4, bucket(1, time.Second, 50), 30, 20, 0, 20, 50},
		{"bucket to window", bucket(1, time.Second, 50), 20, window(10, time.Second), 6, 4, 0, 4, 10},
		{"bucket to window, rounded down", bucket(1, time.Second, 3), 1, window(10, time.Second), 6, 4, 0, 0, 6},
		{"nothing paid", window(10, time.Second), 0, bucket(1, time.Second, 50), 50, 0, 0, 0, 50},
		{"the same", window(10, time.Second), 4, window(10, time.Second), 6, 4, 0, 4, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newTable(t, c.from)
			m.take(0, c.take, true)
			if err := c.to.Valid(); err != nil {
				t.Fatal(err)
			}
			m.m.SetLimit(t0, c.to)
			if m.m.Limit() != c.to {
				t.Errorf("limit is %+v", m.m.Limit())
			}
			m.left(0, c.remaining, c.used)
			m.ready(0, 1, c.readyAfter)
			m.m.Return(t0, t0, c.returns)
			if got := m.m.Remaining(t0); got != c.remainingReturns {
				t.Errorf("after the return of %d: Remaining = %d, want %d", c.returns, got, c.remainingReturns)
			}
		})
	}
}

func TestNarrowedWindowPaysNothingUntilItIsBelow(t *testing.T) {
	c := newTable(t, Limit{N: 50, Per: time.Second})
	c.take(0.0, 25, true)
	c.take(0.5, 15, true)
	c.m.SetLimit(after(0.6), Limit{N: 10, Per: time.Second})
	c.left(0.6, 0, 40)
	c.left(1.0, 0, 15) // still above 10
	c.take(1.0, 1, false)
	c.ready(1.0, 1, 1.5)
	c.take(1.5, 10, true)
}

func TestTheSameLimitAgainChangesNothing(t *testing.T) {
	l := Limit{N: 1000, Per: time.Second}
	m := NewMeter(l, t0)
	for i := range 100 {
		m.Take(after(float64(i)/200), 3)
	}
	if n := testing.AllocsPerRun(100, func() { m.SetLimit(after(0.5), l) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if got := m.Used(after(0.5)); got != 300 {
		t.Errorf("used %d, want 300", got)
	}
}

func TestStampsOfOneWindowAreOfOneKind(t *testing.T) {
	c := newTable(t, Limit{N: 100, Per: time.Second})
	c.take(0.001, 40, true)
	c.take(0.002, 2, true)
	c.m.SetLimit(after(0.003), Limit{N: 1000, Per: time.Second})
	c.left(0.003, 958, 42)
	c.ready(0.003, 959, 1.0078125) // the end of their cell, Per later
	c.m.Return(after(1.005), after(0.001), 40)
	c.left(1.005, 998, 2)

	c.m.SetLimit(after(1.006), Limit{N: 100, Per: time.Second})
	c.take(1.006, 98, true)
	c.m.Return(after(1.5), after(1.006), 98)
	c.left(1.5, 100, 0)
}

func TestAWindowGivesBackNoMoreThanItBeganWith(t *testing.T) {
	at := func(s float64) time.Time { return t0.Add(time.Duration(s * 1e9)) }
	m := NewMeter(Limit{N: 2, Per: time.Second, Burst: 4}, t0)
	m.Take(t0, 4)
	// 3 of 4 tokens are back: the window begins with a quarter used, 3 of 10 rounded up.
	m.SetLimit(at(1.5), Limit{N: 10, Per: time.Minute})
	m.Take(at(2), 5)
	m.Return(at(3), t0, 2)
	if used := m.Used(at(3)); used != 6 {
		t.Errorf("%d used after 2 of the 3 that it began with came back, want 6", used)
	}
	m.Return(at(3), t0, 2)
	if used := m.Used(at(3)); used != 5 {
		t.Errorf("%d used after 2 more, want the 5 that it has paid itself", used)
	}
	m.Return(at(3), at(2), 5)
	if used := m.Used(at(3)); used != 0 {
		t.Errorf("%d used after those came back", used)
	}
	// And from one full bucket: it begins with nothing.
	m = NewMeter(Limit{N: 2, Per: time.Second, Burst: 4}, t0)
	m.Take(t0, 1)
	m.SetLimit(at(1), Limit{N: 10, Per: time.Minute})
	m.Take(at(2), 5)
	m.Return(at(3), t0, 1)
	if used := m.Used(at(3)); used != 5 {
		t.Errorf("%d used, want 5: what the bucket had paid is not in the window", used)
	}
}
