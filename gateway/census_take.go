package gateway

import (
	"context"
	"time"

	"tidegate/detector"
	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// censusTaker is what is kept from one census to the next. It belongs to the goroutine that takes them.
type censusTaker struct {
	g      *Gateway
	next   *census
	met    []flowCensus   // in the order of the walk
	recent []*recentRates // by the caller's index
	now    moment

	looked lookedAt
	look   func(*detector.Flow) // into looked; made once

	nobody uint64 // requests refused before their flow was known, so far
}

// lookedAt is what the detector says of a flow.
type lookedAt struct {
	state          detector.State
	rate, expected float64
	since          time.Time
}

// takeCensuses takes one a second until ctx ends. It waits for nothing but the locks of scheduler and detector, and these
// for a few dozen flows at a time.
func (g *Gateway) takeCensuses(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			g.takeCensus(now)
		}
	}
}

// takeCensus takes one and tells everybody who listens. One goroutine calls it.
func (g *Gateway) takeCensus(now time.Time) *census {
	c := g.taker.take(g, now)
	g.census.Store(c)
	for _, listen := range g.onCensus {
		listen(c)
	}
	return c
}

func (t *censusTaker) take(g *Gateway, now time.Time) *census {
	last, l := g.census.Load(), g.live.Load()
	c := &census{at: now, seq: 1, live: l}
	if last != nil {
		c.seq, c.span, c.roster = last.seq+1, now.Sub(last.at), last.roster
	}
	if c.roster == nil || c.roster.policy != l.policy {
		c.roster = rosterOf(l.policy)
	}
	c.callers = make([]callerCensus, len(c.roster.callers))
	for i, caller := range c.roster.callers {
		c.callers[i].caller, c.callers[i].standing = caller, standingOf(caller)
	}
	t.g, t.next, t.now = g, c, moment(now.Sub(g.began))
	if t.look == nil {
		t.look = func(f *detector.Flow) { t.looked = lookedAt{f.State(), f.Rate(), f.Expected(), f.Since()} }
	}
	g.scheduler.EachFlow(t.meet)
	t.group()
	t.sum()
	t.next, t.g = nil, nil
	return c
}

// meet takes in a flow.
func (t *censusTaker) meet(f scheduler.FlowStats) {
	d, ok := f.Flow.Data.Load().(*flowData)
	if !ok {
		return // made a moment ago
	}
	t.met = append(t.met, flowCensus{
		d: d, pool: f.Pool, level: f.Level, caller: t.next.roster.placeOf(f.Flow.Key.Caller),
		inFlight: f.InFlight, waiting: f.Waiting, unpaid: f.Unpaid, seatTime: f.SeatTime, occupancy: occupancy(&f),
	})
	v := &t.met[len(t.met)-1]
	if r := d.rule.Load(); r != nil {
		v.rule = r.rule
	}
	last := d.census.Load()
	if last == nil {
		last = &noCensus
	}
	v.count(last, t.now)
	t.lookAt(v, last)
	enabled := true
	if v.caller >= 0 {
		enabled = t.next.callers[v.caller].caller.Enabled
	}
	v.standing = stand(v.state >= detector.Surge, v.refusedAt.within(throttledFor, t.now), v.waiting,
		v.unpaidAt.within(excessFor, t.now), enabled)
	if v.caller >= 0 {
		t.next.callers[v.caller].add(v)
	}
	t.next.total(v)
}

// noCensus is what is known of a flow that no census has met.
var noCensus flowCensus

func occupancy(f *scheduler.FlowStats) float64 {
	return min(1, float64(f.Used)/float64(max(f.Rule.Limit.Depth(), 1)))
}

// count tells what has come since the last census. Whoever is admitted or refused has been counted as arrived before, and is
// so here, as the counts are read the other way round.
func (v *flowCensus) count(last *flowCensus, now moment) {
	v.all.unpaid = v.d.unpaid.Load()
	v.all.refused = v.d.refused.Load()
	v.all.admitted = v.d.admitted.Load()
	v.all.arrived = v.d.watch.Offered()
	v.arrived = v.all.arrived - last.all.arrived
	v.admitted = v.all.admitted - last.all.admitted
	v.refused = v.all.refused - last.all.refused
	v.refusedAt, v.unpaidAt = last.refusedAt, last.unpaidAt
	if v.refused > 0 {
		v.refusedAt = now
	}
	if v.all.unpaid > last.all.unpaid {
		v.unpaidAt = now
	}
}

