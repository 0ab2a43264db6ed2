package detector

import "math"

// threshold is the score at which a flow has burst; see the package's text for what it means in false alarms.
const threshold = 14

// judge is the evidence, in nats, that the flow has burst within the newest cells, and since how many of them. It looks at the
// scales below most. Evidence below half of the threshold is given as 0.
func (f *Flow) judge(c *Config, most int) (score float64, since int) {
	tide := math.Ln2 / c.Rise.Seconds()
	recent := f.level.now(tide)
	long := max(f.level.long, leastExpected)
	if f.stale > 0 {
		stale := growth(min(tide*f.stale, math.Ln2))
		recent *= stale
		long *= stale
	}
	f.expected = max(recent, long)
	for k := range most {
		n := scaleCells(k)
		if n > int(f.cells.valid) {
			break
		}
		seconds := float64(n) * cellSeconds
		// A tide may have risen from where the level was learned to the middle of this scale.
		rate := max(long, recent*growth(tide*(ringSeconds-seconds/2)))
		expected := rate * seconds
		over := float64(f.cells.sums[k]) - expected
		if over <= 0 {
			continue
		}
		// The level is an estimate too, about as good as a count over so many seconds.
		variance := float64(f.dispersion.phi[k]) * (1 + seconds/min(knownSeconds, f.level.seconds))
		if over*over < threshold*expected*variance { // x^2/2 is above what follows for any x: no need to ask
			continue
		}
		if s := f.evidence(c.Ratio, k, expected) / variance; s >= threshold/2 && s > score {
			score, since = s, n
		}
	}
	return score, since
}

// evidence is the log-likelihood ratio of the best rise by ratio or more against none, for the cells of scale k. The fullest cell is
// taken to be as expected: what lasts shows in the others too.
func (f *Flow) evidence(ratio float64, k int, expected float64) float64 {
	n := scaleCells(k)
	sum := float64(f.cells.sums[k]) - float64(f.cells.largest(n)) + expected/float64(n)
	rise := max(ratio, sum/expected)
	return sum*math.Log(rise) - (rise-1)*expected
}
