package scheduler

// Observing. An item whose rule observes is admitted as if its rate had paid for it and no limit but the
// seats were there: it waits only while no seat is free, in the order of committed work. It stands in a place
// of its own in its flow, so that neither parking nor pace, which may hold other work of the flow after a
// reload, holds it back. What it would have come to is played in the shadow.

// admitObserved decides on an item whose rule observes. Its flow's rate pays for it where it can, so that
// enforcing can begin at any moment with a rate that knows what it has paid.
func (c *Core) admitObserved(it *Item) {
	f := it.Flow
	it.OnTime = c.payArrival(it)
	p := f.place
	l := p.line(true)
	if p.waiting == 0 && p.pool.inUse < p.pool.setup.Seats {
		c.countLong(p.pool)
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
	if it.OwnWait && it.MaxWait <= 0 {
		c.refuse(it, WaitTooLong)
		return
	}
	c.arrives = it
	c.queue(it)
	c.touched(p.pool)
	c.dispatchAll()
	c.arrives = nil
}

// owes says that the item counts as work that its rate has not covered.
func (it *Item) owes() bool { return !it.Paid && !it.rule.Observe }

// teaches is the band that the item's seat time is learned for. Observed work that its rate has not covered
// holds its seat as committed work does, but would teach what is usual there to the pool: with enough of it,
// everything beside it were quick, and no ceiling held for what is enforced.
func (it *Item) teaches() Band {
	if it.rule.Observe && !it.Paid {
		return Excess
	}
	return it.counted
}

// speedIn is the speed that a line's work is treated as having. Ceilings are the only thing that speed is asked
// for, and observed work knows none.
func (c *Core) speedIn(l *line) speed {
	if l.place.observe {
		return quick
	}
	return c.speedOf(l.place.flow, l.place.pool, l.band())
}
