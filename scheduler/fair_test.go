package scheduler

import (
	"fmt"
	"testing"
	"time"
)

func TestBatchIsServedUnderEndlessRealtimeLoad(t *testing.T) {
	s := newSimulation(t, onePool(10, 5))
	s.add(&source{
		name: "endless", key: key(1, chat), terms: terms(rule(2000, time.Second, "realtime", 2*time.Second)),
		gap: s.poisson(600), service: constant(20 * time.Millisecond), to: 30 * time.Second,
	})
	batch := &source{name: "batch", key: key(2, export), terms: terms(rule(10, time.Second, "batch", time.Minute)), service: constant(100 * time.Millisecond)}
	s.add(batch)
	s.at(5*time.Second, func() { s.arrive(batch) })
	s.run(40 * time.Second)
	if batch.granted != 1 || batch.waits[0] > 500*time.Millisecond {
		t.Errorf("%v: one item of a level promised 5 %% waits at most for its share to come round", batch)
	}
}

func TestACallerWithOneItemDoesNotWaitBehindTenThousand(t *testing.T) {
	set := onePool(1, 3)
	set.Pools[0].MaxFlowShare = 1
	h := byHand(t, set)
	a := h.source("a", key(1, chat), terms(rule(100000, time.Second, "standard", time.Hour)), 10*time.Millisecond)
	b := h.source("b", key(2, chat), terms(rule(100, time.Second, "standard", time.Hour)), 10*time.Millisecond)
	h.warm(a, b)
	h.sends(a, 0, 10000)
	h.sends(b, 95*time.Millisecond, 1)
	h.run(time.Second)
	if len(b.grants) != 1 || b.waits[0] > 20*time.Millisecond {
		t.Errorf("b waited %v, want at most one turn of a", b.waits)
	}
}

func TestSlowFlowAmongQuickOnesNeitherBlocksNorStarves(t *testing.T) {
	s := newSimulation(t, onePool(10, 30))
	var small []*source
	for i := range int32(20) {
		small = append(small, s.add(&source{
			name: fmt.Sprint("small-", i), key: key(i, chat), terms: terms(rule(100, time.Second, "standard", 10*time.Second)),
			gap: s.poisson(40), service: constant(8 * time.Millisecond), to: 30 * time.Second,
		}))
	}
	big := s.add(&source{
		name: "big", key: key(100, export), terms: terms(rule(100, time.Second, "standard", 10*time.Second)),
		gap: s.poisson(8), service: constant(400 * time.Millisecond), to: 30 * time.Second,
	})
	s.run(45 * time.Second)
	all := sum("small", small...)
	t.Log(all)
	t.Log(big)
	if all.allRefused() != 0 || quantile(all.waits, .99) > 450*time.Millisecond {
		t.Errorf("small: refused %v, p99 %v; a slow item may be one seat time late for them", all.refused, quantile(all.waits, .99))
	}
	// 20 x 40/s of 8 ms are 6.4 of ten seats: 3.6 are left, which carry 9/s of the slow ones.
	if big.granted < 180 {
		t.Errorf("big: %v", big)
	}
}

func TestCostOfFiftyAmongCostsOfOne(t *testing.T) {
	h := byHand(t, onePool(100, 3))
	one := rule(100, time.Second, "standard", 10*time.Second)
	one.OverRate = OverPace
	fifty := *one
	fifty.Cost = 50
	src := h.source("a", key(1, chat), terms(one), time.Millisecond)
	h.warm(src)
	h.sends(src, 0, 100) // takes all that the first second has
	var big *Item
	h.at(10*time.Millisecond, func() {
		src.terms.Rule = &fifty
		big = h.arrive(src)
		src.terms.Rule = one
	})
	h.sends(src, 20*time.Millisecond, 10)
	h.run(3 * time.Second)
	if big.Verdict != Granted || big.Waited != 990*time.Millisecond {
		t.Errorf("%v after %v, want to be paid when the window moves on, at 1s", big.Verdict, big.Waited)
	}
	for i, g := range src.grants[101:] {
		// The big one takes half a second of the schedule.
		if want := 1500*time.Millisecond + time.Duration(i)*10*time.Millisecond; g != want {
			t.Errorf("cost 1, number %d: dispatched at %v, want %v", i, g, want)
		}
	}
}

