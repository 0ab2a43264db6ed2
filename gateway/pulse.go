package gateway

import (
	"strconv"
	"time"

	"go.uber.org/zap"

	"tidegate/scheduler"
)

// pulse says in the log, for whoever has nothing but a terminal, how the gateway is: who waits, while
// somebody does, and once a minute whether promises are kept. It belongs to one goroutine.
type pulse struct {
	began  time.Time
	avail  time.Time // said last
	queues map[queueName]*queueSaid
	lost   uint64 // would-be decisions, as far as told
}

type queueName struct{ pool, level string }

// queueSaid is what the log knows of one queue.
type queueSaid struct {
	since   time.Time // it has not been empty; zero: it is
	said    time.Time // last; zero: nothing of this time
	most    int
	longest time.Duration
}

const (
	queueAfter  = time.Second      // a queue shorter-lived than this is no news
	queueEvery  = 10 * time.Second // and one that stands is told of this often
	availsEvery = time.Minute
)

func newPulse(now time.Time) *pulse {
	return &pulse{began: now, avail: now, queues: make(map[queueName]*queueSaid)}
}

// queue tells of the queues that stand, and of each once more when it is empty again. It is called
// about once a second. Whose says whose work stands in a queue; it is asked only for a line that is written.
func (p *pulse) queue(log *zap.Logger, now time.Time, st *scheduler.Stats, whose func(queueName) string) {
	seen := make(map[queueName]bool, len(st.Levels))
	for _, l := range st.Levels {
		name := queueName{l.Pool, l.Level}
		seen[name] = true
		q := p.queues[name]
		if q == nil {
			q = &queueSaid{}
			p.queues[name] = q
		}
		switch {
		case l.Waiting == 0:
			if !q.said.IsZero() {
				sayQueue(log, l, poolOf(st, l.Pool), q, "", now)
			}
			*q = queueSaid{}
			continue
		case q.since.IsZero():
			q.since = now
		}
		q.most, q.longest = max(q.most, l.Waiting), max(q.longest, l.OldestWait)
		if now.Sub(q.since) >= queueAfter && (q.said.IsZero() || now.Sub(q.said) >= queueEvery) {
			q.said = now
			sayQueue(log, l, poolOf(st, l.Pool), q, whose(name), now)
		}
	}
	for name := range p.queues {
		if !seen[name] {
			delete(p.queues, name)
		}
	}
}

// unheard tells when would-be decisions were lost: what is counted of them is then too little. It is called
// about once a second.
func (p *pulse) unheard(log *zap.Logger, st *scheduler.Stats) {
	if more := st.Unheard - p.lost; more > 0 {
		p.lost = st.Unheard
		log.Warn("observed", zap.Uint64("not_counted", more), zap.String("remedy", "would-be decisions came faster than they could be counted; the machine has too much to do"))
	}
}

func sayQueue(log *zap.Logger, l scheduler.LevelStats, pool scheduler.PoolStats, q *queueSaid, whose string, now time.Time) {
	fields := []zap.Field{
		zap.String("pool", l.Pool), zap.String("level", l.Level), zap.Int("waiting", l.Waiting),
		zap.Float64("oldest_ms", milliseconds(l.OldestWait)), zap.Float64("per_second", round(l.PerSecond)),
		zap.Int("in_use", pool.InUse), zap.Int("seats", pool.Seats),
	}
	if l.Waiting == 0 {
		fields = append(fields, zap.Int("most", q.most), zap.Float64("longest_ms", milliseconds(q.longest)),
			zap.Float64("stood_ms", milliseconds(now.Sub(q.since))))
	} else {
		fields = append(fields, zap.String("callers", whose))
	}
	log.Info("queue", fields...)
}

func poolOf(st *scheduler.Stats, name string) scheduler.PoolStats {
	for _, p := range st.Pools {
		if p.Name == name {
			return p
		}
	}
	return scheduler.PoolStats{Name: name}
}

// availability tells once a minute what was promised and kept, where anything was asked for in the
// last hour. A minute in which a promise was broken is a warning.
func (p *pulse) availability(log *zap.Logger, now time.Time, a *availability, breaches uint64) {
	if now.Sub(p.avail) < availsEvery {
		return
	}
	p.avail = now
	shares := a.share()
	if shares[len(shares)-1] == nil {
		return
	}
	served, failed := a.lastMinute()
	fields := make([]zap.Field, 0, 6)
	for i, s := range shares {
		if s != nil {
			fields = append(fields, zap.String(availabilityNames[i], formatShare(*s)))
		}
	}
	fields = append(fields, zap.Uint64("within_rate", served+failed), zap.Uint64("failed", failed), zap.Uint64("refused_within_rate", breaches))
	if failed > 0 {
		log.Warn("avail", fields...)
		return
	}
	log.Info("avail", fields...)
}

// formatShare writes a share as a percentage that is not rounded up to all.
func formatShare(s float64) string {
	text := strconv.FormatFloat(s*100, 'f', 3, 64)
	if s < 1 && text == "100.000" {
		text = "99.999"
	}
	return text + "%"
}
