package pools

// exactUpTo is the largest N whose payments keep their own stamps. Above it a stamp is rounded up to a cell of Per/cells:
// a payment then counts for Per to Per + Per/cells. So of any Per at most N is paid, and a flow that always has
// work gets at least cells/(cells+1) = 99 % of N/Per, or 98 % if each payment comes up to a cell late.
const (
	exactUpTo = 128
	cells     = 128
	mostCells = cells + 2 // that a span of Per and the cell still to come can touch
)

// stamp is what a payment at that moment is kept under.
func (l Limit) stamp(at int64) int64 {
	if l.N <= exactUpTo {
		return at
	}
	cell := l.cell()
	rest := at % cell
	if rest > 0 {
		return at + cell - rest
	}
	return at - rest // moments before the origin are negative, and so is their rest
}

// cell is the length of a cell in ns.
func (l Limit) cell() int64 { return (int64(l.Per)-1)/cells + 1 }

// payment is cost paid under one stamp, in ns since the meter's origin.
type payment struct{ stamp, cost int64 }

// window is what was paid in the last Per, oldest first: a ring that grows only as far as its flow is busy, since most of
// many flows are not.
type window struct {
	used int64 // sum of all costs
	ring []payment
	head int32
	size int32
}

func (w *window) at(i int32) *payment {
	i += w.head
	if n := int32(len(w.ring)); i >= n {
		i -= n
	}
	return &w.ring[i]
}

// add counts cost under stamp, or under the newest stamp there is if that is later.
func (w *window) add(stamp, cost int64) {
	w.used += cost
	if w.size > 0 {
		if newest := w.at(w.size - 1); newest.stamp >= stamp {
			newest.cost += cost
			return
		}
	}
	if int(w.size) == len(w.ring) {
		w.makeRoom()
	}
	w.size++
	*w.at(w.size - 1) = payment{stamp, cost}
}

// makeRoom drops payments that were all returned, and grows the ring if there are none.
func (w *window) makeRoom() {
	kept := int32(0)
	for i := range w.size {
		if p := *w.at(i); p.cost > 0 {
			*w.at(kept) = p
			kept++
		}
	}
	if kept < w.size {
		w.size = kept
		return
	}
	n := max(2, 2*len(w.ring))
	if len(w.ring) < mostCells {
		n = min(n, mostCells)
	}
	ring := make([]payment, n)
	for i := range w.size {
		ring[i] = *w.at(i)
	}
	w.ring, w.head = ring, 0
}

// expire drops what was stamped at the moment until or before.
func (w *window) expire(until int64) {
	for w.size > 0 {
		oldest := w.at(0)
		if oldest.stamp > until {
			return
		}
		w.used -= oldest.cost
		w.size--
		if w.head++; int(w.head) == len(w.ring) {
			w.head = 0
		}
	}
}

// remove takes cost off what was paid at the moment paid. The stamp it was kept under is that moment or a later one, so
// the first stamps from paid on are no later than its own: what stays counted leaves no earlier than it should.
func (w *window) remove(paid, cost int64) {
	lo, hi := int32(0), w.size
	for lo < hi {
		if mid := (lo + hi) / 2; w.at(mid).stamp < paid {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for ; lo < w.size && cost > 0; lo++ {
		p := w.at(lo)
		take := min(cost, p.cost)
		p.cost -= take
		w.used -= take
		cost -= take
	}
	for w.size > 0 && w.at(w.size-1).cost == 0 {
		w.size--
	}
}

// freeAt is the moment at which cost, at most N, fits beside what is still counted then; now if it fits already.
func (w *window) freeAt(l Limit, now, cost int64) int64 {
	over := w.used + cost - l.N
	if cost <= 0 || over <= 0 {
		return now
	}
	for i := range w.size {
		p := w.at(i)
		if over -= p.cost; over <= 0 {
			return p.stamp + int64(l.Per)
		}
	}
	return now // not reached: without any payment cost fits
}
