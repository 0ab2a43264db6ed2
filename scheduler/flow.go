package scheduler

import (
	"sync/atomic"

	"tidegate/pools"
)

// Flow is what is counted and queued. It lives on across policies; the terms of the newest policy
// that an arrival brought are in force.
//
// Data belongs to the user of the scheduler and may be read and set at any time. The other fields
// belong to the core.
type Flow struct {
	Key  Key
	Data atomic.Value

	terms    Terms
	caller   *caller
	semantic *semantic
	meter    pools.Meter
	place    *place   // where arrivals go
	places   []*place // all with something waiting or still in use; place is the last
	surging  bool

	// Payment of what waits unpaid.
	unpaid  int   // items waiting unpaid, in all places
	due     int64 // when the schedule pays the first of them
	pay     timer
	blocked int // position in the caller's blocked heap: its own rate has it, the caller's has not

	// In flight.
	inFlight  int
	starts    int64 // sum of dispatch times in microseconds, of what is in flight
	seatMean  float64
	seatCount float64 // requests behind seatMean, at most meanOf
	seats     *seats  // of the requests that ghosts of the flow play; nil outside the shadow

	// Waiting.
	waiting  int
	waitSlot int32
	drain    drain

	// Life.
	slot       int32
	pins       int // requests between Meter and Unpin
	used       int64
	prev, next *Flow // in order of last use
}

// caller is what all flows of one caller share.
type caller struct {
	id      int32
	limit   *pools.Limit
	version uint64
	meter   pools.Meter // of limit, where there is one
	rates   uint32      // that it has had; one that goes and comes back begins anew
	blocked heap[*Flow] // flows that wait for it, oldest first unpaid item first
	pay     timer
	paying  bool // payCaller is under way
	slot    int32
	flows   int
	tenants map[string]int // flows by tenant
}

// holding is what one caller has waiting in one pool.
type holding struct {
	items int
	bytes int64
}

// semantic keeps the mean seat time of its work, from which new flows start.
type semantic struct {
	mean  float64
	count float64
}

// place is where a flow's items wait: one pool, level and way to treat unpaid work. A flow has more
// than one only while items that an older policy took in are still waiting.
type place struct {
	flow    *Flow
	pool    *pool
	level   *level
	pace    bool
	observe bool    // of rules that observe: all of it is in the first line, paid or not
	lines   [2]line // paid, unpaid
	hold    *holding
	waiting int
	parked  bool // out of the ready heaps: the flow has as many in flight as the first item here allows
}

// line is the part of a place that is in one band.
type line struct {
	list
	place  *place
	paid   bool
	entry  *entry  // the caller's place in the fair queue of the line's band; nil until first used
	tag    float64 // start tag among the caller's flows
	speed  speed
	ready  int // position in the entry's ready heap of its speed; 0: not ready
	newest int // position in the entry's newest heap; 0: nothing waits
	heavy  int // position in the pool's heavy list, from 1; 0: not in it
}

func (l *line) band() Band {
	switch {
	case l.paid:
		return Committed
	case l.place.flow.surging:
		return Surge
	}
	return Excess
}

func (p *place) line(paid bool) *line {
	if paid || p.observe {
		return &p.lines[0]
	}
	return &p.lines[1]
}

// newCaller makes the caller of id, without a rate of its own.
func newCaller(id int32) *caller {
	cl := &caller{id: id}
	cl.pay.caller = cl
	cl.blocked = heap[*Flow]{
		less: func(a, b *Flow) bool { return a.firstUnpaid().seq < b.firstUnpaid().seq },
		pos:  func(f *Flow) *int { return &f.blocked },
	}
	return cl
}

// firstUnpaid is the oldest item of the flow that its rate has not covered, or nil.
func (f *Flow) firstUnpaid() *Item {
	var first *Item
	for _, p := range f.places {
		if it := p.lines[1].head; it != nil && (first == nil || it.seq < first.seq) {
			first = it
		}
	}
	return first
}

// settleIn finds the place for the flow's terms, and drops places in which nothing waits any more.
func (c *Core) settleIn(f *Flow) {
	p, level := c.pool(f.terms.Pool), f.terms.Rule.Level
	if p == nil {
		// A request that an older policy judged may name a pool that has gone.
		if p = c.pools[0]; f.place != nil {
			p = f.place.pool
		}
	}
	observe := f.terms.Rule.Observe
	pace := f.terms.Rule.OverRate == OverPace && !observe
	kept := f.places[:0]
	var here *place
	for _, old := range f.places {
		switch {
		case old.pool == p && old.level.name == level && old.pace == pace && old.observe == observe && !old.level.gone:
			here = old
		case old.waiting > 0:
			kept = append(kept, old)
		default:
			c.leave(old)
		}
	}
	if here == nil {
		here = &place{flow: f, pool: p, level: p.level(level), pace: pace, observe: observe}
		here.lines[0].place, here.lines[0].paid = here, true
		here.lines[1].place = here
	}
	clear(f.places[len(kept):])
	f.places = append(kept, here)
	f.place = here
}

// leave lets go of what a place holds in its pool's fair queues.
func (c *Core) leave(p *place) {
	for i := range p.lines {
		if e := p.lines[i].entry; e != nil {
			e.release()
			p.lines[i].entry = nil
		}
	}
}
