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
	reached [scales]float64 // growth from where the level was learned, 6.4 s ago, to the middle of a scale
}

func (t *tide) reckon(rise time.Duration) {
	t.rise, t.perSec = rise, math.Ln2/rise.Seconds()
	t.short = math.Exp(min(most, t.perSec*shortSeconds))
	for k := range t.reached {
		t.reached[k] = math.Exp(min(most, t.perSec*(ringSeconds-scaleSeconds(k)/2)))
	}
}

const most = 50 // as an exponent: beyond it there is no difference

// judge is the evidence, in nats, that the flow has burst within its newest cells, and since how many of them. It looks at the
// finest scales, and goes no further once it has enough. Evidence below half of the threshold is given as 0.
func (f *Flow) judge(c *Config, finest int, enough float64) (score float64, since int) {
	if f.tide.rise != c.Rise {
		f.tide.reckon(c.Rise)
	}
	recent := f.level.now(f.tide.short)
	long := max(f.level.long, leastExpected)
	if f.stale > 0 {
		stale := math.Exp(min(f.tide.perSec*f.stale, math.Ln2))
		recent *= stale
		long *= stale
	}
	f.expected = max(recent, long)
	for k := range finest {
		n := scaleCells(k)
		if n > int(f.cells.valid) {
			break
		}
		rate := recent * f.tide.reached[k]
		if rate < long {
			rate = long
		}
		expected := rate * scaleSeconds(k)
		over := float64(f.cells.sums[k]) - expected
		// x^2/2 is above what follows for any x: no need to ask where it does not suffice. One comparison, mostly false.
		if over*math.Abs(over) < threshold*expected*f.dispersion.variance[k] {
			continue
		}
		s := f.evidence(c.Ratio, k, expected) / f.dispersion.variance[k]
		if s >= threshold/2 && s > score {
			if score, since = s, n; score >= enough {
				break
			}
		}
	}
	return score, since
}

// evidence is the log-likelihood ratio of the best rise by ratio or more against none, for the cells of scale k. The fullest
// cell is taken to be as expected: what lasts shows in the others too.
func (f *Flow) evidence(ratio float64, k int, expected float64) float64 {
	n := scaleCells(k)
	sum := float64(f.cells.sums[k]) - float64(f.cells.largest(n)) + expected/float64(n)
	rise := max(ratio, sum/expected)
	return sum*math.Log(rise) - (rise-1)*expected
}
