package scheduler

// How long work holds its seat decides how it is treated, and only the past can tell. A flow's mean
// is kept by request over about the last meanOf of them; what is in flight longer than that mean
// pulls it up before it has settled, so that a flow of streams is known for what it is while the
// first of them still run.

const (
	meanOf       = 32  // requests that a flow's mean looks back
	pooledMeanOf = 256 // requests that a semantic's and a pool's mean look back
	priorWeight  = 4   // requests that the semantic's mean counts for in a new flow

	quickTimes  = 2     // quick: at most this many times the mean of the pool's committed work
	longTimes   = 10    // long: over this many times that mean
	longPerSeat = 0.005 // and over this many seconds for each seat of the pool

	unknownSeat = 0.010 // seconds charged where nothing at all is known; corrected when it settles
)

// speed is how long a flow's work holds a seat, beside the pool's committed work.
type speed uint8

const (
	quick speed = iota
	slow
	long
	speeds
)

// mean is a flow's expected seat time in seconds; known is false until something of its semantic has
// settled, and then mean is only a lower bound from what is in flight.
func (c *Core) mean(f *Flow) (mean float64, known bool) {
	w := f.seatCount
	mean = f.seatMean
	if w == 0 && f.semantic.count > 0 {
		mean, w = f.semantic.mean, priorWeight
	}
	if n := f.inFlight; n > 0 {
		ages := (float64(n)*float64(c.ns/1000) - float64(f.starts)) / 1e6
		if m := (w*mean + ages) / (w + float64(n)); m > mean {
			mean = m
		}
	}
	return mean, w > 0
}

// speedOf classes a flow's work in one band of a pool.
func (c *Core) speedOf(f *Flow, p *pool, b Band) speed {
	mean, known := c.mean(f)
	if !known && b != Committed {
		return long
	}
	usual := p.seatMean
	if p.seatCount == 0 {
		usual = mean // nothing to compare with: it sets the measure itself
	}
	switch {
	case mean > longPerSeat*float64(p.setup.Seats) && (mean > longTimes*usual || p.seatCount == 0):
		return long
	case mean > quickTimes*usual:
		return slow
	}
	return quick
}

// longAge is the age in ns from which an item in flight counts as long by itself.
func (p *pool) longAge() int64 {
	return int64(1e9 * max(longPerSeat*float64(p.setup.Seats), longTimes*p.seatMean))
}

// learn takes a settled seat time, in seconds, into the means of the flow, its semantic and, for
// committed work, its pool.
func (c *Core) learn(f *Flow, p *pool, b Band, seat float64) {
	if f.seatCount == 0 && f.semantic.count > 0 {
		f.seatMean, f.seatCount = f.semantic.mean, priorWeight
	}
	average(&f.seatMean, &f.seatCount, meanOf, seat)
	average(&f.semantic.mean, &f.semantic.count, pooledMeanOf, seat)
	if b == Committed {
		average(&p.seatMean, &p.seatCount, pooledMeanOf, seat)
	}
}

func average(mean, count *float64, most float64, x float64) {
	*count = min(*count+1, most)
	*mean += (x - *mean) / *count
}
