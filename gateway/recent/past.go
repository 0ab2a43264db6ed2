package recent

import (
	"slices"
	"time"
)

// Past is what a Log had at one moment. It does not change. Safe for concurrent use.
type Past struct {
	flows   []Flow
	seconds []second
	last    time.Time
	cut     bool
}

// Past is what is remembered, at most so many requests: the oldest seconds are left out. 0 is any number.
func (l *Log) Past(most int64) *Past {
	l.mu.Lock()
	p := &Past{flows: make([]Flow, len(l.flows)), seconds: slices.Clone(l.seconds), last: l.last}
	for i := range l.flows {
		p.flows[i] = l.flows[i].Flow
	}
	l.mu.Unlock()
	if most <= 0 {
		return p
	}
	var n int64
	for i := len(p.seconds) - 1; i >= 0; i-- {
		if n += p.seconds[i].arrivals(); n > most {
			p.seconds, p.cut = p.seconds[i+1:], true
			break
		}
	}
	return p
}

func (s *second) arrivals() (n int64) {
	s.each(func(_, arrivals int, _ time.Duration) { n += int64(arrivals) })
	return n
}

// Cut says that older seconds were left out, as they were too many requests.
func (p *Past) Cut() bool { return p.cut }

// Requests is how many there are.
func (p *Past) Requests() (n int64) {
	for i := range p.seconds {
		n += p.seconds[i].arrivals()
	}
	return n
}

// Bounds are the first and the last moment that are known; both zero where nothing is.
func (p *Past) Bounds() (from, to time.Time) {
	if len(p.seconds) == 0 {
		return from, to
	}
	from = p.last
	for i := range p.seconds {
		from = from.Add(-p.seconds[i].span)
	}
	return from, p.last
}

// Flow is one of those that Each names.
func (p *Past) Flow(i int) *Flow { return &p.flows[i] }

// Flows is how many there are; some may have nothing.
func (p *Past) Flows() int { return len(p.flows) }

// Each shows second by second, oldest first, which flows had how many arrivals, and how long they held their seats (0:
// unknown). done is called after each second with its bounds.
func (p *Past) Each(visit func(flow, arrivals int, seat time.Duration), done func(from, to time.Time)) {
	from, _ := p.Bounds()
	for i := range p.seconds {
		p.seconds[i].each(visit)
		to := from.Add(p.seconds[i].span)
		done(from, to)
		from = to
	}
}
