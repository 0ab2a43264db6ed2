package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAWalkMeetsEveryFlowThatStaysOnce(t *testing.T) {
	set := onePool(10, 3)
	set.MaxTenants = 100000
	c := NewCore(t0, set)
	rng := rand.New(rand.NewPCG(5, 6))
	tm := terms(rule(10, time.Minute, "batch", time.Second))
	made := 0
	makes := func() *Flow {
		made++
		return c.Meter(t0, Key{Caller: 1, Semantic: chat, Route: NoRoute, Tenant: fmt.Sprint(made)}, tm)
	}
	stays := map[*Flow]int{}
	var goes []*Flow
	for range 8000 {
		if f := makes(); rng.IntN(3) > 0 {
			stays[f] = 0
		} else {
			goes = append(goes, f)
		}
	}
	stir := func() {
		for range 300 {
			if len(goes) > 0 {
				i := rng.IntN(len(goes))
				c.Unpin(goes[i])
				c.drop(goes[i])
				goes[i] = goes[len(goes)-1]
				goes = goes[:len(goes)-1]
			}
			if rng.IntN(2) == 0 {
				goes = append(goes, makes())
			}
		}
		n := 0
		for f := range stays { // touched in another order
			if c.touch(f); n > 300 {
				break
			}
			n++
		}
	}
	var buf []FlowStats
	met := map[*Flow]int{}
	for slot, more := 0, true; more; more = slot > 0 {
		buf, slot = c.FlowsFrom(t0, slot, buf[:0])
		if len(buf) > flowChunk {
			t.Fatalf("%d flows in one look", len(buf))
		}
		for _, st := range buf {
			met[st.Flow]++
		}
		stir()
	}
	for f := range stays {
		if met[f] != 1 {
			t.Fatalf("flow %v was met %d times", f.Key, met[f])
		}
	}
	for f, n := range met {
		if n != 1 {
			t.Fatalf("flow %v was met %d times", f.Key, n)
		}
	}
	if len(c.flowSlots.all) > 8000+300 {
		t.Errorf("%d slots for at most 8000 flows at once: slots are used again", len(c.flowSlots.all))
	}
}

func TestAWalkGoesOnWhileRequestsDo(t *testing.T) {
	s := New(onePool(64, 20))
	tm := terms(rule(1000, time.Minute, "realtime", time.Second))
	const stay = 3000
	for i := range int32(stay) {
		s.Meter(time.Now(), key(i, chat), tm)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for n := range int32(2) {
		wg.Go(func() {
			for i := int32(0); !stop.Load(); i++ {
				it := Item{Flow: s.Meter(time.Now(), key(10000*(n+1)+i%5000, export), tm), MaxWait: time.Second}
				if s.Arrive(time.Now(), &it) == Granted {
					s.Release(time.Now(), &it)
				} else {
					s.Unpin(it.Flow)
				}
				if i%100 == 0 {
					s.Tidy()
					s.Queue(10)
				}
			}
		})
	}
	for range 5 {
		met := map[Key]int{}
		s.EachFlow(func(st FlowStats) {
			met[st.Flow.Key]++
			s.Quota(time.Now(), st.Flow) // visit may ask the scheduler itself
		})
		for i := range int32(stay) {
			if met[key(i, chat)] != 1 {
				t.Errorf("flow %d was met %d times", i, met[key(i, chat)])
			}
		}
	}
	stop.Store(true)
	wg.Wait()
}

// Flows are described in the order asked for; those that were dropped meanwhile are left out, whoever has their slots now.
func TestOnlyFlowsThatAreStillThereAreDescribed(t *testing.T) {
	s := New(onePool(10, 3))
	now := time.Now()
	tm := terms(rule(10, time.Minute, "batch", time.Second))
	var flows []*Flow
	for i := range 3 * flowChunk {
		flows = append(flows, s.Meter(now, Key{Caller: int32(i + 1), Semantic: chat, Route: NoRoute}, tm))
	}
	for i := 0; i < len(flows); i += 3 {
		s.Unpin(flows[i])
		s.core.drop(flows[i])
	}
	s.Meter(now, Key{Caller: 9999, Semantic: chat, Route: NoRoute}, tm) // in the slot of one of them
	slices.Reverse(flows)
	got := s.FlowStats(flows, nil)
	if len(got) != 2*flowChunk {
		t.Fatalf("%d flows, want %d", len(got), 2*flowChunk)
	}
	for i, st := range got {
		if (st.Flow.Key.Caller-1)%3 == 0 || i > 0 && st.Flow.Key.Caller >= got[i-1].Flow.Key.Caller {
			t.Fatalf("%d: caller %d after %d", i, st.Flow.Key.Caller, got[max(i, 1)-1].Flow.Key.Caller)
		}
	}
}

// BenchmarkFlowChunk is how long a walk over 10,000 flows holds the lock at a time: what others may wait for it.
func BenchmarkFlowChunk(b *testing.B) {
	s := New(onePool(10, 3))
	now := time.Now()
	tm := terms(rule(1000, time.Minute, "batch", time.Second))
	for i := range 10_000 {
		f := s.Meter(now, Key{Caller: int32(i + 1), Semantic: chat, Route: NoRoute}, tm)
		it := &Item{Flow: f}
		if s.Arrive(now, it) == Granted {
			s.Release(now, it)
		}
	}
	var held []time.Duration
	part := make([]FlowStats, 0, flowChunk)
	for b.Loop() {
		for slot, more := 0, true; more; more = slot > 0 {
			began := time.Now()
			part, slot = s.core.FlowsFrom(began, slot, part[:0])
			held = append(held, time.Since(began))
		}
	}
	slices.Sort(held)
	b.ReportMetric(float64(held[len(held)/2].Nanoseconds()), "median-ns")
	b.ReportMetric(float64(held[len(held)*99/100].Nanoseconds()), "p99-ns")
}
