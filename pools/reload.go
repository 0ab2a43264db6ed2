package pools

import "time"

// SetLimit changes the limit and keeps what was paid:
//
//   - a window with the same Per keeps what it counted, even above the new N; it then pays nothing until it is below;
//   - a bucket keeps what is missing from its depth, whatever happens to its rate: its tokens become as many more or fewer
//     as it became deeper or shallower, never below 0;
//   - a window that becomes a bucket, a bucket that becomes a window, and a window over another Per start as full as the
//     share that was left, rounded down.
func (m *Meter) SetLimit(now time.Time, l Limit) {
	m.advance(now)
	old := m.limit
	m.limit = l
	switch {
	case l == old:
	case old.Burst > 0 && l.Burst > 0:
		missing := mulDivUp(old.volume()-m.level, int64(l.Per), int64(old.Per))
		m.level = max(0, l.volume()-missing)
	case l.Burst > 0:
		m.level = mulDiv(l.volume(), max(0, old.N-m.window.used), old.N)
		m.window = window{}
	case old.Burst > 0:
		m.startWindow(l.N - mulDiv(l.N, m.level, old.volume()))
	case l.Per != old.Per:
		m.startWindow(l.N - mulDiv(l.N, max(0, old.N-m.window.used), old.N))
	case old.N <= exactUpTo && l.N > exactUpTo:
		m.restamp()
	}
}

// startWindow begins a window that has just paid used.
func (m *Meter) startWindow(used int64) {
	m.level = 0
	m.window = window{}
	m.began, m.carried = m.last, used
	if used > 0 {
		m.window.add(m.limit.stamp(m.last), used)
	}
}

// restamp brings exact stamps to the cells of a larger N, so that all stamps of a window are of one kind.
func (m *Meter) restamp() {
	kept := m.window
	m.window = window{}
	for i := range kept.size {
		if p := kept.at(i); p.cost > 0 {
			m.window.add(m.limit.stamp(p.stamp), p.cost)
		}
	}
}
