package gateway

import (
	"cmp"
	"slices"
	"time"

	"tidegate/detector"
	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// recentFlows is how many of the flows used last are looked at for the busiest.
const recentFlows = 4096

// snapshot is the read model of this moment.
func (g *Gateway) snapshot() *console.Snapshot {
	now := time.Now()
	st := g.scheduler.Stats(recentFlows)
	l := g.live.Load()
	s := &console.Snapshot{
		Time: now, Version: g.options.Version, Mode: l.config.Server.Mode, UptimeS: now.Sub(g.began).Seconds(), FlowsTotal: st.FlowsTotal,
		Refusals: g.refusals.last(console.MaxRefusals),
		Promise:  g.promise(),
		Config:   console.ConfigView{Version: l.version, Hash: l.config.Hash, LoadedAt: l.loadedAt, Error: g.loadError.Load().(string)},
	}
	_, s.Surges = g.watched.list()
	s.Pools, s.Levels, s.Observed = poolViews(st), levelViews(st), g.observedView(st)
	s.Flows = g.flowViews(st.Flows)
	return s
}

func poolViews(st *scheduler.Stats) []console.PoolView {
	views := make([]console.PoolView, len(st.Pools))
	for i, p := range st.Pools {
		views[i] = console.PoolView{
			Name: p.Name, Seats: p.Seats, InUse: p.InUse, Committed: p.Committed, Excess: p.Excess, Surge: p.Surge, Waiting: p.Waiting,
		}
	}
	return views
}

func levelViews(st *scheduler.Stats) []console.LevelView {
	views := make([]console.LevelView, len(st.Levels))
	for i, l := range st.Levels {
		views[i] = console.LevelView{
			Pool: l.Pool, Level: l.Level, Waiting: l.Waiting, OldestWaitMS: l.OldestWait.Milliseconds(), DispatchedPerS: round(l.PerSecond),
		}
	}
	return views
}

// promise says whether what was promised was kept.
func (g *Gateway) promise() console.PromiseView {
	of := g.available.share()
	return console.PromiseView{
		RefusedWithinRate: g.breaches.Load(),
		Availability:      of[1], Availability1m: of[0], Availability5m: of[1], Availability60m: of[2],
	}
}

// flowViews are the busiest flows: those that hold or wait for most first, then by rate.
func (g *Gateway) flowViews(flows []scheduler.FlowStats) []console.FlowView {
	views := make([]console.FlowView, 0, len(flows))
	for i := range flows {
		if v, ok := g.flowView(&flows[i]); ok {
			views = append(views, v)
		}
	}
	slices.SortStableFunc(views, func(a, b console.FlowView) int {
		return cmp.Or(cmp.Compare(b.InFlight+b.Waiting, a.InFlight+a.Waiting), cmp.Compare(b.Rate, a.Rate))
	})
	return views[:min(len(views), console.MaxFlows)]
}

// flowView is one flow; not ok: it was made a moment ago.
func (g *Gateway) flowView(f *scheduler.FlowStats) (v console.FlowView, ok bool) {
	d, ok := f.Flow.Data.Load().(*flowData)
	if !ok {
		return v, false
	}
	v = console.FlowView{
		Caller: d.caller, Semantic: d.semantic, Route: d.route, Tenant: d.tenant, Pool: f.Pool, Level: f.Level,
		State: console.StateLearning, InFlight: f.InFlight, Waiting: f.Waiting,
		Admitted: d.admitted.Load(), Refused: d.refused.Load(),
		Occupancy: float64(f.Used) / float64(max(f.Rule.Limit.Depth(), 1)),
		Observed:  f.Rule.Observe, WouldWait: d.wouldWait.Load(), WouldRefuse: d.wouldRefuse.Load(),
	}
	if r := d.rule.Load(); r != nil {
		v.Limit = r.rule.RateText
	}
	g.watched.flows.Look(d, func(f *detector.Flow) {
		r := f.Report()
		v.State = f.State().String()
		v.Rate, v.Expected, v.Ratio, v.Score, v.Needed = round(r.Observed), round(r.Expected), round(r.Ratio), round(r.Score), round(r.Needed)
		v.SeasonSlot, v.Seasonal, v.SeasonLearning = r.Slot.String(), r.Seasonal, r.Learning
		if !r.Since.IsZero() {
			v.SurgeSince = &r.Since
		}
	})
	return v, true
}

// gauges is what the metrics show of this moment.
func (g *Gateway) gauges() gaugeStats {
	st := g.scheduler.Stats(0)
	surging, _ := g.watched.list()
	s := gaugeStats{SurgeActive: surging, Flows: st.FlowsTotal, Availability: g.available.share()}
	for _, p := range st.Pools {
		s.Pools = append(s.Pools, poolGauges{Name: p.Name, Seats: p.Seats, InUse: p.InUse})
		s.QueueBytes += p.WaitingBytes
	}
	s.Queues = queuesOf(st)
	if st.Shadow != nil {
		s.WouldWait = queuesOf(st.Shadow)
	}
	if r := g.recorder.Load(); r != nil {
		of := r.Stats()
		s.Record = &of
	}
	s.Overrides = len(g.live.Load().overrides)
	s.Observing = len(g.live.Load().policy.Observing()) > 0
	for _, c := range g.live.Load().config.Upstreams {
		for _, t := range g.live.Load().upstreams[c.Name].Targets() {
			s.Targets = append(s.Targets, targetGauges{Upstream: c.Name, Target: t.URL, Healthy: t.Healthy})
		}
	}
	return s
}

func queuesOf(st *scheduler.Stats) []queueGauges {
	queues := make([]queueGauges, len(st.Levels))
	for i, l := range st.Levels {
		queues[i] = queueGauges{Pool: l.Pool, Level: l.Level, Waiting: l.Waiting}
	}
	return queues
}
