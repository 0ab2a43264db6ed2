package scheduler

import (
	"fmt"
	"testing"
	"time"

	"tidegate/pools"
)

// What observing does to the requests themselves: nothing, but for the seats.

// observed makes a rule only observe, in a setup that knows it.
func observed(r *Rule) *Rule {
	o := *r
	o.Observe = true
	return &o
}

func observing(s Setup) Setup {
	s.Observe = true
	return s
}

func TestNothingHoldsObservedWorkBackButSeats(t *testing.T) {
	const ms = time.Millisecond
	cases := []struct {
		name string
		rule func(r *Rule)
		pool func(p *PoolSetup)
	}{
		{"over its rate", func(*Rule) {}, nil},
		{"refused over its rate", func(r *Rule) { r.OverRate = OverReject }, nil},
		{"paced", func(r *Rule) { r.OverRate = OverPace }, nil},
		{"as many in flight as it may", func(r *Rule) { r.MaxInFlight = 1 }, nil},
		{"refused when that many are in flight", func(r *Rule) { r.MaxInFlight, r.RejectInFlight = 1, true }, nil},
		{"may not wait", func(r *Rule) { r.MaxWait = 0 }, nil},
		{"may hardly wait", func(r *Rule) { r.MaxWait = ms }, nil},
		{"nobody may wait", func(*Rule) {}, func(p *PoolSetup) { p.MaxWaiting = 0 }},
		{"no memory for who waits", func(*Rule) {}, func(p *PoolSetup) { p.MaxWaitingBytes = 1 }},
		{"no share of the queue", func(*Rule) {}, func(p *PoolSetup) { p.MaxFlowShare = 0 }},
		{"ceilings", func(*Rule) {}, func(p *PoolSetup) { p.ExcessCeiling, p.SurgeCeiling, p.LongCeiling = .1, .1, .1 }},
	}
	for _, tc := range cases {
		for _, surging := range []bool{false, true} {
			set := observing(onePool(4, 2))
			if tc.pool != nil {
				tc.pool(&set.Pools[0])
			}
			h := byHand(t, set)
			r := observed(rule(1, time.Minute, "standard", time.Minute))
			tc.rule(r)
			src := h.source("flow", key(1, chat), terms(r), 100*ms)
			src.surging = surging
			h.warm(src)
			h.core.pools[0].seatMean = .001 // its work is long beside that
			h.sends(src, 0, 10)
			h.run(2 * time.Minute)
			wantGrants(t, src, 0, 0, 0, 0, 100*ms, 100*ms, 100*ms, 100*ms, 200*ms, 200*ms)
			if src.allRefused() > 0 || len(src.would) != 10 {
				t.Errorf("%s: refused %v, %d told", tc.name, src.refused, len(src.would))
			}
		}
	}
}

func TestARequestsOwnWaitHoldsWhileObserved(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		own, waited time.Duration
		want        Verdict
	}{
		{0, 0, WaitTooLong},
		{99 * ms, 99 * ms, WaitExpired},
		{101 * ms, 100 * ms, Granted},
	} {
		h := byHand(t, observing(onePool(1, 2)))
		src := h.source("flow", key(1, chat), terms(observed(rule(9, time.Second, "standard", time.Minute))), 100*ms)
		h.sends(src, 0, 1)
		var it *Item
		h.at(0, func() {
			f := h.core.Meter(h.now, src.key, src.terms)
			it = &Item{Flow: f, MaxWait: tc.own, OwnWait: true}
			h.core.Arrive(h.now, it)
			if it.Verdict != Waiting {
				h.settle(it)
			}
		})
		h.run(time.Second)
		if it.Verdict != tc.want || it.Waited != tc.waited || it.Breach() {
			t.Errorf("own wait %v: %v after %v, breach %v; want %v after %v", tc.own, it.Verdict, it.Waited, it.Breach(), tc.want, tc.waited)
		}
		if len(src.would) != 2 || src.would[1].Verdict != tc.want || src.would[1].Wait != tc.waited {
			t.Errorf("own wait %v: told %+v", tc.own, src.would)
		}
		if left := h.core.flows[src.key].meter.Remaining(t0.Add(500 * ms)); tc.want != Granted && left != 8 {
			t.Errorf("own wait %v: %d left, want 8: what was paid for it came back", tc.own, left)
		}
	}
}

