package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhoIsTurnedAwayIsToldHowFullThePoolWas(t *testing.T) {
	set := onePool(1, 10)
	set.Pools[0].MaxWaiting, set.Pools[0].MaxFlowShare = 2, 1
	c := NewCore(t0, set)
	now := t0
	arrive := func(caller int32, level string, over OverRate, maxWait time.Duration) *Item {
		r := rule(1, time.Hour, level, maxWait)
		r.OverRate = over
		it := &Item{Flow: c.Meter(now, key(caller, chat), terms(r)), MaxWait: maxWait}
		c.Arrive(now, it)
		return it
	}
	full := Load{Pool: "shared", Seats: 1, InUse: 1, Waiting: 2}
	if it := arrive(1, "batch", OverQueue, time.Minute); it.Verdict != Granted || it.Load != (Load{}) {
		t.Errorf("%v, %+v: who is granted is told nothing", it.Verdict, it.Load)
	}
	if it := arrive(1, "batch", OverReject, time.Minute); it.Verdict != RateExceeded || it.Load != (Load{"shared", 1, 1, 0}) {
		t.Errorf("over the rate: %v, %+v", it.Verdict, it.Load)
	}
	if it := arrive(9, "batch", OverQueue, 0); it.Verdict != WaitTooLong || it.Load != (Load{"shared", 1, 1, 0}) {
		t.Errorf("no wait allowed: %v, %+v", it.Verdict, it.Load)
	}
	waits := arrive(2, "batch", OverQueue, time.Minute)
	gives := arrive(3, "batch", OverQueue, time.Minute)
	if it := arrive(3, "batch", OverQueue, time.Minute); it.Verdict != QueueFull || it.Load != full {
		t.Errorf("queue full: %v, %+v", it.Verdict, it.Load)
	}
	if it := (&Item{Flow: gives.Flow}); !c.Full(now, it) || it.Load != full {
		t.Errorf("full before the body: %+v", it.Load)
	}
	arrive(4, "realtime", OverQueue, 2*time.Minute)
	if waits.Verdict == Displaced {
		waits, gives = gives, waits // either: their callers hold as much
	}
	if gives.Verdict != Displaced || gives.Load != full {
		t.Errorf("displaced: %v, %+v", gives.Verdict, gives.Load)
	}
	now = now.Add(time.Minute)
	c.Advance(now)
	if waits.Verdict != WaitExpired || waits.Load != full {
		t.Errorf("expired: %v, %+v", waits.Verdict, waits.Load)
	}
}

// crowd lets many items of random callers, pools, levels and bands wait.
func crowd(s *Scheduler, n int) (waits []*Item) {
	rng := rand.New(rand.NewPCG(3, 4))
	levels := []string{"realtime", "standard", "batch"}
	for i := range n {
		time.Sleep(time.Millisecond)
		tm := terms(rule(2, time.Hour, levels[rng.IntN(3)], time.Hour))
		tm.Pool = []string{"shared", "vip"}[rng.IntN(2)]
		f := s.Meter(time.Now(), Key{Caller: int32(rng.IntN(600)), Semantic: chat, Route: NoRoute, Tenant: tm.Pool + tm.Rule.Level}, tm)
		if i%50 == 0 {
			s.SetSurging(f, true)
		}
		it := &Item{Flow: f, MaxWait: time.Hour, Bytes: int64(i), Name: fmt.Append(nil, "request-", i)}
		if s.Arrive(time.Now(), it) == Waiting {
			waits = append(waits, it)
		}
	}
	return waits
}

// withVIP is one pool and another like it.
func withVIP(seats int) Setup {
	set := onePool(seats, 20)
	set.Pools[0].MaxFlowShare = 1
	vip := set.Pools[0]
	vip.Name = "vip"
	set.Pools = append(set.Pools, vip)
	return set
}

