package scheduler

import (
	"time"

	"tidegate/pools"
)

// Payment. What arrives while nothing unpaid of its flow waits, and finds the rate there, is paid at
// once. Otherwise it waits unpaid, and the first unpaid item of a flow is paid as soon as the rate
// frees, on a schedule of cost x Per/N steps: a burst that was paid at once does not come back as a
// burst each time the window has moved on. A late wake-up pays what fell due meanwhile, at most
// catchUp of it, and the schedule itself does not slip.
//
// The narrow limit is asked first: a flow takes from its caller's rate only what its own rate has.

const catchUp = 10 * time.Millisecond

// payArrival pays an item that has just arrived, if it may be paid before it waits.
func (c *Core) payArrival(it *Item) bool {
	f := it.Flow
	cl := f.caller
	if f.unpaid > 0 || cl.limit != nil && cl.blocked.len() > 0 {
		return false
	}
	cost := costIn(&f.terms.Rule.Limit, it)
	if !f.meter.Take(c.now, cost) {
		return false
	}
	drawn := int64(0)
	if cl.limit != nil {
		if drawn = costIn(cl.limit, it); !cl.meter.Take(c.now, drawn) {
			f.meter.Return(c.now, c.now, cost)
			return false
		}
	}
	it.pay(c.now, cost, drawn)
	return true
}

// wouldPay says that payArrival would pay an item of the flow that arrived now.
func (c *Core) wouldPay(f *Flow) bool {
	cl, cost := f.caller, f.terms.Rule.Cost
	if f.unpaid > 0 || c.core(f.meter.Ready(c.now, cost)) > c.ns {
		return false
	}
	return cl.limit == nil || cl.blocked.len() == 0 && c.core(cl.meter.Ready(c.now, min(cost, cl.limit.Depth()))) <= c.ns
}

// costIn is what an item costs a limit: all that it ever holds at most. A policy that came after the
// item may have made the limit so small that it could never be paid, nor what waits behind it.
func costIn(l *pools.Limit, it *Item) int64 { return min(it.rule.Cost, l.Depth()) }

// pay notes what was paid for the item, by its flow's rate and by its caller's.
func (it *Item) pay(now time.Time, cost, drawn int64) {
	it.Paid, it.paidAt, it.cost = true, now, cost
	it.drawn, it.drawnFrom = drawn, it.Flow.caller.rates
}

// giveBack returns what was paid for an item that got no seat.
func (c *Core) giveBack(it *Item) {
	if !it.Paid {
		return
	}
	f := it.Flow
	it.Paid = false
	f.meter.Return(c.now, it.paidAt, it.cost)
	cl := f.caller
	drawn := cl.limit != nil && it.drawn > 0 && it.drawnFrom == cl.rates
	if drawn {
		cl.meter.Return(c.now, it.paidAt, it.drawn)
	}
	if f.unpaid > 0 {
		c.payFlow(f) // first, as what waits here may be older than all that waits for the caller's rate
	}
	if drawn {
		c.payCaller(cl)
	}
}

// payFlow pays what has fallen due of a flow's unpaid items, and sets its timer for the next.
func (c *Core) payFlow(f *Flow) {
	if f.blocked != 0 {
		f.due = max(f.due, c.ns) // what it waited for was the caller's rate: that is no lateness
		if f.unpaid > 0 {
			f.caller.blocked.fix(f) // another item may be its first than when it was put there
		} else if c.making {
			f.caller.blocked.remove(f)
		}
	}
	if c.making {
		return
	}
	for {
		it := f.firstUnpaid()
		if it == nil {
			c.disarm(&f.pay)
			c.unblock(f)
			return
		}
		cost, drawn := costIn(&f.terms.Rule.Limit, it), int64(0)
		step := int64(f.terms.Rule.Limit.Step(cost))
		f.due = max(f.due, c.ns-max(step, int64(catchUp)))
		at := f.due
		if free := c.core(f.meter.Ready(c.now, cost)); free > at {
			at = free
		}
		if at > c.ns {
			c.unblock(f)
			c.arm(&f.pay, at)
			return
		}
		if cl := f.caller; cl.limit != nil {
			// The caller's rate goes to the flow whose first unpaid item is oldest.
			drawn = costIn(cl.limit, it)
			if first := cl.blocked.len() == 0 || cl.blocked.top() == f || it.seq < cl.blocked.top().firstUnpaid().seq; !first ||
				!cl.meter.Take(c.now, drawn) {
				c.disarm(&f.pay)
				c.block(f)
				return
			}
		}
		if !f.meter.Take(c.now, cost) {
			// Ready said it would. Take nothing.
			if cl := f.caller; cl.limit != nil {
				cl.meter.Return(c.now, c.now, drawn)
			}
			c.arm(&f.pay, c.ns+step)
			return
		}
		f.due += step
		it.pay(c.now, cost, drawn)
		c.promote(it)
	}
}

// block lets the flow wait for its caller's rate.
func (c *Core) block(f *Flow) {
	cl := f.caller
	if f.blocked == 0 {
		cl.blocked.push(f)
	} else {
		cl.blocked.fix(f)
	}
	c.payCaller(cl) // another may have become the first
}

func (c *Core) unblock(f *Flow) {
	if f.blocked == 0 {
		return
	}
	f.caller.blocked.remove(f)
	c.payCaller(f.caller) // who was behind it may cost less
}

// payCaller pays from a caller's rate that has freed, the oldest unpaid item first.
func (c *Core) payCaller(cl *caller) {
	if cl.paying || c.making {
		return // further up it goes on, or is done when room is made
	}
	cl.paying = true
	defer func() { cl.paying = false }()
	for cl.blocked.len() > 0 {
		f := cl.blocked.top()
		it := f.firstUnpaid()
		if cl.limit != nil {
			if at := c.core(cl.meter.Ready(c.now, costIn(cl.limit, it))); at > c.ns {
				c.arm(&cl.pay, at)
				return
			}
		}
		c.payFlow(f)
		if cl.blocked.len() > 0 && cl.blocked.top() == f && f.firstUnpaid() == it {
			c.arm(&cl.pay, c.ns+1) // nothing moved
			return
		}
	}
	c.disarm(&cl.pay)
}

// promote moves a paid item from its line of unpaid ones to the paid one.
func (c *Core) promote(it *Item) {
	l := it.line
	p := l.place
	c.takeOut(l, it)
	p.flow.unpaid--
	c.putIn(p.line(true), it)
	if p.flow.unpaid > 0 && p.flow.blocked != 0 {
		p.flow.caller.blocked.fix(p.flow)
	}
	c.touched(p.pool)
}