func TestSilenceStoresNoCredit(t *testing.T) {
	h := byHand(t, onePool(1, 3))
	r := rule(10, time.Second, "standard", time.Minute)
	r.Limit.Burst = 15
	back := h.source("back", key(1, chat), terms(r), 100*time.Millisecond)
	busy := h.source("busy", key(2, chat), terms(rule(100, time.Second, "standard", time.Minute)), 100*time.Millisecond)
	h.warm(back, busy)
	h.sends(back, 0, 1)
	for i := range 36 {
		h.sends(busy, time.Duration(i)*100*time.Second, 3)
	}
	h.sends(busy, time.Hour, 30)
	h.sends(back, time.Hour+time.Millisecond, 40)
	h.run(time.Hour + 50*time.Millisecond)
	if f := h.core.flows[back.key]; f.waiting-f.unpaid > 15 {
		t.Errorf("%d paid at once after an hour of silence, want its burst of 15", f.waiting-f.unpaid)
	}
	h.run(time.Hour + 2100*time.Millisecond)
	// Fair by turns from the present on: not one hour of turns in a row.
	n := 0
	for _, g := range back.grants {
		if g >= time.Hour {
			n++
		}
	}
	if n < 8 || n > 12 {
		t.Errorf("back got %d of 20 turns, want half", n)
	}
}

func TestWeightsShareSeatTime(t *testing.T) {
	s := newSimulation(t, onePool(10, 5))
	heavy, light := terms(rule(10000, time.Second, "standard", time.Minute)), terms(rule(10000, time.Second, "standard", time.Minute))
	heavy.Weight = 3
	a := s.add(&source{name: "heavy", key: key(1, chat), terms: heavy, gap: s.poisson(600), service: constant(20 * time.Millisecond), to: 20 * time.Second})
	b := s.add(&source{name: "light", key: key(2, chat), terms: light, gap: s.poisson(600), service: constant(20 * time.Millisecond), to: 20 * time.Second})
	s.run(20 * time.Second)
	if share := float64(a.granted) / float64(a.granted+b.granted); share < .72 || share > .78 {
		t.Errorf("heavy got %.3f, want 0.75", share)
	}
}

// TestFairnessAgainstAnOracle compares the seat time of flows that always have work with what an
// ideal server, which divides seat time exactly, would have given each.
func TestFairnessAgainstAnOracle(t *testing.T) {
	const seats, ms = 8, time.Millisecond
	services := []time.Duration{5 * ms, 10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms}
	weights := []float64{1, 2, 1, 3, 1, 2, 1, 1}
	s := newSimulation(t, onePool(seats, 20))
	// All of it counts as ordinary work, as paid work of such a mix does.
	s.core.pools[0].setup.LongCeiling = 1
	var all []*source
	for i, service := range services {
		tm := terms(rule(1000000, time.Second, "standard", time.Hour))
		tm.Weight = weights[i]
		src := s.add(&source{name: fmt.Sprint(service, " x", weights[i]), key: key(int32(i), int32(i)), terms: tm, service: constant(service)})
		src.onEnd = func(*Item) {
			if s.now.Sub(t0) < 100*time.Second {
				s.arrive(src)
			}
		}
		all = append(all, src)
		s.at(0, func() {
			for range 3 * seats {
				s.arrive(src)
			}
		})
	}
	window := 80 * time.Second
	for _, src := range all {
		src.seatFrom, src.seatTo = 20*time.Second, 100*time.Second
	}
	s.run(105 * time.Second)
	total := 0.0
	for _, w := range weights {
		total += w
	}
	for i, src := range all {
		ideal := weights[i] / total * seats * window.Seconds()
		// The bound of doc.go: each of the other callers' largest items once on each seat, and one's own.
		bound := float64(seats) * (services[len(services)-1].Seconds() + services[i].Seconds())
		if got := src.seat.Seconds(); got < ideal-bound || got > ideal+bound {
			t.Errorf("%s: %.2f seat seconds, ideal %.2f, bound %.2f", src.name, got, ideal, bound)
		}
	}
}

