package scheduler

import (
	"fmt"
	"testing"
	"time"

	"tidegate/pools"
)

// hand drives a Core by hand: the simulation without sources, with service times given by the test.
type hand struct {
	*simulation
}

func byHand(t *testing.T, s Setup) *hand { return &hand{newSimulation(t, s)} }

// source adds a flow whose work takes a fixed time; arrivals are made by sends.
func (h *hand) source(name string, k Key, tm Terms, service time.Duration) *source {
	return h.add(&source{name: name, key: k, terms: tm, service: constant(service)})
}

// sends lets n items of a source arrive at a moment.
func (h *hand) sends(src *source, at time.Duration, n int) {
	h.at(at, func() {
		for range n {
			h.arrive(src)
		}
	})
}

// warm teaches the core how long a source's work takes, before the time that the test counts from.
func (h *hand) warm(srcs ...*source) {
	for _, src := range srcs {
		f := h.core.Meter(h.now, src.key, src.terms)
		seat := src.service().Seconds()
		for range 50 {
			h.core.learn(f, f.place.pool, Committed, seat)
		}
		h.core.Unpin(f)
	}
}

func wantGrants(t *testing.T, src *source, want ...time.Duration) {
	t.Helper()
	if fmt.Sprint(src.grants) != fmt.Sprint(want) {
		t.Errorf("%s dispatched at %v, want %v", src.name, src.grants, want)
	}
}

func TestFiveArrivalsAtTwoASecond(t *testing.T) {
	ms := time.Millisecond
	cases := []struct {
		over    OverRate
		surging bool
		want    []time.Duration
		refused int
	}{
		{OverQueue, false, []time.Duration{0, 0, 0, 0, 400 * ms}, 0},
		{OverPace, false, []time.Duration{0, 0, 1000 * ms, 1500 * ms, 2000 * ms}, 0},
		{OverReject, false, []time.Duration{0, 0}, 3},
		{OverQueue, true, []time.Duration{0, 0, 0, 0, 400 * ms}, 0},
	}
	for _, tc := range cases {
		h := byHand(t, onePool(4, 2))
		r := rule(2, time.Second, "standard", 5*time.Second)
		r.OverRate = tc.over
		src := h.source("flow", key(1, chat), terms(r), 400*time.Millisecond)
		h.warm(src)
		src.surging = tc.surging
		h.sends(src, 0, 5)
		h.run(5 * time.Second)
		wantGrants(t, src, tc.want...)
		if src.allRefused() != tc.refused {
			t.Errorf("over_rate %d: %v refused, want %d", tc.over, src.refused, tc.refused)
		}
	}
}

func TestSurgeComesAfterEveryExcess(t *testing.T) {
	h := byHand(t, onePool(1, 3))
	r := rule(1, time.Second, "standard", 5*time.Second)
	hog := h.source("hog", key(1, chat), terms(r), 100*time.Millisecond)
	hog.surging = true
	other := h.source("other", key(2, chat), terms(r), 100*time.Millisecond)
	h.warm(hog, other)
	h.sends(hog, 0, 4) // one paid and running, three surge
	h.sends(other, 10*time.Millisecond, 3)
	h.run(900 * time.Millisecond)
	// other: one paid, two excess; all before hog's surge.
	wantGrants(t, other, 100*time.Millisecond, 200*time.Millisecond, 300*time.Millisecond)
	wantGrants(t, hog, 0, 400*time.Millisecond, 500*time.Millisecond, 600*time.Millisecond)
}

func TestPaymentWakesASurgingFlowWithoutAnyOtherEvent(t *testing.T) {
	// 33 of 64 seats hold streams; the one unpaid item of a surging flow may not pass the surge
	// ceiling, until its rate pays for it, and nothing else happens.
	h := byHand(t, onePool(64, 10))
	streams := h.source("streams", key(1, stream), terms(rule(100, time.Second, "standard", time.Minute)), 30*time.Second)
	r := rule(20, time.Second, "batch", time.Minute)
	r.Limit.Burst = 1
	spider := h.source("spider", key(2, export), terms(r), 200*time.Millisecond)
	quickies := h.source("chat", key(3, chat), terms(rule(100, time.Second, "realtime", time.Second)), 20*time.Millisecond)
	h.warm(quickies, spider)
	h.core.pools[0].seatMean = 0.02
	spider.surging = true
	h.sends(streams, 0, 33)         // nothing of them has settled: paid, they count as not long
	h.sends(spider, time.Second, 2) // the bucket has one
	h.run(2 * time.Second)
	if streams.granted != 33 {
		t.Fatalf("%d streams run, want 33", streams.granted)
	}
	wantGrants(t, spider, time.Second, time.Second+50*time.Millisecond)
}

