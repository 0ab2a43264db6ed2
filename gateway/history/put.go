package history

import (
	"cmp"
	"slices"
)

// put takes in one series's numbers of a second. The lock is held.
func (h *History) put(k Key, sample *Sample, at int) {
	var numbers [MaxFields]number
	var any number
	width := k.Kind.width()
	for f := range width {
		numbers[f] = numberOf(sample[f])
		any |= numbers[f]
	}
	s := h.find(k)
	if any == 0 && (s == nil || s.now == nil) {
		return
	}
	if s == nil {
		if s = h.names.add(k); s == nil {
			h.gaveWay++
			return
		}
	}
	s.at = len(h.ordered)
	h.ordered = append(h.ordered, s)
	if s.now == nil && !h.activate(s) {
		return
	}
	if any != 0 {
		s.last = h.second
	}
	copy(s.now.second(at, width), numbers[:])
}

// find looks for a series first where it came the second before: who calls goes through them in much the same order each time, and
// to look there takes a third of the time.
func (h *History) find(k Key) *series {
	if h.next < len(h.order) && h.order[h.next].key == k {
		h.next++
		return h.order[h.next-1]
	}
	s := h.names.byKey[k]
	if s != nil {
		h.next = s.at + 1
	}
	return s
}

// activate gives a series its place in the running minute, if there is one.
func (h *History) activate(s *series) bool {
	r := h.now
	if s.key.Kind == Caller {
		if _, lost := r.lost[s.id]; lost {
			return false // the minute is unknown already
		}
		if r.limited >= h.options.MaxSeries && !h.makeRoom() {
			r.lost[s.id] = struct{}{}
			if h.options.MaxSeries > 0 { // else nothing is missed
				h.gaveWay++
			}
			return false
		}
		r.limited++
	}
	s.now = h.free.take(s.key.Kind)
	s.place = len(r.active)
	r.active = append(r.active, s)
	return true
}

// makeRoom lets the series go that has been quiet for longest, if it was quiet in this second and the last.
func (h *History) makeRoom() bool {
	r := h.now
	if h.gaveAt != h.second { // once a second all are looked at, and no more than once
		h.gaveAt = h.second
		h.quiet = h.quiet[:0]
		for _, s := range r.active {
			if s.key.Kind == Caller && s.last < h.second-1 {
				h.quiet = append(h.quiet, s)
			}
		}
		slices.SortFunc(h.quiet, func(a, b *series) int { return cmp.Compare(b.last, a.last) })
	}
	for len(h.quiet) > 0 {
		s := h.quiet[len(h.quiet)-1]
		h.quiet = h.quiet[:len(h.quiet)-1]
		if s.last >= h.second-1 {
			continue // came back in this very second
		}
		h.lose(s)
		h.gaveWay++
		return true
	}
	return false
}

// lose takes a series out of the running minute.
func (h *History) lose(s *series) {
	r := h.now
	last := r.active[len(r.active)-1]
	r.active[s.place], last.place = last, s.place
	r.active = r.active[:len(r.active)-1]
	clear(s.now)
	h.free.give(s.key.Kind, s.now)
	s.now = nil
	r.lost[s.id] = struct{}{}
	r.limited--
}

// restore takes up what is already known of the running minute before a second of it, where it is not known better.
func (h *History) restore(p *packed, before int64) {
	r := h.now
	add := p.ran &^ r.ran & (1<<before - 1)
	var room [MaxFields * slots]number
	for place, i := range p.ids {
		s := h.names.byID[i]
		was := samples(room[:i.kind().width()*slots])
		if s == nil || p.at(place).unpack(was) != nil || s.now == nil && !h.activate(s) {
			continue
		}
		if was[0] == unknown {
			h.lose(s)
			continue
		}
		width := i.kind().width()
		for second := range slots {
			for f := 0; f < width && add>>second&1 != 0; f++ {
				s.now.second(second, width)[f] = was.field(f)[second]
			}
		}
	}
	r.ran |= add
}

func (s samples) clear(second int) {
	for n := second; n < len(s); n += slots {
		s[n] = 0
	}
}

// Stats is how full it is.
type Stats struct {
	Series  int    // of callers, in the running minute
	GaveWay uint64 // times that a series had to, and so is unknown for a minute
	Bytes   int    // of packed minutes and tallies
}

// Stats says how full it is.
func (h *History) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	st := Stats{GaveWay: h.gaveWay}
	if h.now != nil {
		st.Series = h.now.limited
	}
	for _, p := range h.packed {
		st.Bytes += p.bytes()
	}
	for _, t := range h.tallies {
		st.Bytes += t.bytes()
	}
	return st
}