func TestFlowsOfOneCallerShareItsTurn(t *testing.T) {
	h := byHand(t, onePool(1, 5))
	tm := terms(rule(1000, time.Second, "standard", time.Hour))
	a1 := h.source("a/1", key(1, 1), tm, 10*time.Millisecond)
	a2 := h.source("a/2", key(1, 2), tm, 10*time.Millisecond)
	a3 := h.source("a/3", key(1, 3), tm, 10*time.Millisecond)
	b := h.source("b", key(2, 1), tm, 10*time.Millisecond)
	h.warm(a1, a2, a3, b)
	for _, src := range []*source{a1, a2, a3, b} {
		h.sends(src, 0, 500)
	}
	h.run(1200 * time.Millisecond)
	if n := b.granted; n < 58 || n > 62 {
		t.Errorf("b got %d of 120 turns, want half", n)
	}
	for _, src := range []*source{a1, a2, a3} {
		if src.granted < 18 || src.granted > 22 {
			t.Errorf("%s got %d of 120 turns, want a sixth", src.name, src.granted)
		}
	}
}

// turn is one request from meter to grant and back to release.
func turn(c *Core, now *time.Time, it *Item, k Key, tm Terms) {
	*it = Item{Flow: c.Meter(*now, k, tm), MaxWait: time.Second, Bytes: 100}
	c.Arrive(*now, it)
	*now = now.Add(100 * time.Microsecond)
	c.Release(it, *now)
	c.Unpin(it.Flow)
}

func TestMeterToReleaseAllocatesNothing(t *testing.T) {
	for _, flows := range []int32{1, 10, 10000} {
		c := NewCore(t0, onePool(64, 20))
		now := t0
		var it Item
		r := rule(200, time.Second, "realtime", time.Second)
		tm := terms(r)
		i := int32(0)
		once := func() {
			turn(c, &now, &it, Key{Caller: i % flows, Semantic: chat, Route: NoRoute}, tm)
			i++
		}
		for range 4 * flows {
			once()
		}
		now = now.Add(2 * time.Second)
		for range 4 * flows {
			once()
		}
		if n := testing.AllocsPerRun(2000, once); n != 0 {
			t.Errorf("%d flows: %v allocations a request, want 0", flows, n)
		}
		if it.Verdict != Granted {
			t.Fatalf("%v", it.Verdict)
		}
	}
}

func TestTheSchedulerItselfAllocatesNothing(t *testing.T) {
	s := New(onePool(64, 20))
	tm := terms(rule(1000000, time.Second, "realtime", time.Second))
	var it Item
	once := func() {
		it = Item{Flow: s.Meter(time.Now(), key(1, chat), tm), MaxWait: time.Second}
		if s.Arrive(time.Now(), &it) != Granted {
			t.Fatal(it.Verdict)
		}
		s.Release(time.Now(), &it)
	}
	for range 1000 {
		once()
	}
	if n := testing.AllocsPerRun(2000, once); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkMeterToRelease(b *testing.B) {
	for _, flows := range []int32{1, 10000} {
		b.Run(fmt.Sprint(flows, "-flows"), func(b *testing.B) {
			b.ReportAllocs()
			c := NewCore(t0, onePool(64, 20))
			now := t0
			var it Item
			tm := terms(rule(200, time.Second, "realtime", time.Second))
			for i := int32(0); b.Loop(); i++ {
				turn(c, &now, &it, Key{Caller: i % flows, Semantic: chat, Route: NoRoute}, tm)
			}
		})
	}
}

// BenchmarkThroughTheQueue is a request that waits: the pool is full of one-item flows.
func BenchmarkThroughTheQueue(b *testing.B) {
	for _, flows := range []int32{10, 10000} {
		b.Run(fmt.Sprint(flows, "-flows"), func(b *testing.B) {
			b.ReportAllocs()
			set := onePool(1, 20)
			c := NewCore(t0, set)
			now := t0
			tm := terms(rule(200, time.Second, "realtime", time.Hour))
			items := make([]Item, flows+1)
			held := &items[flows]
			for i := range items {
				items[i] = Item{Flow: c.Meter(now, Key{Caller: int32(i), Semantic: chat, Route: NoRoute}, tm), MaxWait: time.Hour}
				c.Arrive(now, &items[i])
				if items[i].Verdict == Granted {
					held = &items[i]
				}
			}
			for b.Loop() {
				now = now.Add(10 * time.Microsecond)
				c.Release(held, now)
				next := c.Decided()[0]
				f := held.Flow
				*held = Item{Flow: f, MaxWait: time.Hour}
				c.Arrive(now, held)
				held = next
			}
		})
	}
}