func TestShuttingDownEndsWhatIsObserved(t *testing.T) {
	h := byHand(t, observing(onePool(1, 2)))
	src := h.source("flow", key(1, chat), terms(observed(rule(1, time.Second, "standard", time.Minute))), 100*time.Millisecond)
	h.sends(src, 0, 3)
	h.at(10*time.Millisecond, func() { h.core.Drain(h.now); h.decided() })
	h.sends(src, 20*time.Millisecond, 1)
	h.sends(src, 200*time.Millisecond, 1)
	h.run(time.Second)
	wantGrants(t, src, 0, 200*time.Millisecond)
	if src.refused[Draining] != 3 || src.breaches > 0 {
		t.Errorf("refused %v, %d breaches; want 3 that were told of the end", src.refused, src.breaches)
	}
	if got := tally(src.would); got["draining"] != 3 || got["passed"] != 2 {
		t.Errorf("told %v", got)
	}
}

func TestObservedWorkStandsInTheOrderOfCommittedWork(t *testing.T) {
	const ms = time.Millisecond
	h := byHand(t, observing(onePool(1, 9)))
	blocker := h.source("blocker", key(9, chat), terms(rule(9, time.Second, "batch", time.Minute)), 100*ms)
	high := h.source("high", key(1, chat), terms(observed(rule(1, time.Minute, "realtime", time.Minute))), 100*ms)
	low := h.source("low", key(2, chat), terms(observed(rule(1, time.Minute, "batch", time.Minute))), 100*ms)
	paid := h.source("paid", key(3, chat), terms(rule(9, time.Second, "standard", time.Minute)), 100*ms)
	excess := h.source("excess", key(4, chat), terms(rule(1, time.Minute, "realtime", time.Minute)), 100*ms)
	h.warm(blocker)
	h.sends(blocker, 0, 1)
	h.sends(excess, 10*ms, 3) // one of them paid
	h.sends(low, 20*ms, 2)    // one of them paid
	h.sends(paid, 30*ms, 1)
	h.sends(high, 40*ms, 2) // one of them paid
	h.run(2 * time.Second)
	wantGrants(t, excess, 100*ms, 700*ms, 800*ms)
	wantGrants(t, high, 200*ms, 300*ms)
	wantGrants(t, paid, 400*ms)
	wantGrants(t, low, 500*ms, 600*ms)
}

func TestBoundsCountWhatIsEnforced(t *testing.T) {
	for _, bound := range []func(*PoolSetup){
		func(p *PoolSetup) { p.MaxWaiting = 2 },
		func(p *PoolSetup) { p.MaxWaitingBytes = 2000 },
	} {
		set := observing(onePool(1, 9))
		set.Pools[0].MaxFlowShare = 1
		bound(&set.Pools[0])
		boundsCountWhatIsEnforced(t, set)
	}
}

