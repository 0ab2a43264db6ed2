package pools

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Saved is what a meter had paid at one moment, by age and without any clock, so that it can outlast the process. A window
// takes about three bytes for each payment that counts.
type Saved struct {
	Limit   Limit  `json:"limit"`
	Missing int64  `json:"missing,omitempty"` // bucket: from its depth, in cost x Per (ns)
	Paid    []byte `json:"paid,omitempty"`    // window; see window.appendPaid
}

// fineness is how many parts of Per exact stamps are saved in, counted from the newest and rounded towards it: a payment that
// was saved counts for up to Per/fineness too long, and never too short. Saved again, it is not rounded again. Stamps of cells
// are saved as they are.
const fineness = 1 << 16

// unit is what the distances between a window's stamps are saved in.
func (l Limit) unit() int64 {
	if l.N > exactUpTo {
		return l.cell()
	}
	return max(1, int64(l.Per)/fineness)
}

// Save is what the meter has paid, as RestoreMeter takes it; false if it is idle, so that a new meter will do.
func (m *Meter) Save(now time.Time) (Saved, bool) {
	if m.Idle(now) {
		return Saved{}, false
	}
	s := Saved{Limit: m.limit}
	if m.limit.Burst > 0 {
		s.Missing = m.limit.volume() - m.level
	} else {
		s.Paid = m.window.appendPaid(make([]byte, 0, 10+4*m.window.size), m.limit, m.last)
	}
	return s, true
}

// RestoreMeter makes a meter that at now has paid what the saved one had paid when it was saved, and goes on from there. For a
// meter that was down for a while, give the moment it went down at. s must be valid.
func RestoreMeter(s Saved, now time.Time) Meter {
	m := NewMeter(s.Limit, now)
	if s.Limit.Burst > 0 {
		m.level -= s.Missing
		return m
	}
	age, paid := binary.Varint(s.Paid)
	// With its newest stamp for origin, the stamps of a window of cells lie on the grid of its cells again.
	m.origin, m.last = now.Add(-time.Duration(age)), age
	unit, far := s.Limit.unit(), int64(-1)
	for b := s.Paid[max(paid, 0):]; ; {
		p, rest, ok := nextPaid(b, far)
		if !ok {
			break
		}
		m.window.add(-p.stamp*unit, p.cost)
		b, far = rest, p.stamp
	}
	m.window.expire(m.last - int64(s.Limit.Per))
	return m
}

// Valid reports what no meter can be restored from. What was saved, and read back whole, is valid.
func (s Saved) Valid() error {
	if err := s.Limit.Valid(); err != nil {
		return err
	}
	switch l := s.Limit; {
	case l.Burst > 0 && (s.Missing < 1 || s.Missing > l.volume() || len(s.Paid) > 0):
		return fmt.Errorf("cannot restore a bucket of %d/%v, depth %d, that lacks %d and has %d bytes of payments: allowed is to lack 1 to %d, and no payments; leave it out",
			l.N, l.Per, l.Burst, s.Missing, len(s.Paid), l.volume())
	case l.Burst == 0 && (s.Missing != 0 || !s.validPaid()):
		return fmt.Errorf("cannot restore a window of %d/%v from payments %x, lacking %d: it is damaged; leave it out", l.N, l.Per, s.Paid, s.Missing)
	}
	return nil
}

// appendPaid writes down the payments that count: first the age of the newest stamp in ns, below 0 for a cell that has not
// ended yet; then of each, oldest first, how much nearer to the newest stamp than the one before, in units (the oldest: how
// far from it), and its cost.
func (w *window) appendPaid(b []byte, l Limit, now int64) []byte {
	newest := w.at(w.size - 1).stamp
	b = binary.AppendVarint(b, now-newest)
	unit, before := l.unit(), int64(-1)
	for i := range w.size {
		p := w.at(i)
		if p.cost == 0 {
			continue
		}
		far := (newest - p.stamp) / unit
		step := far
		if before >= 0 {
			step = before - far
		}
		b = binary.AppendUvarint(b, uint64(step))
		b = binary.AppendUvarint(b, uint64(p.cost))
		before = far
	}
	return b
}

// nextPaid reads one payment, its stamp in units before the newest one; before is what it said of the last, -1 at the start.
func nextPaid(b []byte, before int64) (p payment, rest []byte, ok bool) {
	step, n := binary.Uvarint(b)
	if n <= 0 {
		return payment{}, b, false
	}
	cost, k := binary.Uvarint(b[n:])
	if k <= 0 || step > maxVolume || cost < 1 || cost > maxVolume {
		return payment{}, b, false
	}
	p = payment{stamp: int64(step), cost: int64(cost)}
	if before >= 0 {
		p.stamp = before - p.stamp
	}
	return p, b[n+k:], p.stamp >= 0
}

func (s Saved) validPaid() bool {
	age, n := binary.Varint(s.Paid)
	per := int64(s.Limit.Per)
	if n <= 0 || age < -per || age >= per {
		return false
	}
	unit, far, used := s.Limit.unit(), int64(-1), int64(0)
	for b := s.Paid[n:]; len(b) > 0; {
		p, rest, ok := nextPaid(b, far)
		if !ok || p.stamp > 2*per/unit || p.cost > maxVolume-used {
			return false
		}
		b, far, used = rest, p.stamp, used+p.cost
	}
	return far == 0
}
