package knee

import (
	"math"
	"time"

	"tidegate/loadtest/openloop"
)

// Verdict says what a step means.
type Verdict uint8

// The verdicts. Only Carried counts for the load, only Void for nothing.
const (
	Carried Verdict = iota
	Void            // the generator itself was late
	Late            // latency is beyond the limit
	Short           // answers do not keep up with arrivals
	Refused         // too many are turned away
	Failing         // too many fail
	Full            // the generator has no connection left
)

var verdictNames = [...]string{"ok", "void", "slow", "short", "turned away", "errors", "connections"}

func (v Verdict) String() string { return verdictNames[v] }

// What a step must hold to be carried.
const (
	follow     = 0.95 // served, of the arrivals
	tolerated  = 0.01 // turned away or failed, of the arrivals
	tooFailing = 0.05 // failed: more than this ends everything
)

// judge gives the verdict on a step of an open load.
func judge(s *Step, limit time.Duration) Verdict {
	switch {
	case s.bad() > tolerated && s.Failed > s.TurnedAway:
		return Failing
	case s.bad() > tolerated:
		return Refused
	case s.Unsent > 0:
		return Full
	case lagged(s, limit):
		return Void
	case s.Cut == Overrun || !followed(s):
		return Short
	case s.High > limit:
		return Late
	}
	return Carried
}

// judgeSeats gives the verdict on a step behind seats, which is more than can be served by design.
func judgeSeats(s *Step, limit time.Duration) Verdict {
	switch {
	case s.bad() > tolerated && s.Failed > s.TurnedAway:
		return Failing
	case s.bad() > tolerated:
		return Refused
	case s.High > limit:
		return Late
	}
	return Carried
}

// lagged says that the generator was too late for the step to say anything. Lag is part of every latency, so it
// has to be small beside the limit on that. And a machine that stands still for 1 % of the measured part makes that part's
// p99 by itself.
func lagged(s *Step, limit time.Duration) bool {
	return s.LagP99 > max(openloop.MaxLagP99, limit/10) || s.LagMax > max(4*openloop.MaxLagP99, s.Measured/100)
}

// followed says that answers keep up. Over a span the answers lack what is out at its end and have what was out at its
// beginning; for independent arrivals those are two draws of mean and variance InFlight, so that their difference has a
// deviation of sqrt(2 InFlight). Three of them are no sign of anything.
func followed(s *Step) bool {
	missing := (s.Offered - s.Goodput) * s.Measured.Seconds()
	return missing <= (1-follow)*float64(s.Requests) || missing <= 3*math.Sqrt(2*s.InFlight)+1
}
