package gateway

import (
	"context"
	"math"
	"sync"
	"time"

	"tidegate/detector"
	"tidegate/gateway/console"
	"tidegate/gateway/watch"
)

// detection steps the detector of every flow that has traffic, beside the requests' way, and tells
// the scheduler, the log, the metrics and the read model what it found.

// watched are the flows that the detector looks at, and what it found of late.
type watched struct {
	flows watch.Flows[*flowData]

	mu     sync.Mutex
	on     map[*flowData]int
	surges []console.SurgeView // oldest first
}

// count counts an arrival with its flow.
func (g *Gateway) count(d *flowData) {
	if d.watch.Count() {
		g.watched.flows.Come(d)
	}
}

// detect runs until ctx ends.
func (g *Gateway) detect(ctx context.Context) {
	tick := time.NewTicker(watch.Every)
	defer tick.Stop()
	said := newPulse(time.Now())
	for steps := 1; ; steps++ {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			g.step(now)
			g.judge(now)
			if steps%10 == 0 {
				g.everySecond(now, said)
			}
			if steps%600 == 0 {
				g.warnOverPromise()
			}
		}
	}
}

// everySecond is what has to be done now and then, beside the requests' way, and waits for nothing.
func (g *Gateway) everySecond(now time.Time, said *pulse) {
	g.access.tick(now)
	g.scheduler.Tidy()
	g.available.tick()
	st := g.scheduler.Stats(0)
	said.queue(g.logs.Logger, now, st, g.whoseQueue)
	said.unheard(g.logs.Logger, st)
	said.availability(g.logs.Logger, now, &g.available, g.breaches.Load())
}

// step looks at every flow with traffic once.
func (g *Gateway) step(now time.Time) {
	g.watched.flows.Step(g.live.Load().detector, now, func(d *flowData, v detector.Verdict) { g.say(d, v, now) })
}

// say passes on what the detector found.
func (g *Gateway) say(d *flowData, verdict detector.Verdict, now time.Time) {
	state := &d.watch.State
	seen := &detection{state: state.State(), rate: state.Rate(), expected: state.Expected()}
	if state.Surging() {
		seen.since = state.Since().UnixNano()
	}
	d.verdict.Store(seen)
	w := &g.watched
	switch verdict {
	case detector.SurgeBegan:
		waiting := g.scheduler.SetSurging(d.flow, true)
		d.series.surged()
		g.logs.surge(surgeEvent{d.caller, d.semantic, round(seen.rate), round(seen.expected), waiting})
		w.mu.Lock()
		w.on[d] = len(w.surges)
		w.surges = append(w.surges, console.SurgeView{
			Caller: d.caller, Semantic: d.semantic, Start: state.Since(), Baseline: round(seen.expected), Peak: round(state.Peak()),
		})
		w.forgetLocked()
		w.mu.Unlock()
	case detector.SurgeEnded:
		waiting := g.scheduler.SetSurging(d.flow, false)
		g.logs.calm(surgeEvent{d.caller, d.semantic, round(seen.rate), round(seen.expected), waiting})
		w.mu.Lock()
		if i, on := w.on[d]; on {
			delete(w.on, d)
			w.surges[i].End = &now
		}
		w.mu.Unlock()
	case detector.None:
		if state.Surging() {
			w.mu.Lock()
			if i, on := w.on[d]; on {
				w.surges[i].Peak = max(w.surges[i].Peak, round(state.Peak()))
			}
			w.mu.Unlock()
		}
	}
}

// forgetLocked keeps the list of surges short: the oldest that have ended go first.
func (w *watched) forgetLocked() {
	const most = 2 * console.MaxSurges
	if len(w.surges) <= most {
		return
	}
	moved := make([]int, len(w.surges))
	kept := w.surges[:0:0]
	drop := len(w.surges) - console.MaxSurges
	for i, s := range w.surges {
		if s.End != nil && drop > 0 {
			drop--
			moved[i] = -1
			continue
		}
		moved[i] = len(kept)
		kept = append(kept, s)
	}
	for d, i := range w.on {
		w.on[d] = moved[i]
	}
	w.surges = kept
}

// surging is the number of flows that surge now, and the surges of late, newest first.
func (w *watched) list() (surging int, surges []console.SurgeView) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.surges) - 1; i >= 0 && len(surges) < console.MaxSurges; i-- {
		surges = append(surges, w.surges[i])
	}
	return len(w.on), surges
}

func round(perSecond float64) float64 { return math.Round(perSecond*100) / 100 }
