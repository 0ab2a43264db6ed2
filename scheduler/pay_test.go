package scheduler

import (
	"testing"
	"time"

	"tidegate/pools"
)

// Two flows of one caller, each with a rate of its own, and a rate of the caller beside: who is paid when it frees.
type twoFlows struct {
	core *Core
	now  time.Time
	of   [2]*Flow
	gate *Item // holds the only seat
}

func newTwoFlows(caller pools.Limit, limits [2]pools.Limit, costs [2]int64) *twoFlows {
	s := &twoFlows{core: NewCore(t0, onePool(1, 3)), now: t0}
	s.gate = &Item{Flow: s.core.Meter(t0, key(9, chat), terms(rule(1, time.Second, "standard", time.Hour)))}
	s.core.Arrive(t0, s.gate)
	for i := range s.of {
		r := rule(1, time.Second, "standard", time.Hour)
		r.Limit, r.Cost = limits[i], costs[i]
		tm := terms(r)
		tm.CallerRate = &caller
		s.of[i] = s.core.Meter(t0, key(1, int32(i)), tm)
	}
	return s
}

func (s *twoFlows) arrive(flow int) *Item {
	it := &Item{Flow: s.of[flow], MaxWait: time.Hour}
	s.core.Arrive(s.now, it)
	return it
}

func TestWhoWaitedBehindACostlierItemIsPaidWhenThatHasGone(t *testing.T) {
	plenty := pools.Limit{N: 100, Per: time.Second}
	s := newTwoFlows(pools.Limit{N: 1, Per: time.Hour, Burst: 3}, [2]pools.Limit{plenty, plenty}, [2]int64{2, 1})
	paid, dear, cheap := s.arrive(0), s.arrive(0), s.arrive(1)
	if !paid.Paid || dear.Paid || cheap.Paid {
		t.Fatal(paid.Paid, dear.Paid, cheap.Paid)
	}
	s.core.Cancel(s.now, dear)
	if !cheap.Paid {
		t.Error("the caller's rate has the cost of one, and does not pay it")
	}
}

func TestTheNextOfAFlowComesAfterWhatIsOlderInAnother(t *testing.T) {
	plenty := pools.Limit{N: 100, Per: time.Second}
	s := newTwoFlows(pools.Limit{N: 1, Per: time.Hour, Burst: 3}, [2]pools.Limit{plenty, plenty}, [2]int64{2, 1})
	s.arrive(0)
	dear, older := s.arrive(0), s.arrive(1)
	cheap := terms(rule(100, time.Second, "standard", time.Hour))
	cheap.Version, cheap.CallerRate = 2, s.of[0].terms.CallerRate
	s.of[0] = s.core.Meter(s.now, s.of[0].Key, cheap)
	younger := s.arrive(0)
	s.core.Cancel(s.now, dear)
	if !older.Paid || younger.Paid {
		t.Errorf("older paid %v, younger paid %v", older.Paid, younger.Paid)
	}
}

func TestWhatComesBackToBothRatesGoesToTheOldest(t *testing.T) {
	plenty := pools.Limit{N: 100, Per: time.Second}
	s := newTwoFlows(pools.Limit{N: 2, Per: time.Hour}, [2]pools.Limit{{N: 2, Per: time.Hour}, plenty}, [2]int64{1, 1})
	first, _, older := s.arrive(0), s.arrive(0), s.arrive(0)
	younger := s.arrive(1)
	if older.Paid || younger.Paid {
		t.Fatal(older.Paid, younger.Paid)
	}
	// Until now the older one lacked its flow's rate, the younger the caller's.
	s.now = s.now.Add(time.Second)
	s.core.Cancel(s.now, first)
	if !older.Paid || younger.Paid {
		t.Errorf("older paid %v, younger paid %v", older.Paid, younger.Paid)
	}
}

func TestWaitingForTheCallersRateIsNoLateness(t *testing.T) {
	plenty := pools.Limit{N: 4, Per: time.Second}
	s := newTwoFlows(pools.Limit{N: 3, Per: time.Hour}, [2]pools.Limit{plenty, plenty}, [2]int64{1, 1})
	a, b := s.arrive(1), s.arrive(1)
	s.arrive(1)
	next, last := s.arrive(0), s.arrive(0)
	s.now = s.now.Add(10 * time.Second)
	s.core.Advance(s.now)
	s.core.Cancel(s.now, a)
	s.core.Cancel(s.now, b)
	if !next.Paid || last.Paid {
		t.Errorf("paid %v, %v: the second has its turn a step later", next.Paid, last.Paid)
	}
	s.now = s.now.Add(250 * time.Millisecond)
	s.core.Advance(s.now)
	if !last.Paid {
		t.Error("a step later it is not paid")
	}
}