// lookAt takes in what the detector says. It says the same of a flow that it did not step since.
func (t *censusTaker) lookAt(v, last *flowCensus) {
	if v.still = v.d.watch.Still(); v.still && last.still && v.arrived == 0 {
		v.state, v.rate, v.expected, v.since = last.state, last.rate, last.expected, last.since
		return
	}
	t.looked = lookedAt{}
	t.g.watched.flows.Look(v.d, t.look)
	v.state, v.rate, v.expected = t.looked.state, t.looked.rate, t.looked.expected
	if !t.looked.since.IsZero() {
		if v.since = last.since; v.since == nil || !v.since.Equal(t.looked.since) {
			since := t.looked.since
			v.since = &since
		}
	}
}

// add counts a flow with its caller.
func (of *callerCensus) add(v *flowCensus) {
	of.standing = min(of.standing, v.standing)
	of.arrived += v.arrived
	of.admitted += v.admitted
	of.refused += v.refused
	of.inFlight += v.inFlight
	of.waiting += v.waiting
	of.occupancy = max(of.occupancy, v.occupancy)
	of.met++
}

func (c *census) total(v *flowCensus) {
	c.totals.Waiting += v.waiting
	c.totals.InFlight += v.inFlight
	if v.state >= detector.Surge {
		c.totals.Surging++
	}
	c.arrived += v.arrived
	c.admitted += v.admitted
	c.refused += v.refused
}

// group puts the flows of each caller side by side, and lets each flow find its own.
func (t *censusTaker) group() {
	c := t.next
	c.flows = make([]flowCensus, len(t.met))
	from := 0
	for i := range c.callers {
		of := &c.callers[i]
		of.flows = c.flows[from : from : from+of.met]
		from += of.met
	}
	for i := range t.met {
		v := &t.met[i]
		if v.caller < 0 {
			c.flows[from] = *v
			v.d.census.Store(&c.flows[from])
			from++
			continue
		}
		of := &c.callers[v.caller]
		of.flows = append(of.flows, *v)
		v.d.census.Store(&of.flows[len(of.flows)-1])
	}
	clear(t.met) // so that nothing of flows that go is kept
	t.met = t.met[:0]
}

// sum is what belongs to no flow.
func (t *censusTaker) sum() {
	c, g := t.next, t.g
	for i := range c.callers {
		t.remember(&c.callers[i])
	}
	before := g.nobody.counter(outcomeRefused).Get()
	c.refused, c.arrived = c.refused+before-t.nobody, c.arrived+before-t.nobody
	t.nobody = before
	c.totals.RequestsPerS = round(c.perSecond(c.arrived))
	c.totals.AdmittedPerS = round(c.perSecond(c.admitted))
	c.totals.RefusedPerS = round(c.perSecond(c.refused))
	st := g.scheduler.Stats(0)
	c.pools, c.levels, c.targets = poolViews(st), levelViews(st), c.live.targets()
}

// remember keeps the caller's rate, as long as there was any within what is shown.
func (t *censusTaker) remember(of *callerCensus) {
	index := int(of.caller.Index)
	if of.arrived == 0 && (index >= len(t.recent) || t.recent[index] == nil) {
		return
	}
	for index >= len(t.recent) {
		t.recent = append(t.recent, nil)
	}
	r := t.recent[index]
	if r == nil {
		r = new(recentRates)
		t.recent[index] = r
	}
	r.add(t.next.seq, t.next.perSecond(of.arrived))
	if r.quiet >= recentSlots {
		t.recent[index] = nil
		return
	}
	of.recent, of.steady = r, r.steady
}

// targets are the addresses behind, in the order of the configuration.
func (l *live) targets() []console.TargetView {
	views := []console.TargetView{}
	for _, u := range l.config.Upstreams {
		for _, t := range l.upstreams[u.Name].Targets() {
			views = append(views, console.TargetView{Upstream: u.Name, Target: t.URL, Healthy: t.Healthy})
		}
	}
	return views
}
