package gateway

import (
	"time"

	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// The busiest flows are sought among those that the last census found busiest and those used last, which are looked at anew:
// a flow that has begun since is seen at once, and what is told of each is of this moment.
const (
	censusFlows = console.MaxFlows + 56
	recentFlows = 128 // so many are described under one lock
)

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
	c := g.census.Load()
	s.Totals, s.Targets = c.totals, l.targets()
	s.Totals.Surging, s.Surges = g.watched.list()
	s.Pools, s.Levels, s.Observed = poolViews(st), levelViews(st), g.observedView(st)
	s.Totals.InFlight, s.Totals.Waiting = 0, 0
	for _, p := range st.Pools {
		s.Totals.InFlight += p.InUse
		s.Totals.Waiting += p.Waiting
	}
	s.Flows = g.busiest(c.busiest(c.flows, censusFlows), st.Flows)
	if g.troubles != nil {
		s.Troubles = g.troubles()
	}
	if g.registrationsWaiting != nil {
		s.RegistrationsWaiting = g.registrationsWaiting()
	}
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
			Pool: l.Pool, Level: l.Level, Waiting: l.Waiting, OldestWaitMS: l.OldestWait.Milliseconds(), MaxWaitMS: l.OldestMost.Milliseconds(),
			DispatchedPerS: round(l.PerSecond),
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
	trail := g.audit.Stats()
	s.AuditWaiting, s.AuditLost, s.AlertsWaiting = trail.Waiting, trail.Lost, g.alerts.Pending()
	if h := g.history.Load(); h != nil {
		s.GaveWay = h.Stats().GaveWay
	}
	for _, p := range g.parts {
		_, err := p.of.Trouble()
		s.Failing = append(s.Failing, failingGauge{p.what, err != nil})
	}
	s.Overrides = len(g.live.Load().overrides)
	s.Observing = len(g.live.Load().policy.Observing()) > 0
	for _, t := range g.live.Load().targets() {
		s.Targets = append(s.Targets, targetGauges(t))
	}
	return s
}

func queuesOf(st *scheduler.Stats) []queueGauges {
	queues := make([]queueGauges, len(st.Levels))
	for i, l := range st.Levels {
		queues[i] = queueGauges{Pool: l.Pool, Level: l.Level, Waiting: l.Waiting, Pressed: l.Pressed.Share()}
	}
	return queues
}
