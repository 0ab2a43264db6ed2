package scheduler

// timer is a moment at which the core has something to do for its owner: exactly one of the owners
// is set. It is embedded in what owns it, so that arming one allocates nothing.
type timer struct {
	at     int64 // core time, ns
	seq    uint64
	pos    int
	item   *Item   // its longest wait ends
	flow   *Flow   // its rate frees
	caller *caller // its caller rate frees
}

func timerHeap() heap[*timer] {
	return heap[*timer]{
		less: func(a, b *timer) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq },
		pos:  func(t *timer) *int { return &t.pos },
	}
}

func (c *Core) arm(t *timer, at int64) {
	if t.pos != 0 {
		if t.at == at {
			return
		}
		t.at = at
		c.timers.fix(t)
		return
	}
	c.seq++
	t.at, t.seq = at, c.seq
	c.timers.push(t)
}

func (c *Core) disarm(t *timer) {
	if t.pos != 0 {
		c.timers.remove(t)
	}
}
