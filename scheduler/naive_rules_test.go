package scheduler

import "slices"

// The rules of the naive model: who is paid, who goes, who is let in, who gives way.

// costOf is what an item costs a limit: all that it holds at most, where it has become smaller since.
func costOf(it *naiveItem, m *naiveMeter) int64 { return min(it.rule.Cost, m.limit.Depth()) }

// payable is the flow's first unpaid item, if its own rate has it and it is its time.
func (n *naive) payable(flow int) (item int, ok bool) {
	f := &n.flows[flow]
	unpaid := n.unpaid(flow)
	if len(unpaid) == 0 {
		return 0, false
	}
	cost := costOf(&n.items[unpaid[0]], &f.meter)
	if f.blocked {
		f.due = max(f.due, n.now) // what it waited for until now was the caller's rate
	}
	f.due = max(f.due, n.now-max(int64(f.meter.limit.Step(cost)), int64(catchUp)))
	return unpaid[0], f.due <= n.now && f.meter.has(n.now, cost)
}

// pay pays all that has fallen due, the caller's oldest first, and says when the next will.
func (n *naive) pay() {
	for again := true; again; {
		again = false
		for c := range n.callers {
			again = again || n.payOf(&n.callers[c])
		}
	}
	for i := range n.flows {
		f := &n.flows[i]
		_, ok := n.payable(i)
		f.blocked, f.wake = ok, never
		if unpaid := n.unpaid(i); len(unpaid) > 0 && !ok {
			f.wake = max(f.due, f.meter.free(n.now, costOf(&n.items[unpaid[0]], &f.meter)))
		}
	}
}

func (n *naive) payOf(c *naiveCaller) bool {
	oldest, of := -1, -1
	for i := range n.flows {
		if n.flows[i].key.Caller != c.id {
			continue
		}
		if item, ok := n.payable(i); ok && (oldest < 0 || item < oldest) {
			oldest, of = item, i
		}
	}
	if oldest < 0 {
		return false
	}
	it, f := &n.items[oldest], &n.flows[of]
	drawn := int64(0)
	if c.limited {
		if drawn = costOf(it, &c.meter); !c.meter.has(n.now, drawn) {
			return false
		}
		c.meter.take(n.now, oldest, drawn)
	}
	cost := costOf(it, &f.meter)
	f.meter.take(n.now, oldest, cost)
	f.due += int64(f.meter.limit.Step(cost))
	it.paid, it.cost, it.drawn = true, cost, drawn
	return true
}

func (n *naive) callerWake(c *naiveCaller) int64 {
	for i := range n.items {
		it := &n.items[i]
		if f := &n.flows[it.flow]; f.key.Caller == c.id && f.blocked && n.unpaid(it.flow)[0] == i {
			return c.meter.free(n.now, costOf(it, &c.meter))
		}
	}
	return never
}

// returns gives back what was paid for an item.
func (n *naive) returns(i int) {
	it := &n.items[i]
	if !it.paid {
		return
	}
	it.paid = false
	n.flows[it.flow].meter.giveBack(n.now, i, it.cost)
	if c := n.caller(it.flow); c.limited && it.drawn > 0 {
		c.meter.giveBack(n.now, i, it.drawn)
	}
}

// settle pays and gives out seats until nothing moves. Which of two pools gives out its seats first is left to the core: it
// matters only where a flow waits in both and may not have as many in flight.
func (n *naive) settle() {
	for {
		n.pay() // the schedule goes on with the next one
		var who []int
		for p := range n.setup.Pools {
			if pool := &n.setup.Pools[p]; n.inUse(pool.Name) < pool.Seats {
				who = append(who, n.mayGo(pool.Name)...)
			}
		}
		if len(who) == 0 {
			return
		}
		it := &n.items[n.chosen(who, &n.core.granted)]
		it.band = n.bandOf(it)
		it.state, it.verdict = inFlight, Granted
	}
}

// chosen is the one of who that the core chose first, or the first of them.
func (n *naive) chosen(who []int, core *[]int) int {
	for k, i := range *core {
		if slices.Contains(who, i) {
			*core = slices.Delete(slices.Clone(*core), k, k+1)
			return i
		}
	}
	return who[0]
}

// mayGo are those who may get a free seat of the pool next: of the first band and level that has any.
func (n *naive) mayGo(pool string) (who []int) {
	n.waiting(func(it *naiveItem) bool {
		i := n.index(it)
		if it.pool != pool || !n.fits(i) {
			return false
		}
		if len(who) > 0 {
			first := &n.items[who[0]]
			switch b, fb := n.bandOf(it), n.bandOf(first); {
			case higher(fb, n.rank(first.level), b, n.rank(it.level)):
				return false
			case higher(b, n.rank(it.level), fb, n.rank(first.level)):
				who = who[:0]
			}
		}
		who = append(who, i)
		return true
	})
	return who
}

func (n *naive) index(it *naiveItem) int {
	for i := range n.items {
		if &n.items[i] == it {
			return i
		}
	}
	return -1
}

