package pools

import (
	"math"
	"time"
)

// Meter pays cost from one Limit, and keeps what it paid as long as that counts. Make it with NewMeter and use it by
// pointer from then on; it is a value so that it can lie inside its flow. Not safe for concurrent use.
//
// Moments may come a little out of order (each reader of the clock waits for its lock) or step back: a moment before the
// latest one seen is taken as that latest one, so time that runs backwards refills nothing.
type Meter struct {
	origin time.Time // all moments are kept as ns since it: monotonic wherever the given moments are
	last   int64     // the latest moment seen
	limit  Limit
	level  int64 // bucket: cost x Per that is there, at most Burst x Per
	window window

	began   int64 // window: when it took the place of another limit; what was paid before is not in it
	carried int64 // but for what it began with, less what was returned of it
}

// farthest is the last moment that is told apart, 146 years after the origin: what is added to one must fit.
const farthest = 1 << 62

// NewMeter makes a meter that has paid nothing.
func NewMeter(l Limit, now time.Time) Meter {
	return Meter{origin: now, limit: l, level: l.volume(), began: math.MinInt64}
}

// Limit is the limit that the meter pays from now.
func (m *Meter) Limit() Limit { return m.limit }

// Take pays cost, or changes nothing and says false. A cost of 0 or less is always paid.
func (m *Meter) Take(now time.Time, cost int64) bool {
	m.advance(now)
	if cost <= 0 {
		return true
	}
	if m.limit.Burst > 0 {
		return m.takeTokens(cost)
	}
	if cost > m.limit.N-m.window.used {
		return false
	}
	m.window.add(m.limit.stamp(m.last), cost)
	return true
}

// Ready is the earliest moment at which Take of cost succeeds if nothing else is taken or returned until then: now if it
// does already, about 292 years from now if cost is above the limit's depth.
func (m *Meter) Ready(now time.Time, cost int64) time.Time {
	m.advance(now)
	var at int64
	switch {
	case cost > m.limit.Depth():
		return now.Add(math.MaxInt64)
	case m.limit.Burst > 0:
		at = m.tokensAt(cost)
	default:
		at = m.window.freeAt(m.limit, m.last, cost)
	}
	if at <= m.last {
		return now
	}
	return now.Add(time.Duration(at) - now.Sub(m.origin))
}

// Return gives back cost that Take paid at paidAt. A window takes it off what it counted then, and off nothing once that
// has left the window; a bucket gets it back up to its depth. Of what was paid under an earlier limit, a window takes off no
// more than it began with. What was never paid must not be returned.
func (m *Meter) Return(now, paidAt time.Time, cost int64) {
	m.advance(now)
	if cost <= 0 {
		return
	}
	if m.limit.Burst > 0 {
		m.addTokens(cost)
		return
	}
	at := int64(paidAt.Sub(m.origin))
	if at < m.began {
		at, cost = m.began, min(cost, m.carried)
		m.carried -= cost
	}
	if m.limit.stamp(at) > m.last-int64(m.limit.Per) {
		m.window.remove(at, cost)
	}
}

// Remaining is the whole cost that can be paid now, never below 0.
func (m *Meter) Remaining(now time.Time) int64 {
	m.advance(now)
	if m.limit.Burst > 0 {
		return m.level / int64(m.limit.Per)
	}
	return max(0, m.limit.N-m.window.used)
}

// Used is the cost that a window counts in its last Per (above N for a while if N was lowered), or what is missing from a
// bucket's depth, rounded up.
func (m *Meter) Used(now time.Time) int64 {
	if m.limit.Burst > 0 {
		return m.limit.Burst - m.Remaining(now)
	}
	m.advance(now)
	return m.window.used
}

// Idle says that the window is empty or the bucket full: a new meter in its place would pay no more than this one.
func (m *Meter) Idle(now time.Time) bool {
	m.advance(now)
	if m.limit.Burst > 0 {
		return m.level == m.limit.volume()
	}
	return m.window.used == 0
}

// advance brings the meter to now: tokens come in, and what is Per old leaves the window.
func (m *Meter) advance(now time.Time) {
	at := min(int64(now.Sub(m.origin)), farthest)
	if at <= m.last {
		return
	}
	if m.limit.Burst > 0 {
		m.refill(at - m.last)
	} else {
		m.window.expire(at - int64(m.limit.Per))
	}
	m.last = at
}
