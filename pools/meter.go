package pools

import "time"

// Limit is a rate: N of cost in any Per; with Burst above 0 a token bucket of that depth.
type Limit struct {
	N     int64         // cost, at least 1
	Per   time.Duration // above 0, at most an hour
	Burst int64         // 0: a sliding window
}

// Step is the time that cost takes at the limit's steady rate: cost x Per/N.
func (l Limit) Step(cost int64) time.Duration { return 0 }

// Meter pays cost from one Limit. Not safe for concurrent use.
type Meter struct{}
