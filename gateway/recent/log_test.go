package recent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

type line struct {
	from, to time.Duration // since t0
	flow     Flow
	arrivals int
	seat     time.Duration
}

// all is everything that is remembered.
func all(p *Past) (lines []line) {
	var now []line
	p.Each(func(i, arrivals int, seat time.Duration) {
		now = append(now, line{flow: *p.Flow(i), arrivals: arrivals, seat: seat})
	}, func(from, to time.Time) {
		for _, of := range now {
			of.from, of.to = from.Sub(t0), to.Sub(t0)
			lines = append(lines, of)
		}
		now = now[:0]
	})
	return lines
}

func nothing(func(Flow, int, time.Duration)) {}

// What the log remembers is what a plain list of the last 15 minutes has, whatever comes and goes.
func TestTheLogIsTheLastFifteenMinutes(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 2))
		few := seed%2 == 0 // flows; with many, places are given back now and then
		var l Log
		var want []line
		now, compacted, places := t0, 0, 0
		for s := range 3000 {
			span := time.Duration(1+r.IntN(3000)) * time.Millisecond
			now = now.Add(span)
			flows := r.IntN(6)
			if !few && s%1000 < 300 {
				flows = r.IntN(40)
			}
			l.Add(now, span, func(yield func(Flow, int, time.Duration)) {
				for i := range flows {
					f := Flow{Caller: fmt.Sprint("c", i, "-", now.Minute()), Semantic: []string{"chat", "export"}[r.IntN(2)]}
					if !few {
						f.Tenant, f.Route = fmt.Sprint(r.IntN(1<<20)), fmt.Sprint(r.IntN(3))
					}
					n, seat := r.IntN(3000), time.Duration(r.IntN(1e6))*seatUnit
					yield(f, n, seat)
					if n > 0 {
						want = append(want, line{now.Add(-span).Sub(t0), now.Sub(t0), f, n, seat})
					}
				}
			})
			if len(l.flows) < places {
				compacted++
			}
			places = len(l.flows)
		}
		// A second that reaches into the last 15 minutes is there as a whole.
		want = slices.DeleteFunc(want, func(of line) bool { return of.to <= now.Sub(t0)-Span })
		if got := all(l.Past(0)); !slices.Equal(got, want) {
			t.Errorf("seed %d: %d are remembered, want %d", seed, len(got), len(want))
		}
		if used := len(l.flows) - len(l.free); used != len(l.byName) || used < 10 {
			t.Errorf("seed %d: %d places of %d are used, for %d flows", seed, used, len(l.flows), len(l.byName))
		}
		if few == (compacted > 0) {
			t.Errorf("seed %d: places were given back %d times", seed, compacted)
		}
		// Nothing is left of what has gone, but a few places.
		l.Add(now.Add(time.Hour), time.Hour, nothing)
		if l.bytes != perSecond+perFlow*len(l.flows) || len(l.flows) != len(l.free) || len(l.flows) >= 2*fewPlaces || len(l.byName) != 0 || l.span != Span {
			t.Errorf("seed %d: %d bytes, %d places and %d flows of %v are left", seed, l.bytes, len(l.flows), len(l.byName), l.span)
		}
	}
}

// Whatever it is that takes the room, all of it together stays within the bound, and so does the heap.
func TestTheLogStaysWithinItsBytes(t *testing.T) {
	const most, flows, seconds = 2 << 20, 1500, 400
	stay := make([]Flow, flows)
	for i := range stay {
		stay[i] = Flow{Caller: fmt.Sprint(i)}
	}
	come := func(s, i int) Flow { return Flow{Caller: stay[i].Caller, Tenant: fmt.Sprint("tenant ", s, "/", i)} }
	for name, f := range map[string]func(s, i int) Flow{
		"flows that come and go": come,
		"flows that stay":        func(_, i int) Flow { return stay[i] },
		"the one and the other": func(s, i int) Flow {
			if s%200 < 100 {
				return stay[i]
			}
			return come(s, i)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			l := Log{most: most}
			for s := range seconds {
				l.Add(t0.Add(time.Duration(s)*time.Second), time.Second, func(yield func(Flow, int, time.Duration)) {
					for i := range flows {
						yield(f(s, i), 1+i%200, time.Duration(i)*seatUnit)
					}
				})
				if l.bytes > most {
					t.Fatalf("%d bytes after %d s", l.bytes, s)
				}
			}
			if from, to := l.Past(0).Bounds(); to.Sub(from) < time.Second || to.Sub(from) >= seconds*time.Second || !to.Equal(t0.Add((seconds-1)*time.Second)) {
				t.Errorf("from %v to %v", from, to)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			took := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			if t.Logf("the heap has grown by %d bytes, %d are counted", took, l.bytes); took > most {
				t.Errorf("the heap has grown by %d bytes, of which %d are counted", took, l.bytes)
			}
			runtime.KeepAlive(&l)
		})
	}
}

