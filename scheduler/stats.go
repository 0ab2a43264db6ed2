package scheduler

import "time"

// Stats is a picture of the core, copied, so that it can be read at leisure.
type Stats struct {
	Pools      []PoolStats
	Levels     []LevelStats
	Flows      []FlowStats
	FlowsTotal int
	SeatTimes  map[int32]time.Duration // by semantic, where any has settled
	Shadow     *Stats                  // as it would be with everything enforced; nil while nothing observes
	Unheard    uint64                  // would-be decisions that Judged lost, in all; see Judged
}

// PoolStats is one pool now.
type PoolStats struct {
	Name                     string
	Seats, InUse             int
	Committed, Excess, Surge int // seats by the band that took them
	Long                     int // seats that hold long work
	Waiting                  int
	WaitingBytes             int64
	SeatTime                 time.Duration // mean of committed work; 0: none yet
	Dispatched               uint64        // in all
}

// LevelStats is one level of one pool now.
type LevelStats struct {
	Pool, Level string
	Waiting     int
	OldestWait  time.Duration // of the flows' first items, the longest wait
	OldestMost  time.Duration // and how long that item may wait; 0: nothing waits, or nothing ends its wait
	PerSecond   float64       // dispatches of the last two seconds
	Dispatched  uint64        // in all
	Pressed     Pressed
}

// Pressed is the committed work of a level that has come nearest to the end of its wait: of what the first items of flows
// wait for a seat, since they were paid, the largest share of their rules' longest waits. What a flow's own max_in_flight
// holds back does not count, nor what is only observed: both wait as they were meant to. The zero value: nothing waits.
type Pressed struct {
	Waited, MaxWait time.Duration
}

// Share is how much of the longest wait is over, from 0; a little above 1 where an end is late.
func (p Pressed) Share() float64 {
	if p.MaxWait <= 0 {
		return 0
	}
	return float64(p.Waited) / float64(p.MaxWait)
}

// FlowStats is one flow now.
type FlowStats struct {
	Flow     *Flow
	Pool     string
	Level    string
	Rule     *Rule
	Used     int64 // cost paid in the rate's span
	InFlight int
	Waiting  int
	Unpaid   int // of those that wait
	Surging  bool
	SeatTime time.Duration // expected; 0: unknown
}

// Quota is what the rate of a flow has, and no more than the rate of all the caller's flows has where
// there is one.
type Quota struct {
	Limit     int64         // N, or the depth of a bucket
	Remaining int64         // cost left now
	Per       time.Duration // the rate's span
	Reset     time.Duration // until the rate has the cost of one request; 0: it has now
}

// Quota is what is left of the flow's rate now.
func (c *Core) Quota(now time.Time, f *Flow) Quota {
	c.advance(now)
	return c.quota(f)
}

func (c *Core) quota(f *Flow) Quota {
	l := f.terms.Rule.Limit
	q := Quota{Limit: l.Depth(), Remaining: f.meter.Remaining(c.now), Per: l.Per}
	q.Reset = max(0, f.meter.Ready(c.now, f.terms.Rule.Cost).Sub(c.now))
	cl := f.caller
	if cl.limit != nil {
		// Both have to pay, so what is left is the less, and the moment the later.
		q.Remaining = min(q.Remaining, cl.meter.Remaining(c.now))
		q.Reset = max(q.Reset, cl.meter.Ready(c.now, min(f.terms.Rule.Cost, cl.limit.Depth())).Sub(c.now))
	}
	if f.unpaid > 0 || cl.limit != nil && cl.blocked.len() > 0 {
		q.Remaining = 0 // what frees goes to those who wait
	}
	return q
}