func boundsCountWhatIsEnforced(t *testing.T, set Setup) {
	h := byHand(t, set)
	blocker := h.source("blocker", key(9, chat), terms(rule(9, time.Second, "batch", time.Minute)), 10*time.Second)
	free := h.source("observed", key(1, export), terms(observed(rule(1, time.Minute, "batch", time.Minute))), time.Second)
	same := h.source("the same caller's", key(1, chat), terms(rule(9, time.Second, "batch", time.Minute)), time.Second)
	low := h.source("low", key(2, chat), terms(rule(9, time.Second, "batch", time.Minute)), time.Second)
	high := h.source("high", key(3, chat), terms(rule(9, time.Second, "realtime", time.Minute)), time.Second)
	ms := time.Millisecond
	h.sends(blocker, 0, 1)
	h.sends(free, 1*ms, 20)
	h.sends(same, 2*ms, 1)
	h.sends(free, 3*ms, 20)
	h.sends(low, 4*ms, 2)  // there is room for one
	h.sends(high, 5*ms, 1) // takes the place of one
	h.sends(free, 6*ms, 1)
	h.sends(high, 7*ms, 1) // takes the place of the other
	h.sends(high, 8*ms, 1) // all that may give way is gone
	h.run(50 * ms)
	if n := len(low.would) + len(high.would) + len(same.would); n > 0 {
		t.Errorf("%d told of what is enforced", n)
	}
	if low.refused[QueueFull] != 1 || low.refused[Displaced]+same.refused[Displaced] != 2 || high.refused[QueueFull] != 1 {
		t.Errorf("refused: low %v, same %v, high %v", low.refused, same.refused, high.refused)
	}
	if p := h.core.pools[0]; free.allRefused() != 0 || p.observed != 41 || p.waiting != 43 {
		t.Errorf("observed: refused %v, %d wait of %d", free.refused, p.observed, p.waiting)
	}
}

func TestWhatObservingTookInStaysObserved(t *testing.T) {
	const ms = time.Millisecond
	h := byHand(t, observing(onePool(2, 3)))
	loose := observed(rule(1, time.Minute, "standard", 50*ms))
	src := h.source("flow", key(1, chat), terms(loose), 100*ms)
	h.sends(src, 0, 6)
	h.at(10*ms, func() {
		// Enforced from now on, by a rule under which next to nothing may go.
		h.core.Apply(h.now, onePool(2, 3))
		tight := rule(1, time.Minute, "standard", time.Second)
		tight.OverRate, tight.MaxInFlight = OverPace, 1
		src.terms = Terms{Version: 2, Rule: tight, Pool: "shared", Weight: 1}
		h.arrive(src)
	})
	h.run(2 * time.Minute)
	wantGrants(t, src, 0, 0, 100*ms, 100*ms, 200*ms, 200*ms)
	if src.allRefused() != 1 || src.refused[WaitTooLong] != 1 {
		t.Errorf("refused %v, want the one that a minute of pace would have held", src.refused)
	}
	if got := tally(src.would); len(src.would) != 6 {
		t.Errorf("told %v, want all six that were observed", got)
	}
}

func TestWhatEnforcingHeldDoesNotHoldObservedWork(t *testing.T) {
	const ms = time.Millisecond
	h := byHand(t, onePool(4, 3))
	narrow := rule(10, time.Second, "standard", time.Minute)
	narrow.MaxInFlight = 1
	src := h.source("flow", key(1, chat), terms(narrow), 100*ms)
	h.sends(src, 0, 3)
	h.at(10*ms, func() {
		h.core.Apply(h.now, observing(onePool(4, 3)))
		src.terms = Terms{Version: 2, Rule: observed(narrow), Pool: "shared", Weight: 1}
	})
	h.sends(src, 20*ms, 3) // three seats are free
	h.run(time.Second)
	// Those that wait for their turn get it one by one, as the rule that took them in says.
	wantGrants(t, src, 0, 20*ms, 20*ms, 20*ms, 120*ms, 220*ms)
}

func TestAFlowThatStandsAsideLetsItsObservedWorkGo(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name          string
		first, second time.Duration // seat times of others, who hold both seats at first
		enforced      int           // of them one is in flight at a time
		want          []time.Duration
	}{
		// It stands aside already when the observed item comes to wait, and when a seat is free.
		{"before", 0, 50 * ms, 2, []time.Duration{0, 50 * ms, 150 * ms}},
		// It comes to stand aside while the observed item waits.
		{"meanwhile", 50 * ms, 60 * ms, 2, []time.Duration{50 * ms, 60 * ms, 160 * ms}},
	} {
		h := byHand(t, onePool(2, 3))
		narrow := rule(10, time.Second, "standard", time.Minute)
		narrow.MaxInFlight = 1
		src := h.source("flow", key(1, chat), terms(narrow), 100*ms)
		for i, held := range []time.Duration{tc.first, tc.second} {
			if held > 0 {
				h.sends(h.source(fmt.Sprint("other-", i), key(int32(2+i), chat), terms(rule(10, time.Second, "standard", time.Minute)), held), 0, 1)
			}
		}
		h.sends(src, 0, tc.enforced)
		h.at(10*ms, func() {
			h.core.Apply(h.now, observing(onePool(2, 3)))
			src.terms = Terms{Version: 2, Rule: observed(narrow), Pool: "shared", Weight: 1}
		})
		h.sends(src, 20*ms, 1)
		h.run(time.Second)
		if fmt.Sprint(src.grants) != fmt.Sprint(tc.want) {
			t.Errorf("%s: dispatched at %v, want %v", tc.name, src.grants, tc.want)
		}
	}
}

