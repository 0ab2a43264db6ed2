package scheduler

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What waits, in the core and in real goroutines on virtual time.

func TestGrantAndTimeoutInTheSameInstant(t *testing.T) {
	c := NewCore(t0, onePool(1, 2))
	tm := terms(rule(1000, time.Second, "realtime", 10*time.Millisecond))
	now := t0
	for i := range 1_000_000 / shorter {
		f := c.Meter(now, key(1, chat), tm)
		var holder, it Item
		holder.Flow, it.Flow = f, f
		holder.MaxWait, it.MaxWait = time.Second, 10*time.Millisecond
		c.Arrive(now, &holder)
		c.Arrive(now, &it)
		if holder.Verdict != Granted || it.Verdict != Waiting {
			t.Fatalf("round %d: %v, %v", i, holder.Verdict, it.Verdict)
		}
		now = now.Add(10 * time.Millisecond)
		switch i % 3 {
		case 0:
			c.Release(&holder, now)
		case 1:
			c.Advance(now)
			c.Release(&holder, now)
		case 2:
			c.Release(&holder, now.Add(-time.Nanosecond))
			c.Advance(now)
		}
		if d := c.Decided(); len(d) != 1 || d[0] != &it {
			t.Fatalf("round %d: %d decided", i, len(d))
		}
		want := WaitExpired
		if i%3 == 2 {
			want = Granted
		}
		if it.Verdict != want {
			t.Fatalf("round %d: %v, want %v", i, it.Verdict, want)
		}
		if it.Verdict == Granted {
			c.Release(&it, now)
		}
		if c.pools[0].inUse != 0 || c.pools[0].waiting != 0 {
			t.Fatalf("round %d: %d in use", i, c.pools[0].inUse)
		}
		c.Unpin(f)
		now = now.Add(time.Millisecond)
	}
}

func TestRacesBetweenGrantTimeoutHangUpAndDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(onePool(3, 2))
		tm := terms(rule(1000, time.Second, "realtime", 5*time.Millisecond))
		var verdicts [Draining + 1]atomic.Int64
		var wg sync.WaitGroup
		for i := range 2000 {
			wg.Go(func() {
				time.Sleep(time.Duration(i/20) * time.Millisecond)
				f := s.Meter(time.Now(), key(1, chat), tm)
				it := &Item{Flow: f, MaxWait: 5 * time.Millisecond}
				v := s.Arrive(time.Now(), it)
				if v == Waiting {
					gone := make(chan struct{})
					hangUp := time.AfterFunc(time.Duration(rand.IntN(7))*time.Millisecond, func() { close(gone) })
					v = s.Wait(it, gone)
					hangUp.Stop()
				}
				verdicts[v].Add(1)
				if v == Granted {
					time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
					s.Release(time.Now(), it)
				} else {
					s.Unpin(f)
				}
			})
		}
		time.Sleep(90 * time.Millisecond)
		s.Drain()
		wg.Wait()
		sum := int64(0)
		for v := range verdicts {
			sum += verdicts[v].Load()
		}
		for _, v := range []Verdict{Granted, WaitExpired, Gone} {
			if verdicts[v].Load() == 0 {
				t.Errorf("no %v among the verdicts: the race was not there", v)
			}
		}
		if sum != 2000 || verdicts[Waiting].Load() != 0 {
			t.Errorf("%d verdicts for 2000 requests", sum)
		}
		if st := s.Stats(10); st.Pools[0].InUse != 0 || st.Pools[0].Waiting != 0 {
			t.Errorf("in the end %d in use, %d waiting", st.Pools[0].InUse, st.Pools[0].Waiting)
		}
	})
}

func TestNeverMoreInFlightThanSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(onePool(10, 200))
		tm := terms(rule(1000, time.Second, "realtime", time.Minute))
		var now, most atomic.Int64
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				f := s.Meter(time.Now(), key(int32(i), chat), tm)
				it := &Item{Flow: f, MaxWait: time.Minute}
				if s.Arrive(time.Now(), it) == Waiting {
					s.Wait(it, nil)
				}
				if it.Verdict != Granted {
					t.Errorf("%v", it.Verdict)
					s.Unpin(f)
					return
				}
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(10 * time.Millisecond)
				now.Add(-1)
				s.Release(time.Now(), it)
			})
		}
		wg.Wait()
		if most.Load() != 10 {
			t.Errorf("at most %d in flight, want 10", most.Load())
		}
	})
}

func TestAHangUpLeavesTheQueueAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(onePool(1, 2))
		tm := terms(rule(10, time.Minute, "realtime", time.Minute))
		f := s.Meter(time.Now(), key(1, chat), tm)
		holder, it := &Item{Flow: f, MaxWait: time.Minute}, &Item{Flow: f, MaxWait: time.Minute}
		s.Arrive(time.Now(), holder)
		if s.Arrive(time.Now(), it) != Waiting {
			t.Fatal(it.Verdict)
		}
		gone := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(gone) })
		if v := s.Wait(it, gone); v != Gone {
			t.Errorf("verdict %v", v)
		}
		if it.Waited != time.Second {
			t.Errorf("waited %v, want 1s", it.Waited)
		}
		if q := s.Quota(time.Now(), f); q.Remaining != 9 {
			t.Errorf("%d left, want 9: what was paid came back", q.Remaining)
		}
		if st := s.Stats(1); st.Pools[0].Waiting != 0 {
			t.Errorf("%d wait", st.Pools[0].Waiting)
		}
		s.Release(time.Now(), holder)
		s.Unpin(f)
	})
}

func TestABacklogDrainsAtCapacityWithoutArrivals(t *testing.T) {
	set := onePool(50, 2)
	h := byHand(t, set)
	r := rule(10, time.Second, "batch", time.Hour)
	src := h.source("a", key(1, export), terms(r), 10*time.Millisecond)
	h.warm(src)
	h.sends(src, 0, 5000)
	h.run(1100 * time.Millisecond)
	// 50 seats of 10 ms are 5,000 a second.
	if src.granted != 5000 {
		t.Errorf("%d of 5000 served after a second", src.granted)
	}
}

func TestPlacesOfTheExpiredAreFreeAtOnce(t *testing.T) {
	set := onePool(1, 5)
	set.Pools[0].MaxWaiting = 1000
	set.Pools[0].MaxFlowShare = 1
	h := byHand(t, set)
	blocker := h.source("blocker", key(1, export), terms(rule(1000, time.Second, "batch", time.Second)), time.Minute)
	a := h.source("a", key(2, chat), terms(rule(5000, time.Second, "realtime", time.Second)), time.Millisecond)
	b := h.source("b", key(3, chat), terms(rule(5000, time.Second, "realtime", time.Second)), time.Millisecond)
	h.sends(blocker, 0, 1)
	h.sends(a, 10*time.Millisecond, 1000)
	h.sends(b, 1010*time.Millisecond, 1000) // the very moment at which those of a have waited enough
	h.run(1010 * time.Millisecond)
	if a.refused[WaitExpired] != 1000 {
		t.Fatalf("a: %v", a.refused)
	}
	if n := h.core.pools[0].waiting; n != 1000 || b.allRefused() != 0 {
		t.Errorf("%d wait, want all 1000 of b; b was refused %v", n, b.refused)
	}
}

func TestTwentyMinutesOfWaitingKeepTheOrder(t *testing.T) {
	h := byHand(t, onePool(1, 3))
	blocker := h.source("blocker", key(1, export), terms(rule(1000, time.Second, "batch", time.Second)), 20*time.Minute)
	batch := h.source("batch", key(2, export), terms(rule(100, time.Second, "batch", time.Hour)), time.Second)
	chats := h.source("chat", key(3, chat), terms(rule(100, time.Second, "realtime", time.Hour)), time.Second)
	h.sends(blocker, 0, 1)
	var first, second *Item
	h.at(time.Second, func() { first = h.arrive(batch) })
	h.at(2*time.Second, func() { second = h.arrive(batch) })
	h.sends(chats, 19*time.Minute, 2)
	h.run(21 * time.Minute)
	wantGrants(t, chats, 20*time.Minute, 20*time.Minute+time.Second)
	wantGrants(t, batch, 20*time.Minute+2*time.Second, 20*time.Minute+3*time.Second)
	if want := 20*time.Minute + time.Second; first.Waited != want || second.Waited != want {
		t.Errorf("the first of them waited %v and the second %v, want %v each: in the order they came", first.Waited, second.Waited, want)
	}
}

func TestFiftyThousandCancelsAreCheap(t *testing.T) {
	set := onePool(1, 3)
	set.Pools[0].MaxWaiting = 100000
	set.Pools[0].MaxFlowShare = 1
	c := NewCore(t0, set)
	tm := terms(rule(10, time.Second, "batch", time.Hour))
	f := c.Meter(t0, key(1, export), tm)
	items := make([]Item, 50001)
	for i := range items {
		items[i].Flow, items[i].MaxWait = f, time.Hour
		c.Arrive(t0, &items[i])
	}
	before := c.timers.len()
	for i := len(items) - 1; i > 0; i -= 1 {
		j := (i * 7919) % (len(items) - 1)
		c.Cancel(t0, &items[j+1])
	}
	if before < 50000 || c.pools[0].waiting != 0 {
		t.Errorf("%d timers before, %d wait after", before, c.pools[0].waiting)
	}
}