// Stats is a picture of everything, with up to flows of the most recently used flows.
func (c *Core) Stats(now time.Time, flows int) *Stats {
	c.advance(now)
	st := &Stats{FlowsTotal: len(c.flows), SeatTimes: make(map[int32]time.Duration, len(c.semantics))}
	for i, s := range c.semantics {
		if s.count > 0 {
			st.SeatTimes[i] = seconds(s.mean)
		}
	}
	for _, p := range c.pools {
		st.Pools = append(st.Pools, PoolStats{
			Name: p.setup.Name, Seats: p.setup.Seats, InUse: p.inUse,
			Committed: p.held[Committed], Excess: p.held[Excess], Surge: p.held[Surge], Long: p.long,
			Waiting: p.waiting, WaitingBytes: p.waitingBytes,
			SeatTime: seconds(p.seatMean), Dispatched: p.dispatch,
		})
		for _, l := range p.levels {
			ls := LevelStats{
				Pool: p.setup.Name, Level: l.name, Waiting: l.waiting, Dispatched: l.dispatched,
				PerSecond: float64(l.recent.count(c.ns)) / l.recent.span(c.ns),
			}
			if l.waiting > 0 {
				ls.OldestWait, ls.OldestMost = c.oldestWait(l)
				ls.Pressed = c.pressed(l)
			}
			st.Levels = append(st.Levels, ls)
		}
	}
	st.Flows = make([]FlowStats, 0, min(flows, len(c.flows)))
	for f := c.newest; f != nil && len(st.Flows) < flows; f = f.prev {
		st.Flows = append(st.Flows, c.flowStats(f))
	}
	st.Unheard = c.judged.lost
	if c.shadow != nil {
		st.Shadow = c.shadow.stats()
	}
	return st
}

func (c *Core) flowStats(f *Flow) FlowStats {
	mean, _ := c.mean(f)
	return FlowStats{
		Flow: f, Pool: f.place.pool.setup.Name, Level: f.place.level.name, Rule: f.terms.Rule,
		Used: f.meter.Used(c.now), InFlight: f.inFlight, Waiting: f.waiting, Unpaid: f.unpaid,
		Surging: f.surging, SeatTime: seconds(mean),
	}
}

// FlowsFrom appends to into the flows in the next slots from number slot, and returns the number to go on from; 0: those
// were the last. A flow that is there from the first call to the last is met once.
func (c *Core) FlowsFrom(now time.Time, slot int, into []FlowStats) (stats []FlowStats, next int) {
	c.advance(now)
	part := c.flowSlots.from(slot, flowChunk)
	for _, f := range part {
		if f != nil {
			into = append(into, c.flowStats(f))
		}
	}
	return into, after(slot, len(part))
}

// FlowStats appends to into those of flows that are still there.
func (c *Core) FlowStats(now time.Time, flows []*Flow, into []FlowStats) []FlowStats {
	c.advance(now)
	for _, f := range flows {
		if c.flowSlots.all[f.slot] == f {
			into = append(into, c.flowStats(f))
		}
	}
	return into
}

// oldestWait looks at the first item of each waiting line of a level: how long the oldest has waited, and how long it may.
func (c *Core) oldestWait(l *level) (waited, most time.Duration) {
	var oldest *Item
	for _, q := range l.queues {
		for _, e := range q.held.a {
			for _, line := range e.newest.a {
				if oldest == nil || line.head.arrived < oldest.arrived {
					oldest = line.head
				}
			}
		}
	}
	if oldest == nil {
		return 0, 0
	}
	if oldest.OwnWait || !oldest.rule.Observe {
		most = oldest.MaxWait
	}
	return c.since(oldest.arrived), most
}

// pressed looks at the first item of each line of committed work of a level.
func (c *Core) pressed(l *level) (most Pressed) {
	for _, e := range l.queues[Committed].held.a {
		for _, line := range e.newest.a {
			it := line.head
			if line.place.observe || line.place.parked || it.rule.MaxWait <= 0 {
				continue
			}
			p := Pressed{Waited: max(0, min(c.since(it.arrived), c.now.Sub(it.paidAt))), MaxWait: it.rule.MaxWait}
			if most.MaxWait == 0 || p.Share() > most.Share() {
				most = p
			}
		}
	}
	return most
}
