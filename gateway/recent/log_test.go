package recent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

type line struct {
	at       int64
	flow     Flow
	arrivals int
	seat     time.Duration
}

// all is everything that a log remembers.
func all(l *Log) map[line]bool {
	found := map[line]bool{}
	p := l.Past(0)
	var now []line
	p.Each(func(i, arrivals int, seat time.Duration) {
		now = append(now, line{flow: *p.Flow(i), arrivals: arrivals, seat: seat})
	}, func(ends time.Time) bool {
		for _, of := range now {
			of.at = ends.Unix()
			found[of] = true
		}
		now = now[:0]
		return true
	})
	return found
}

// What the log remembers is what a plain list of the last 15 minutes has, whatever comes and goes.
func TestTheLogIsTheLastFifteenMinutes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var l Log
	want := map[line]bool{}
	now := t0
	for range 4000 {
		now = now.Add(time.Duration(1+r.IntN(2)) * time.Second)
		l.Add(now, func(yield func(Flow, int, time.Duration)) {
			for range r.IntN(6) {
				f := Flow{Caller: fmt.Sprint("c", r.IntN(5), now.Minute()), Semantic: []string{"chat", "export"}[r.IntN(2)], Tenant: fmt.Sprint(now.Unix() / 60), Route: fmt.Sprint(now.Nanosecond(), r.IntN(1000))}
				n, seat := r.IntN(3000), time.Duration(r.IntN(1e6))*100*time.Microsecond
				yield(f, n, seat)
				if n > 0 {
					want[line{now.Unix(), f, n, seat}] = true
				}
			}
		})
	}
	maps.DeleteFunc(want, func(of line, _ bool) bool { return of.at <= now.Unix()-900 })
	got := all(&l)
	if !maps.Equal(got, want) {
		t.Errorf("%d are remembered, want %d", len(got), len(want))
	}
	if used := len(l.flows) - len(l.free); used != len(l.byName) || len(l.flows) > 4000 {
		t.Errorf("%d places of %d are used, for %d flows", used, len(l.flows), len(l.byName))
	}
	// Nothing is left of what has gone.
	l.Add(now.Add(time.Hour), func(func(Flow, int, time.Duration)) {})
	if l.bytes != perSecond || len(l.byName) != 0 {
		t.Errorf("%d bytes and %d flows are left", l.bytes, len(l.byName))
	}
}

func TestTheLogStaysWithinItsBytes(t *testing.T) {
	var l Log
	for s := range 600 {
		l.Add(t0.Add(time.Duration(s)*time.Second), func(yield func(Flow, int, time.Duration)) {
			for i := range 1000 {
				yield(Flow{Caller: strings.Repeat("x", 100), Semantic: fmt.Sprint(s, "/", i)}, 1, 0)
			}
		})
		if l.bytes > MaxBytes {
			t.Fatalf("%d bytes after %d s", l.bytes, s)
		}
	}
	if from, to := l.Past(0).Bounds(); to.Sub(from) < 30*time.Second || !to.Equal(t0.Add(599*time.Second)) {
		t.Errorf("from %v to %v", from, to)
	}
}

func TestAClockThatStepsIsFollowed(t *testing.T) {
	one := func(yield func(Flow, int, time.Duration)) { yield(Flow{Caller: "a"}, 1, 0) }
	var l Log
	l.Add(t0, one)
	l.Add(t0, one)                     // the same second
	l.Add(t0.Add(-5*time.Second), one) // set back a little: until it has come to where it was, nothing is added
	l.Add(t0.Add(time.Second), one)    // and on
	l.Add(t0.Add(8*time.Hour), one)    // ahead
	l.Add(t0.Add(10*time.Second), one) // and back again
	l.Add(t0.Add(11*time.Second), one) //
	if got := l.Past(0).Requests(); got != 2 {
		t.Errorf("%d are remembered, want the last two", got)
	}
}

func TestOfTooManyTheOldestAreLeftOut(t *testing.T) {
	var l Log
	for s := range 10 {
		l.Add(t0.Add(time.Duration(s)*time.Second), func(yield func(Flow, int, time.Duration)) { yield(Flow{Caller: "a"}, 10, 0) })
	}
	for most, want := range map[int64]int64{0: 100, 100: 100, 99: 90, 35: 30, 5: 0} {
		if p := l.Past(most); p.Requests() != want || p.Cut() != (want < 100) {
			t.Errorf("of at most %d there are %d, cut %v", most, p.Requests(), p.Cut())
		}
	}
}
