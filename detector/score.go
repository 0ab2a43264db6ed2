package detector

import (
	"math"
	"time"
)

// growth is what the fastest tide may add.
type growth struct {
	perSecond float64 // ln 2/rise
	lag       float64 // over the lag of the short mean, as a factor
	ring      float64 // from the level, 6.4 s ago, until now, as a factor
}

func (g *growth) reckon(rise time.Duration) {
	const most = 50. // as an exponent: beyond it there is no difference
	g.perSecond = math.Ln2 / rise.Seconds()
	g.lag = math.Exp(min(most, g.perSecond*shortSeconds))
	g.ring = math.Exp(min(most, g.perSecond*ringSeconds))
}

// expectations is how many arrivals each scale may have: at the fastest tide from the recent level, and at least what the
// long level and the season allow.
type expectations [scales]float64

func (f *Flow) expect(c *Config) (e expectations) {
	if f.rise != c.Rise {
		f.rise = c.Rise
		f.growth.reckon(c.Rise)
	}
	recent, long := f.level.now(f.growth.lag), max(f.level.long, leastExpected)
	if f.stale > 0 {
		f.stale = min(f.stale, c.Rise.Seconds()) // at most twofold
		stale := math.Exp(f.growth.perSecond * f.stale)
		recent *= stale
		long *= stale
	}
	least := max(long, float64(f.hour.allowed))
	f.expected = max(recent, least)
	rate := max(recent*f.growth.ring, least)
	for k := range e {
		e[k] = rate * scaleSeconds[k]
	}
	return e
}

// bound reckons, for the next boundsEvery cells, the counts below which no scale can have evidence worth weighing. What
// exceeds m by d has less evidence than c while d < sqrt(2mc) + c/4, whatever m is.
func (f *Flow) bound(c *Config) {
	const margin = 0.7 // the level moves until the next time
	e := f.expect(c)
	for k := range f.bounds {
		least := margin * noted * f.variance(k)
		f.bounds[k] = uint32(min(math.MaxUint32, e[k]+math.Sqrt(2*e[k]*least)+least/4))
	}
}

// judge is the evidence, in nats, that the flow has burst within its newest cells, and since how many of them. Evidence
// that is not worth noting is given as 0.
func (f *Flow) judge(c *Config) (score float64, since int) {
	if f.cells.ticks%boundsEvery == 0 || f.rise != c.Rise {
		f.bound(c)
	}
	// Mostly none is reached. A scale that is not valid yet is reached in vain.
	s, b := &f.cells.sums, &f.bounds
	if s[0] < b[0] && s[1] < b[1] && s[2] < b[2] && s[3] < b[3] && s[4] < b[4] && s[5] < b[5] {
		return 0, 0
	}
	return f.weigh(c)
}

// weigh is the best evidence of the valid scales.
func (f *Flow) weigh(c *Config) (score float64, since int) {
	e := f.expect(c)
	for k := range f.cells.validScales() {
		if f.cells.sums[k] < f.bounds[k] && f.state < Surge {
			continue
		}
		if s := f.evidence(c.Ratio, k, e[k]); s > score {
			score, since = s, scaleCells(k)
		}
	}
	return score, since
}

// evidence is the log-likelihood ratio of a rise by ratio or more against none, over the flow's own variance. The
// fullest cell is taken to be as expected: what lasts shows in the others too.
func (f *Flow) evidence(ratio float64, k int, expected float64) float64 {
	n, sum := scaleCells(k), float64(f.cells.sums[k])
	if sum <= expected {
		return 0
	}
	sum += expected/float64(n) - float64(f.cells.largest(n))
	rise := max(ratio, sum/expected)
	return max(0, (sum*math.Log(rise)-(rise-1)*expected)/f.variance(k))
}

// shows is evidence for what happens now, by the shortest of the lengths up to 1.6 s that has enough: half of what is
// noted.
func (f *Flow) shows(c *Config) float64 {
	e := f.expect(c)
	for k := range min(hotScales, f.cells.validScales()) {
		if s := f.evidence(c.Ratio, k, e[k]); s >= noted/2 {
			return s
		}
	}
	return 0
}
