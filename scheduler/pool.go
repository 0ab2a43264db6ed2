package scheduler

import (
	"math"
	"time"
)

// pool is isolated capacity: its own seats, queues and bounds.
type pool struct {
	setup  PoolSetup
	gone   bool // no policy names it any more; it serves what it has
	levels []*level

	inUse        int
	held         [bands]int // seats by the band they were taken in
	long         int        // seats that hold long work
	longUnpaid   int
	longObserved int  // of long: under a rule that observes
	flights      list // what is in flight, oldest dispatch first, until it counts as long

	waiting       int
	waitingBytes  int64
	observed      int // of waiting: under a rule that observes, and counted by no bound
	observedBytes int64
	holds         map[int32]*holding // by caller
	heavy         []*line            // ready lines that are not quick, to be looked at again now and then
	look          int

	seatMean  float64 // of committed work, seconds
	seatCount float64

	drain    drain
	dispatch uint64 // dispatches in all
}

// level is one business priority in one pool.
type level struct {
	name       string
	rank       int
	pool       *pool
	gone       bool
	queues     [bands]*fairQueue
	share      share
	waiting    int // items
	dispatched uint64
	recent     recent
}

func newPool(s PoolSetup) *pool { return &pool{setup: s, holds: make(map[int32]*holding)} }

// load is how full the pool is now.
func (p *pool) load() Load {
	return Load{Pool: p.setup.Name, Seats: p.setup.Seats, InUse: p.inUse, Waiting: p.waiting}
}

// level finds a level by its name, or takes the lowest: a request that an older policy judged may
// name one that has gone.
func (p *pool) level(name string) *level {
	for _, l := range p.levels {
		if l.name == name {
			return l
		}
	}
	return p.levels[len(p.levels)-1]
}

// ready notes that lines became ready or stopped being it.
func (l *level) ready(c *Core, b Band, by int) {
	if b == Committed {
		l.share.ready(c.ns, by, l.pool.setup.Seats)
	}
}

// A ceiling is a share of the seats, and always at least one. The nudge keeps 0.1 x 30 at 3.
func floorSeats(share float64, seats int) int {
	return max(1, int(math.Floor(share*float64(seats)+1e-9)))
}

func ceilSeats(share float64, seats int) int {
	return max(1, int(math.Ceil(share*float64(seats)-1e-9)))
}

// allows says that one more seat may be taken by work of this band and speed.
func (p *pool) allows(b Band, s speed) bool {
	set := &p.setup
	if p.inUse >= set.Seats {
		return false
	}
	if s == long {
		// What observed work holds beyond any ceiling keeps unpaid work off, and not what was promised.
		most, holds := ceilSeats(set.LongCeiling, set.Seats), p.long
		if b == Committed {
			holds -= p.longObserved
		}
		if holds >= most || b != Committed && p.longUnpaid >= ceilSeats(set.LongCeiling/2, set.Seats) {
			return false
		}
	}
	if b == Committed || s == quick || set.Callers == 1 {
		return true
	}
	if b == Excess {
		return p.inUse < floorSeats(set.ExcessCeiling, set.Seats)
	}
	return p.inUse < floorSeats(set.SurgeCeiling, set.Seats)
}

// countLong marks what has been in flight for so long that it is long work whatever its flow is.
// The oldest come first, so each item is looked at once.
func (c *Core) countLong(p *pool) {
	limit := c.ns - p.longAge()
	for it := p.flights.head; it != nil && it.dispatched < limit; it = p.flights.head {
		p.flights.remove(it)
		p.markLong(it)
	}
}

func (p *pool) markLong(it *Item) {
	it.long = true
	p.long++
	if it.counted != Committed {
		p.longUnpaid++
	}
	if it.rule.Observe {
		p.longObserved++
	}
}

// take gives the item a seat.
func (c *Core) take(it *Item, l *line) {
	f, p := l.place.flow, l.place.pool
	b := l.band()
	s := c.speedOf(f, p, b)
	mean, known := c.mean(f)
	if !known && mean == 0 {
		mean = unknownSeat
	}
	it.charge = mean
	it.entry = c.charge(l, mean)
	l.place.level.share.charge(c.ns, b, mean, p.setup.Seats)
	it.line = l
	it.Band, it.counted = b, b
	it.dispatched = c.ns
	it.state = inFlight
	it.Waited = c.since(it.arrived)
	f.inFlight++
	f.starts += c.ns / 1000
	p.inUse++
	p.held[b]++
	if s == long {
		p.markLong(it)
	} else {
		p.flights.push(it)
	}
	p.dispatch++
	if p.drain.open {
		p.drain.dispatched(c.attended())
	} else if p.inUse >= p.setup.Seats {
		p.drain.begin(c.ns, c.attended())
	}
	c.seated(it)
	l.place.level.dispatched++
	l.place.level.recent.add(c.ns)
	c.parkFull(f)
}

