package scheduler

// putIn appends an item to a line and keeps every count that depends on it.
func (c *Core) putIn(l *line, it *Item) {
	e := l.join()
	l.push(it)
	it.line = l
	c.count(l, 1, it.Bytes)
	if l.newest == 0 {
		e.newest.push(l)
	} else {
		e.newest.fix(l)
	}
	c.enter(l)
}

// takeOut removes an item from its line.
func (c *Core) takeOut(l *line, it *Item) {
	e := l.entry
	l.remove(it)
	if l.n == 0 {
		c.exit(l)
		e.newest.remove(l)
	} else {
		e.newest.fix(l)
	}
	c.count(l, -1, -it.Bytes)
}

// count changes how many items and bytes a line's entry holds, and its order among those who hold most.
func (c *Core) count(l *line, by int, bytes int64) {
	e := l.entry
	was := e.waiting + e.observed
	if l.place.observe {
		e.observed += by
		e.queue.observed += by
	} else {
		e.waiting += by
		e.bytes += bytes
		e.queue.waiting += by
		e.queue.bytes += bytes
	}
	switch {
	case was == 0:
		e.queue.held.push(e)
	case e.waiting+e.observed == 0:
		e.queue.held.remove(e)
	default:
		e.queue.held.fix(e)
	}
}

// queue lets an item wait in its flow's place.
func (c *Core) queue(it *Item) {
	f := it.Flow
	p := f.place
	it.state = waiting
	if f.waiting == 0 {
		f.drain.begin(c.ns, c.attended())
		f.waitSlot = c.waitSlots.put(f)
	}
	if p.hold == nil {
		if p.hold = p.pool.holds[f.caller.id]; p.hold == nil {
			p.hold = &holding{}
			p.pool.holds[f.caller.id] = p.hold
		}
	}
	f.waiting++
	p.waiting++
	p.level.waiting++
	p.pool.waiting++
	p.pool.waitingBytes += it.Bytes
	if it.rule.Observe {
		p.pool.observed++
		p.pool.observedBytes += it.Bytes
	} else {
		p.hold.items++
		p.hold.bytes += it.Bytes
	}
	if it.owes() {
		if f.unpaid++; f.unpaid == 1 {
			f.due = c.ns
		}
	}
	c.putIn(p.line(it.Paid), it)
	it.expiry.item = it
	if it.OwnWait || !it.rule.Observe {
		c.arm(&it.expiry, it.arrived+int64(it.MaxWait))
	}
	if it.owes() {
		c.payFlow(f)
	}
	c.parkFull(f)
}

// unqueue takes a waiting item out; dispatched says that it leaves for a seat.
func (c *Core) unqueue(it *Item, dispatched bool) {
	l := it.line
	p := l.place
	f := p.flow
	c.disarm(&it.expiry)
	c.takeOut(l, it)
	f.waiting--
	p.waiting--
	p.level.waiting--
	p.pool.waiting--
	p.pool.waitingBytes -= it.Bytes
	if it.rule.Observe {
		p.pool.observed--
		p.pool.observedBytes -= it.Bytes
	} else {
		p.hold.items--
		p.hold.bytes -= it.Bytes
	}
	if dispatched {
		f.drain.dispatched(c.attended())
	}
	if it.owes() {
		f.unpaid--
		c.payFlow(f) // the schedule goes on with the next one
	}
	if f.waiting == 0 {
		f.drain.end()
		c.waitSlots.drop(f.waitSlot)
	}
}

// remove ends an item that waits without a seat, and gives back what was paid for it.
func (c *Core) remove(it *Item, v Verdict) {
	f, p := it.line.place.flow, it.line.place.pool
	it.Band = it.line.band()
	it.Load = p.load()
	c.unqueue(it, false)
	it.Waited = c.since(it.arrived)
	it.state = done
	it.Back = c.back(f, it.rule, f.place.line(it.Paid))
	c.giveBack(it)
	c.decide(it, v)
	c.lost(it)
	c.parkFull(f) // by the rule of the one who is first now
	c.touched(p)
}

// move brings all unpaid items of a flow to the band that its surge says.
func (c *Core) move(l *line) {
	if l.n == 0 {
		return
	}
	e := l.entry
	c.exit(l)
	e.newest.remove(l)
	c.count(l, -l.n, -l.bytes)
	e = l.join()
	c.count(l, l.n, l.bytes)
	e.newest.push(l)
	c.enter(l)
}