func TestSlowExcessNeverGetsSoFar(t *testing.T) {
	// 64 unpaid streams of thirty seconds arrive at an idle pool, then 40 paid chats: all at once.
	h := byHand(t, onePool(64, 10))
	r := rule(1, time.Second, "standard", 20*time.Second)
	streams := h.source("streams", key(1, stream), terms(r), 30*time.Second)
	chats := h.source("chat", key(2, chat), terms(rule(100, time.Second, "realtime", time.Second)), 20*time.Millisecond)
	h.warm(chats)
	h.sends(streams, 0, 64)
	h.sends(chats, time.Second, 40)
	h.run(3 * time.Second)
	if chats.atOnce != 40 {
		t.Errorf("%d of 40 chats went at once", chats.atOnce)
	}
	// Of unknown seat time: unpaid long work, at most a quarter of the seats, and the four paid ones.
	if streams.granted > 16+4 {
		t.Errorf("%d unpaid streams got a seat", streams.granted)
	}
}

func TestLongWorkHoldsAtMostItsCeiling(t *testing.T) {
	h := byHand(t, onePool(64, 10))
	streams := h.source("streams", key(1, stream), terms(rule(100, time.Second, "standard", time.Minute)), 30*time.Second)
	chats := h.source("chat", key(2, chat), terms(rule(100, time.Second, "realtime", time.Second)), 20*time.Millisecond)
	h.warm(streams)
	h.warm(chats, chats, chats, chats, chats, chats, chats, chats, chats, chats, chats, chats, chats, chats, chats, chats)
	h.sends(streams, 0, 60)
	h.run(time.Second)
	if streams.granted != 32 {
		t.Errorf("%d paid streams hold seats, want half of 64", streams.granted)
	}
}

func TestAnItemLongInFlightCountsAsLongWhateverItsFlow(t *testing.T) {
	h := byHand(t, onePool(8, 10)) // long from 40 ms x ... here: over 5 ms x 8 and ten times 20 ms
	chats := h.source("chat", key(2, chat), terms(rule(1000, time.Second, "realtime", time.Second)), 20*time.Millisecond)
	h.warm(chats)
	stuck := h.source("stuck", key(2, chat), chats.terms, 10*time.Second)
	h.sends(chats, 0, 1)
	h.at(time.Millisecond, func() {
		f := h.core.Meter(h.now, chats.key, chats.terms)
		f.Data.Store(stuck)
		h.arrive(stuck)
		f.Data.Store(chats)
	})
	h.sends(chats, time.Second, 1)
	h.run(1100 * time.Millisecond)
	if p := h.core.pools[0]; p.long != 1 {
		t.Errorf("%d long items, want the stuck one", p.long)
	}
}

func TestAPoolWithOneCallerHasNoExcessCeiling(t *testing.T) {
	h := byHand(t, onePool(10, 1))
	src := h.source("only", key(1, export), terms(rule(1, time.Second, "batch", time.Minute)), 300*time.Millisecond)
	h.warm(src)
	h.core.pools[0].seatMean = 0.12 // its work is slow beside committed work, and not long
	h.sends(src, 0, 10)
	h.run(100 * time.Millisecond)
	if src.granted != 10 {
		t.Errorf("%d of 10 seats used by the only caller", src.granted)
	}
}

