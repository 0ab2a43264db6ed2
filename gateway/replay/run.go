package replay

import (
	"tidegate/gateway/config"
	"tidegate/gateway/policy"
	"tidegate/scheduler"
)

// lookEvery is how many requests are played between two looks at how far a replay is.
const lookEvery = 1 << 15

// Run plays a trace through engines, to its end, all of them at once: each is given the same arrivals. Now and then it tells
// look how many have been played and the moment of the last one, in ns since 1970.
func Run(t *Trace, engines []*Engine, look func(requests, at int64)) (requests int64) {
	var a Arrival
	for t.Next(&a) {
		for _, e := range engines {
			e.Arrive(&a)
		}
		if requests++; requests%lookEvery == 0 {
			look(requests, a.At)
		}
	}
	for _, e := range engines {
		e.Finish()
	}
	return requests
}

// Bench has the scheduler's core take so many requests, give each a seat and take it back, and nothing else, under the
// first semantic and route of a configuration. A replay does all of that and more for each request: it makes the trace,
// finds the rule, keeps the upstream's ends and steps the detector.
func Bench(c *config.Config, requests int) error {
	e, err := NewEngine(c, Play{})
	if err != nil {
		return err
	}
	e.begin(0)
	l := e.lane(&Origin{originKey: originKey{Caller: "bench", Type: e.policy.Semantics()[0].Name}})
	step, at := int64(l.rule.Limit.Step(l.rule.Cost))+1, e.from // all of it is paid
	var it scheduler.Item
	for range requests {
		at += step
		now := e.moment(at)
		it.Flow, it.Bytes, it.MaxWait = e.core.Meter(now, l.key, l.terms), policy.RequestOverhead, l.rule.MaxWait
		if e.core.Arrive(now, &it); it.Verdict == scheduler.Granted {
			e.core.Release(&it, now)
		}
		e.core.Decided()
		e.core.Unpin(it.Flow)
		it.Reset()
	}
	return nil
}
