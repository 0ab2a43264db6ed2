package scheduler

// fairQueue is the waiting work of one pool, band and level: start-time fair queueing by seat time,
// first among callers, then among a caller's flows.
//
// What waits is kept apart by speed, because a ceiling closes a whole speed at once: the flows that
// may not take the free seat then stand in heaps that nobody looks at.
type fairQueue struct {
	pool     *pool
	level    *level
	band     Band
	vtime    float64 // start tag of the last dispatch
	callers  map[*caller]*entry
	ready    [speeds]heap[*entry]
	held     heap[*entry] // the caller with most waiting items first
	observed int          // items waiting whose rule observes; no bound counts them
	waiting  int          // all others
	bytes    int64        // of those
}

// entry is one caller in a fair queue.
type entry struct {
	queue             *fairQueue
	caller            *caller
	tag               float64 // start tag among callers
	weight            float64
	vtime             float64 // start tag of the last dispatch among its flows
	lines             [speeds]heap[*line]
	ready             [speeds]int
	newest            heap[*line] // the line with the newest item first, those that observe last
	held              int
	observed, waiting int // as in the queue
	bytes             int64
	uses              int // lines that hold this entry
}

func newFairQueue(p *pool, l *level, b Band) *fairQueue {
	q := &fairQueue{pool: p, level: l, band: b, callers: make(map[*caller]*entry)}
	for s := range q.ready {
		q.ready[s] = heap[*entry]{
			less: func(a, b *entry) bool { return a.tag < b.tag },
			pos:  func(e *entry) *int { return &e.ready[s] },
		}
	}
	q.held = heap[*entry]{
		less: func(a, b *entry) bool { return a.waiting > b.waiting },
		pos:  func(e *entry) *int { return &e.held },
	}
	return q
}

// entry is the caller's entry, made when there is none; each use is given back by release.
func (q *fairQueue) entry(cl *caller) *entry {
	e := q.callers[cl]
	if e == nil {
		e = &entry{queue: q, caller: cl, tag: q.vtime, weight: 1}
		for s := range e.lines {
			e.lines[s] = heap[*line]{
				less: func(a, b *line) bool { return a.tag < b.tag },
				pos:  func(l *line) *int { return &l.ready },
			}
		}
		e.newest = heap[*line]{
			less: func(a, b *line) bool {
				if a.place.observe != b.place.observe {
					return b.place.observe // nobody takes the place of what no bound counts
				}
				return a.tail.seq > b.tail.seq
			},
			pos: func(l *line) *int { return &l.newest },
		}
		q.callers[cl] = e
	}
	e.uses++
	return e
}

func (e *entry) release() {
	if e.uses--; e.uses == 0 {
		delete(e.queue.callers, e.caller)
	}
}

// join gives the line its entry in the fair queue of the band it is in now.
func (l *line) join() *entry {
	q := l.place.level.queues[l.band()]
	if l.entry != nil && l.entry.queue == q {
		return l.entry
	}
	if l.entry != nil {
		l.entry.release()
	}
	l.entry = q.entry(l.place.flow.caller)
	l.tag = l.entry.vtime
	return l.entry
}

// enter puts a line that has items and may be dispatched into the ready heaps.
func (c *Core) enter(l *line) {
	if l.ready != 0 || l.n == 0 || l.place.parked || l.place.pace && !l.paid {
		return
	}
	e := l.join()
	q := e.queue
	l.speed = c.speedIn(l)
	l.tag = max(l.tag, e.vtime)
	h := &e.lines[l.speed]
	if h.len() == 0 {
		if e.ready == [speeds]int{} {
			e.tag = max(e.tag, q.vtime)
		}
		e.weight = l.place.flow.terms.Weight
		q.ready[l.speed].push(e)
	}
	h.push(l)
	if l.speed != quick {
		q.pool.heavy = append(q.pool.heavy, l)
		l.heavy = len(q.pool.heavy)
	}
	q.level.ready(c, q.band, 1)
}

// exit takes a line out of the ready heaps.
func (c *Core) exit(l *line) {
	if l.ready == 0 {
		return
	}
	e := l.entry
	q := e.queue
	e.lines[l.speed].remove(l)
	if e.lines[l.speed].len() == 0 {
		q.ready[l.speed].remove(e)
	}
	if l.heavy != 0 {
		last := q.pool.heavy[len(q.pool.heavy)-1]
		q.pool.heavy[l.heavy-1] = last
		last.heavy = l.heavy
		q.pool.heavy[len(q.pool.heavy)-1] = nil
		q.pool.heavy = q.pool.heavy[:len(q.pool.heavy)-1]
		l.heavy = 0
	}
	q.level.ready(c, q.band, -1)
}

// charge moves the tags of a line and its caller on by the seat seconds that one dispatch is expected
// to take, and says whose they are.
func (c *Core) charge(l *line, seat float64) *entry {
	e := l.join()
	q := e.queue
	// Who was idle starts from the present: nobody saves credit while away.
	if l.ready == 0 {
		l.tag = max(l.tag, e.vtime)
	}
	if e.ready == [speeds]int{} {
		e.tag = max(e.tag, q.vtime)
		e.weight = l.place.flow.terms.Weight
	}
	q.vtime = max(q.vtime, e.tag)
	e.vtime = max(e.vtime, l.tag)
	e.shift(l, seat)
	return e
}

// shift moves the tags of the entry and of one of its lines by seat seconds, which may be negative,
// and keeps the heaps in order. A line that has moved to another queue since is left alone.
func (e *entry) shift(l *line, seat float64) {
	if l.entry == e {
		l.tag += seat
		if l.ready != 0 {
			e.lines[l.speed].fix(l)
		}
	}
	e.tag += seat / e.weight
	for s := range e.ready {
		if e.ready[s] != 0 {
			e.queue.ready[s].fix(e)
		}
	}
}
