package scheduler

import (
	"fmt"
	"testing"
	"time"
)

// Ghosts, step by step: when they get a seat, how long they hold it, and what is told.

// steps drives one core by hand at milliseconds.
type steps struct {
	*testing.T
	core *Core
	now  time.Time
	told []Judged
}

func newSteps(t *testing.T, s Setup) *steps { return &steps{T: t, core: NewCore(t0, s), now: t0} }

func (s *steps) to(ms float64) {
	s.now = t0.Add(time.Duration(ms * 1e6))
	s.core.Decided()
	s.told = append(s.told, s.core.Judged()...)
}

func (s *steps) arrive(ms float64, k Key, tm Terms, name string) *Item {
	s.Helper()
	s.to(ms)
	it := &Item{Flow: s.core.Meter(s.now, k, tm), MaxWait: tm.Rule.MaxWait, Name: []byte(name)}
	s.core.Arrive(s.now, it)
	s.to(ms)
	return it
}

func (s *steps) release(ms float64, it *Item) {
	s.Helper()
	s.to(ms)
	s.core.Release(it, s.now)
	s.core.Unpin(it.Flow)
	s.to(ms)
}

// shadow wants so many seats in use and items waiting in the shadow.
func (s *steps) shadow(ms float64, inUse, waiting int) {
	s.Helper()
	s.to(ms)
	s.core.Advance(s.now)
	p := s.core.Stats(s.now, 0).Shadow.Pools[0]
	if p.InUse != inUse || p.Waiting != waiting {
		s.Fatalf("at %v ms: %d seats in use and %d waiting in the shadow, want %d and %d", ms, p.InUse, p.Waiting, inUse, waiting)
	}
	s.to(ms)
}

// tells wants what was told since the last call, as name, verdict and wait.
func (s *steps) tells(want ...string) {
	s.Helper()
	var got []string
	for _, j := range s.told {
		line := fmt.Sprint(j.Name, " ", j.Verdict)
		if j.Waited {
			line += fmt.Sprint(" after ", j.Wait)
		}
		got = append(got, line)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Fatalf("told %q, want %q", got, want)
	}
	s.told = nil
}

func pacedAt(n int64, per time.Duration) Terms {
	r := rule(n, per, "standard", time.Minute)
	r.OverRate, r.Observe = OverPace, true
	return terms(r)
}

func TestAGhostOutlivesItsRequest(t *testing.T) {
	s := newSteps(t, observing(onePool(4, 2)))
	tm := pacedAt(1, time.Second)
	a := s.arrive(0, key(1, chat), tm, "a")
	b := s.arrive(0, key(1, chat), tm, "b")
	s.tells("a granted")
	s.shadow(100, 1, 1)
	s.release(400, a)
	s.release(400, b) // served long before it would have been
	s.shadow(400, 0, 1)
	s.shadow(999, 0, 1)
	s.tells()
	s.shadow(1000, 1, 0)
	s.tells("b granted after 1s")
	s.shadow(1399, 1, 0)
	s.shadow(1400, 0, 0)
}

func TestAGhostHoldsItsSeatWhileItsRequestRuns(t *testing.T) {
	s := newSteps(t, observing(onePool(4, 2)))
	tm := pacedAt(1, time.Second)
	a := s.arrive(0, key(1, chat), tm, "a")
	b := s.arrive(0, key(1, chat), tm, "b")
	s.release(10, a)
	s.shadow(2900, 1, 0)
	s.release(3000, b) // held for 3 s, in the shadow from 1 s on
	s.shadow(3999, 1, 0)
	s.shadow(4000, 0, 0)
	s.tells("a granted", "b granted after 1s")
}

func TestEventsOfTheShadowHappenAtTheirOwnMoments(t *testing.T) {
	// One seat; nobody looks for a minute, in which five ghosts come and go one after the other.
	s := newSteps(t, observing(onePool(1, 2)))
	tm := pacedAt(1, time.Second)
	var items []*Item
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		items = append(items, s.arrive(float64(len(items)), key(1, chat), tm, name))
	}
	for i, it := range items {
		s.release(float64(100+700*i), it) // each takes the seat of the one before
	}
	s.shadow(60_000, 0, 0)
	// Paid at 1, 2, 3 and 4 s, each with a free seat then.
	s.tells("a granted", "b granted after 999ms", "c granted after 1.998s", "d granted after 2.997s", "e granted after 3.996s")
	if got := s.core.shadow.core.flows[key(1, chat)].seatCount; got != 5 {
		t.Errorf("%v seat times learned, want all five", got)
	}
}