func TestOlderObservedWorkDoesNotLiftWhatItsFlowMayHaveInFlight(t *testing.T) {
	const ms = time.Millisecond
	h := byHand(t, observing(onePool(2, 3)))
	narrow := rule(10, time.Second, "standard", time.Minute)
	narrow.MaxInFlight = 1
	src := h.source("flow", key(1, chat), terms(observed(narrow)), 100*ms)
	h.sends(src, 0, 3)
	h.at(10*ms, func() {
		h.core.Apply(h.now, onePool(2, 3))
		src.terms = Terms{Version: 2, Rule: narrow, Pool: "shared", Weight: 1}
	})
	h.sends(src, 20*ms, 2)
	h.run(time.Second)
	wantGrants(t, src, 0, 0, 100*ms, 200*ms, 300*ms)
}

func TestObservedLongWorkWaitsForNothingButASeat(t *testing.T) {
	// Enforced streams have all that long work may hold, and every other seat is taken.
	h := byHand(t, observing(onePool(4, 9)))
	chats := h.source("chat", key(1, chat), terms(rule(100, time.Second, "realtime", time.Second)), 20*time.Millisecond)
	paid := h.source("paid", key(2, stream), terms(rule(100, time.Second, "batch", time.Minute)), 30*time.Second)
	free := h.source("observed", key(3, stream), terms(observed(rule(1, time.Hour, "batch", time.Minute))), 30*time.Second)
	h.warm(chats, paid)
	h.core.pools[0].seatMean = .02
	h.sends(paid, 0, 3)
	h.sends(chats, time.Second, 2)
	h.sends(free, time.Second, 2)
	h.run(2 * time.Second)
	if paid.busy != 2 {
		t.Fatalf("%d enforced streams hold seats, want half of the four", paid.busy)
	}
	wantGrants(t, free, 1020*time.Millisecond, 1020*time.Millisecond)
}

func TestEnforcingBeginsWithWhatObservingPaid(t *testing.T) {
	c := NewCore(t0, observing(onePool(10, 3)))
	tight := rule(5, time.Minute, "standard", time.Second)
	tight.OverRate = OverReject
	tm := terms(observed(tight))
	for range 8 {
		it := &Item{Flow: c.Meter(t0, key(1, chat), tm), MaxWait: time.Second}
		c.Arrive(t0, it)
		if it.Verdict != Granted || it.Band != Committed {
			t.Fatalf("%v, band %v", it.Verdict, it.Band)
		}
		c.Release(it, t0)
		c.Unpin(it.Flow)
	}
	tm = Terms{Version: 2, Rule: tight, Pool: "shared", Weight: 1}
	it := &Item{Flow: c.Meter(t0.Add(time.Second), key(1, chat), tm), MaxWait: time.Second}
	c.Arrive(t0.Add(time.Second), it)
	if it.Verdict != RateExceeded || it.Back != 59*time.Second {
		t.Errorf("%v, back in %v; the five of this minute are paid", it.Verdict, it.Back)
	}
}

