package scheduler

import (
	"slices"
	"time"
)

// Core decides who gets a seat, who waits and who is refused. It is pure: every operation takes the
// present moment and first does all that has fallen due until then. Items that are decided by an
// operation on something else are handed out by Decided. Not safe for concurrent use.
type Core struct {
	epoch time.Time
	now   time.Time // of the operation under way; never goes back
	ns    int64     // the same, since epoch
	away  int64     // of it, in which nobody was there to do anything; see attended

	setup       Setup
	pools       []*pool
	callers     map[int32]*caller
	semantics   map[int32]*semantic
	flows       map[Key]*Flow
	flowSlots   slots[Flow]
	waitSlots   slots[Flow] // of those that have something waiting
	callerSlots slots[caller]
	unmet       unmet
	oldest      *Flow // by last use
	newest      *Flow

	timers  heap[*timer]
	seq     uint64
	decided []*Item
	drained bool    // nobody may wait any more
	arrives *Item   // under way; its verdict needs no handing out
	dirty   []*pool // something may have become dispatchable
	making  bool    // room: nothing is paid until it is made
	gaveWay []*Flow

	shadow *shadow // plays what enforcing would do; nil while nothing observes
	judged judged
}

// NewCore makes a core whose time begins at now.
func NewCore(now time.Time, s Setup) *Core {
	c := &Core{
		epoch: now, now: now,
		callers:   make(map[int32]*caller),
		semantics: make(map[int32]*semantic),
		flows:     make(map[Key]*Flow),
		timers:    timerHeap(),
	}
	c.Apply(now, s)
	return c
}

// Apply brings the core under a new setup. Pools and levels are matched by name and keep their state;
// those that the setup lacks serve what they have and take in nothing new.
func (c *Core) Apply(now time.Time, s Setup) {
	c.advance(now)
	c.setup = s
	for _, p := range c.pools {
		p.gone = true
	}
	for i := range s.Pools {
		p := c.pool(s.Pools[i].Name)
		if p == nil {
			p = newPool(s.Pools[i])
			c.pools = append(c.pools, p)
		}
		p.setup, p.gone = s.Pools[i], false
	}
	c.pools = slices.DeleteFunc(c.pools, func(p *pool) bool { return p.gone && p.waiting == 0 && p.inUse == 0 })
	for _, p := range c.pools {
		p.applyLevels(c.ns, s.Levels)
		c.touched(p)
	}
	c.dispatchAll()
	for _, p := range c.pools {
		p.breathe()
	}
	c.observe(s)
}

func (p *pool) applyLevels(ns int64, setup []LevelSetup) {
	for _, l := range p.levels {
		l.gone = true
	}
	for rank, s := range setup {
		i := slices.IndexFunc(p.levels, func(l *level) bool { return l.name == s.Name })
		if i < 0 {
			l := &level{name: s.Name, pool: p, share: share{last: ns}}
			for b := range l.queues {
				l.queues[b] = newFairQueue(p, l, Band(b))
			}
			p.levels = append(p.levels, l)
			i = len(p.levels) - 1
		}
		l := p.levels[i]
		l.rank, l.gone = rank, false
		l.share.advance(ns, p.setup.Seats)
		l.share.min, l.share.last = s.MinShare, ns
	}
	p.levels = slices.DeleteFunc(p.levels, func(l *level) bool { return l.gone && l.waiting == 0 })
	slices.SortStableFunc(p.levels, func(a, b *level) int { return a.rank - b.rank })
}

// pool finds a pool by its name, or is nil. There are few.
func (c *Core) pool(name string) *pool {
	for _, p := range c.pools {
		if p.setup.Name == name {
			return p
		}
	}
	return nil
}

// Arrive admits an item that is ready to be admitted: the verdict stands in it afterwards. Waiting
// means that it will be handed out by Decided, or ended by Cancel.
func (c *Core) Arrive(now time.Time, it *Item) {
	c.advance(now)
	if c.shadow == nil {
		c.admit(it)
		return
	}
	c.shadow.follow(it)
	g := it.ghost
	c.admit(it)
	c.shadow.arrive(g)
}