// Clocks are set, and seconds are late; what came, came, and nothing is played at another speed.
func TestAClockThatIsSetIsFollowed(t *testing.T) {
	one := func(yield func(Flow, int, time.Duration)) { yield(Flow{Caller: "a"}, 1, 0) }
	var l Log
	for _, at := range []time.Duration{1, 1, -5, 2, 8 * 3600, 10, 11} { // seconds; a second apart by the other clock
		l.Add(t0.Add(at*time.Second), time.Second, one)
	}
	l.Add(t0.Add(14*time.Second), 3*time.Second, one) // late
	l.Add(t0.Add(14*time.Second), 0, one)             // and the next at once
	var ends []string
	for _, of := range all(l.Past(0)) {
		ends = append(ends, fmt.Sprintf("%v %v", of.from, of.to))
	}
	if got, want := strings.Join(ends, ", "), "3.999s 4.999s, 4.999s 5.999s, 5.999s 6.999s, 6.999s 7.999s, 7.999s 8.999s, 8.999s 9.999s, 9.999s 10.999s, 10.999s 13.999s, 13.999s 14s"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Work that is over at once is known to be, and not taken for work that nothing is known of.
func TestAShortSeatTimeIsKnown(t *testing.T) {
	var l Log
	for seat, want := range map[time.Duration]time.Duration{
		0: 0, 1: seatUnit, 30 * time.Microsecond: seatUnit, 149 * time.Microsecond: seatUnit, 150 * time.Microsecond: 2 * seatUnit, time.Hour: time.Hour,
	} {
		l.Add(t0, time.Second, func(yield func(Flow, int, time.Duration)) { yield(Flow{Caller: "a"}, 1, seat) })
		if got := all(l.Past(0)); got[len(got)-1].seat != want {
			t.Errorf("%v is remembered as %v", seat, got[len(got)-1].seat)
		}
	}
}

func TestOfTooManyTheOldestAreLeftOut(t *testing.T) {
	var l Log
	for s := range 10 {
		l.Add(t0.Add(time.Duration(s)*time.Second), time.Second, func(yield func(Flow, int, time.Duration)) { yield(Flow{Caller: "a"}, 10, 0) })
	}
	for most, want := range map[int64]int64{0: 100, 100: 100, 99: 90, 35: 30, 5: 0} {
		p := l.Past(most)
		from, to := p.Bounds()
		if p.Requests() != want || p.Cut() != (want < 100) || to.Sub(from) != time.Duration(want/10)*time.Second {
			t.Errorf("of at most %d there are %d from %v to %v, cut %v", most, p.Requests(), from, to, p.Cut())
		}
	}
}

// What was handed out stays as it was while the log goes on.
func TestThePastDoesNotChange(t *testing.T) {
	var l Log
	now := t0
	add := func(n int) {
		now = now.Add(time.Second)
		l.Add(now, time.Second, func(yield func(Flow, int, time.Duration)) {
			for i := range n {
				yield(Flow{Caller: "a", Tenant: fmt.Sprint(now.Unix(), i)}, 1+i, 0)
			}
		})
	}
	for range 20 {
		add(200)
	}
	p := l.Past(0)
	was := maps.Collect(slices.All(all(p)))
	for range 2000 {
		add(1)
	}
	if !maps.Equal(maps.Collect(slices.All(all(p))), was) || len(was) != 4000 {
		t.Error("it has changed")
	}
}
