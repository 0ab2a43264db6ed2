package knee

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
)

// Load is what is played in one step.
type Load struct {
	Rate   float64 // requests a second
	Spread schedule.Spread
	Settle time.Duration // the first part, which is not measured
	Length time.Duration // the measured part, after Settle
	Seats  int           // at most so many out, the others wait their turn at the generator; 0: no such queue
	MaxOut int           // the step ends when so many are out; 0: never
}

// whole is how long requests are sent.
func (l Load) whole() time.Duration { return l.Settle + l.Length }

// Arrivals are the moments of the load; the same seed gives the same ones. In the measured part there are as many as the
// rate says, since the luck of how many come would otherwise be as wide as the bracket of the knee.
func (l Load) Arrivals(seed uint64) ([]schedule.Arrival, error) {
	if l.Spread == schedule.Even {
		return schedule.Make(nil, 0, l.Spread, seed, schedule.Steady(l.whole(), l.Rate))
	}
	count := func(d time.Duration) int { return int(math.Round(l.Rate * d.Seconds())) }
	arrivals := schedule.Scatter(nil, 0, seed, 0, l.Settle, count(l.Settle))
	return schedule.Scatter(arrivals, 0, ^seed, l.Settle, l.whole(), count(l.Length)), nil
}

// Upstream is what is measured. Its methods are called one at a time.
type Upstream interface {
	// Play plays a load and returns when nothing is under way any more. When ctx ends first it gives up what is
	// under way and returns what was seen with the context's error.
	Play(ctx context.Context, load Load) (Step, error)
	// Ask sends one request alone. Its error is the context's.
	Ask(ctx context.Context) (Answer, error)
}

// Answer is what became of one request that was sent alone.
type Answer struct {
	Latency time.Duration
	Reason  string // why it is no success: "http_401", "timeout"; "" when it was served
}

// Cut says why a step was ended before its time.
type Cut uint8

// The cuts.
const (
	Whole    Cut = iota
	Overrun      // more were out than MaxOut
	Refusals     // too many were turned away
	Failures     // too many failed
)

// A step is cut as soon as at least minBad answers are bad and they are at least badShare of all. Twenty in a hundred
// is far beyond what a step may have, and twenty are few enough to have done little harm.
const (
	minBad   = 20
	badShare = 0.1
)

// Guard watches a step and ends it as soon as nothing more can be learned from it. It is safe for concurrent use.
type Guard struct {
	load Load

	answers, refused, failed atomic.Int64
	cut                      atomic.Uint32 // a Cut
	at                       atomic.Int64  // its moment, from the start of the step
}

// NewGuard watches a load.
func NewGuard(load Load) *Guard { return &Guard{load: load} }

// Stop says whether sending has to end, at a moment since the start of the step with so many requests out.
func (g *Guard) Stop(at time.Duration, out int) bool {
	answers, refused, failed := g.answers.Load(), g.refused.Load(), g.failed.Load()
	cut := Whole
	switch bad := refused + failed; {
	case bad >= minBad && float64(bad) >= badShare*float64(answers):
		if cut = Refusals; failed > refused {
			cut = Failures
		}
	case g.load.MaxOut > 0 && out >= g.load.MaxOut:
		cut = Overrun
	}
	if cut != Whole {
		g.cut.Store(uint32(cut))
		g.at.Store(int64(at))
		return true
	}
	return at >= g.load.whole() // behind a queue the arrivals outlast the step
}

// Seen counts a result.
func (g *Guard) Seen(r *openloop.Result) {
	switch outcome(r) {
	case turnedAway:
		g.refused.Add(1)
	case failed:
		g.failed.Add(1)
	}
	g.answers.Add(1)
}

// Cut is whether the step was ended early, and when.
func (g *Guard) Cut() (why Cut, at time.Duration) {
	return Cut(g.cut.Load()), time.Duration(g.at.Load())
}
