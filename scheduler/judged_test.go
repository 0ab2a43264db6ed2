package scheduler

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Would-be decisions of a running scheduler, and what the shadow costs.

func TestTheShadowIsPlayedWithoutAnyOtherEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(observing(onePool(4, 2)))
		tm := pacedAt(1, time.Second)
		start := time.Now()
		name := []byte("first ")
		for i := range 3 {
			name[5] = byte('0' + i) // the request's own memory, used again
			it := &Item{Flow: s.Meter(start, key(1, chat), tm), MaxWait: time.Minute, Name: name}
			if v := s.Arrive(start, it); v != Granted {
				t.Fatal(v)
			}
			s.Release(start, it)
		}
		// Nothing of the real core will ever fall due again.
		for i, want := range []string{"first0", "first1", "first2"} {
			time.Sleep(time.Until(start.Add(time.Duration(i)*time.Second + time.Millisecond)))
			told := s.Judged()
			if len(told) != 1 || told[0].Name != want || told[0].Wait != time.Duration(i)*time.Second || !told[0].At.Equal(start.Add(told[0].Wait)) {
				t.Fatalf("after %v told %+v", time.Since(start), told)
			}
		}
		if st := s.Stats(0); st.Shadow == nil || st.Shadow.Pools[0].Dispatched != 3 || st.Shadow.Pools[0].InUse != 0 {
			t.Errorf("%+v", st.Shadow)
		}
	})
}

func TestObservedRequestsInARunningScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(observing(onePool(3, 2)))
		strict := rule(50, time.Second, "realtime", 5*time.Millisecond)
		var verdicts [Draining + 1]atomic.Int64
		var arrived atomic.Int64
		var wg sync.WaitGroup
		for i := range 3000 {
			wg.Go(func() {
				time.Sleep(time.Duration(i/20) * time.Millisecond)
				tm := terms(strict)
				watched := i%3 > 0
				if watched {
					tm.Rule = observed(strict)
				}
				f := s.Meter(time.Now(), key(int32(i%3), chat), tm)
				it := &Item{Flow: f, MaxWait: tm.Rule.MaxWait}
				if watched {
					arrived.Add(1)
				}
				v := s.Arrive(time.Now(), it)
				if v == Waiting {
					gone := make(chan struct{})
					hangUp := time.AfterFunc(time.Duration(rand.IntN(400))*time.Millisecond, func() { close(gone) })
					v = s.Wait(it, gone)
					hangUp.Stop()
				}
				verdicts[v].Add(1)
				if watched && v != Granted && v != Gone {
					t.Errorf("%v, though it is only observed", v)
				}
				if v == Granted {
					time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
					s.Release(time.Now(), it)
				} else {
					s.Unpin(f)
				}
			})
		}
		told := 0
		for range 600 {
			time.Sleep(10 * time.Millisecond)
			told += len(s.Judged())
		}
		wg.Wait()
		if n := int(arrived.Load()); told != n || n != 2000 {
			t.Errorf("%d told of %d", told, n)
		}
		if verdicts[Granted].Load() == 0 || verdicts[Gone].Load() == 0 || verdicts[WaitExpired].Load() == 0 {
			t.Error("no grants, no hang-ups or nothing enforced: the race was not there")
		}
		if st := s.Stats(0); st.Pools[0].InUse != 0 || st.Shadow.Pools[0].InUse != 0 || st.Shadow.Pools[0].Waiting != 0 {
			t.Errorf("in the end %+v, in the shadow %+v", st.Pools[0], st.Shadow.Pools[0])
		}
	})
}

func TestObservingComesAndGoesUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(onePool(3, 2))
		strict := rule(50, time.Second, "realtime", 5*time.Millisecond)
		rules := []*Rule{strict, observed(strict)}
		var version atomic.Uint64
		var wg sync.WaitGroup
		for i := range 3000 {
			wg.Go(func() {
				time.Sleep(time.Duration(i/20) * time.Millisecond)
				v := version.Load()
				tm := Terms{Version: v, Rule: rules[v%2], Pool: "shared", Weight: 1}
				f := s.Meter(time.Now(), key(int32(i%5), chat), tm)
				it := &Item{Flow: f, MaxWait: tm.Rule.MaxWait}
				if s.Arrive(time.Now(), it) == Waiting {
					s.Wait(it, nil)
				}
				if it.Verdict != Granted {
					s.Unpin(f)
					return
				}
				time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond)
				s.Release(time.Now(), it)
			})
		}
		told := 0
		for i := range uint64(30) {
			time.Sleep(5 * time.Millisecond)
			set := onePool(3+int(i%3), 2)
			set.Observe = i%2 == 0
			s.Apply(set)
			version.Store(i + 1)
			told += len(s.Judged())
		}
		wg.Wait()
		if st := s.Stats(0); told == 0 || st.Pools[0].InUse != 0 || st.Shadow != nil {
			t.Errorf("%d told, in the end %+v, shadow %+v", told, st.Pools[0], st.Shadow)
		}
	})
}

func TestAMillionGhostsLeaveNoMemory(t *testing.T) {
	set := observing(onePool(8, 9))
	set.MaxFlows = 50
	c := NewCore(t0, set)
	r := observed(rule(50, time.Second, "standard", 200*time.Millisecond))
	now := t0
	var running []*Item
	play := func(n int) {
		for i := range n {
			k := key(int32(i%7), chat)
			k.Tenant = string(rune('a' + i%23))
			it := &Item{Flow: c.Meter(now, k, terms(r)), MaxWait: r.MaxWait, Name: []byte("some request")}
			c.Arrive(now, it)
			running = append(running, it)
			now = now.Add(time.Millisecond)
			if len(running) > 12 {
				it := running[0]
				running = running[1:]
				switch {
				case it.Verdict == Granted:
					c.Release(it, now)
				case it.state == waiting:
					c.Cancel(now, it)
				}
				c.Unpin(it.Flow)
			}
			c.Decided()
			if i%100 == 0 {
				c.Judged()
			}
		}
	}
	inUse := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	few := 1
	if shorter > 1 {
		few = 4
	}
	play(100_000 / shorter / few)
	before := inUse()
	play(1_000_000 / shorter / few)
	if grown := inUse() - before; grown > 1<<20 {
		t.Errorf("%d bytes more after a million requests", grown)
	}
	if n := len(c.shadow.rules); n != 1 {
		t.Errorf("%d enforcing copies of one rule", n)
	}
	runtime.KeepAlive(c)
}

func TestMemoryOfTheShadowIsBoundedLikeThatOfEnforcing(t *testing.T) {
	set := observing(onePool(2, 9))
	set.Pools[0].MaxWaiting = 100
	c := NewCore(t0, set)
	tm := pacedAt(1, time.Second)
	for range 5000 {
		it := &Item{Flow: c.Meter(t0, key(1, chat), tm), MaxWait: time.Hour}
		c.Arrive(t0, it)
	}
	if p := c.Stats(t0, 0).Shadow.Pools[0]; p.Waiting > 100 || c.pools[0].observed != 4998 {
		t.Errorf("%d ghosts wait of at most 100, %d requests", p.Waiting, c.pools[0].observed)
	}
}

func BenchmarkArriveAndRelease(b *testing.B) {
	for _, observe := range []bool{false, true} {
		name := "enforced"
		r := rule(1_000_000, time.Second, "realtime", time.Second)
		set := onePool(64, 9)
		if observe {
			name, r, set = "observed", observed(r), observing(set)
		}
		b.Run(name, func(b *testing.B) {
			c := NewCore(t0, set)
			tm := terms(r)
			it := &Item{}
			now := t0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now = now.Add(10 * time.Microsecond)
				f := c.Meter(now, key(int32(i%16), chat), tm)
				it.Reset()
				it.Flow, it.MaxWait = f, time.Second
				c.Arrive(now, it)
				now = now.Add(10 * time.Microsecond)
				c.Release(it, now)
				c.Unpin(f)
				if i%1000 == 0 {
					c.Judged()
				}
			}
		})
	}
}
