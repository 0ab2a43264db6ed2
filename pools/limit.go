package pools

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// maxVolume bounds N x Per and Burst x Per (in cost x ns). A bucket keeps its level in this unit, and below the bound
// a sum of two levels still fits an int64.
const maxVolume = 4e18

// Limit is a rate: N of cost in any Per; with Burst above 0 a token bucket of that depth, refilled at N/Per.
type Limit struct {
	N     int64         `json:"n"`               // cost, at least 1
	Per   time.Duration `json:"per"`             // above 0, at most an hour
	Burst int64         `json:"burst,omitempty"` // cost; 0: a sliding window
}

// Valid reports what makes the limit unusable, with what is allowed and a remedy. All other methods and the Meter expect
// a limit that is valid.
func (l Limit) Valid() error {
	switch {
	case l.N < 1:
		return fmt.Errorf("cannot use rate %d/%v: allowed is 1 or more in a duration; to shut a caller out, disable it", l.N, l.Per)
	case l.Per <= 0:
		return fmt.Errorf("cannot use rate %d/%v: the duration must be above 0; write it as in \"20/60s\"", l.N, l.Per)
	case l.Per > time.Hour:
		return fmt.Errorf("cannot use rate %d/%v: the duration may be at most 1h; scale both down, and use a quota for days and months", l.N, l.Per)
	case l.Burst < 0:
		return fmt.Errorf("cannot use burst %d: allowed is 1 or more; leave it out for a sliding window", l.Burst)
	}
	if most := int64(maxVolume / l.Per); l.N > most {
		return fmt.Errorf("cannot use rate %d/%v: with this duration at most %d is allowed; write the same rate over a shorter duration", l.N, l.Per, most)
	} else if l.Burst > most {
		return fmt.Errorf("cannot use burst %d with rate %d/%v: with this duration at most %d is allowed; write the same rate over a shorter duration", l.Burst, l.N, l.Per, most)
	}
	return nil
}

// Step is the time that cost takes at the limit's steady rate: cost x Per/N, rounded up to a nanosecond so that a
// schedule of steps never runs ahead of the rate. A step longer than a Duration can hold is the longest Duration.
func (l Limit) Step(cost int64) time.Duration {
	if cost <= 0 {
		return 0
	}
	return time.Duration(mulDivUp(cost, int64(l.Per), l.N))
}

// Depth is the most that one payment can cost: N of a window, Burst of a bucket. A cost above it is never paid.
func (l Limit) Depth() int64 {
	if l.Burst > 0 {
		return l.Burst
	}
	return l.N
}

// mulDiv is a x b/c rounded down, saturated; a and b at least 0, c above 0.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}

// mulDivUp is mulDiv rounded up.
func mulDivUp(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(c)-1, 0)
	hi += carry
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}
