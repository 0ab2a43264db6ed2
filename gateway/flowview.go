package gateway

import (
	"cmp"
	"slices"
	"time"

	"tidegate/detector"
	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// busiest are up to n of the flows: those that held and waited for most first, then by rate.
func (c *census) busiest(flows []flowCensus, n int) []*scheduler.Flow {
	type placed struct {
		value float64
		flow  *scheduler.Flow
	}
	var first []placed
	for i := range flows {
		f := &flows[i]
		value := busyness(f.inFlight+f.waiting, max(f.rate, c.perSecond(f.arrived)))
		if len(first) == n && value <= first[n-1].value {
			continue
		}
		at, _ := slices.BinarySearchFunc(first, value, func(p placed, value float64) int { return cmp.Or(cmp.Compare(value, p.value), -1) })
		first = slices.Insert(first, at, placed{value, f.d.flow})
		first = first[:min(len(first), n)]
	}
	found := make([]*scheduler.Flow, len(first))
	for i := range first {
		found[i] = first[i].flow
	}
	return found
}

// busyness puts what holds and waits first; rates, which are far below a million, tell the others apart.
func busyness(holds int, rate float64) float64 { return float64(holds)*1e6 + rate }

// busiest are the views of those that hold or wait for most among flows and seen, as they are now.
func (g *Gateway) busiest(flows []*scheduler.Flow, seen []scheduler.FlowStats) []console.FlowView {
	have := make(map[*scheduler.Flow]struct{}, len(seen))
	for i := range seen {
		have[seen[i].Flow] = struct{}{}
	}
	flows = slices.DeleteFunc(flows, func(f *scheduler.Flow) bool { _, in := have[f]; return in })
	seen = g.scheduler.FlowStats(flows, seen)
	views := make([]console.FlowView, 0, len(seen))
	for i := range seen {
		if v, ok := g.flowView(&seen[i]); ok {
			views = append(views, v)
		}
	}
	slices.SortStableFunc(views, func(a, b console.FlowView) int {
		return cmp.Or(cmp.Compare(b.InFlight+b.Waiting, a.InFlight+a.Waiting), cmp.Compare(b.Rate, a.Rate))
	})
	return views[:min(len(views), console.MaxFlows)]
}

// flowView is one flow now; not ok: it was made a moment ago. What is by the second is of the last census.
func (g *Gateway) flowView(f *scheduler.FlowStats) (v console.FlowView, ok bool) {
	d, ok := f.Flow.Data.Load().(*flowData)
	if !ok {
		return v, false
	}
	v = console.FlowView{
		Caller: d.caller, Semantic: d.semantic, Route: d.route, Tenant: d.tenant, Pool: f.Pool, Level: f.Level,
		State: console.StateLearning, InFlight: f.InFlight, Waiting: f.Waiting,
		Admitted: d.admitted.Load(), Refused: d.refused.Load(), Occupancy: occupancy(f),
		Observed: f.Rule.Observe, WouldWait: d.wouldWait.Load(), WouldRefuse: d.wouldRefuse.Load(),
	}
	if r := d.rule.Load(); r != nil {
		v.Limit, v.Rule = r.rule.RateText, r.rule.ID
	}
	surging := false
	g.watched.flows.Look(d, func(f *detector.Flow) {
		r := f.Report()
		surging = f.Surging()
		v.State = f.State().String()
		v.Rate, v.Expected, v.Ratio, v.Score, v.Needed = round(r.Observed), round(r.Expected), round(r.Ratio), round(r.Score), round(r.Needed)
		v.SeasonSlot, v.Seasonal, v.SeasonLearning = r.Slot.String(), r.Seasonal, r.Learning
		if !r.Since.IsZero() {
			v.SurgeSince = &r.Since
		}
	})
	last := d.census.Load()
	if last == nil {
		last = &noCensus
	}
	c, now := g.census.Load(), moment(time.Since(g.began))
	v.AdmittedPerS, v.RefusedPerS = round(c.perSecond(last.admitted)), round(c.perSecond(last.refused))
	caller := g.live.Load().policy.Caller(d.caller)
	v.Standing = stand(surging, v.Refused > last.all.refused || last.refusedAt.within(throttledFor, now), v.Waiting,
		d.unpaid.Load() > last.all.unpaid || last.unpaidAt.within(excessFor, now), caller == nil || caller.Enabled).String()
	return v, true
}
