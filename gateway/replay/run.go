package replay

import (
	"time"

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

// Bench is how many requests a second the scheduler's core takes, gives a seat and gets it back, and nothing else, under the
// first caller, route and rule of a configuration; measured for about as long as told. A replay does all of that and
// more for each request: it makes the trace, finds the rule, keeps the upstream's ends and steps the detector.
func Bench(c *config.Config, span time.Duration) (perSecond float64, err error) {
	e, err := NewEngine(c, Play{})
	if err != nil {
		return 0, err
	}
	e.begin(0)
	l := e.lane(&Origin{originKey: originKey{Caller: "bench", Type: e.policy.Semantics()[0].Name}})
	step, begun, n := e.from, time.Now(), 0
	var it scheduler.Item
	for n&(1<<12-1) != 0 || n == 0 || time.Since(begun) < span {
		step += int64(l.rule.Limit.Step(l.rule.Cost)) + 1
		now := e.moment(step)
		it.Flow, it.Bytes, it.MaxWait = e.core.Meter(now, l.key, l.terms), policy.RequestOverhead, l.rule.MaxWait
		if e.core.Arrive(now, &it); it.Verdict == scheduler.Granted {
			e.core.Release(&it, now)
		}
		e.core.Decided()
		e.core.Unpin(it.Flow)
		it.Reset()
		n++
	}
	return float64(n) / time.Since(begun).Seconds(), nil
}
