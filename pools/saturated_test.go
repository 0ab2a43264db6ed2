package pools

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A flow that always has work gets at least 97 % of N/Per, and of any Per no more than N, whether its payments come
// on the moment or a little late.
func TestFlowThatAlwaysHasWorkGetsItsRateAndNoMore(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		limit Limit
		late  time.Duration // at most, each payment
	}{
		{Limit{N: 20, Per: time.Minute}, 0},
		{Limit{N: 20, Per: time.Minute}, 10 * time.Millisecond},
		{Limit{N: 128, Per: time.Second}, time.Millisecond},
		{Limit{N: 200, Per: time.Second}, 0},
		{Limit{N: 200, Per: time.Second}, 10 * time.Millisecond},
		{Limit{N: 5000, Per: time.Second}, time.Millisecond},
		{Limit{N: 50_000, Per: time.Hour}, time.Second},
		{Limit{N: 129, Per: 1000}, 3},
	} {
		m := NewMeter(c.limit, t0)
		var at []time.Time // of each payment of 1
		now, end := t0, t0.Add(10*c.limit.Per)
		for {
			now = m.Ready(now, 1)
			if c.late > 0 {
				now = now.Add(time.Duration(r.Int64N(int64(c.late))))
			}
			if !now.Before(end) {
				break
			}
			for m.Take(now, 1) {
				at = append(at, now)
			}
		}
		n := int(c.limit.N)
		for i := n; i < len(at); i++ {
			if at[i].Sub(at[i-n]) < c.limit.Per {
				t.Fatalf("%+v: %d payments within %v", c.limit, n+1, at[i].Sub(at[i-n]))
			}
		}
		if got, want := float64(len(at)), 0.97*10*float64(n); got < want {
			t.Errorf("%+v, up to %v late: paid %v, want at least %v", c.limit, c.late, got, want)
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, l := range []Limit{{N: 100, Per: time.Second}, {N: 5000, Per: time.Second}, {N: 100, Per: time.Second, Burst: 50}} {
		m := NewMeter(l, t0)
		now := t0
		turn := func() {
			paid := now
			now = m.Ready(now, 1)
			m.Take(now, 1)
			m.Return(now, paid, 1)
			m.Take(now, 1)
			now = now.Add(l.Per / 997)
			m.Remaining(now)
			m.Used(now)
			m.Idle(now)
		}
		for range 3000 {
			turn()
		}
		if n := testing.AllocsPerRun(1000, turn); n != 0 {
			t.Errorf("%+v: %v allocations a turn", l, n)
		}
	}
}

func BenchmarkMeter(b *testing.B) {
	for _, c := range []struct {
		name  string
		limit Limit
	}{
		{"exact", Limit{N: 100, Per: time.Second}},
		{"cells", Limit{N: 5000, Per: time.Second}},
		{"bucket", Limit{N: 5000, Per: time.Second, Burst: 100}},
	} {
		step := c.limit.Step(1) * 9 / 10
		b.Run("take/"+c.name, func(b *testing.B) {
			m, now := NewMeter(c.limit, t0), t0
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(step)
				m.Take(now, 1)
			}
		})
		b.Run("ready/"+c.name, func(b *testing.B) {
			m, now := NewMeter(c.limit, t0), t0
			for range 2 * c.limit.Depth() {
				now = now.Add(step)
				m.Take(now, 1)
			}
			b.ReportAllocs()
			for b.Loop() {
				m.Ready(now, c.limit.Depth()/2)
			}
		})
	}
}
