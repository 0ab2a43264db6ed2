package scheduler

// The bounds of the naive model.

// fill is what waits in an item's pool, and of its caller there.
func (n *naive) fill(it *naiveItem) (was filled) {
	for _, o := range n.waiting(func(o *naiveItem) bool { return o.pool == it.pool }) {
		other := &n.items[o]
		was.items++
		was.bytes += other.bytes
		if n.flows[other.flow].key.Caller == n.flows[it.flow].key.Caller {
			was.own++
			was.ownBytes += other.bytes
		}
	}
	return was
}

// givesWay are those of whom one has to give way before the arrival has room: several where callers hold as many. ok says
// that it has room already, or that there is somebody. Of equal rank only one gives way to one arrival.
func (n *naive) givesWay(i int, was filled, equals bool) (who []int, equal, ok bool) {
	it := &n.items[i]
	set, now := n.pool(it.pool), n.fill(it)
	caller := func(o int) int32 { return n.flows[n.items[o].flow].key.Caller }
	items, bytes := now.items+1, now.bytes+it.bytes
	own, ownBytes := now.own+1, now.ownBytes+it.bytes
	// A bound is never below what waited when the arrival came, and a first item is let in by all but the pool's bytes.
	ownFull := own > 1 && (own > was.own && float64(own) > set.MaxFlowShare*float64(set.MaxWaiting) ||
		ownBytes > was.ownBytes && float64(ownBytes) > set.MaxFlowShare*float64(set.MaxWaitingBytes))
	full := items > max(set.MaxWaiting, was.items) || items > 1 && bytes > max(set.MaxWaitingBytes, was.bytes)
	switch {
	case it.bytes > set.MaxWaitingBytes:
		return nil, false, false
	case !ownFull && !full:
		return nil, false, true
	}
	low := n.lowest(n.waiting(func(o *naiveItem) bool {
		return o.pool == it.pool && (!ownFull || n.flows[o.flow].key.Caller == n.flows[it.flow].key.Caller)
	}))
	holds := map[int32]int{}
	newest := map[int32]int{}
	most := 0
	for _, o := range low {
		holds[caller(o)]++
		newest[caller(o)] = o
		most = max(most, holds[caller(o)])
	}
	first := &n.items[low[0]]
	better := higher(n.bandOf(it), n.rank(it.level), n.bandOf(first), n.rank(first.level))
	equal = equals && !ownFull && n.bandOf(it) == n.bandOf(first) && it.level == first.level && 2*holds[caller(i)] < most
	for c, held := range holds {
		if held == most && (better || equal) {
			who = append(who, newest[c])
		}
	}
	return who, equal, len(who) > 0
}

// lowest are those of the items that stand in the lowest band and level.
func (n *naive) lowest(items []int) (low []int) {
	for _, o := range items {
		if len(low) > 0 {
			it, first := &n.items[o], &n.items[low[0]]
			b, fb := n.bandOf(it), n.bandOf(first)
			if higher(b, n.rank(it.level), fb, n.rank(first.level)) {
				continue
			}
			if higher(fb, n.rank(first.level), b, n.rank(it.level)) {
				low = low[:0]
			}
		}
		low = append(low, o)
	}
	return low
}

// roomFor tries out, on a copy, whether room can be made, and whether one can also end without: callers who hold as many may
// give way in any order.
func (n *naive) roomFor(i int, was filled, equals bool) (can, cannot bool) {
	who, equal, ok := n.givesWay(i, was, equals)
	if !ok {
		return false, true
	}
	if len(who) == 0 {
		return true, false
	}
	for _, o := range who {
		try := n.copy()
		try.leave(o, Displaced)
		yes, no := try.roomFor(i, was, equals && !equal)
		can, cannot = can || yes, cannot || no
	}
	return can, cannot
}

// makeRoom lets them go who have to. What they give back is paid with when that is done: else one could be paid for another's
// going, and not give way any more himself.
func (n *naive) makeRoom(i int, was filled) {
	for {
		who, _, ok := n.givesWay(i, was, true)
		if !ok || len(who) == 0 {
			n.pay()
			return
		}
		n.leave(n.chosen(who, &n.core.displaced), Displaced)
	}
}
