package history

import (
	"cmp"
	"math/bits"
	"slices"
)

// running is a minute under way.
type running struct {
	minute  int64
	ran     uint64
	active  []*series       // have something in now
	lost    map[id]struct{} // had to give way: the minute is unknown of them
	limited int             // how many of active are of callers
}

// raw is a minute of one series as it comes: the numbers of the first second, then those of the next. So a second is
// written in one place.
type raw []number

func (r raw) second(at, width int) []number { return r[at*width : (at+1)*width] }

// spread makes samples of it, in room.
func (r raw) spread(room *[MaxFields * slots]number) samples {
	width := len(r) / slots
	s := samples(room[:len(r)])
	for second := range slots {
		for f, n := range r.second(second, width) {
			s[f*slots+second] = n
		}
	}
	return s
}

// free are minutes of nothing but zeros, by their kind: one needs as many as the one before.
type free [kinds][]raw

func (f *free) take(k Kind) raw {
	if n := len(f[k]); n > 0 {
		r := f[k][n-1]
		f[k] = f[k][:n-1]
		return r
	}
	return make(raw, k.width()*slots)
}

func (f *free) give(k Kind, r raw) { f[k] = append(f[k], r) }

// pack makes of a minute that is over what is kept of it. It reads before of its series, and needs no lock for that. The ids
// are those of like, the minute before, where they are the same.
func (r *running) pack(like *packed) (*packed, *tally) {
	slices.SortFunc(r.active, func(a, b *series) int { return cmp.Compare(a.id, b.id) })
	all := make([]id, 0, len(r.active)+len(r.lost))
	for _, s := range r.active {
		all = append(all, s.id)
	}
	for lost := range r.lost {
		all = append(all, lost)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	expect := 64 * len(all)
	if like != nil {
		if expect = len(like.data) + len(like.data)/16; slices.Equal(all, like.ids) {
			all = like.ids
		}
	}
	p := &packed{minute: r.minute, ran: r.ran, ids: all, ends: make([]uint32, len(all)), data: make([]byte, 0, expect)}
	width := 0
	for _, i := range all {
		width += i.kind().width()
	}
	values := make([]number, 0, width)
	rest := r.active
	var room [MaxFields * slots]number
	for place, i := range all {
		var of samples
		if len(rest) > 0 && rest[0].id == i {
			of, rest = rest[0].before.spread(&room), rest[1:]
		}
		if _, lost := r.lost[i]; lost {
			of = nothingKnown[:i.kind().width()*slots]
		} else {
			of.fill(r.ran)
		}
		p.data = appendBlock(p.data, of)
		p.ends[place] = uint32(len(p.data))
		values = summary(values, i.kind(), of, r.ran)
	}
	if cap(p.data) > len(p.data)+len(p.data)/8 {
		p.data = slices.Clone(p.data)
	}
	t, err := tallyOf(r.minute, all, values)
	if err != nil {
		panic("history: a minute does not have the numbers of its series") // cannot be
	}
	return p, t
}

var nothingKnown = slices.Repeat(samples{unknown}, MaxFields*slots)

// fill puts into seconds that are unknown what came before them: they are not shown, and cost least so.
func (s samples) fill(ran uint64) {
	if ran == 1<<slots-1 || ran == 0 {
		return
	}
	first := bits.TrailingZeros64(ran)
	for from := 0; from < len(s); from += slots {
		last := s[from+first]
		for second := range slots {
			if ran>>second&1 == 0 {
				s[from+second] = last
			} else {
				last = s[from+second]
			}
		}
	}
}
