package gateway

import (
	"time"

	"tidegate/gateway/console"
	"tidegate/gateway/policy"
)

// stance says how a flow or a caller stands: the place of its word in console.Standings.
type stance uint8

const (
	standingSurging stance = iota
	standingThrottled
	standingWaiting
	standingExcess
	standingPaused
	standingCalm
)

func (s stance) String() string { return console.Standings[s] }

// How long something that has happened says how a flow stands. Both are reckoned from the census that saw it, so they
// are up to a second longer.
const (
	throttledFor = 10 * time.Second
	excessFor    = 3 * time.Second
)

// moment is a time since the gateway began, as flows remember it; 0: never.
type moment time.Duration

// within says that m was no longer than d ago.
func (m moment) within(d time.Duration, now moment) bool { return m > 0 && now-m < moment(d) }

// standingOf is how a caller without traffic stands.
func standingOf(c *policy.Caller) stance {
	if !c.Enabled {
		return standingPaused
	}
	return standingCalm
}

// stand is how a flow stands. It is in excess when a request that its rate had not paid has been given a seat within the
// last three seconds: seats are given out one by one, and each time it is known whether the rate has paid, so nothing is
// guessed. What comes above the rate and gets no seat waits or is refused, and stands so; what a rule that observes lets
// pass unpaid is excess as well.
func stand(surging, refused bool, waiting int, unpaid, enabled bool) stance {
	switch {
	case !enabled: // what it had waiting may still be served: what matters is that nothing more comes
		return standingPaused
	case surging:
		return standingSurging
	case refused:
		return standingThrottled
	case waiting > 0:
		return standingWaiting
	case unpaid:
		return standingExcess
	}
	return standingCalm
}
