package scheduler

import (
	"fmt"
	"testing"
	"time"

	"tidegate/pools"
)

// The shadow's beginning and end, and what reaches it from outside.

func TestObservingBeginsWithWhatIsKnown(t *testing.T) {
	for _, tc := range []struct {
		all  *pools.Limit // of the caller
		told []string
		band []Band
	}{
		{nil, []string{"a granted", "b rate_exceeded", "c granted", "d rate_exceeded"}, []Band{Committed, Surge, Committed, Excess}},
		{&pools.Limit{N: 5, Per: time.Minute}, []string{"a granted", "b rate_exceeded", "c rate_exceeded", "d rate_exceeded"}, []Band{Committed, Surge, Excess, Excess}},
	} {
		s := newSteps(t, onePool(9, 9))
		strict := rule(3, time.Minute, "standard", time.Second)
		strict.OverRate = OverReject
		tm := terms(strict)
		tm.CallerRate = tc.all
		for range 2 {
			s.release(100, s.arrive(0, key(1, chat), tm, ""))
			s.release(100, s.arrive(0, key(1, export), tm, ""))
		}
		s.core.SetSurging(s.now, s.core.flows[key(1, chat)], true)
		s.to(200)
		s.core.Apply(s.now, observing(onePool(9, 9)))
		if sem := s.core.shadow.core.semantics[chat]; sem.count < 2 || s.core.shadow.core.pools[0].seatCount < 2 {
			t.Errorf("%+v known of the semantic", sem)
		}
		tm.Version, tm.Rule = 2, observed(strict)
		s.arrive(200, key(1, chat), tm, "a") // the third of three, and perhaps the last of the caller's five
		s.arrive(200, key(1, chat), tm, "b")
		s.arrive(200, key(1, export), tm, "c") // its own rate has it
		s.arrive(200, key(1, export), tm, "d")
		if f := s.core.shadow.core.flows[key(1, chat)]; !f.surging || f.seatCount < 2 {
			t.Errorf("surging %v, %v seat times behind its mean in the shadow", f.surging, f.seatCount)
		}
		for i, want := range tc.band {
			if s.told[i].Band != want {
				t.Errorf("%s: band %v, want %v", s.told[i].Name, s.told[i].Band, want)
			}
		}
		s.tells(tc.told...)
	}
}

func TestSurgesAndReloadsAndTheEndReachTheShadow(t *testing.T) {
	s := newSteps(t, observing(onePool(1, 9)))
	tm := terms(rule(9, time.Second, "standard", time.Minute))
	s.release(100, s.arrive(0, key(9, chat), tm, "")) // chat takes 100 ms
	loose := terms(observed(rule(1, time.Hour, "standard", time.Minute)))
	other := terms(observed(rule(1, time.Hour, "standard", time.Minute)))
	s.arrive(1000, key(1, chat), loose, "a1")
	s.arrive(1000, key(1, chat), loose, "a2")
	s.arrive(1001, key(2, chat), other, "b1")
	s.arrive(1001, key(2, chat), other, "b2")
	s.core.SetSurging(s.now, s.core.flows[key(1, chat)], true)
	s.shadow(1010, 1, 3)
	set := observing(onePool(3, 9))
	set.Levels = []LevelSetup{{Name: "standard"}}
	set.Pools = append(set.Pools, PoolSetup{Name: "new", Seats: 1, MaxWaiting: 1, MaxWaitingBytes: 1000, MaxFlowShare: 1})
	s.to(1020)
	s.core.Apply(s.now, set)
	st := s.core.Stats(s.now, 0).Shadow
	if len(st.Pools) != 2 || st.Pools[0].Seats != 3 || len(st.Levels) != 2 || st.Flows == nil || len(st.Flows) != 0 || st.Shadow != nil {
		t.Fatalf("%+v", st)
	}
	s.shadow(1020, 3, 1)
	s.tells("a1 granted", "b1 granted after 19ms", "b2 granted after 19ms") // the surge comes last
	s.to(1030)
	s.core.Drain(s.now)
	s.to(1030)
	s.tells("a2 draining after 30ms")
	s.arrive(1040, key(3, chat), loose, "late")
	s.tells("late draining")
}

func TestObservingEndsAndBeginsAnew(t *testing.T) {
	s := newSteps(t, observing(onePool(4, 9)))
	tm := pacedAt(1, time.Second)
	a := s.arrive(0, key(1, chat), tm, "a")
	b := s.arrive(0, key(1, chat), tm, "b")
	c := s.arrive(0, key(1, chat), tm, "c")
	s.release(10, c)
	s.to(500)
	s.core.Apply(s.now, onePool(4, 9))
	s.to(500)
	s.tells("a granted", "c draining after 500ms", "b draining after 500ms")
	if s.core.Stats(s.now, 0).Shadow != nil {
		t.Error("there is still a shadow")
	}
	s.release(600, a)
	// A request that an older policy judged comes late: it is served, and nobody tells.
	s.release(700, s.arrive(650, key(1, chat), tm, "d"))
	s.tells()
	s.to(800)
	s.core.Apply(s.now, observing(onePool(4, 9)))
	if s.core.ghostOf(b) != nil {
		t.Error("the ghost of a shadow that is gone is played on")
	}
	s.release(900, b)
	s.shadow(900, 0, 0)
	s.arrive(1000, key(2, chat), tm, "e")
	s.tells("e granted")
	for v := uint64(2); v < 20; v++ {
		s.core.Apply(s.now, observing(onePool(4, 9)))
		next := pacedAt(1, time.Second)
		next.Version = v
		s.arrive(1000+float64(v), key(3, chat), next, "f")
	}
	if n := len(s.core.shadow.rules); n != 1 {
		t.Errorf("%d enforcing copies of rules, of the one that there is", n)
	}
	// Whoever begins to observe while everything ends does not let anybody wait either.
	s.core.Drain(s.now)
	s.core.Apply(s.now, onePool(4, 9))
	s.core.Apply(s.now, observing(onePool(4, 9)))
	s.told, s.core.judged.kept = nil, nil
	s.arrive(2000, key(4, chat), tm, "g")
	s.arrive(2000, key(4, chat), tm, "h")
	s.tells("g granted", "h draining")
}

func TestGhostsFollowFlowsThatAreDroppedAndShared(t *testing.T) {
	set := observing(onePool(4, 9))
	set.MaxFlows, set.MaxTenants = 3, 2
	s := newSteps(t, set)
	tm := terms(observed(rule(10, time.Second, "standard", time.Second)))
	for i := range 200 {
		k := key(int32(i%5), chat)
		k.Tenant = fmt.Sprint("t", i%7)
		s.release(float64(i*50+10), s.arrive(float64(i*50), k, tm, "x"))
	}
	if n, m := len(s.core.flows), len(s.core.shadow.core.flows); n > 3+5 || m > 3+5 {
		t.Errorf("%d flows, %d in the shadow, of at most three and a shared one for each caller", n, m)
	}
	if len(s.told) != 200 {
		t.Errorf("%d told", len(s.told))
	}
	s.to(3_600_000)
	s.core.Tidy(s.now, 100)
	if n, m := len(s.core.flows), len(s.core.shadow.core.flows); n+m != 0 {
		t.Errorf("%d flows and %d in the shadow after an hour without work", n, m)
	}
}
