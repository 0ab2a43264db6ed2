// Package flat is what tidegate is compared with: a reverse proxy with one limit on all requests together. It is
// as good as such a limit can be: exact, without a queue, and its refusals say when to come back.
package flat

import (
	"sync"
	"time"
)

// Limit is a token bucket over all requests, whoever sends them. Its depth is a tenth of a second's worth, and at
// least one: enough for the chance meetings of independent callers, too little to overrun an upstream in a moment.
// It is safe for concurrent use.
type Limit struct {
	qps, depth float64

	mu     sync.Mutex
	tokens float64
	at     time.Time // of tokens
}

// NewLimit is a limit of qps requests a second, above 0; its bucket is full.
func NewLimit(qps int, now time.Time) *Limit {
	depth := max(1, float64(qps)/10)
	return &Limit{qps: float64(qps), depth: depth, tokens: depth, at: now}
}

// Allow takes a request in, or says that it is one too many.
func (l *Limit) Allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since := now.Sub(l.at); since > 0 {
		l.tokens = min(l.depth, l.tokens+since.Seconds()*l.qps)
		l.at = now
	}
	if l.tokens < 1 {
		return false
	}
	l.tokens--
	return true
}
