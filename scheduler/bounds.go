package scheduler

// Bounds on what waits: items and bytes of a pool, and one caller's share of both. When a bound is
// reached the least important work gives way to more important work, and a caller's flood makes room
// for the same caller's better work.

// filled is how much waited when an arrival came: in its pool, and of its caller there. Where a reload has
// put a bound below that, the arrival takes another's place, and no more of them are sent away for it.
type filled struct {
	items, own      int
	bytes, ownBytes int64
}

func (f *Flow) filled() filled {
	p := f.place.pool
	was := filled{items: p.waiting - p.observed, bytes: p.waitingBytes - p.observedBytes}
	if h := p.holds[f.caller.id]; h != nil {
		was.own, was.ownBytes = h.items, h.bytes
	}
	return was
}

// room finds whom an arrival of this band may displace. It says ok with a nil victim when there is
// room as it is, and not ok when the arrival has to be refused.
func (c *Core) room(f *Flow, b Band, bytes int64, was filled) (victim *Item, ok bool) {
	p := f.place
	set := &p.pool.setup
	if bytes > set.MaxWaitingBytes {
		return nil, false // however much gave way
	}
	h := p.pool.holds[f.caller.id]
	if h != nil && (h.items+1 > was.own && over(h.items+1, set.MaxFlowShare, set.MaxWaiting) ||
		h.items > 0 && h.bytes+bytes > was.ownBytes && float64(h.bytes+bytes) > set.MaxFlowShare*float64(set.MaxWaitingBytes)) {
		return c.ownVictim(f, b)
	}
	items, held := p.pool.waiting-p.pool.observed, p.pool.waitingBytes-p.pool.observedBytes
	if items+1 > max(set.MaxWaiting, was.items) || items > 0 && held+bytes > max(set.MaxWaitingBytes, was.bytes) {
		return c.victim(f, b)
	}
	return nil, true
}

// yields says that what an arrival may displace holds the bytes that it lacks, so that nobody gives way to an
// arrival that is refused all the same. Of equal rank no more than one gives way.
func (c *Core) yields(f *Flow, b Band, bytes int64, was filled) bool {
	p := f.place.pool
	set := &p.setup
	need := was.bytes + bytes - max(set.MaxWaitingBytes, was.bytes)
	own := was.ownBytes + bytes - max(int64(set.MaxFlowShare*float64(set.MaxWaitingBytes)), was.ownBytes)
	stay := was.own // of the caller's; where none does, its share does not count
	if need <= 0 && (own <= 0 || stay == 0) {
		return true
	}
	for _, l := range p.levels {
		for _, q := range l.queues {
			if !higher(b, f.place.level.rank, q.band, l.rank) {
				continue
			}
			need -= q.bytes
			if e := q.callers[f.caller]; e != nil {
				own -= e.bytes
				stay -= e.waiting
			}
		}
	}
	if it := f.place.level.queues[b].equalVictim(f.caller); need > 0 && it != nil {
		need -= it.Bytes
	}
	return need <= 0 && (own <= 0 || stay == 0)
}

// makeRoom sends away whom an arrival displaces, and says whether it has room then. What they give back is paid with when all
// have gone: else who is paid for another's going would not give way any more himself, and the other have gone in vain.
func (c *Core) makeRoom(it *Item, b Band, was filled) bool {
	c.making = true
	victim, ok := c.room(it.Flow, b, it.Bytes, was)
	for victim != nil {
		c.gaveWay = append(c.gaveWay, victim.Flow)
		c.remove(victim, Displaced)
		victim, ok = c.room(it.Flow, b, it.Bytes, was)
	}
	c.making = false
	for _, f := range c.gaveWay {
		c.payFlow(f)
		c.payCaller(f.caller)
	}
	clear(c.gaveWay)
	c.gaveWay = c.gaveWay[:0]
	return ok
}

func over(items int, share float64, most int) bool {
	return items > 1 && float64(items) > share*float64(most)
}

// victim is the newest item of the caller who holds most in the lowest band and level that has any.
func (c *Core) victim(f *Flow, b Band) (*Item, bool) {
	p := f.place.pool
	for vb := bands; vb > 0; vb-- {
		for i := len(p.levels) - 1; i >= 0; i-- {
			q := p.levels[i].queues[vb-1]
			if q.waiting == 0 {
				continue
			}
			e := q.held.top()
			if higher(b, f.place.level.rank, q.band, q.level.rank) {
				return e.newest.top().tail, true
			}
			if q.band != b || q.level != f.place.level {
				return nil, false
			}
			it := q.equalVictim(f.caller)
			return it, it != nil
		}
	}
	return nil, false
}

// equalVictim is the newest item of the caller who holds most in the queue, if an arriving one of cl holds less than half as
// much there; or nil.
func (q *fairQueue) equalVictim(cl *caller) *Item {
	if q.waiting == 0 {
		return nil
	}
	mine := 0
	if own := q.callers[cl]; own != nil {
		mine = own.waiting
	}
	e := q.held.top()
	if e.caller == cl || 2*mine >= e.waiting {
		return nil
	}
	return e.newest.top().tail
}

// ownVictim is the same choice among the arrival's own caller's items.
func (c *Core) ownVictim(f *Flow, b Band) (*Item, bool) {
	p := f.place.pool
	for vb := bands; vb > 0; vb-- {
		for i := len(p.levels) - 1; i >= 0; i-- {
			q := p.levels[i].queues[vb-1]
			if e := q.callers[f.caller]; e != nil && e.waiting > 0 {
				if higher(b, f.place.level.rank, q.band, q.level.rank) {
					return e.newest.top().tail, true
				}
				return nil, false
			}
		}
	}
	return nil, false
}

// higher says that band and level rank a before b: bands first.
func higher(bandA Band, rankA int, bandB Band, rankB int) bool {
	return bandA < bandB || bandA == bandB && rankA < rankB
}