// fits says that the item could use a free seat: it is the first of its flow in its place, paid if it has to be, and its flow
// has fewer in flight than it may. What waits in another place, after a reload, is held by its own rules alone.
func (n *naive) fits(i int) bool {
	it := &n.items[i]
	first := n.waiting(func(o *naiveItem) bool { return o.flow == it.flow && o.samePlace(it) })[0]
	return first == i && (it.paid || it.rule.OverRate != OverPace) && !n.atMost(it.flow, it.rule)
}

func (n *naive) atMost(flow int, r *Rule) bool {
	return r.MaxInFlight > 0 && n.inFlight(flow) >= r.MaxInFlight
}

func (it *naiveItem) samePlace(o *naiveItem) bool {
	return it.pool == o.pool && it.level == o.level && (it.rule.OverRate == OverPace) == (o.rule.OverRate == OverPace)
}

// meter brings a flow under terms.
func (n *naive) meter(k Key, tm Terms) int {
	flow := slices.IndexFunc(n.flows, func(f naiveFlow) bool { return f.key == k })
	if !slices.ContainsFunc(n.callers, func(c naiveCaller) bool { return c.id == k.Caller }) {
		n.callers = append(n.callers, naiveCaller{id: k.Caller})
	}
	if flow < 0 {
		n.flows = append(n.flows, naiveFlow{key: k, terms: tm, meter: newNaiveMeter(tm.Rule.Limit, n.now), wake: never})
		flow = len(n.flows) - 1
	} else if f := &n.flows[flow]; tm.Version >= f.terms.Version {
		f.terms = tm
		f.meter.change(n.now, tm.Rule.Limit)
	}
	if c := n.caller(flow); tm.Version >= c.version {
		c.version = tm.Version
		switch {
		case tm.CallerRate == nil:
			c.limited = false
			for i := range n.items { // what it paid is forgotten with it
				if n.flows[n.items[i].flow].key.Caller == c.id {
					n.items[i].drawn = 0
				}
			}
		case !c.limited:
			c.limited, c.meter = true, newNaiveMeter(*tm.CallerRate, n.now)
		default:
			c.meter.change(n.now, *tm.CallerRate)
		}
	}
	n.settle()
	return flow
}

// arrive decides on an item; estimate is the core's.
func (n *naive) arrive(flow int, bytes, maxWait, estimate int64) {
	f := &n.flows[flow]
	r := f.terms.Rule
	waits := n.waiting(func(it *naiveItem) bool { return it.flow == flow })
	n.items = append(n.items, naiveItem{
		flow: flow, rule: r, pool: f.terms.Pool, level: r.Level, bytes: bytes, arrived: n.now, maxWait: maxWait, state: fresh,
	})
	i := len(n.items) - 1
	it := &n.items[i]
	if r.RejectInFlight && r.MaxInFlight > 0 && n.inFlight(flow)+len(waits) >= r.MaxInFlight {
		n.refuse(i, TooManyInFlight)
		return
	}
	n.payArrival(i)
	it.onTime = it.paid
	if !it.paid && r.OverRate == OverReject {
		n.refuse(i, RateExceeded)
		return
	}
	it.state = waiting
	if n.inUse(it.pool) < n.pool(it.pool).Seats && slices.Contains(n.mayGo(it.pool), i) {
		n.settle()
		return
	}
	it.state = fresh
	it.place = 1
	for _, o := range waits {
		if !it.paid || n.items[o].paid {
			it.place++
		}
	}
	standing := len(waits) > 0 && n.now-f.since >= int64(r.MaxWait) && estimate > int64(r.MaxWait)/10
	if maxWait <= 0 || estimate > maxWait || standing && !it.paid && r.OverRate != OverPace {
		n.refuse(i, WaitTooLong)
		return
	}
	was := n.fill(it)
	if can, cannot := n.copy().roomFor(i, was, true); can && !cannot || can && len(n.core.displaced) > 0 {
		n.makeRoom(i, was)
	} else if cannot {
		n.refuse(i, QueueFull)
		return
	}
	it = &n.items[i]
	it.state = waiting
	if f := &n.flows[flow]; len(n.waiting(func(it *naiveItem) bool { return it.flow == flow })) == 1 {
		f.since = n.now
	}
	if len(n.unpaid(flow)) == 1 && !it.paid {
		n.flows[flow].due = n.now
	}
	n.settle()
}

func (n *naive) refuse(i int, v Verdict) {
	n.items[i].band = n.bandOf(&n.items[i])
	n.items[i].state, n.items[i].verdict = done, v
	n.returns(i)
	n.settle()
}

// payArrival pays an arriving item if nothing unpaid of its flow waits, nor anything for its caller's rate, and both have it.
func (n *naive) payArrival(i int) {
	it := &n.items[i]
	f, c := &n.flows[it.flow], n.caller(it.flow)
	cost := costOf(it, &f.meter)
	if len(n.unpaid(it.flow)) > 0 || !f.meter.has(n.now, cost) {
		return
	}
	drawn := int64(0)
	if c.limited {
		blocked := slices.ContainsFunc(n.flows, func(f naiveFlow) bool { return f.key.Caller == c.id && f.blocked })
		if drawn = costOf(it, &c.meter); blocked || !c.meter.has(n.now, drawn) {
			return
		}
		c.meter.take(n.now, i, drawn)
	}
	f.meter.take(n.now, i, cost)
	it.paid, it.cost, it.drawn = true, cost, drawn
}