func TestSlowExcessStaysWithinItsCeiling(t *testing.T) {
	h := byHand(t, onePool(10, 3))
	src := h.source("slow", key(1, export), terms(rule(1, time.Second, "batch", time.Minute)), 300*time.Millisecond)
	h.warm(src)
	h.core.pools[0].seatMean = 0.12
	h.sends(src, 0, 20)
	h.at(10*time.Millisecond, func() {
		if src.busy != 8 {
			t.Errorf("%d seats of 10, want 8: floor(0.8 x 10)", src.busy)
		}
		src.surging = true
		h.core.SetSurging(h.now, h.core.flows[src.key], true)
	})
	h.run(305 * time.Millisecond)
	if src.busy != 5 {
		t.Errorf("surging: %d seats of 10, want 5: floor(0.5 x 10)", src.busy)
	}
	h.core.SetSurging(h.now, h.core.flows[src.key], false)
	h.decided()
	if src.busy != 8 {
		t.Errorf("calm again: %d seats of 10, want 8 at once", src.busy)
	}
}

func TestFiftyArrivalsInOneMillisecondTakeTenSeats(t *testing.T) {
	h := byHand(t, onePool(10, 3))
	src := h.source("chat", key(1, chat), terms(rule(100, time.Second, "realtime", time.Second)), 20*time.Millisecond)
	h.warm(src)
	h.sends(src, 0, 50)
	h.run(time.Millisecond)
	if src.granted != 10 || h.peak["shared"] != 10 {
		t.Errorf("%d dispatched, %d in use at most; want 10 and 10", src.granted, h.peak["shared"])
	}
}

func TestThreeLimitsAndTheThirdRefuses(t *testing.T) {
	// Flow rate and caller rate have it, the queue has not: both stay as they were.
	set := onePool(1, 2)
	set.Pools[0].MaxWaiting = 0
	h := byHand(t, set)
	tm := terms(rule(5, time.Second, "realtime", time.Second))
	tm.CallerRate = &pools.Limit{N: 7, Per: time.Second}
	src := h.source("a", key(1, chat), tm, time.Second)
	h.sends(src, 0, 3)
	h.run(10 * time.Millisecond)
	f := h.core.flows[src.key]
	if src.refused[QueueFull] != 2 {
		t.Fatalf("refused %v", src.refused)
	}
	if left := f.meter.Remaining(h.now); left != 4 {
		t.Errorf("flow: %d left, want 4", left)
	}
	if left := f.caller.meter.Remaining(h.now); left != 6 {
		t.Errorf("caller: %d left, want 6", left)
	}
}

func TestWhatTheCallersRateRefusesTheFlowKeeps(t *testing.T) {
	h := byHand(t, onePool(10, 2))
	r := rule(5, time.Second, "realtime", time.Second)
	r.OverRate = OverReject
	tm := terms(r)
	tm.CallerRate = &pools.Limit{N: 3, Per: time.Second}
	src := h.source("a", key(1, chat), tm, time.Second)
	h.sends(src, 0, 6)
	h.run(10 * time.Millisecond)
	f := h.core.flows[src.key]
	if src.granted != 3 || src.refused[RateExceeded] != 3 {
		t.Fatalf("granted %d, refused %v", src.granted, src.refused)
	}
	if flow, all := f.meter.Remaining(h.now), f.caller.meter.Remaining(h.now); flow != 2 || all != 0 {
		t.Errorf("%d of the flow's rate and %d of the caller's are left, want 2 and 0", flow, all)
	}
	// What is told is what both can pay, and when.
	if q := h.core.Quota(h.now, f); q.Limit != 5 || q.Remaining != 0 || q.Reset != 990*time.Millisecond {
		t.Errorf("%+v, want nothing left until the caller's rate has more", q)
	}
}

func TestCostAboveWhatIsLeftTakesNothing(t *testing.T) {
	h := byHand(t, onePool(10, 2))
	five := rule(8, time.Minute, "realtime", time.Second)
	five.Cost, five.OverRate = 5, OverReject
	src := h.source("a", key(1, chat), terms(five), time.Millisecond)
	h.sends(src, 0, 2)
	h.run(time.Second)
	f := h.core.flows[src.key]
	if src.granted != 1 || src.refused[RateExceeded] != 1 || f.meter.Remaining(h.now) != 3 {
		t.Fatalf("granted %d, refused %v, left %d; want 1, 1 and 3", src.granted, src.refused, f.meter.Remaining(h.now))
	}
	if back := src.back[0]; back < 59*time.Second || back > time.Minute {
		t.Errorf("come back in %v, want about a minute: when the rate has the cost", back)
	}
	three := *five
	three.Cost = 3
	src.terms.Rule = &three
	h.sends(src, time.Second, 1)
	h.run(2 * time.Second)
	if src.granted != 2 || f.meter.Remaining(h.now) != 0 {
		t.Errorf("a cost of exactly what is left: granted %d, left %d", src.granted, f.meter.Remaining(h.now))
	}
}

