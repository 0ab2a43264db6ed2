package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tidegate/pools"
)

// What the shadow tells, beside what enforcing does.

func TestTheWorkedExampleIsToldAsItIsEnforced(t *testing.T) {
	const ms = time.Millisecond
	cases := []struct {
		over    OverRate
		surging bool
		waits   []time.Duration // of those granted
		refused int
	}{
		{OverQueue, false, []time.Duration{0, 0, 0, 0, 400 * ms}, 0},
		{OverPace, false, []time.Duration{0, 0, 1000 * ms, 1500 * ms, 2000 * ms}, 0},
		{OverReject, false, []time.Duration{0, 0}, 3},
		{OverQueue, true, []time.Duration{0, 0, 0, 0, 400 * ms}, 0},
	}
	for _, tc := range cases {
		played := map[bool]*simulation{}
		var src *source
		for _, observe := range []bool{false, true} {
			set := onePool(4, 2)
			set.Observe = observe
			h := byHand(t, set)
			r := rule(2, time.Second, "standard", 5*time.Second)
			r.OverRate, r.Observe = tc.over, observe
			src = h.source("flow", key(1, chat), terms(r), 400*ms)
			src.seatOf = func(int) time.Duration { return 400 * ms }
			h.warm(src)
			if observe {
				// As if it had been learned before: the shadow begins with what the real core knows.
				h.core.shadow = newShadow(h.core, set)
			}
			src.surging = tc.surging
			h.sends(src, 0, 5)
			h.run(5 * time.Second)
			played[observe] = h.simulation
		}
		// Held back by the seats alone.
		wantGrants(t, src, 0, 0, 0, 0, 400*ms)
		var waits []time.Duration
		refused := 0
		for _, j := range src.would {
			if j.Verdict == Granted {
				waits = append(waits, j.Wait)
			} else {
				refused++
			}
		}
		if fmt.Sprint(waits) != fmt.Sprint(tc.waits) || refused != tc.refused {
			t.Errorf("over_rate %d surging %v: would wait %v and %d refused, want %v and %d", tc.over, tc.surging, waits, refused, tc.waits, tc.refused)
		}
		wantSame(t, src.would, played[false].ended)
	}
}

// wantSame wants each item to be told once, and as it ended where it was enforced.
func wantSame(t *testing.T, would []Judged, ended map[string]Judged) {
	t.Helper()
	told := map[string]bool{}
	for _, j := range would {
		if told[j.Name] {
			t.Fatalf("%s is told twice", j.Name)
		}
		told[j.Name] = true
		j.Flow = nil
		if want := ended[j.Name]; j != want {
			t.Fatalf("%s would come to\n%+v, enforced it came to\n%+v", j.Name, j, want)
		}
	}
	if len(would) != len(ended) {
		t.Errorf("%d told of %d", len(would), len(ended))
	}
}

// mixed plays callers of every kind of rule for half a minute, with seat times of their own for each request.
func mixed(t *testing.T, seed uint64, seats int, over float64, observe func(flow int) bool) *simulation {
	set := onePool(seats, 12)
	set.Pools[0].MaxWaiting, set.Pools[0].MaxWaitingBytes = 60, 50_000
	rng := rand.New(rand.NewPCG(seed, 3))
	var rules []*Rule
	for i := range 12 {
		n := 2 + rng.Int64N(20)
		r := rule(n, time.Second, []string{"realtime", "standard", "batch"}[rng.IntN(3)], time.Duration(rng.IntN(4))*700*time.Millisecond)
		r.OverRate = OverRate(rng.IntN(3))
		r.Cost = 1 + rng.Int64N(2)
		if rng.IntN(3) == 0 {
			r.MaxInFlight, r.RejectInFlight = 1+rng.IntN(3), rng.IntN(2) == 0
		}
		if rng.IntN(3) == 0 {
			r.Limit.Burst = 2 + rng.Int64N(5)
		}
		if observe(i) {
			r.Observe, set.Observe = true, true
		}
		rules = append(rules, r)
	}
	s := newSimulation(t, set)
	for i, r := range rules {
		tm := terms(r)
		if i/2%3 == 1 {
			tm.CallerRate = &pools.Limit{N: 10, Per: time.Second}
		}
		src := s.add(&source{name: fmt.Sprint("flow-", i), key: key(int32(i/2), int32(i%3)), terms: tm})
		mean := 10 + 150*rng.Float64()
		src.seatOf = func(n int) time.Duration {
			one := rand.New(rand.NewPCG(seed+uint64(i), uint64(n)))
			return time.Duration(mean * one.ExpFloat64() * 1e6)
		}
		for at := time.Duration(0); at < 30*time.Second; {
			perSecond := float64(r.Limit.N) / float64(r.Cost) * over
			at += time.Duration(rng.ExpFloat64() / perSecond * 1e9)
			s.at(at, func() { s.arrive(src) })
		}
		if i%3 == 1 {
			for k := range 3 {
				s.at(time.Duration(5+8*k)*time.Second, func() {
					src.surging = !src.surging
					if f := s.core.flows[src.key]; f != nil {
						s.core.SetSurging(s.now, f, src.surging)
						s.decided()
					}
				})
			}
		}
	}
	s.run(time.Minute)
	return s
}