// Release gives the item's seat back and returns how long it was held. It must be called exactly once
// for each granted item.
func (c *Core) Release(it *Item, now time.Time) time.Duration {
	c.advance(now)
	if it.state != inFlight {
		panic("scheduler: release of an item that holds no seat")
	}
	it.state = done
	l := it.line
	f, p := l.place.flow, l.place.pool
	seat := float64(c.ns-it.dispatched) / 1e9
	f.inFlight--
	f.starts -= it.dispatched / 1000
	p.inUse--
	p.held[it.counted]--
	if it.long {
		p.long--
		if it.counted != Committed {
			p.longUnpaid--
		}
		if it.rule.Observe {
			p.longObserved--
		}
	} else {
		p.flights.remove(it)
	}
	c.learn(f, p, it.teaches(), seat)
	it.entry.shift(l, seat-it.charge)
	l.place.level.share.correct(it.counted, it.charge-seat)
	c.parkFull(f)
	c.reclass(f)
	c.lookAgain(p)
	c.touched(p)
	c.dispatchAll()
	p.breathe()
	held := time.Duration(c.ns - it.dispatched)
	c.freed(it, held)
	return held
}

// breathe notes that the pool has a free seat, once all who may have taken it.
func (p *pool) breathe() {
	if p.inUse < p.setup.Seats {
		p.drain.end()
	}
}

// reclass moves the flow's ready lines to the heap of their present speed.
func (c *Core) reclass(f *Flow) {
	for _, p := range f.places {
		for i := range p.lines {
			if l := &p.lines[i]; l.ready != 0 && l.speed != c.speedIn(l) {
				c.exit(l)
				c.enter(l)
			}
		}
	}
}

// lookAgain classes two of the lines that wait as slow or long anew: the mean they are measured
// against moves with everybody's work, so a line can become quick without anything of its own.
func (c *Core) lookAgain(p *pool) {
	for range min(2, len(p.heavy)) {
		if p.look++; p.look >= len(p.heavy) {
			p.look = 0
		}
		if l := p.heavy[p.look]; l.speed != c.speedIn(l) {
			c.exit(l)
			c.enter(l)
			if len(p.heavy) == 0 {
				return
			}
		}
	}
}

// parkFull takes those places of a flow out of the ready heaps whose first item's rule allows no more in flight than the flow
// has, and puts back those whose first item may go again.
func (c *Core) parkFull(f *Flow) {
	for _, p := range f.places {
		if full := p.full(); full != p.parked {
			p.parked = full
			if full {
				c.exit(&p.lines[0])
				c.exit(&p.lines[1])
				continue
			}
			c.enter(&p.lines[0])
			c.enter(&p.lines[1])
			c.touched(p.pool) // which need not be the one whose seat came back
		}
	}
}

// full says that the flow has as many in flight as the rule of the place's first item allows.
func (p *place) full() bool {
	if p.waiting == 0 || p.observe {
		return false
	}
	first := p.lines[0].head
	if it := p.lines[1].head; first == nil || it != nil && it.seq < first.seq {
		first = it
	}
	return first.rule.MaxInFlight > 0 && p.flow.inFlight >= first.rule.MaxInFlight
}

// dispatch gives out the pool's free seats, in order, to all who may take one.
func (c *Core) dispatch(p *pool) {
	if p.waiting == 0 || p.inUse >= p.setup.Seats {
		return
	}
	c.countLong(p)
	for p.inUse < p.setup.Seats {
		l := c.pick(p)
		if l == nil {
			return
		}
		it := l.head
		if it.expiry.pos != 0 && it.expiry.at < c.ns {
			c.remove(it, WaitExpired) // a late wake-up found the seat first
			continue
		}
		c.unqueue(it, true)
		c.take(it, l)
		c.decide(it, Granted)
	}
}

// pick is the line whose first item gets the next seat, or nil when none of those who wait may take it.
func (c *Core) pick(p *pool) *line {
	for b := Committed; b < bands; b++ {
		var open [speeds]bool
		any := false
		for s := range open {
			open[s] = p.allows(b, speed(s))
			any = any || open[s]
		}
		if !any {
			continue
		}
		if b == Committed {
			for _, l := range p.levels {
				if l.share.owed(c.ns, p.setup.Seats) {
					if line := c.pickFrom(l.queues[b], open); line != nil {
						return line
					}
				}
			}
		}
		for _, l := range p.levels {
			if line := c.pickFrom(l.queues[b], open); line != nil {
				return line
			}
		}
	}
	return nil
}

func (c *Core) pickFrom(q *fairQueue, open [speeds]bool) *line {
	for {
		var e *entry
		for s := range open {
			if h := &q.ready[s]; open[s] && h.len() > 0 && (e == nil || h.top().tag < e.tag) {
				e = h.top()
			}
		}
		if e == nil {
			return nil
		}
		var best *line
		for s := range open {
			if h := &e.lines[s]; open[s] && h.len() > 0 && (best == nil || h.top().tag < best.tag) {
				best = h.top()
			}
		}
		// Age makes a flow slower while it waits; nothing tells us but looking.
		if best.speed == c.speedIn(best) {
			return best
		}
		c.exit(best)
		c.enter(best)
	}
}
