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
	g.lookForAlerts(now, st)
}

// step looks at every flow with traffic once.
func (g *Gateway) step(now time.Time) {
	g.watched.flows.Step(g.live.Load().detector, now, g.say)
	g.seasons.sweep(&g.watched.flows)
}

// say passes on what the detector found: that a surge has begun, or ended.
func (g *Gateway) say(d *flowData, verdict detector.Verdict) {
	state := &d.watch.State
	began := verdict == detector.SurgeBegan
	e := surgeEvent{
		Caller: d.caller, Semantic: d.semantic, Report: state.Report(), Waiting: g.scheduler.SetSurging(d.flow, began),
	}
	w := &g.watched
	if began {
		d.series.surged()
		g.logs.surge(e)
		g.alerts.burst(time.Now(), &e, true)
		w.mu.Lock()
		w.on[d] = len(w.surges)
		w.surges = append(w.surges, surgeView(&e, state.Peak()))
		w.forgetLocked()
		w.mu.Unlock()
		return
	}
	w.mu.Lock()
	if i, on := w.on[d]; on {
		delete(w.on, d)
		now := time.Now()
		v := &w.surges[i]
		v.End, v.Peak, e.Since = &now, max(v.Peak, round(state.Peak())), v.Start
		e.Peak, e.Lasted = v.Peak, now.Sub(v.Start)
	}
	w.mu.Unlock()
	g.logs.calm(e)
	g.alerts.burst(time.Now(), &e, false)
}

// surgeView is a surge that has just begun.
func surgeView(e *surgeEvent, peak float64) console.SurgeView {
	return console.SurgeView{
		Caller: e.Caller, Semantic: e.Semantic, Start: e.Since, Baseline: round(e.Expected), Peak: round(peak),
		Observed: round(e.Observed), Ratio: round(e.Ratio), Score: round(e.Score), Needed: round(e.Needed),
		SeasonSlot: e.Slot.String(), Seasonal: e.Seasonal, SeasonLearning: e.Learning,
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

// list is the number of flows that surge now, and the surges of late, newest first.
func (w *watched) list() (surging int, surges []console.SurgeView) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for d, i := range w.on {
		w.flows.Look(d, func(f *detector.Flow) { w.surges[i].Peak = max(w.surges[i].Peak, round(f.Peak())) })
	}
	for i := len(w.surges) - 1; i >= 0 && len(surges) < console.MaxSurges; i-- {
		surges = append(surges, w.surges[i])
	}
	return len(w.on), surges
}

func round(perSecond float64) float64 { return math.Round(perSecond*100) / 100 }
