package scheduler

import (
	"math"
	"time"
)

// drain measures how fast a queue is served while it is open: its dispatches since then, weighted by
// age with a half-life of drainHalf, plus one, over the time, weighted alike. A flow's is open while
// something of it waits, a pool's while none of its seats is free.
type drain struct {
	open   bool
	opened int64 // core time at which it was
	since  int64 // attended time at which it was opened
	last   int64 // attended time of count
	count  float64
}

const (
	drainHalf = 2 * time.Second
	drainSure = 300 * time.Millisecond // below this age it says little
	drainFew  = 10                     // dispatches of a pool that say little
)

func (d *drain) begin(ns, attended int64) {
	*d = drain{open: true, opened: ns, since: attended, last: attended}
}

func (d *drain) end() { d.open = false }

func (d *drain) dispatched(ns int64) {
	d.count = d.count*fade(ns-d.last) + 1
	d.last = ns
}

// perSecond is the rate of dispatches, above 0.
func (d *drain) perSecond(ns int64) float64 {
	span := drainHalf.Seconds() / math.Ln2 * (1 - fade(ns-d.since))
	return (d.count*fade(ns-d.last) + 1) / max(span, 1e-3)
}

func fade(ns int64) float64 { return math.Exp2(-float64(ns) / float64(drainHalf)) }

// A drain counts attended time alone: core time without the spans in which nobody asked the core anything
// though work was in flight that should have ended long ago. In them the whole process stood still, on a
// machine with too much to do; nobody could be dispatched, and that says nothing of how fast the pool is
// served. Counted, a second of it makes every queue look stuck, and refuses at the door what was promised.
// An upstream that stands still is another thing: callers go on arriving, and each asks the core.
func (c *Core) attended() int64 { return c.ns - c.away }

// absence is the shortest span that counts as one.
const absence = 50 * time.Millisecond

// missed takes note of a span in which the core was not asked.
func (c *Core) missed(span int64) {
	usual, busy := 0.0, false
	for _, p := range c.pools {
		if p.inUse > 0 {
			busy, usual = true, max(usual, p.seatMean)
		}
	}
	if busy && usual > 0 && float64(span-int64(absence)) > 3e9*usual {
		c.away += span
	}
}

// recent counts events over the last two seconds, in cells of a quarter of a second.
type recent struct {
	cells [9]uint32
	at    int64 // number of the newest cell
}

const recentCell = int64(250 * time.Millisecond)

func (r *recent) add(ns int64) {
	r.advance(ns)
	r.cells[r.at%int64(len(r.cells))]++
}

func (r *recent) advance(ns int64) {
	to := ns / recentCell
	if to-r.at >= int64(len(r.cells)) {
		clear(r.cells[:])
		r.at = to
	}
	for r.at < to {
		r.at++
		r.cells[r.at%int64(len(r.cells))] = 0
	}
}

// count is the number of events in the last two seconds, up to a quarter of a second more.
func (r *recent) count(ns int64) (n int) {
	r.advance(ns)
	for _, c := range r.cells {
		n += int(c)
	}
	return n
}

// span is the time in seconds that count covers, since the core began at most.
func (r *recent) span(ns int64) float64 {
	return max(float64(min(ns, int64(len(r.cells)-1)*recentCell+ns%recentCell))/1e9, 1e-3)
}

const unknown = time.Duration(-1)

// wait is the time that the item in place n of the flow is expected to wait in a line, or unknown.
func (c *Core) wait(f *Flow, l *line, n int) time.Duration {
	n = max(n, 1)
	if f.drain.open && c.attended()-f.drain.since >= int64(drainSure) {
		return seconds(float64(n) / f.drain.perSecond(c.attended()))
	}
	// Too early to tell from the flow: its share of the pool's drain, as dispatch shares it, among the
	// callers first, then among this one's flows. By flows alone, a caller with a thousand invented
	// tenants would make everybody else's wait look a thousand times as long.
	drain := c.early(f, l.place.pool)
	if drain == 0 {
		return unknown
	}
	q := l.place.level.queues[l.band()]
	callers, flows := q.held.len(), 0
	if own := q.callers[f.caller]; own != nil && own.newest.len() > 0 {
		flows = own.newest.len()
	} else {
		callers++
	}
	if l.n == 0 {
		flows++
	}
	return seconds(float64(n) * float64(callers) * float64(flows) / drain)
}

// early is how many dispatches a second the pool has for work like the flow's, as far as can be told
// before the flow has waited; 0: not at all. How fast a pool was served says what it can do only as
// long as none of its seats was free: one that was idle until a moment ago can do more than it did.
// Then it is what its seats can do, without those that are held for long.
func (c *Core) early(f *Flow, p *pool) float64 {
	if d, ns := &p.drain, c.attended(); d.open && ns-d.since >= int64(drainSure) {
		if d.count*fade(ns-d.last) < drainFew {
			return 0
		}
		return d.perSecond(ns)
	}
	mean, known := c.mean(f)
	if !known || mean <= 0 {
		return 0
	}
	return float64(max(p.setup.Seats-p.long, 1)) / mean
}

// estimate is the expected wait of an item that is about to wait, and its place in its flow.
func (c *Core) estimate(it *Item) (wait time.Duration, place int) {
	f := it.Flow
	place = f.waiting + 1
	if !it.owes() {
		place = f.waiting - f.unpaid + 1
	}
	wait = c.wait(f, f.place.line(it.Paid), place)
	switch {
	case !it.owes():
	case it.rule.OverRate == OverPace:
		// It may not go before it is paid, however idle the pool is. Paid ones before it say that the
		// pool is what they wait for; then it will have to wait for both.
		if f.unpaid == f.waiting {
			wait = unknown
		}
		wait = max(wait, c.paidIn(it))
	case f.unpaid == f.waiting && wait != unknown:
		// With no paid one before it, the rate will have paid it by then at the latest.
		wait = min(wait, c.paidIn(it))
	}
	return wait, place
}

// paidIn is the time until the rate will have paid an arriving item, after all unpaid ones before it.
func (c *Core) paidIn(it *Item) time.Duration {
	f := it.Flow
	limit := &f.terms.Rule.Limit
	cost := costIn(limit, it)
	until := func(at int64) float64 { return float64(at-c.ns) / 1e9 }
	wait := until(c.core(f.meter.Ready(c.now, cost)))
	if first := f.firstUnpaid(); first != nil {
		// In seconds: steps of a slow rate, times thousands who wait, need not fit a Duration.
		before := costIn(limit, first)
		wait = until(max(c.core(f.meter.Ready(c.now, before)), f.due)) +
			float64(f.unpaid-1)*limit.Step(before).Seconds() + limit.Step(cost).Seconds()
	}
	if cl := f.caller; cl.limit != nil {
		wait = max(wait, until(c.core(cl.meter.Ready(c.now, costIn(cl.limit, it)))))
	}
	return seconds(max(0, wait))
}

// back is when a caller who is refused should come again: when what waits of his flow is gone.
func (c *Core) back(f *Flow, r *Rule, l *line) time.Duration {
	w := c.wait(f, l, f.waiting+1)
	if w == unknown {
		w = r.Limit.Step(r.Cost)
	}
	return w
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s*1e9, math.MaxInt64/2))
}