func TestWhatWasPaidComesBack(t *testing.T) {
	for _, how := range []string{"hang-up", "expiry", "displacement"} {
		set := onePool(1, 5)
		set.Pools[0].MaxWaiting = 1
		set.Pools[0].MaxFlowShare = 1
		h := byHand(t, set)
		tm := terms(rule(10, time.Minute, "batch", 500*time.Millisecond))
		blocker := h.source("blocker", key(1, export), terms(rule(10, time.Minute, "batch", time.Second)), 10*time.Second)
		src := h.source("a", key(2, export), tm, time.Second)
		better := h.source("better", key(3, chat), terms(rule(10, time.Minute, "realtime", time.Second)), time.Second)
		h.sends(blocker, 0, 1)
		var it *Item
		h.at(time.Millisecond, func() { it = h.arrive(src) })
		h.run(10 * time.Millisecond)
		f := h.core.flows[src.key]
		if it.Verdict != Waiting || !it.Paid || f.meter.Remaining(h.now) != 9 {
			t.Fatalf("%s: %v, paid %v, left %d", how, it.Verdict, it.Paid, f.meter.Remaining(h.now))
		}
		var want Verdict
		switch how {
		case "hang-up":
			want = Gone
			h.core.Cancel(h.now, it)
			h.decided()
		case "expiry":
			want = WaitExpired
			h.run(time.Second)
		case "displacement":
			want = Displaced
			h.arrive(better)
		}
		if it.Verdict != want || f.meter.Remaining(h.now) != 10 {
			t.Errorf("%s: %v, left %d; want %v and all 10", how, it.Verdict, f.meter.Remaining(h.now), want)
		}
		if broken := it.Breach(); broken != (how != "hang-up") {
			t.Errorf("%s: promise broken %v", how, broken)
		}
	}
}

func TestABurstIsNotRepeated(t *testing.T) {
	// "20/60s" with work always waiting: 20 at once, and from then on one each three seconds.
	h := byHand(t, onePool(10, 2))
	r := rule(20, time.Minute, "batch", time.Hour)
	r.OverRate = OverPace
	src := h.source("a", key(1, export), terms(r), time.Millisecond)
	h.sends(src, 0, 200)
	h.run(5 * time.Minute)
	g := src.grants
	if len(g) < 20+78 {
		t.Fatalf("%d dispatched in five minutes", len(g))
	}
	for i := 21; i < len(g); i++ {
		if gap := g[i] - g[i-1]; gap < 1500*time.Millisecond {
			t.Fatalf("payments %d and %d are %v apart, want at least 1.5s", i-1, i, gap)
		}
	}
	for i := 20; i < len(g); i++ {
		if g[i]-g[i-20] < time.Minute {
			t.Fatalf("21 payments within %v", g[i]-g[i-20])
		}
	}
}

func TestALateWakeUpPaysALittleAndTheScheduleHolds(t *testing.T) {
	h := byHand(t, onePool(500, 2))
	r := rule(100, time.Second, "batch", time.Hour) // a step of 10 ms
	r.OverRate = OverPace
	src := h.source("a", key(1, export), terms(r), time.Microsecond)
	h.sends(src, 0, 400)
	h.run(1500 * time.Millisecond)
	before := src.granted
	// Nobody looks for 200 ms: twenty steps fall due. At most one step and what is due now are paid.
	h.now = t0.Add(1700 * time.Millisecond)
	h.core.Advance(h.now)
	h.decided()
	if n := src.granted - before; n < 1 || n > 2 {
		t.Errorf("%d paid by a wake-up 200 ms late, want one or two", n)
	}
}