func TestAGhostAheadOfItsRequestPlaysSomeSeatTimeOfItsFlow(t *testing.T) {
	s := newSteps(t, observing(onePool(1, 3)))
	flood := terms(observed(rule(1, time.Hour, "realtime", 0))) // what would wait is refused
	calm := terms(observed(rule(100, time.Second, "batch", time.Minute)))
	c1 := s.arrive(0, key(2, chat), calm, "c1")
	s.release(50, c1)
	s.release(80, s.arrive(60, key(3, stream), terms(observed(rule(9, time.Second, "batch", time.Minute))), "q1"))
	f1 := s.arrive(100, key(1, export), flood, "f1")
	f2 := s.arrive(110, key(1, export), flood, "f2")
	s.release(130, f1)
	if want := (Load{Pool: "shared", Seats: 1, InUse: 1}); s.told[3].Load != want || s.told[0].Load != (Load{}) {
		t.Errorf("turned away by %+v, want %+v; granted with %+v", s.told[3].Load, want, s.told[0].Load)
	}
	s.tells("c1 granted", "q1 granted", "f1 granted", "f2 wait_too_long")
	c2 := s.arrive(200, key(2, chat), calm, "c2")
	if f2.Verdict != Granted || c2.Verdict != Waiting {
		t.Fatal(f2.Verdict, c2.Verdict)
	}
	s.tells("c2 granted") // f2 has the only seat, and would not have got it
	q2 := s.arrive(220, key(3, stream), terms(observed(rule(9, time.Second, "batch", 30*time.Millisecond))), "q2")
	s.shadow(249, 1, 1)
	s.shadow(250, 0, 0)                   // as c1 did
	s.tells("q2 wait_expired after 30ms") // in that very instant, as where it is enforced
	s.release(900, f2)
	s.shadow(901, 0, 0)
	s.release(950, q2)
	s.release(1000, c2)
	s.shadow(1001, 0, 0)
	s.tells()
}

func TestAGhostWasAheadOfItsRequestThoughNobodyLooked(t *testing.T) {
	s := newSteps(t, observing(onePool(1, 3)))
	flood := terms(observed(rule(1, time.Hour, "realtime", 0)))
	paced := pacedAt(1, 500*time.Millisecond)
	s.release(50, s.arrive(0, key(2, chat), paced, "c1"))
	f1 := s.arrive(100, key(1, export), flood, "f1")
	f2 := s.arrive(110, key(1, export), flood, "f2")
	s.release(130, f1)
	c2 := s.arrive(200, key(2, chat), paced, "c2")
	s.release(1000, f2) // and c2 gets a seat; it would have had one since 500 ms, for as long as c1
	s.shadow(1000, 0, 0)
	s.release(1200, c2)
	s.shadow(1200, 0, 0)
	s.tells("c1 granted", "f1 granted", "f2 wait_too_long", "c2 granted after 300ms")
}

func TestAGhostOfUnknownWorkWaitsForItsRequest(t *testing.T) {
	s := newSteps(t, observing(onePool(1, 3)))
	flood := terms(observed(rule(1, time.Hour, "realtime", 0)))
	f1 := s.arrive(0, key(1, export), flood, "f1")
	f2 := s.arrive(10, key(1, export), flood, "f2")
	s.release(30, f1)
	x := s.arrive(100, key(2, chat), terms(observed(rule(9, time.Second, "batch", time.Minute))), "x")
	s.shadow(900, 1, 0) // it has had its seat since 100 ms, and its request none yet
	s.release(1000, f2)
	s.shadow(1299, 1, 0)
	s.release(1300, x)
	s.shadow(1300, 0, 0)
	s.tells("f1 granted", "f2 wait_too_long", "x granted")
}

func TestARequestThatWouldWaitLongerThanItsRuleIsToldByTheRule(t *testing.T) {
	s := newSteps(t, observing(onePool(1, 3)))
	tm := terms(observed(rule(9, time.Second, "standard", 50*time.Millisecond)))
	a := s.arrive(0, key(1, chat), tm, "a")
	b := &Item{Flow: s.core.Meter(s.now, key(1, chat), tm), MaxWait: 10 * time.Second, OwnWait: true, Name: []byte("b")}
	s.core.Arrive(s.now, b)
	s.release(100, a)
	if !s.told[1].Breach || b.Verdict != Granted {
		t.Errorf("%+v, and %v", s.told[1], b.Verdict)
	}
	s.tells("a granted", "b wait_expired after 50ms")
}

