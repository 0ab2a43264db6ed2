package scheduler

import (
	"testing"
	"time"

	"tidegate/pools"
)

func TestAPoolShrinksBelowWhatIsInFlight(t *testing.T) {
	h := byHand(t, onePool(10, 3))
	src := h.source("a", key(1, chat), terms(rule(100, time.Second, "realtime", time.Minute)), 100*time.Millisecond)
	h.warm(src)
	h.sends(src, 0, 12)
	h.at(50*time.Millisecond, func() {
		small := onePool(3, 3)
		h.core.Apply(h.now, small)
		if p := h.core.pools[0]; p.inUse != 10 || p.waiting != 2 {
			t.Errorf("after the cut: %d in use, %d wait; nothing is cut, nothing admitted", p.inUse, p.waiting)
		}
	})
	// Those ten end at 100 ms one after the other: the eighth of them makes room for the first who waits.
	h.run(150 * time.Millisecond)
	if p := h.core.pools[0]; p.inUse != 2 || src.granted != 12 {
		t.Errorf("later: %d in use, %d granted", p.inUse, src.granted)
	}
	if h.over < 7 {
		t.Errorf("%d looks found the pool over its seats, want one for each release until it fits", h.over)
	}
}

func TestCountersKeepTheirValueWhenRulesMove(t *testing.T) {
	c := NewCore(t0, onePool(10, 3))
	tm := terms(rule(100, time.Minute, "standard", time.Second))
	f := c.Meter(t0, key(1, chat), tm)
	for range 40 {
		it := &Item{Flow: f}
		c.Arrive(t0, it)
		if it.Verdict == Granted {
			c.Release(it, t0)
		}
	}
	c.Unpin(f)
	steps := []struct {
		name string
		next Terms
		left int64
	}{
		{"the same rule made anew", Terms{Version: 2, Rule: rule(100, time.Minute, "standard", time.Second), Pool: "shared", Weight: 1}, 60},
		{"another level and weight", Terms{Version: 3, Rule: rule(100, time.Minute, "batch", time.Second), Pool: "shared", Weight: 5}, 60},
		{"a new rate", Terms{Version: 4, Rule: rule(50, time.Minute, "batch", time.Second), Pool: "shared", Weight: 1}, 10},
		{"an older policy comes late", Terms{Version: 3, Rule: rule(1000, time.Minute, "batch", time.Second), Pool: "shared", Weight: 1}, 10},
		{"below what is counted", Terms{Version: 5, Rule: rule(30, time.Minute, "batch", time.Second), Pool: "shared", Weight: 1}, 0},
	}
	for i, s := range steps {
		set := onePool(10, 3)
		set.Pools = append(set.Pools, PoolSetup{Name: "other", Seats: 1, MaxWaiting: 1})
		set.Levels = append([]LevelSetup{{Name: "new"}}, set.Levels...)
		c.Apply(t0, set)
		g := c.Meter(t0, key(1, chat), s.next)
		if g != f {
			t.Fatal("another flow")
		}
		if q := c.Quota(t0, f); q.Remaining != s.left {
			t.Errorf("step %d, %s: %d left, want %d", i, s.name, q.Remaining, s.left)
		}
		c.Unpin(f)
	}
}

func TestBucketsGrowAndShrinkWithTheirTokens(t *testing.T) {
	cases := []struct{ from, to, left, want int64 }{{100, 150, 60, 110}, {100, 30, 60, 0}, {30, 100, 0, 70}}
	for _, tc := range cases {
		c := NewCore(t0, onePool(1000, 3))
		r := rule(1, time.Hour, "standard", time.Second)
		r.Limit.Burst = tc.from
		f := c.Meter(t0, key(1, chat), terms(r))
		f.meter.Take(t0, tc.from-tc.left)
		r2 := *r
		r2.Limit.Burst = tc.to
		tm := terms(&r2)
		tm.Version = 2
		c.Meter(t0, key(1, chat), tm)
		if q := c.Quota(t0, f); q.Remaining != tc.want {
			t.Errorf("burst %d to %d with %d left: %d left, want %d", tc.from, tc.to, tc.left, q.Remaining, tc.want)
		}
	}
}