func (c *Core) admit(it *Item) {
	f := it.Flow
	it.rule = f.terms.Rule
	it.arrived = c.ns
	it.Estimate = unknown
	c.seq++
	it.seq = c.seq
	r := it.rule
	if r.Observe {
		c.admitObserved(it)
		return
	}
	if r.RejectInFlight && r.MaxInFlight > 0 && f.inFlight+f.waiting >= r.MaxInFlight {
		c.refuse(it, TooManyInFlight)
		return
	}
	it.OnTime = c.payArrival(it)
	if !it.Paid && r.OverRate == OverReject {
		c.refuse(it, RateExceeded)
		return
	}
	l := f.place.line(it.Paid)
	if c.mayGo(it, l) {
		c.take(it, l)
		it.Verdict = Granted
		it.Quota = c.quota(f)
		return
	}
	if c.drained {
		c.refuse(it, Draining)
		return
	}
	it.Estimate, it.Place = c.estimate(it)
	if it.MaxWait <= 0 || it.Estimate > it.MaxWait || c.standing(it) {
		c.refuse(it, WaitTooLong)
		return
	}
	was := f.filled()
	yields := c.yields(f, l.band(), it.Bytes, was)
	if !yields || !c.makeRoom(it, l.band(), was) {
		c.refuse(it, QueueFull)
		return
	}
	c.arrives = it
	c.queue(it)
	c.touched(f.place.pool)
	c.dispatchAll()
	c.arrives = nil
}

// mayGo says that a seat is free which the arriving item may use now: nothing of its flow is before
// it, and whoever else waits may not use it.
func (c *Core) mayGo(it *Item, l *line) bool {
	f, p := it.Flow, l.place
	if p.waiting > 0 || !it.Paid && it.rule.OverRate == OverPace ||
		it.rule.MaxInFlight > 0 && f.inFlight >= it.rule.MaxInFlight || p.pool.inUse >= p.pool.setup.Seats {
		return false
	}
	c.countLong(p.pool)
	return p.pool.allows(l.band(), c.speedOf(f, p.pool, l.band()))
}

// standing says that the flow's queue has not been empty for as long as its rule lets one wait, so
// that an unpaid arrival only makes the wait of the next one longer. Paced work cannot make up for a
// moment in which none of it waits, so its queue may stand.
func (c *Core) standing(it *Item) bool {
	f := it.Flow
	return !it.Paid && it.rule.OverRate != OverPace && f.drain.open && c.ns-f.drain.opened >= int64(it.rule.MaxWait) &&
		it.Estimate > it.rule.MaxWait/10
}

func (c *Core) refuse(it *Item, v Verdict) {
	f := it.Flow
	it.Band = f.place.line(it.Paid).band()
	it.state, it.Verdict = done, v
	it.Load = f.place.pool.load()
	switch v {
	case RateExceeded:
		it.Back = c.paidIn(it)
	case WaitTooLong:
		it.Back = it.Estimate
		if it.Estimate < 0 {
			it.Back = c.back(f, it.rule, f.place.line(it.Paid))
		}
	default:
		it.Back = c.back(f, it.rule, f.place.line(it.Paid))
	}
	c.giveBack(it)
	it.Quota = c.quota(f)
	c.lost(it)
	c.dispatchAll()
}

// Full says that an item, arriving now, would find no place to wait and no seat either. Then it is
// refused, with its verdict QueueFull and all that goes with it; if not, nothing has changed. It is asked
// before a body is read, with the bytes that the item will hold as far as they are known.
func (c *Core) Full(now time.Time, it *Item) bool {
	c.advance(now)
	f := it.Flow
	if f.terms.Rule.Observe {
		return false
	}
	paid := c.wouldPay(f)
	l, p := f.place.line(paid), f.place.pool
	if f.place.waiting == 0 && p.inUse < p.setup.Seats && p.allows(l.band(), c.speedOf(f, p, l.band())) {
		return false
	}
	was := f.filled()
	if _, ok := c.room(f, l.band(), it.Bytes, was); ok && c.yields(f, l.band(), it.Bytes, was) {
		return false
	}
	it.rule = f.terms.Rule
	it.OnTime = paid
	it.Back = c.back(f, it.rule, l)
	it.Band = l.band()
	it.Quota = c.quota(f)
	it.state, it.Verdict = done, QueueFull
	it.Load = p.load()
	if c.shadow != nil {
		c.shadow.follow(it)
		g := it.ghost
		c.lost(it)
		c.shadow.arrive(g)
	}
	return true
}

