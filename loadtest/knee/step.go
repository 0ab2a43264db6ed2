package knee

import (
	"math"
	"slices"
	"strconv"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
)

// Step is what was seen of one load. Rates are per second. Latencies count from the intended moment, behind seats from
// the moment of sending, and are of served requests that were meant for the measured part.
type Step struct {
	Load     Load
	Requests int     // meant for the measured part
	Offered  float64 // rate of them
	Goodput  float64 // rate of the answers that came in the measured part and were no refusal or failure
	Mean     time.Duration
	P50      time.Duration
	High     time.Duration // the quantile that is judged
	InFlight float64       // mean number of requests out over the measured part

	TurnedAway int            // answers 429 and 503
	Failed     int            // all other answers from 300 on, and missing ones
	Reasons    map[string]int // of both
	Unsent     int            // found no connection free

	LagP99, LagMax time.Duration // the generator's own
	Cut            Cut
	CutAt          time.Duration // from the start of the step
	Measured       time.Duration // the part that was measured: Load.Length, or less where the step was cut

	Verdict Verdict
}

// bad is the share of requests that were turned away or failed.
func (s *Step) bad() float64 { return share(s.TurnedAway+s.Failed, s.Requests) }

func share(n, of int) float64 { return float64(n) / float64(max(of, 1)) }

type kind uint8

const (
	unsent kind = iota // not sent at all
	served
	turnedAway
	failed
)

// outcome is what a result means for an upstream. 429 and 503 are an upstream that defends itself; anything else is one
// in trouble, or a request that is wrong: one that is sent elsewhere (to a login, or to https) is not the work.
func outcome(r *openloop.Result) kind {
	switch {
	case r.Failure == openloop.Unsent || r.Failure == openloop.Skipped:
		return unsent
	case r.Failure != openloop.None:
		return failed
	case r.Status == 429 || r.Status == 503:
		return turnedAway
	case r.Status >= 300:
		return failed
	}
	return served
}

// Reason says in a word why a result is no success, "" when it is one.
func Reason(r *openloop.Result) string {
	switch outcome(r) {
	case served:
		return ""
	case unsent:
		return r.Failure.String()
	}
	if r.Failure != openloop.None {
		return r.Failure.String()
	}
	return "http_" + strconv.Itoa(r.Status)
}

// Measure makes a step of the results of a load, by arrival. quantile is the one that is judged, above 0 and below 1.
func Measure(load Load, arrivals []schedule.Arrival, results []openloop.Result, guard *Guard, quantile float64) Step {
	s := Step{Load: load, Reasons: make(map[string]int)}
	from, to := load.Settle, load.whole()
	if s.Cut, s.CutAt = guard.Cut(); s.Cut != Whole {
		// All that was sent is looked at. Throughput is that from the first answer on, since an overrun server
		// is busy from the start and its first answer takes as long as its work.
		from, to = firstDone(results, s.CutAt), s.CutAt
	}
	s.Measured = to - from
	var latencies, lags []time.Duration
	done, out := 0, time.Duration(0)
	for i, a := range arrivals {
		r := &results[i]
		what := outcome(r)
		if what != unsent {
			out += max(0, min(r.Done, to)-max(r.Sent, from))
		}
		if what == served && r.Done >= from && r.Done < to {
			done++
		}
		if (a.At < from && s.Cut == Whole) || a.At >= to || r.Failure == openloop.Skipped {
			continue
		}
		s.Requests++
		switch what {
		case unsent:
			s.Unsent++
			s.Reasons[Reason(r)]++
			continue
		case turnedAway:
			s.TurnedAway++
			s.Reasons[Reason(r)]++
		case failed:
			s.Failed++
			s.Reasons[Reason(r)]++
		case served:
			since := a.At
			if load.Seats > 0 {
				since = r.Sent
			}
			latencies = append(latencies, r.Done-since)
		}
		lags = append(lags, max(0, r.Sent-a.At))
	}
	if s.Measured > 0 {
		s.Goodput = float64(done) / s.Measured.Seconds()
		s.InFlight = out.Seconds() / s.Measured.Seconds()
	}
	s.Offered = load.Rate
	if s.Cut == Whole && s.Measured > 0 {
		s.Offered = float64(s.Requests) / s.Measured.Seconds()
	}
	s.Mean, s.P50, s.High = mean(latencies), at(latencies, 0.5), at(latencies, quantile)
	if load.Seats == 0 {
		s.LagP99, s.LagMax = at(lags, 0.99), at(lags, 1)
	}
	return s
}

// firstDone is the moment of the first answer, before a moment.
func firstDone(results []openloop.Result, before time.Duration) time.Duration {
	first := before
	for i := range results {
		if outcome(&results[i]) != unsent {
			first = min(first, results[i].Done)
		}
	}
	return first
}

func mean(of []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range of {
		sum += d
	}
	return sum / time.Duration(max(len(of), 1))
}

// at is a quantile: the smallest value that at least this share of all does not exceed. It sorts what it is given.
func at(of []time.Duration, quantile float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	// The margin is for shares such as 0.99 that are no sum of powers of two: 0.99 x 100 must not be 99.00...01.
	return of[max(0, int(math.Ceil(quantile*float64(len(of))-1e-9))-1)]
}