func TestWhatWaitsEndsUnderTheRuleThatTookItIn(t *testing.T) {
	set := onePool(1, 3)
	h := byHand(t, set)
	src := h.source("a", key(1, chat), terms(rule(1000, time.Second, "standard", time.Minute)), 10*time.Millisecond)
	blocker := h.source("b", key(2, export), src.terms, 100*time.Millisecond)
	h.sends(blocker, 0, 1)
	h.sends(src, time.Millisecond, 100)
	h.at(10*time.Millisecond, func() {
		// The level is gone, and the caller's pool is another one: those hundred stay where they are.
		s2 := onePool(1, 3)
		s2.Levels = []LevelSetup{{Name: "realtime"}, {Name: "batch"}}
		vip := s2.Pools[0]
		vip.Name = "vip"
		s2.Pools = append(s2.Pools, vip)
		h.core.Apply(h.now, s2)
		src.terms = Terms{Version: 2, Rule: rule(1000, time.Second, "realtime", 0), Pool: "vip", Weight: 1}
		h.arrive(src)
		if src.granted != 1 || h.busy["vip"] != 1 {
			t.Errorf("a new arrival goes to its new pool: %d granted, vip holds %d", src.granted, h.busy["vip"])
		}
	})
	h.run(3 * time.Second)
	if src.granted != 101 || src.allRefused() != 0 {
		t.Errorf("%v", src)
	}
	h.core.Apply(h.now, Setup{Levels: []LevelSetup{{Name: "realtime"}}, Pools: []PoolSetup{{Name: "vip", Seats: 1, MaxWaiting: 1, MaxWaitingBytes: 1, MaxFlowShare: 1}}, MaxFlows: 10})
	if len(h.core.pools) != 1 || len(h.core.pools[0].levels) != 1 {
		t.Errorf("%d pools, %d levels: what is gone and empty is forgotten", len(h.core.pools), len(h.core.pools[0].levels))
	}
}

func TestCallerRateComesAndGoesWithThePolicy(t *testing.T) {
	c := NewCore(t0, onePool(10, 3))
	tm := terms(rule(100, time.Second, "standard", time.Minute))
	tm.CallerRate = &pools.Limit{N: 1, Per: time.Minute}
	tm.Rule.OverRate = OverPace
	f := c.Meter(t0, key(1, chat), tm)
	a, b := &Item{Flow: f, MaxWait: 2 * time.Minute}, &Item{Flow: f, MaxWait: 2 * time.Minute}
	c.Arrive(t0, a)
	c.Arrive(t0, b)
	if a.Verdict != Granted || b.Verdict != Waiting {
		t.Fatal(a.Verdict, b.Verdict)
	}
	next := tm
	next.Version, next.CallerRate = 2, nil
	c.Meter(t0.Add(time.Second), key(1, chat), next)
	if b.Verdict != Granted {
		t.Errorf("%v: the bound is gone, the item is paid", b.Verdict)
	}
}

func TestWorkThatANewCallerRateCanNeverHoldDoesNotKeepTheTimerBusy(t *testing.T) {
	c := NewCore(t0, onePool(1, 3))
	tm := terms(rule(10, time.Second, "standard", time.Minute))
	tm.Rule.Cost = 5
	tm.CallerRate = &pools.Limit{N: 5, Per: time.Second}
	f := c.Meter(t0, key(1, chat), tm)
	held, waits := &Item{Flow: f, MaxWait: time.Minute}, &Item{Flow: f, MaxWait: time.Minute}
	c.Arrive(t0, held)
	c.Arrive(t0, waits)
	next := terms(rule(10, time.Second, "standard", time.Minute))
	next.Version, next.CallerRate = 2, &pools.Limit{N: 2, Per: time.Second}
	c.Meter(t0.Add(time.Millisecond), key(1, chat), next)
	looks := 0
	for at, ok := c.Next(); ok && at.Before(t0.Add(20*time.Second)) && looks < 1000; at, ok = c.Next() {
		looks++
		c.Advance(at)
	}
	if looks > 100 {
		t.Errorf("%d wake-ups in 20 s for one item that waits", looks)
	}
	if !waits.Paid {
		t.Error("the caller's rate never pays what it could never hold, and all that comes after it waits behind")
	}
}

func TestACallerRateGetsNothingBackThatItHasNotPaid(t *testing.T) {
	c := NewCore(t0, onePool(1, 3))
	tm := terms(rule(10, time.Second, "standard", time.Minute))
	f := c.Meter(t0, key(1, chat), tm)
	held, free := &Item{Flow: f, MaxWait: time.Minute}, &Item{Flow: f, MaxWait: time.Minute}
	c.Arrive(t0, held)
	c.Arrive(t0, free) // paid while its caller had no rate
	next := terms(rule(10, time.Second, "standard", time.Minute))
	next.Version, next.CallerRate = 2, &pools.Limit{N: 2, Per: time.Second}
	now := t0.Add(time.Millisecond)
	c.Meter(now, key(1, chat), next)
	charged := &Item{Flow: f, MaxWait: time.Minute}
	c.Arrive(now, charged)
	c.Cancel(now, free)
	if left := f.caller.meter.Remaining(now); left != 1 {
		t.Errorf("%d left of the caller's 2 after one was paid by it, want 1", left)
	}
	c.Cancel(now, charged)
	if left := f.caller.meter.Remaining(now); left != 2 {
		t.Errorf("%d left of the caller's 2 after that one was given back, want 2", left)
	}
}
