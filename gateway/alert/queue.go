package alert

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	mostPending = 1000
	// An attempt that failed is made again after two seconds, then after twice as long each time, up to ten minutes, and
	// given up about an hour after the first.
	firstPause   = 2 * time.Second
	longestPause = 10 * time.Minute
	giveUpAfter  = time.Hour
)

// queue has the alerts that are not told yet, oldest first. It belongs to Alerts, under its lock.
type queue struct{ pending []*entry }

// add puts an alert at the end. When the queue is full, another one has to go: that something is over, or else the oldest.
func (q *queue) add(e *entry) (gone *entry) {
	q.pending = append(q.pending, e)
	if len(q.pending) <= mostPending {
		return nil
	}
	i := slices.IndexFunc(q.pending, func(e *entry) bool { return !e.under && (e.Kind == Test || e.Resolved) })
	if i < 0 {
		i = slices.IndexFunc(q.pending, func(e *entry) bool { return !e.under })
	}
	gone = q.pending[i]
	q.pending = slices.Delete(q.pending, i, i+1)
	return gone
}

func (q *queue) remove(e *entry) {
	if i := slices.Index(q.pending, e); i >= 0 {
		q.pending = slices.Delete(q.pending, i, i+1)
	}
}

// due is the alert to be sent now, or, if there is none, when there may be one; zero: when one is added. What is said of one
// condition is said in order.
func (q *queue) due(now time.Time) (e *entry, at time.Time) {
	earlier := make(map[key]bool, len(q.pending))
	for _, e := range q.pending {
		k := e.key()
		if earlier[k] {
			continue
		}
		earlier[k] = true
		if !e.next.After(now) {
			return e, time.Time{}
		}
		if at.IsZero() || e.next.Before(at) {
			at = e.next
		}
	}
	return nil, at
}

// retry says when an attempt that failed is made again; not ok: never. After is what the receiver asked for.
func (e *entry) retry(now time.Time, after time.Duration) (at time.Time, ok bool) {
	pause := longestPause
	if e.Attempts < 10 {
		pause = min(pause, firstPause<<(e.Attempts-1))
	}
	// A fifth more or less, so that many gateways do not come in step.
	pause = time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
	at = now.Add(max(pause, after))
	return at, at.Sub(e.first) <= giveUpAfter
}