// Cancel ends an item whose caller has gone, and says whether it was still waiting. If not, its
// verdict stands: a granted one still has to be released.
func (c *Core) Cancel(now time.Time, it *Item) bool {
	c.advance(now)
	if it.state != waiting {
		return false
	}
	c.remove(it, Gone)
	c.dispatchAll()
	return true
}

// Drain ends all that wait; who would have to wait from now on is refused likewise.
func (c *Core) Drain(now time.Time) {
	c.advance(now)
	c.drained = true
	for _, p := range c.pools {
		for _, l := range p.levels {
			for _, q := range l.queues {
				for q.held.len() > 0 {
					c.remove(q.held.top().newest.top().tail, Draining)
				}
			}
		}
	}
	if c.shadow != nil {
		c.shadow.drain()
	}
}

// SetSurging brings the flow's unpaid work into the surge band, or back into excess.
func (c *Core) SetSurging(now time.Time, f *Flow, surging bool) {
	c.advance(now)
	if f.surging == surging {
		return
	}
	f.surging = surging
	for _, p := range f.places {
		c.move(&p.lines[1])
		c.touched(p.pool)
	}
	c.dispatchAll()
	if c.shadow != nil {
		c.shadow.surging(f)
	}
}

// Advance does all that has fallen due until now.
func (c *Core) Advance(now time.Time) {
	c.advance(now)
	if c.shadow != nil {
		c.shadow.advance(c.ns)
	}
}

// Next is the moment at which Advance has something to do, if there is one.
func (c *Core) Next() (time.Time, bool) {
	at := c.due()
	if at == 0 {
		return time.Time{}, false
	}
	return c.moment(at), true
}

// due is Next in core time; 0 if there is nothing to do.
func (c *Core) due() (at int64) {
	if c.timers.len() > 0 {
		at = c.timers.top().at
	}
	if c.shadow != nil {
		at = sooner(at, c.shadow.due())
	}
	return at
}

// moment is a core time as a moment.
func (c *Core) moment(ns int64) time.Time { return c.epoch.Add(time.Duration(ns)) }

// Decided hands out the items that were decided since it was last asked. The slice is reused.
func (c *Core) Decided() []*Item {
	d := c.decided
	c.decided = c.decided[:0]
	return d
}

func (c *Core) advance(now time.Time) {
	if ns := int64(now.Sub(c.epoch)); ns > c.ns {
		if ns-c.ns > int64(absence) {
			c.missed(ns - c.ns)
		}
		c.ns, c.now = ns, now
	}
	for c.timers.len() > 0 && c.timers.top().at <= c.ns {
		t := c.timers.top()
		c.timers.remove(t)
		switch {
		case t.item != nil:
			c.remove(t.item, WaitExpired)
		case t.flow != nil:
			t.flow.due = max(t.flow.due, t.at) // until then the rate had nothing: that is no lateness
			c.payFlow(t.flow)
		default:
			c.payCaller(t.caller)
		}
		c.dispatchAll()
	}
}

// core is a moment in core time, in ns.
func (c *Core) core(t time.Time) int64 { return int64(t.Sub(c.epoch)) }

func (c *Core) since(ns int64) time.Duration { return time.Duration(c.ns - ns) }

func (c *Core) decide(it *Item, v Verdict) {
	it.Verdict = v
	it.Quota = c.quota(it.Flow)
	if it != c.arrives {
		c.decided = append(c.decided, it)
	}
}

func (c *Core) touched(p *pool) {
	if !slices.Contains(c.dirty, p) {
		c.dirty = append(c.dirty, p)
	}
}

func (c *Core) dispatchAll() {
	for len(c.dirty) > 0 {
		p := c.dirty[0]
		c.dirty = slices.Delete(c.dirty, 0, 1)
		c.dispatch(p)
	}
}
