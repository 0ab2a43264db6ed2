package scheduler

import (
	"time"
)

// ghost plays one item. It keeps nothing of the request, which may be over long before it.
type ghost struct {
	item Item // in the shadow's core
	of   *shadow
	flow *Flow // the request's
	name string
	tell bool // its rule observes

	fate    fate
	since   int64 // core time at which the request got its seat
	held    int64 // how long the request held it, in ns
	leaves  int64 // core time at which the ghost gives its seat back
	leaving int   // position in the shadow's leaving heap; 0: it holds no seat, or nobody knows yet for how long
}

// fate is what is known of a ghost's request.
type fate uint8

const (
	undecided fate = iota
	running        // has a seat
	ended          // has given its seat back
	seatless       // came to its end without one
)

// seats are the last seat times of a flow's requests, in ns, to be played again in turn.
type seats struct {
	held []int64 // a ring once it is full
	turn int     // the next to be played
	old  int     // the next to be forgotten
}

// seatsKept is enough of them for a sum that is right within an eighth, where they are spread exponentially.
const seatsKept = 64

func (s *seats) add(held int64) {
	if len(s.held) < seatsKept {
		s.held = append(s.held, held)
		return
	}
	s.held[s.old] = held
	s.old = (s.old + 1) % seatsKept
}

// next is below 0 while none is known.
func (s *seats) next() int64 {
	if s == nil || len(s.held) == 0 {
		return -1
	}
	s.turn = (s.turn + 1) % len(s.held)
	return s.held[s.turn]
}

// plan says when a ghost that has a seat gives it back, once that is known.
//
// One whose request has none yet cannot wait for it: where observed work fills the pool, the request may get its
// seat long after it would have left it. So such a ghost holds its seat as long as one of the last requests of
// its flow did, which is wrong for the one and right for all of them together. (Their mean would be, too, but
// for work that varies a pool of means is a better pool than the real one: it let 10 % more pass at once.)
func (s *shadow) plan(g *ghost) {
	from, held := g.item.dispatched, g.held
	switch g.fate {
	case ended:
	case running:
		if g.since <= from {
			return // when its request does
		}
		fallthrough
	default:
		held = g.item.Flow.seats.next()
		if mean, known := s.real.mean(g.flow); held < 0 && known {
			held = int64(mean * 1e9)
		}
		if held < 0 {
			if g.fate != seatless {
				return // nothing is known before its request is over
			}
			held = int64(unknownSeat * 1e9)
		}
	}
	g.leaves = max(from+held, s.core.ns)
	s.leaving.push(g)
}

// replan is plan for a ghost of whose request something has become known.
func (s *shadow) replan(g *ghost) {
	s.advance(s.real.ns)
	if g.item.state == inFlight && g.leaving == 0 {
		s.plan(g)
		s.advance(s.real.ns)
	}
}

// ghostOf is the item's ghost, if there is a shadow that still plays it.
func (c *Core) ghostOf(it *Item) *ghost {
	if c.shadow == nil || it.ghost == nil || it.ghost.of != c.shadow {
		return nil
	}
	return it.ghost
}

// seated tells the item's ghost that the item has a seat.
func (c *Core) seated(it *Item) {
	if g := c.ghostOf(it); g != nil {
		g.fate, g.since = running, c.ns
	}
}

// freed tells it that the seat came back.
func (c *Core) freed(it *Item, held time.Duration) {
	if g := c.ghostOf(it); g != nil {
		it.ghost = nil
		g.fate, g.held = ended, int64(held)
		if g.item.Flow.seats == nil {
			g.item.Flow.seats = &seats{}
		}
		g.item.Flow.seats.add(int64(held))
		c.shadow.replan(g)
	}
}

// lost tells it that the item ended without a seat. Only a hang-up takes the ghost along: what else may have
// ended the item need not be so in the shadow, or is so there too.
func (c *Core) lost(it *Item) {
	if g := c.ghostOf(it); g != nil {
		it.ghost = nil
		g.fate = seatless
		c.shadow.replan(g)
		if it.Verdict == Gone && g.item.state == waiting {
			c.shadow.core.Cancel(c.shadow.now(), &g.item)
			c.shadow.collect()
		}
	}
}
