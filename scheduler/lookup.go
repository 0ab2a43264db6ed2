package scheduler

import (
	"cmp"
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

// queued is a copied item with what orders it.
type queued struct {
	QueueItem
	pool, level int
	seq         uint64
}

// Queue copies who waits, with at most limit of the items. Who is next among the items of one level is the fair queue's
// choice, and not told.
//
// It is not one picture: flows that wait are looked at a thousand at a time, and others may come and go between two looks. No
// item is told twice.
func (s *Scheduler) Queue(limit int) Queue {
	var q Queue
	walk(s, s.core.waitingFlows, func(f QueueFlow) {
		q.Flows = append(q.Flows, f)
		q.Total += f.Waiting
	})
	var items []queued
	walk(s, func(now time.Time, i int, into []queued) ([]queued, int) {
		return s.core.waitingItems(now, i, limit, into)
	}, func(it queued) { items = append(items, it) })
	q.Items = firstOf(items, limit)
	return q
}

// waitingFlows appends to into the flows in the next slots of those that wait, and returns the slot to go on from; 0: those
// were the last.
func (c *Core) waitingFlows(now time.Time, i int, into []QueueFlow) ([]QueueFlow, int) {
	c.advance(now)
	part := c.waitSlots.from(i, chunk)
	for _, f := range part {
		if f == nil {
			continue
		}
		first := f.oldest()
		p := first.line.place
		into = append(into, QueueFlow{
			Flow: f, Pool: p.pool.setup.Name, Level: p.level.name,
			Waiting: f.waiting, Unpaid: f.unpaid, OldestWait: c.since(first.arrived),
		})
	}
	return into, after(i, len(part))
}

// oldest is the item of the flow that has waited longest; some item must wait.
func (f *Flow) oldest() *Item {
	var oldest *Item
	for _, p := range f.places {
		for i := range p.lines {
			if it := p.lines[i].head; it != nil && (oldest == nil || it.seq < oldest.seq) {
				oldest = it
			}
		}
	}
	return oldest
}

// waitingItems is waitingFlows for their items: of each line the first ones, up to limit, as no others can be among the
// first of all. It stops at a thousand, with a flow's items complete.
func (c *Core) waitingItems(now time.Time, i, limit int, into []queued) ([]queued, int) {
	c.advance(now)
	n := 0
	for _, f := range c.waitSlots.from(i, chunk) {
		if n++; f == nil {
			continue
		}
		for _, p := range f.places {
			into = c.copyLine(&p.lines[0], limit, into)
			into = c.copyLine(&p.lines[1], limit, into)
		}
		if len(into) >= chunk {
			break
		}
	}
	return into, after(i, n)
}

func (c *Core) copyLine(l *line, limit int, into []queued) []queued {
	p := l.place
	pool := slices.Index(c.pools, p.pool)
	for it := l.head; it != nil && limit > 0; it = it.next {
		limit--
		into = append(into, queued{
			QueueItem: QueueItem{
				Flow: it.Flow, Name: string(it.Name), Pool: p.pool.setup.Name, Level: p.level.name, Band: l.band(),
				Waited: c.since(it.arrived), MaxWait: it.MaxWait, Estimate: it.Estimate, Place: it.Place, Bytes: it.Bytes,
			},
			pool: pool, level: p.level.rank, seq: it.seq,
		})
	}
	return into
}

// firstOf is the first limit items in order.
func firstOf(items []queued, limit int) []QueueItem {
	slices.SortFunc(items, func(a, b queued) int {
		return cmp.Or(cmp.Compare(a.pool, b.pool), cmp.Compare(a.Band, b.Band), cmp.Compare(a.level, b.level), cmp.Compare(a.seq, b.seq))
	})
	first := make([]QueueItem, max(0, min(limit, len(items))))
	for i := range first {
		first[i] = items[i].QueueItem
	}
	return first
}
