package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
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
func crowd(t *testing.T, c *Core, n int) (now time.Time, waits []*Item) {
	rng := rand.New(rand.NewPCG(3, 4))
	now = t0
	levels := []string{"realtime", "standard", "batch"}
	for i := range n {
		now = now.Add(time.Millisecond)
		tm := terms(rule(2, time.Hour, levels[rng.IntN(3)], time.Hour))
		tm.Pool = []string{"shared", "vip"}[rng.IntN(2)]
		caller := int32(rng.IntN(20))
		f := c.Meter(now, Key{Caller: caller, Semantic: chat, Route: NoRoute, Tenant: tm.Pool + tm.Rule.Level}, tm)
		if i%50 == 0 {
			c.SetSurging(now, f, true)
		}
		it := &Item{Flow: f, MaxWait: time.Hour, Bytes: int64(i), Name: fmt.Append(nil, "request-", i)}
		c.Arrive(now, it)
		if it.Verdict == Waiting {
			waits = append(waits, it)
		}
	}
	return now, waits
}

func TestTheQueueIsCopiedInTheOrderOfPoolsBandsLevelsAndArrival(t *testing.T) {
	set := onePool(2, 20)
	set.Pools[0].MaxFlowShare = 1
	vip := set.Pools[0]
	vip.Name = "vip"
	set.Pools = append(set.Pools, vip)
	c := NewCore(t0, set)
	now, waits := crowd(t, c, 3000)
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
		q := c.Queue(now, limit)
		if q.Total != len(waits) || len(q.Items) != max(0, min(limit, len(waits))) {
			t.Fatalf("limit %d: %d items of %d, want of %d", limit, len(q.Items), q.Total, len(waits))
		}
		for i, got := range q.Items {
			it := waits[i]
			bandsSeen[got.Band] = true
			want := QueueItem{
				Flow: it.Flow, Name: string(it.Name), Pool: it.line.place.pool.setup.Name, Level: it.line.place.level.name,
				Band: it.line.band(), Waited: now.Sub(c.moment(it.arrived)), MaxWait: time.Hour, Estimate: it.Estimate,
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
			f.OldestWait = max(f.OldestWait, now.Sub(c.moment(it.arrived)))
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
	if len(bandsSeen) != 3 {
		t.Errorf("only bands %v waited", bandsSeen)
	}
}

func TestAFlowThatWaitsInTwoPlacesIsToldOnce(t *testing.T) {
	set := onePool(1, 20)
	vip := set.Pools[0]
	vip.Name = "vip"
	set.Pools = append(set.Pools, vip)
	c := NewCore(t0, set)
	tm := terms(rule(100, time.Second, "batch", time.Minute))
	f := c.Meter(t0, key(1, chat), tm)
	other := c.Meter(t0, key(2, chat), terms(rule(100, time.Second, "batch", time.Minute)))
	vipTerms := terms(tm.Rule)
	vipTerms.Version, vipTerms.Pool = 2, "vip"
	vipOther := c.Meter(t0, key(3, chat), vipTerms)
	arrive := func(f *Flow) {
		c.Arrive(t0, &Item{Flow: f, MaxWait: time.Minute})
	}
	arrive(other)
	arrive(vipOther)
	arrive(f)
	arrive(f)
	c.Meter(t0, key(1, chat), vipTerms)
	arrive(f)
	q := c.Queue(t0.Add(time.Second), 10)
	if q.Total != 3 || len(q.Items) != 3 || len(q.Flows) != 1 {
		t.Fatalf("%+v", q)
	}
	if w := q.Flows[0]; w.Flow != f || w.Waiting != 3 || w.Pool != "shared" {
		t.Errorf("%+v", w)
	}
	if q.Items[0].Pool != "shared" || q.Items[2].Pool != "vip" {
		t.Errorf("%+v", q.Items)
	}
}