func TestRefusedAtTheDoorOnlyWhenTheEstimateSaysSo(t *testing.T) {
	h := byHand(t, onePool(2, 3))
	// 2 seats of 100 ms serve 20/s; the longest wait is a second: about 20 may wait, the rest is told at once.
	src := h.source("a", key(1, chat), terms(rule(1000, time.Second, "realtime", time.Second)), 100*time.Millisecond)
	h.warm(src)
	for i := range 500 {
		h.sends(src, time.Duration(i)*10*time.Millisecond, 1)
	}
	h.run(10 * time.Second)
	if src.refused[WaitTooLong] == 0 {
		t.Fatalf("nobody was refused at the door: %v", src)
	}
	if src.refused[WaitExpired] > src.refused[WaitTooLong]/20 {
		t.Errorf("%v: few may be let in and expire", src)
	}
	if src.granted < 95 {
		t.Errorf("%v: the seats must not stand idle", src)
	}
	for _, back := range src.back {
		if back <= 0 || back > 5*time.Second {
			t.Fatalf("come back in %v", back)
		}
	}
}

func TestPacedWorkIsToldTheWaitForSeatsToo(t *testing.T) {
	// Paid work of the flow waits for the one seat, 2 a second, so an unpaid item behind it will wait for
	// that, though its rate will have paid it much sooner.
	h := byHand(t, onePool(1, 3))
	r := rule(10, time.Second, "realtime", 4*time.Second)
	r.OverRate = OverPace
	src := h.source("a", key(1, chat), terms(r), 500*time.Millisecond)
	h.warm(src)
	h.sends(src, 0, 6)
	h.sends(src, 990*time.Millisecond, 4)
	h.sends(src, 995*time.Millisecond, 2)
	h.run(996 * time.Millisecond)
	if src.refused[WaitTooLong] == 0 {
		t.Errorf("%v: want those refused who cannot be served in 4s", src)
	}
	h.run(10 * time.Second)
	if src.refused[WaitExpired] != 0 {
		t.Errorf("%v: let in, and could not be served", src)
	}
}

func TestAStandingQueueIsKeptShort(t *testing.T) {
	// A caller a little over what the pool can do: 111 % load.
	s := newSimulation(t, onePool(8, 3))
	src := s.add(&source{
		name: "over", key: key(1, chat), terms: terms(rule(10, time.Second, "realtime", 2*time.Second)),
		gap: s.poisson(444), service: s.exponential(20 * time.Millisecond), to: 60 * time.Second,
	})
	s.run(65 * time.Second)
	t.Log(src)
	if p50 := quantile(src.waits, .5); p50 > 300*time.Millisecond {
		t.Errorf("median wait %v; first in, first out at the full queue would make it 2s", p50)
	}
	if rate := float64(src.granted) / 60; rate < 390 {
		t.Errorf("served %.0f/s of the possible 400/s", rate)
	}
}

func TestPacedWorkUsesItsWholeRate(t *testing.T) {
	// A paced caller a little over its rate, in a pool that is nearly idle: a moment in which nothing of it
	// waits is lost to it, since no later one may be used twice. So its queue may stand.
	s := newSimulation(t, onePool(8, 3))
	r := rule(10, time.Second, "realtime", 2*time.Second)
	r.OverRate = OverPace
	src := s.add(&source{
		name: "over", key: key(1, chat), terms: terms(r),
		gap: s.poisson(11.1), service: constant(20 * time.Millisecond), to: 2000 * time.Second,
	})
	s.run(2005 * time.Second)
	t.Log(src)
	if rate := float64(src.granted) / 2000; rate < 9.9 || rate > 10.01 {
		t.Errorf("served %.2f/s of 10/s", rate)
	}
}

func TestNotWaitingAtAll(t *testing.T) {
	h := byHand(t, onePool(1, 2))
	r := rule(100, time.Second, "realtime", 0)
	src := h.source("a", key(1, chat), terms(r), time.Second)
	h.sends(src, 0, 2)
	h.run(100 * time.Millisecond)
	if src.granted != 1 || src.refused[WaitTooLong] != 1 {
		t.Errorf("granted %d, refused %v", src.granted, src.refused)
	}
}

func TestAPaidBurstOnAnIdlePoolIsNotRefused(t *testing.T) {
	h := byHand(t, onePool(64, 3))
	r := rule(200, time.Second, "realtime", 2*time.Second)
	src := h.source("a", key(1, chat), terms(r), 20*time.Millisecond)
	h.warm(src)
	h.sends(src, 100*time.Second, 200) // 200 in 20 ms steps of 64: the last goes after 60 ms
	h.run(105 * time.Second)
	if src.allRefused() != 0 || src.granted != 200 {
		t.Errorf("%d granted, refused: %v; all 200 were within the rate, and the seats were free", src.granted, src.refused)
	}
}
