package replay

import (
	"tidegate/detector"
	"tidegate/gateway/watch"
)

// advance does, each at its moment, all that falls due until to. Of one moment, what the core does comes first, then
// seats come back, then flows are stepped.
func (e *Engine) advance(to int64) {
	for {
		timer, end := e.next(), int64(never)
		if len(e.ends.heap) > 0 {
			end = e.ends.heap[0].at
		}
		at := min(timer, end, e.step, e.tidy)
		if at > to {
			return
		}
		e.now = max(e.now, at)
		switch at {
		case timer:
			e.core.Advance(e.moment(e.now))
		case end:
			e.release()
		case e.step:
			e.stepFlows()
			continue // it has taken up what was decided
		default:
			e.drop(to)
			continue
		}
		e.decided()
	}
}

// release gives back the seat of the request that ends first.
func (e *Engine) release() {
	it := e.ends.pop()
	it.Flow.Data.Load().(*flow).lane.pool.free(e.now)
	e.core.Release(it, e.moment(e.now))
	e.done(it)
}

// drop drops idle flows as the running gateway does each second. While nothing comes for long there is nothing left to be
// dropped, and no need to ask.
func (e *Engine) drop(to int64) {
	e.core.Tidy(e.moment(e.now), 1000)
	e.decided()
	if e.tidy += tidyEvery; e.tidy-e.last > tidyFor {
		for e.tidy = max(e.tidy, to-to%tidyEvery); e.tidy <= to; {
			e.tidy += tidyEvery
		}
	}
}

// stepFlows steps the detectors of all flows that have traffic.
func (e *Engine) stepFlows() {
	e.flows.Step(e.detector, e.date(e.now), e.say)
	e.sweep()
	if e.step += int64(watch.Every); e.flows.Len() == 0 {
		e.step = never
	}
}

// say passes on what the detector found: that a surge has begun, or ended.
func (e *Engine) say(d *flow, v detector.Verdict) {
	began := v == detector.SurgeBegan
	e.core.SetSurging(e.moment(e.now), d.flow, began)
	d.lane.tally.surging = began
	if began {
		d.lane.tally.surges++
		e.log.surge(e.now, d)
	} else {
		e.log.calm(e.now, d)
	}
	e.decided()
}

// Finish plays to the end what is still waiting or in flight. Flows are stepped once more, so that the last arrivals are
// looked at: that nothing comes after the end of a trace says nothing.
func (e *Engine) Finish() {
	if !e.begun {
		return
	}
	if e.step != never {
		e.advance(e.step)
		e.step = never
	}
	for len(e.ends.heap) > 0 || e.waiting() > 0 {
		to := e.next()
		if len(e.ends.heap) > 0 {
			to = min(to, e.ends.heap[0].at)
		}
		if to == never {
			return // cannot be: what waits has a timer
		}
		e.advance(to)
	}
}

func (e *Engine) waiting() (n int) {
	for _, p := range e.pools {
		n += p.waiting
	}
	return n
}