func TestTheQueueIsCopiedInTheOrderOfPoolsBandsLevelsAndArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(withVIP(2))
		waits := crowd(s, 6000)
		pools, levels := []string{"shared", "vip"}, []string{"realtime", "standard", "batch"}
		slices.SortFunc(waits, func(a, b *Item) int {
			rank := func(it *Item) []int {
				p := it.line.place
				return []int{slices.Index(pools, p.pool.setup.Name), int(it.line.band()), slices.Index(levels, p.level.name), int(it.seq)}
			}
			return slices.Compare(rank(a), rank(b))
		})
		bandsSeen := map[Band]bool{}
		for _, limit := range []int{-1, 0, 1, 100, 1999, 10000} {
			q := s.Queue(limit)
			if q.Total != len(waits) || len(q.Items) != max(0, min(limit, len(waits))) {
				t.Fatalf("limit %d: %d items of %d, want of %d", limit, len(q.Items), q.Total, len(waits))
			}
			for i, got := range q.Items {
				it := waits[i]
				bandsSeen[got.Band] = true
				want := QueueItem{
					Flow: it.Flow, Name: string(it.Name), Pool: it.line.place.pool.setup.Name, Level: it.line.place.level.name,
					Band: it.line.band(), Waited: time.Since(s.core.moment(it.arrived)), MaxWait: time.Hour, Estimate: it.Estimate,
					Place: it.Place, Bytes: it.Bytes,
				}
				if got != want {
					t.Fatalf("limit %d, item %d: %+v, want %+v", limit, i, got, want)
				}
			}
			flows := map[*Flow]QueueFlow{}
			for _, it := range waits {
				f := flows[it.Flow]
				f.Flow, f.Pool, f.Level = it.Flow, it.line.place.pool.setup.Name, it.line.place.level.name
				f.Waiting++
				if !it.Paid {
					f.Unpaid++
				}
				f.OldestWait = max(f.OldestWait, time.Since(s.core.moment(it.arrived)))
				flows[it.Flow] = f
			}
			if len(q.Flows) != len(flows) {
				t.Fatalf("limit %d: %d flows, want %d", limit, len(q.Flows), len(flows))
			}
			for _, f := range q.Flows {
				if f != flows[f.Flow] {
					t.Fatalf("limit %d: %+v, want %+v", limit, f, flows[f.Flow])
				}
			}
		}
		if len(bandsSeen) != 3 || len(waits) < 5*chunk {
			t.Errorf("%d waited, in the bands %v", len(waits), bandsSeen)
		}
		s.Drain()
		if q := s.Queue(10); q.Total != 0 || len(q.Items) != 0 || len(q.Flows) != 0 {
			t.Errorf("nothing waits any more: %+v", q)
		}
	})
}

func TestWhatIsOnlyObservedIsToldToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := onePool(1, 20)
		set.Observe = true
		s := New(set)
		tm := terms(rule(1, time.Minute, "batch", 0))
		tm.Rule.Observe = true
		f := s.Meter(time.Now(), key(1, chat), tm)
		for range 3 {
			s.Arrive(time.Now(), &Item{Flow: f})
		}
		q := s.Queue(10)
		if q.Total != 2 || len(q.Items) != 2 || len(q.Flows) != 1 || q.Flows[0].Waiting != 2 || q.Items[1].Band != Committed {
			t.Errorf("%+v", q)
		}
		s.Drain()
	})
}

func TestAFlowThatWaitsInTwoPlacesIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(withVIP(1))
		tm := terms(rule(100, time.Second, "batch", time.Minute))
		vip := terms(tm.Rule)
		vip.Version, vip.Pool = 2, "vip"
		f := s.Meter(time.Now(), key(1, chat), tm)
		arrive := func(f *Flow) { s.Arrive(time.Now(), &Item{Flow: f, MaxWait: time.Minute}) }
		arrive(s.Meter(time.Now(), key(2, chat), tm))
		arrive(s.Meter(time.Now(), key(3, chat), vip))
		arrive(f)
		arrive(f)
		s.Meter(time.Now(), key(1, chat), vip)
		arrive(f)
		q := s.Queue(10)
		if q.Total != 3 || len(q.Items) != 3 || len(q.Flows) != 1 {
			t.Fatalf("%+v", q)
		}
		if w := q.Flows[0]; w.Flow != f || w.Waiting != 3 || w.Pool != "shared" {
			t.Errorf("%+v", w)
		}
		if q.Items[0].Pool != "shared" || q.Items[2].Pool != "vip" {
			t.Errorf("%+v", q.Items)
		}
		s.Drain()
	})
}