func (s *simulation) told() (all []Judged) {
	for _, src := range s.order {
		all = append(all, src.would...)
	}
	return all
}

func TestWhatIsToldIsWhatEnforcingDoes(t *testing.T) {
	// With seats for all, nothing that is observed waits, so every seat time is known when it is needed.
	for seed := range uint64(20 / shorter) {
		none := mixed(t, seed, 200, 1.5, func(int) bool { return false })
		all := mixed(t, seed, 200, 1.5, func(int) bool { return true })
		if all.refusedAny() {
			t.Fatalf("seed %d: refused though all is observed", seed)
		}
		wantSame(t, all.told(), none.ended)
	}
}

func (s *simulation) refusedAny() bool {
	for _, src := range s.order {
		if src.allRefused() > 0 {
			return true
		}
	}
	return false
}

func TestWhatIsToldOfAFullPoolIsCloseToWhatEnforcingDoes(t *testing.T) {
	// Twelve seats for work that needs some twenty, three times over its rates. The observed queue has no end, so
	// ghosts get their seats long before their requests, and play the seat times of others.
	// Flows that higher levels keep from any real seat have few of those.
	wantClose(t, 12, 3, .1, func(int) bool { return true })
}

func TestWhatIsToldBesideEnforcedWorkIsCloseToWhatEnforcingDoes(t *testing.T) {
	// What is enforced is refused for its own reasons, which the observed work beside it changes.
	wantClose(t, 200, 2, .05, func(flow int) bool { return flow/2%3 != 0 })
	wantClose(t, 20, 2, .05, func(flow int) bool { return flow/2%3 != 0 })
}

// wantClose wants what is told of the observed flows to be within a share of what becomes of them when all is
// enforced, and of few items within 2 in 1,000 of all.
func wantClose(t *testing.T, seats int, over, share float64, observe func(flow int) bool) {
	t.Helper()
	seeds := uint64(10)
	if shorter > 1 {
		seeds, share = 2, 3*share
	}
	was, would := map[string]int{}, map[string]int{}
	offered := 0
	for seed := range seeds {
		none := mixed(t, seed, seats, over, func(int) bool { return false })
		some := mixed(t, seed, seats, over, observe)
		for i, src := range some.order {
			if !observe(i) {
				if len(src.would) > 0 {
					t.Fatalf("%s is enforced, and %d are told of it", src.name, len(src.would))
				}
				continue
			}
			offered += src.offered
			if n := src.allRefused(); n > 0 || len(src.would) != src.offered {
				t.Errorf("%s: %d offered, %d refused, %d told", src.name, src.offered, n, len(src.would))
			}
			for k, n := range tally(src.would) {
				would[k] += n
			}
			for k, n := range none.order[i].enforced() {
				was[k] += n
			}
		}
	}
	t.Log("were", was, "would be", would, "of", offered)
	for k := range was {
		if d := math.Abs(float64(would[k] - was[k])); d > share*float64(was[k])+.002*float64(offered) {
			t.Errorf("%s: %d would be, %d were", k, would[k], was[k])
		}
	}
}