func TestObservedFloodDoesNotTeachWhatIsUsual(t *testing.T) {
	h := byHand(t, observing(onePool(10, 3)))
	chats := h.source("chat", key(1, chat), terms(rule(100, time.Second, "realtime", time.Second)), 20*time.Millisecond)
	h.warm(chats)
	flood := h.source("flood", key(2, export), terms(observed(rule(3, time.Hour, "batch", time.Minute))), time.Second)
	before := h.core.pools[0].seatMean
	h.sends(flood, 0, 3)
	h.run(2 * time.Second)
	paid := h.core.pools[0].seatMean
	if paid <= before {
		t.Errorf("usual is %v s after three that the rate had paid, before it was %v", paid, before)
	}
	h.sends(flood, 3*time.Second, 50)
	h.run(20 * time.Second)
	if now := h.core.pools[0].seatMean; now != paid {
		t.Errorf("usual became %v s by work that no rate had paid, before it was %v", now, paid)
	}
}

func TestEnforcedLongWorkBesideObservedLongWork(t *testing.T) {
	h := byHand(t, observing(onePool(20, 9)))
	chats := h.source("chat", key(1, chat), terms(rule(100, time.Second, "realtime", time.Second)), 20*time.Millisecond)
	flood := h.source("flood", key(2, stream), terms(observed(rule(1, time.Hour, "batch", time.Minute))), 30*time.Second)
	paid := h.source("paid", key(3, stream), terms(rule(100, time.Second, "batch", time.Minute)), 30*time.Second)
	unpaid := h.source("unpaid", key(4, stream), terms(rule(1, time.Hour, "batch", time.Minute)), 30*time.Second)
	h.warm(chats, flood)
	h.core.pools[0].seatMean = .02
	h.sends(flood, 0, 12)
	h.sends(paid, time.Second, 12)
	h.sends(unpaid, 2*time.Second, 2)
	h.run(10 * time.Second)
	if flood.busy != 12 || paid.busy != 8 {
		t.Errorf("%d observed and %d paid hold seats, want 12 and the 8 that were left, of the 10 that long work may have", flood.busy, paid.busy)
	}
	h.run(20 * time.Second)
	h2 := byHand(t, observing(onePool(20, 9)))
	flood, unpaid = h2.add(&source{name: "flood", key: flood.key, terms: flood.terms, service: flood.service}), h2.add(&source{name: "unpaid", key: unpaid.key, terms: unpaid.terms, service: unpaid.service})
	h2.warm(flood, unpaid)
	h2.core.pools[0].seatMean = .02
	h2.sends(flood, 0, 10)
	h2.sends(unpaid, time.Second, 3)
	h2.run(10 * time.Second)
	if unpaid.busy != 1 {
		t.Errorf("%d of the caller over its rate hold seats, want the paid one: half of the seats hold long work already", unpaid.busy)
	}
}

func TestAFullQueueIsNoReasonToTurnObservedWorkAway(t *testing.T) {
	set := observing(onePool(1, 3))
	set.Pools[0].MaxWaiting = 0
	c := NewCore(t0, set)
	tm := terms(observed(rule(1, time.Second, "standard", time.Second)))
	first := &Item{Flow: c.Meter(t0, key(1, chat), tm)}
	c.Arrive(t0, first)
	it := &Item{Flow: c.Meter(t0, key(1, chat), tm)}
	if c.Full(t0, it) {
		t.Error("the pool is full for an item that may wait for ever")
	}
}

func TestObservedPaymentsComeFromTheCallersRateToo(t *testing.T) {
	c := NewCore(t0, observing(onePool(10, 3)))
	tm := terms(observed(rule(5, time.Second, "standard", time.Second)))
	tm.CallerRate = &pools.Limit{N: 3, Per: time.Second}
	var onTime int
	for range 5 {
		it := &Item{Flow: c.Meter(t0, key(1, chat), tm)}
		c.Arrive(t0, it)
		if it.OnTime {
			onTime++
		}
	}
	if q := c.Quota(t0, c.flows[key(1, chat)]); onTime != 3 || q.Remaining != 0 {
		t.Errorf("%d paid, %d left; the caller's rate has three", onTime, q.Remaining)
	}
}
