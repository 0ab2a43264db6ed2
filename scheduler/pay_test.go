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