func TestAHangUpTakesTheGhostAlong(t *testing.T) {
	s := newSteps(t, observing(onePool(1, 2)))
	tm := pacedAt(1, time.Second)
	a := s.arrive(0, key(1, chat), tm, "a")
	b := s.arrive(0, key(1, chat), tm, "b")
	c := s.arrive(0, key(1, chat), tm, "c")
	s.to(500)
	if !s.core.Cancel(s.now, b) {
		t.Fatal("b does not wait")
	}
	s.shadow(500, 1, 1)
	s.tells("a granted", "b gone after 500ms")
	s.release(600, a) // the seat goes to c, and c is served
	s.release(700, c)
	s.shadow(1000, 1, 0)
	s.tells("c granted after 1s")
	s.shadow(1100, 0, 0)
	s.tells()
}

func TestAGhostWhoseRequestWasTurnedAway(t *testing.T) {
	// One real seat, held by observed work that would have been refused: what is enforced finds the pool full,
	// and would not have.
	s := newSteps(t, observing(onePool(1, 2)))
	hog := rule(1, time.Hour, "realtime", time.Minute)
	hog.OverRate, hog.Observe = OverReject, true
	strict := terms(rule(10, time.Second, "standard", 0))
	h1 := s.arrive(0, key(1, export), terms(hog), "h1")
	h2 := s.arrive(10, key(1, export), terms(hog), "h2")
	s.release(100, h1)
	e1 := s.arrive(150, key(2, chat), strict, "e1")
	if e1.Verdict != WaitTooLong || h2.Verdict != Granted {
		t.Fatal(e1.Verdict, h2.Verdict)
	}
	s.shadow(151, 1, 0) // nothing is known of how long such work takes: 10 ms
	s.shadow(159, 1, 0)
	s.shadow(160, 0, 0)
	s.release(200, h2)
	e2 := s.arrive(210, key(2, chat), strict, "e2")
	s.release(240, e2)
	h3 := s.arrive(250, key(1, export), terms(hog), "h3")
	e3 := s.arrive(260, key(2, chat), strict, "e3")
	if e3.Verdict != WaitTooLong {
		t.Fatal(e3.Verdict)
	}
	s.shadow(289, 1, 0) // as e2 did
	s.shadow(290, 0, 0)
	s.release(300, h3)
	s.shadow(301, 0, 0)
	s.tells("h1 granted", "h2 rate_exceeded", "h3 rate_exceeded")
}

func TestATurnedAwayBeforeItsBodyIsPlayedToo(t *testing.T) {
	set := observing(onePool(1, 2))
	set.Pools[0].MaxWaiting = 0
	s := newSteps(t, set)
	s.arrive(0, key(1, export), terms(rule(1, time.Hour, "realtime", time.Minute)), "a")
	it := &Item{Flow: s.core.Meter(s.now, key(2, chat), terms(rule(1, time.Hour, "realtime", time.Minute))), MaxWait: time.Minute}
	if !s.core.Full(s.now, it) {
		t.Fatal("there is a place")
	}
	if n := s.core.shadow.core.pools[0].dispatch; n != 1 {
		t.Fatalf("%d dispatched in the shadow", n)
	}
	if it.ghost != nil || s.core.shadow.core.flows[key(2, chat)].pins != 0 {
		t.Error("its ghost is still there")
	}
	s.tells()
}

func TestWhatNobodyAsksForIsCounted(t *testing.T) {
	c := NewCore(t0, observing(onePool(4, 9)))
	tm := terms(observed(rule(10, time.Second, "standard", 0)))
	for range mostJudged + 7 {
		it := &Item{Flow: c.Meter(t0, key(1, chat), tm)}
		c.Arrive(t0, it)
		c.Release(it, t0)
		c.Unpin(it.Flow)
	}
	if n := len(c.Judged()); n != mostJudged || c.Stats(t0, 0).Unheard != 7 {
		t.Errorf("%d told, %d lost; want %d and 7", n, c.Stats(t0, 0).Unheard, mostJudged)
	}
	if n := len(c.Judged()); n != 0 {
		t.Errorf("%d told a second time", n)
	}
}

// ghosts finds all that is in the shadow: who waits stands in its queues, and who has a seat will give it back at a
// known moment or when a request does that is still under way.
func ghosts(s *shadow, items map[*Item]bool) map[*Item]bool {
	all := map[*Item]bool{}
	for _, p := range s.core.pools {
		for _, l := range p.levels {
			for _, q := range l.queues {
				for _, e := range q.held.a {
					for _, line := range e.newest.a {
						for it := line.head; it != nil; it = it.next {
							all[it] = true
						}
					}
				}
			}
		}
	}
	for _, g := range s.leaving.a {
		all[&g.item] = true
	}
	for it := range items {
		if g := it.ghost; g != nil && g.of == s && g.item.state == inFlight {
			all[&g.item] = true
		}
	}
	return all
}
