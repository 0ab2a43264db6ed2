package detector

import (
	"math"
	"time"
)

// threshold is the score at which a flow has burst; see the package's text for what it means in false alarms.
const threshold = 16

// tide is what the fastest tide may add, for the Rise that it was reckoned for.
type tide struct {
	rise    time.Duration
	perSec  float64         // ln 2/rise
	short   float64         // growth over the lag of the short mean
	reached [scales]float64 // growth from the level, 6.4 s ago, to the middle of a scale, times its seconds
}

func (t *tide) reckon(rise time.Duration) {
	t.rise, t.perSec = rise, math.Ln2/rise.Seconds()
	t.short = math.Exp(min(most, t.perSec*shortSeconds))
	for k := range t.reached {
		t.reached[k] = math.Exp(min(most, t.perSec*(ringSeconds-scaleSeconds[k]/2))) * scaleSeconds[k]
	}
}

const most = 50 // as an exponent: beyond it there is no difference

// judge is the evidence, in nats, that the flow has burst within its newest cells, and since how many of them. It
// looks at the finest scales, and goes no further once it has enough. Evidence below half of the threshold is given
// as 0.
func (f *Flow) judge(c *Config, finest int, enough float64) (score float64, since int) {
	if f.tide.rise != c.Rise {
		f.tide.reckon(c.Rise)
	}
	recent, long := f.level.now(f.tide.short), f.level.long
	if long < leastExpected {
		long = leastExpected
	}
	if f.stale > 0 {
		f.stale = min(f.stale, c.Rise.Seconds()) // at most twofold
		stale := math.Exp(f.tide.perSec * f.stale)
		recent *= stale
		long *= stale
	}
	f.expected = recent
	if recent < long {
		f.expected = long
	}
	finest = min(finest, f.cells.validScales())
	for k := range finest {
		expected := f.expectedAt(k, recent, long)
		over := float64(f.cells.sums[k]) - expected
		// x^2/2 is above what weigh finds for any x, so that its logarithm is seldom needed. One comparison, mostly
		// false.
		if over*math.Abs(over) >= expected*f.dispersion.variance[k]*threshold {
			return f.weigh(c.Ratio, k, finest, enough, recent, long)
		}
	}
	return 0, 0
}

// expectedAt is how many arrivals a scale may have at the fastest tide from the recent level, and at least from the
// long one.
func (f *Flow) expectedAt(k int, recent, long float64) float64 {
	expected, least := recent*f.tide.reached[k], long*scaleSeconds[k]
	if expected < least {
		return least
	}
	return expected
}

// weigh is the best evidence of the scales from first on: the log-likelihood ratio of a rise by ratio or more
// against none, over the flow's own variance. The fullest cell of each is taken to be as expected: what lasts shows
// in the others too.
func (f *Flow) weigh(ratio float64, first, end int, enough, recent, long float64) (score float64, since int) {
	for k := first; k < end && score < enough; k++ {
		n, expected := scaleCells(k), f.expectedAt(k, recent, long)
		sum := float64(f.cells.sums[k])
		if sum <= expected {
			continue
		}
		sum += expected/float64(n) - float64(f.cells.largest(n))
		rise := max(ratio, sum/expected)
		s := (sum*math.Log(rise) - (rise-1)*expected) / f.dispersion.variance[k]
		if s >= threshold/2 && s > score {
			score, since = s, n
		}
	}
	return score, since
}
