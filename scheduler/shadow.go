package scheduler

import "time"

// shadow plays what enforcing every rule would do, beside a core in which some rules only observe: a second
// core under the same setup, in which each arriving item has a ghost. A ghost holds its seat for as long as its
// request holds one, from its own dispatch on.
//
// Time in the shadow is the real core's, and everything in it happens in order: seats come back and timers fire
// at their own moments, however late somebody looks.
type shadow struct {
	real    *Core
	core    *Core
	rules   map[*Rule]*Rule // enforcing copies of rules that observe
	leaving heap[*ghost]    // ghosts that are known to give their seat back, soonest first
}

// observe makes the shadow when a rule begins to observe, and drops it when none does any more.
func (c *Core) observe(s Setup) {
	switch {
	case s.Observe && c.shadow == nil:
		c.shadow = newShadow(c, s)
	case s.Observe:
		c.shadow.apply(s)
	case c.shadow != nil:
		c.shadow.drain()
		c.shadow = nil
	}
}

// newShadow makes a shadow that knows how long work takes, as the real core does; flows come with what they have
// paid when they are first met. What is in flight or waits already is not played: the shadow begins empty.
func newShadow(real *Core, set Setup) *shadow {
	set.Observe = false
	s := &shadow{
		real: real, core: NewCore(real.epoch, set), rules: make(map[*Rule]*Rule),
		leaving: heap[*ghost]{
			less: func(a, b *ghost) bool { return a.leaves < b.leaves || a.leaves == b.leaves && a.item.seq < b.item.seq },
			pos:  func(g *ghost) *int { return &g.leaving },
		},
	}
	s.core.Advance(real.now)
	s.core.drained = real.drained
	for i, known := range real.semantics {
		*s.core.semantic(i) = *known
	}
	for _, p := range s.core.pools {
		if known := real.pool(p.setup.Name); known != nil {
			p.seatMean, p.seatCount = known.seatMean, known.seatCount
		}
	}
	return s
}

func (s *shadow) apply(set Setup) {
	s.advance(s.real.ns)
	set.Observe = false
	clear(s.rules) // those of policies that have gone
	s.core.Apply(s.now(), set)
	s.collect()
}

// now is the shadow's present: the moment that it has been played to.
func (s *shadow) now() time.Time { return s.core.moment(s.core.ns) }

// terms are the enforcing ones.
func (s *shadow) terms(t Terms) Terms {
	if !t.Rule.Observe {
		return t
	}
	r := s.rules[t.Rule]
	if r == nil {
		enforced := *t.Rule
		enforced.Observe = false
		r = &enforced
		s.rules[t.Rule] = r
	}
	t.Rule = r
	return t
}

// flowOf finds the flow that plays f, or makes it with all that f has paid, and pins it.
func (s *shadow) flowOf(f *Flow) *Flow {
	met := s.core.flows[f.Key]
	cl := s.core.callers[f.caller.id]
	limited := cl != nil && cl.limit != nil
	g := s.core.Meter(s.now(), f.Key, s.terms(f.terms))
	if !limited && g.caller.limit != nil && f.caller.limit != nil {
		g.caller.meter = f.caller.meter.Clone()
		g.caller.meter.SetLimit(s.now(), *g.caller.limit)
	}
	if met == nil && g.Key == f.Key {
		g.meter = f.meter.Clone()
		g.seatMean, g.seatCount = f.seatMean, f.seatCount
		g.surging = f.surging
	}
	return g
}

// follow gives an item that is about to be decided its ghost, which arrives when that is done: what the item's
// rate pays must not have been paid before the ghost's flow knows it.
func (s *shadow) follow(it *Item) {
	s.advance(s.real.ns)
	r := it.Flow.terms.Rule
	g := &ghost{of: s, flow: it.Flow, tell: r.Observe}
	if g.tell {
		g.name = string(it.Name)
	}
	g.item = Item{Flow: s.flowOf(it.Flow), MaxWait: it.MaxWait, OwnWait: it.OwnWait, Bytes: it.Bytes, ghost: g}
	if it.OwnWait && it.MaxWait >= r.MaxWait {
		g.item.MaxWait, g.item.OwnWait = r.MaxWait, false // shorter than nothing that enforcing allows
	}
	it.ghost = g
	s.collect()
}

func (s *shadow) arrive(g *ghost) {
	s.core.Arrive(s.now(), &g.item)
	if g.item.Verdict != Waiting {
		s.decided(g, false)
	}
	s.collect()
}

// collect takes what the shadow's core has decided.
func (s *shadow) collect() {
	for _, it := range s.core.Decided() {
		s.decided(it.ghost, true)
	}
}

func (s *shadow) decided(g *ghost, waited bool) {
	if g.tell {
		s.real.judged.tell(g, waited)
	}
	if g.item.Verdict == Granted {
		s.plan(g)
	} else {
		s.core.Unpin(g.item.Flow)
	}
}

// due is the next core time at which something happens in the shadow; 0 if nothing will.
func (s *shadow) due() int64 {
	at := s.core.due()
	if s.leaving.len() > 0 {
		at = sooner(at, s.leaving.top().leaves)
	}
	return at
}

// sooner is the earlier of two core times of which 0 means never.
func sooner(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// advance plays the shadow to a moment. At one moment timers come before seats, as they do in a core.
func (s *shadow) advance(ns int64) {
	for {
		at := s.core.due()
		if s.leaving.len() > 0 {
			if g := s.leaving.top(); g.leaves <= ns && (at == 0 || g.leaves < at) {
				s.leaving.remove(g)
				s.core.Release(&g.item, s.core.moment(g.leaves))
				s.core.Unpin(g.item.Flow)
				s.collect()
				continue
			}
		}
		if at == 0 || at > ns {
			break
		}
		s.core.Advance(s.core.moment(at))
		s.collect()
	}
	s.core.Advance(s.core.moment(ns))
}

func (s *shadow) surging(f *Flow) {
	s.advance(s.real.ns)
	if g := s.core.flows[f.Key]; g != nil {
		s.core.SetSurging(s.now(), g, f.surging)
		s.collect()
	}
}

func (s *shadow) drain() {
	s.advance(s.real.ns)
	s.core.Drain(s.now())
	s.collect()
}

func (s *shadow) tidy(n int) {
	s.advance(s.real.ns)
	s.core.Tidy(s.now(), n)
}

func (s *shadow) stats() *Stats {
	s.advance(s.real.ns)
	return s.core.Stats(s.now(), 0)
}