func TestACallerRateThatCameBackGetsNothingBackFromItsFirstTime(t *testing.T) {
	c := NewCore(t0, onePool(1, 3))
	tm := terms(rule(10, time.Second, "standard", time.Minute))
	tm.CallerRate = &pools.Limit{N: 3, Per: time.Second}
	f := c.Meter(t0, key(1, chat), tm)
	held, early := &Item{Flow: f}, &Item{Flow: f, MaxWait: time.Minute}
	c.Arrive(t0, held)
	c.Arrive(t0, early)
	without, again := tm, tm
	without.Version, without.CallerRate = 2, nil
	again.Version = 3
	c.Meter(t0, key(1, chat), without)
	c.Meter(t0, key(1, chat), again)
	late := &Item{Flow: f, MaxWait: time.Minute}
	c.Arrive(t0, late)
	c.Cancel(t0, early)
	if left := f.caller.meter.Remaining(t0); left != 2 {
		t.Errorf("%d left of 3 with one paid since it came back, want 2", left)
	}
	c.Cancel(t0, late)
	if left := f.caller.meter.Remaining(t0); left != 3 {
		t.Errorf("%d left when that one was given back, want 3", left)
	}
}

func TestCallerRateGoesToTheOldestUnpaidItem(t *testing.T) {
	h := byHand(t, onePool(10, 2))
	r := rule(10, time.Second, "standard", time.Hour)
	r.OverRate = OverPace
	tm := terms(r)
	tm.CallerRate = &pools.Limit{N: 2, Per: time.Second}
	a := h.source("a", key(1, chat), tm, time.Millisecond)
	b := h.source("b", key(1, export), tm, time.Millisecond)
	h.sends(a, 0, 2) // takes what the caller may
	h.sends(b, 10*time.Millisecond, 1)
	h.sends(a, 20*time.Millisecond, 1)
	h.sends(b, 30*time.Millisecond, 1)
	h.run(2500 * time.Millisecond)
	wantGrants(t, b, time.Second, 2*time.Second)
	if len(a.grants) != 3 || a.grants[2] != time.Second {
		// Both payments of t=0 leave the window at 1s: the two oldest are paid then.
		t.Errorf("a dispatched at %v", a.grants)
	}
}

func TestAFlowThatAlwaysHasWorkGetsItsRate(t *testing.T) {
	for _, tc := range []struct {
		n     int64
		per   time.Duration
		burst int64
	}{{20, time.Minute, 0}, {5, time.Second, 0}, {200, time.Second, 0}, {1000, time.Second, 0}, {777, 7 * time.Second, 0}, {50, time.Second, 10}} {
		h := byHand(t, onePool(500, 2))
		r := rule(tc.n, tc.per, "batch", time.Hour)
		r.OverRate, r.Limit.Burst = OverPace, tc.burst
		src := h.source("a", key(1, export), terms(r), time.Microsecond)
		span := 10 * tc.per
		want := tc.n*10 + max(tc.burst, tc.n)
		h.core.pools[0].setup.MaxWaiting = int(want) + 1000
		h.core.pools[0].setup.MaxFlowShare = 1
		h.sends(src, 0, int(want)+500)
		h.run(span)
		if got := float64(src.granted); got < .97*float64(tc.n*10) {
			t.Errorf("%d/%v burst %d: %v paid in ten spans, want at least 97 %% of %d", tc.n, tc.per, tc.burst, got, tc.n*10)
		}
		// Of any span no more than N, or N + burst.
		most := int(max(tc.n, tc.n+tc.burst))
		g := src.grants
		for i := most; i < len(g); i++ {
			if g[i]-g[i-most] < tc.per {
				t.Fatalf("%d/%v burst %d: %d paid within %v", tc.n, tc.per, tc.burst, most+1, g[i]-g[i-most])
			}
		}
	}
}
