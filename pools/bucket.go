package pools

// A bucket is exact: its level is kept in cost x Per (ns), so that each ns adds N whole units, and it never drifts
// however often it is asked.

// volume is the level of a full bucket.
func (l Limit) volume() int64 { return l.Burst * int64(l.Per) }

// refill adds what elapsed ns, above 0, bring.
func (m *Meter) refill(elapsed int64) {
	missing := m.limit.volume() - m.level
	if elapsed > missing/m.limit.N { // as elapsed x N might not fit
		m.level += missing
		return
	}
	m.level += elapsed * m.limit.N
}

func (m *Meter) takeTokens(cost int64) bool {
	if cost > m.level/int64(m.limit.Per) {
		return false
	}
	m.level -= cost * int64(m.limit.Per)
	return true
}

// tokensAt is the moment, in ns since the origin, at which the level reaches cost, at most Burst.
func (m *Meter) tokensAt(cost int64) int64 {
	missing := cost*int64(m.limit.Per) - m.level
	if cost <= 0 || missing <= 0 {
		return m.last
	}
	return m.last + (missing-1)/m.limit.N + 1
}

func (m *Meter) addTokens(cost int64) {
	volume := m.limit.volume()
	m.level += min(volume-m.level, min(cost, m.limit.Burst)*int64(m.limit.Per))
}
