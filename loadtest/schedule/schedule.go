// Package schedule fixes, before anything is sent, the moment of every request.
//
// An open-loop generator must not let a slow answer put off the next request: a caller in the real
// world does not know that the platform is slow, and whoever is kept waiting to send does not show up
// in the figures (coordinated omission). So the whole run is a list of moments, made here from rates
// and a seed, and played whatever the answers do.
//
// The model is a counting process with rate r(t). Its mass L(t) is the integral of r from 0 to t: the
// number of arrivals expected by t. Arrivals lie where L reaches a running sum of gaps: gaps of exactly
// 1 are even traffic, exponential gaps of mean 1 are a Poisson process. Both follow any rate that way.
package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Spread says how arrivals lie around their rate.
type Spread int

// The spreads.
const (
	Poisson Spread = iota // independent arrivals, as of many users
	Even                  // equal gaps, as of a timer
)

// Piece is a span of traffic whose rate goes from From to To, in requests a second. Where they differ
// the rate grows or falls exponentially, the way a tide that doubles in a fixed time does; then both
// must be above 0.
type Piece struct {
	Length   time.Duration
	From, To float64
}

// Steady is a piece of constant rate, in requests a second; 0 is silence.
func Steady(length time.Duration, rate float64) Piece {
	return Piece{Length: length, From: rate, To: rate}
}

// mass is the number of arrivals expected over the piece.
func (p Piece) mass() float64 {
	t := p.Length.Seconds()
	if p.From == p.To {
		return p.From * t
	}
	return (p.To - p.From) * t / math.Log(p.To/p.From)
}

// MassBetween is the number of arrivals expected between two moments of the piece, after its start. What lies
// outside the piece counts nothing.
func (p Piece) MassBetween(from, to time.Duration) float64 {
	from, to = max(from, 0), min(to, p.Length)
	if from >= to {
		return 0
	}
	part := p
	part.Length = to - from
	if p.From != p.To {
		growth := func(t time.Duration) float64 { return math.Pow(p.To/p.From, t.Seconds()/p.Length.Seconds()) }
		part.From, part.To = p.From*growth(from), p.From*growth(to)
	}
	return part.mass()
}

// invert is the time into the piece, in seconds, by which m arrivals are expected; 0 <= m <= mass.
func (p Piece) invert(m float64) float64 {
	if p.From == p.To {
		return m / p.From
	}
	// r(t) = From * exp(k t) with k = ln(To/From) / Length, so m = From/k * (exp(k t) - 1).
	k := math.Log(p.To/p.From) / p.Length.Seconds()
	return math.Log1p(m*k/p.From) / k
}

func (p Piece) check() error {
	switch {
	case p.Length < 0:
		return fmt.Errorf("cannot schedule a piece of length %v: it must not be negative", p.Length)
	case !(p.From >= 0 && p.To >= 0) || math.IsInf(p.From, 0) || math.IsInf(p.To, 0):
		return fmt.Errorf("cannot schedule a rate from %v to %v a second: both must be finite and not negative", p.From, p.To)
	case p.From != p.To && (p.From == 0 || p.To == 0):
		return fmt.Errorf("cannot schedule a rate from %v to %v a second: an exponential change needs both above 0", p.From, p.To)
	}
	return nil
}

// Arrival is one request to be sent.
type Arrival struct {
	At  time.Duration // after the start of the run: the intended moment
	Who int           // index of the sender
}

// Make appends to dst the arrivals of one sender over pieces that follow each other from the start of
// the run. The same seed and sender always give the same arrivals.
func Make(dst []Arrival, who int, spread Spread, seed uint64, pieces ...Piece) ([]Arrival, error) {
	rng := rand.New(rand.NewPCG(seed, uint64(who)))
	gap := func() float64 { return 1 }
	// Even traffic starts at a random phase: twenty callers with the same rate must not march in step.
	need := rng.Float64()
	if spread == Poisson {
		gap = rng.ExpFloat64
		need = gap()
	}
	var start time.Duration
	for _, p := range pieces {
		if err := p.check(); err != nil {
			return nil, err
		}
		mass := p.mass()
		used := 0.0
		for used+need < mass {
			used += need
			dst = append(dst, Arrival{At: start + time.Duration(p.invert(used)*float64(time.Second)), Who: who})
			need = gap()
		}
		need -= mass - used // what is left of the gap is spent at the next piece's rate
		start += p.Length
	}
	return dst, nil
}

// Scatter appends to dst n arrivals of one sender at independent moments from from to just before to, in order: Poisson
// traffic of which it is known how many come. Where spans of some hundred requests are compared that takes away most of what
// is luck. The same seed and sender always give the same arrivals.
func Scatter(dst []Arrival, who int, seed uint64, from, to time.Duration, n int) []Arrival {
	rng := rand.New(rand.NewPCG(seed, uint64(who)))
	first := len(dst)
	for range n {
		dst = append(dst, Arrival{At: from + time.Duration(rng.Float64()*float64(to-from)), Who: who})
	}
	Sort(dst[first:])
	return dst
}

// Sort brings the arrivals of several senders into the order of time. Equal moments keep their order.
func Sort(arrivals []Arrival) {
	slices.SortStableFunc(arrivals, func(a, b Arrival) int { return int(a.At - b.At) })
}
