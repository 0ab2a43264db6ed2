package scheduler

import (
	"slices"
	"time"
)

// Queue is a copy of who waits.
type Queue struct {
	Total int         // items that wait, in Items or not
	Items []QueueItem // in the order of pools, bands and levels, and within one of arrival
	Flows []QueueFlow // all flows that have something waiting, in no order
}

// QueueItem is one item that waits.
type QueueItem struct {
	Flow        *Flow
	Name        string
	Pool, Level string
	Band        Band
	Waited      time.Duration // so far
	MaxWait     time.Duration
	Estimate    time.Duration // of the whole wait, made at arrival; negative: unknown
	Place       int           // in its flow at arrival, itself included
	Bytes       int64
}

// QueueFlow is what one flow has waiting.
type QueueFlow struct {
	Flow        *Flow
	Pool, Level string // of its first item
	Waiting     int
	Unpaid      int           // of them
	OldestWait  time.Duration // so far
}

// Queue copies who waits, with at most limit of the items. It looks at each flow that waits, and at no more items than it
// copies. Who is next among the items of one level is the fair queue's choice, and not told.
func (c *Core) Queue(now time.Time, limit int) Queue {
	c.advance(now)
	total, lines := c.waiters()
	r := newQueueReader(limit, total, lines)
	r.read(c)
	return r.done()
}

// waiters is how many items wait, and in how many lines.
func (c *Core) waiters() (items, lines int) {
	for _, p := range c.pools {
		items += p.waiting
		for _, l := range p.levels {
			for _, q := range l.queues {
				for _, e := range q.held.a {
					lines += e.newest.len()
				}
			}
		}
	}
	return items, lines
}

// queueReader copies a queue into memory that it has beforehand, so that the lock is not held while memory is found.
type queueReader struct {
	queue Queue
	names []byte // of all items, one after the other
	ends  []int  // of each item's name
	heads heap[*queueHead]
	lines []queueHead
}

// queueHead is what is left to copy of one line. It keeps what the order needs, as looking it up in the item would miss the
// cache at each comparison.
type queueHead struct {
	seq  uint64
	item *Item
	pos  int
}

const usualName = 36 // bytes

// newQueueReader makes room for limit of the items that wait, and an eighth more than wait now: more may come until the
// lock is had again.
func newQueueReader(limit, items, lines int) *queueReader {
	items = min(max(limit, 0), items+items/8+64)
	lines += lines/8 + 64
	return &queueReader{
		queue: Queue{Items: make([]QueueItem, 0, items), Flows: make([]QueueFlow, 0, lines)},
		names: make([]byte, 0, usualName*items),
		ends:  make([]int, 0, items),
		lines: make([]queueHead, 0, lines),
		heads: heap[*queueHead]{
			a:    make([]*queueHead, 0, lines),
			less: func(a, b *queueHead) bool { return a.seq < b.seq },
			pos:  func(h *queueHead) *int { return &h.pos },
		},
	}
}

func (r *queueReader) read(c *Core) {
	for _, p := range c.pools {
		r.queue.Total += p.waiting
		for b := Committed; b < bands; b++ {
			for _, l := range p.levels {
				r.level(c, l.queues[b])
			}
		}
	}
}

// level copies one level of one band: the lines are merged by arrival, as far as there is room.
func (r *queueReader) level(c *Core, q *fairQueue) {
	r.lines = r.lines[:0]
	for _, e := range q.held.a {
		for _, l := range e.newest.a {
			f, head := l.place.flow, l.head
			if f.first() == head {
				r.queue.Flows = append(r.queue.Flows, QueueFlow{
					Flow: f, Pool: q.pool.setup.Name, Level: q.level.name,
					Waiting: f.waiting, Unpaid: f.unpaid, OldestWait: c.since(head.arrived),
				})
			}
			r.lines = append(r.lines, queueHead{seq: head.seq, item: head})
		}
	}
	if r.full() {
		return
	}
	heads := &r.heads
	heads.a = heads.a[:0]
	for i := range r.lines {
		heads.a = append(heads.a, &r.lines[i])
		r.lines[i].pos = i + 1
	}
	for i := heads.len()/2 - 1; i >= 0; i-- {
		heads.down(i)
	}
	for heads.len() > 0 && !r.full() {
		h := heads.top()
		r.item(c, q, h.item)
		if h.item = h.item.next; h.item == nil {
			heads.remove(h)
			continue
		}
		h.seq = h.item.seq
		heads.fix(h)
	}
}

func (r *queueReader) full() bool { return len(r.queue.Items) == cap(r.queue.Items) }

func (r *queueReader) item(c *Core, q *fairQueue, it *Item) {
	r.queue.Items = append(r.queue.Items, QueueItem{
		Flow: it.Flow, Pool: q.pool.setup.Name, Level: q.level.name, Band: q.band,
		Waited: c.since(it.arrived), MaxWait: it.MaxWait, Estimate: it.Estimate, Place: it.Place, Bytes: it.Bytes,
	})
	r.names = append(r.names, it.Name...)
	r.ends = append(r.ends, len(r.names))
}

// done is the copy, with the names as parts of one string.
func (r *queueReader) done() Queue {
	names, from := string(r.names), 0
	for i, end := range r.ends {
		r.queue.Items[i].Name = names[from:end]
		from = end
	}
	r.queue.Items = slices.Clip(r.queue.Items)
	return r.queue
}
