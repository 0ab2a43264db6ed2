package scheduler

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// The incident: one caller jumps from 15 to 800 requests a second beside VIP, ordinary, rising and untagged
// traffic. It is played once enforced and once observed, with the same arrivals and seat times.

const fallback int32 = 9 // the semantic of what carries no tag

type promo struct{ quiet, jump, after time.Duration }

// ends is when the last of the jump has been served, refused or expired.
func (p promo) ends() time.Duration { return p.quiet + p.jump + p.after + 2*time.Minute }

func (p promo) play(t *testing.T, observe bool) *simulation {
	set := onePool(64, 24)
	vip := set.Pools[0]
	vip.Name, vip.Seats, vip.Callers = "vip", 32, 1
	set.Pools = append(set.Pools, vip)
	set.Observe = observe
	s := newSimulation(t, set)
	caller := int32(0)
	add := func(name, pool, level string, semantic int32, quota int64, maxWait, seat time.Duration, even bool, perSecond func(at time.Duration) float64) *source {
		caller++
		r := rule(quota, time.Second, level, maxWait)
		r.Observe = observe
		tm := terms(r)
		tm.Pool = pool
		src := s.add(&source{name: name, key: key(caller, semantic), terms: tm, seatOf: func(int) time.Duration { return seat }})
		// Arrivals of its own, so that they do not depend on anything that happens.
		rng := rand.New(rand.NewPCG(uint64(caller), 77))
		for at := time.Duration(0); at < p.quiet+p.jump+p.after; {
			gap := 1 / perSecond(at)
			if !even {
				gap *= rng.ExpFloat64()
			}
			at += time.Duration(gap * 1e9)
			s.at(at, func() { s.arrive(src) })
		}
		return src
	}
	steady := func(perSecond float64) func(time.Duration) float64 {
		return func(time.Duration) float64 { return perSecond }
	}
	const chatTime, exportTime = 20 * time.Millisecond, 200 * time.Millisecond
	add("vip", "vip", "realtime", chat, 200, 2*time.Second, chatTime, true, steady(100))
	for i := range 20 {
		add(fmt.Sprint("ordinary-", i), "shared", "realtime", chat, 20, 2*time.Second, chatTime, false, steady(8))
	}
	add("exporter", "shared", "batch", export, 20, time.Minute, exportTime, false, steady(5))
	add("morning", "shared", "realtime", chat, 60, 2*time.Second, chatTime, false, func(at time.Duration) float64 {
		return 20 * math.Exp2(min(at.Seconds()/90, 1))
	})
	add("steady-over", "shared", "realtime", chat, 20, 2*time.Second, chatTime, false, steady(22))
	add("untagged", "shared", "batch", fallback, 5, 5*time.Second, chatTime, false, steady(6))
	spider := add("spider", "shared", "batch", export, 20, time.Minute, exportTime, false, func(at time.Duration) float64 {
		if at >= p.quiet && at < p.quiet+p.jump {
			return 800
		}
		return 15
	})
	surge := func(at time.Duration, on bool) {
		s.at(at, func() {
			spider.surging = on
			s.core.SetSurging(s.now, s.core.flows[spider.key], on)
			s.decided()
		})
	}
	surge(p.quiet+200*time.Millisecond, true)
	surge(p.quiet+p.jump+5*time.Second, false)
	s.run(p.ends())
	return s
}

// tally is how many requests came to what.
func tally(judged []Judged) map[string]int {
	n := map[string]int{}
	for _, j := range judged {
		switch {
		case j.Verdict != Granted:
			n[j.Verdict.String()]++
		case j.Waited:
			n["waited"]++
		default:
			n["passed"]++
		}
		if j.Breach {
			n["breach"]++
		}
	}
	return n
}

// enforced is the same of a source whose rule was enforced.
func (src *source) enforced() map[string]int {
	n := map[string]int{}
	for v, times := range src.refused {
		n[v.String()] = times
	}
	if src.atOnce > 0 {
		n["passed"] = src.atOnce
	}
	if w := src.granted - src.atOnce; w > 0 {
		n["waited"] = w
	}
	if src.breaches > 0 {
		n["breach"] = src.breaches
	}
	return n
}

func TestTheIncidentObservedComesToWhatItEnforcedComesTo(t *testing.T) {
	p := promo{quiet: 20 * time.Second, jump: 20 * time.Second, after: 30 * time.Second}
	if shorter > 1 {
		p = promo{quiet: 5 * time.Second, jump: 4 * time.Second, after: 5 * time.Second}
	}
	was, would := p.play(t, false), p.play(t, true)
	for i, src := range would.order {
		if n := src.allRefused(); n > 0 || src.granted != src.offered {
			t.Errorf("%s: %d of %d served and %v refused, though all is only observed", src.name, src.granted, src.offered, src.refused)
		}
		if src.name == "vip" && src.atOnce != src.offered {
			t.Errorf("%d of %d vip requests waited, with 2 of 32 seats in use", src.offered-src.atOnce, src.offered)
		}
		if len(src.would) != src.offered {
			t.Errorf("%s: %d offered, %d told", src.name, src.offered, len(src.would))
		}
		if got, want := tally(src.would), was.order[i].enforced(); !maps.Equal(got, want) {
			t.Errorf("%s would have come to %v; enforced it came to %v", src.name, got, want)
		}
		var waits []time.Duration
		for _, j := range src.would {
			if j.Verdict == Granted {
				waits = append(waits, j.Wait)
			}
		}
		for _, q := range []float64{.5, .99, 1} {
			if got, want := quantile(waits, q), quantile(was.order[i].waits, q); got != want {
				t.Errorf("%s: wait p%v would be %v, enforced it is %v", src.name, 100*q, got, want)
			}
		}
		if !strings.HasPrefix(src.name, "ordinary") {
			t.Log("would have come to", tally(src.would), "and came to", src)
		}
	}
	wantSame(t, would.told(), was.ended)
}
