package gateway

import (
	"sync"
	"time"
)

// readDeadline is a connection's read deadline: its own, for headers and bodies, and one that others set to
// bound or interrupt a read. The earlier holds. Safe for concurrent use.
type readDeadline struct {
	mu         sync.Mutex
	own, outer time.Time // zero: none
}

func (d *readDeadline) set(c *clientConn, at time.Time) {
	d.mu.Lock()
	d.own = at
	_ = d.applyLocked(c) // fails on a closed connection, as the read after it does
	d.mu.Unlock()
}

// bound sets the others' deadline.
func (d *readDeadline) bound(c *clientConn, at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.outer = at
	return d.applyLocked(c)
}

func (d *readDeadline) applyLocked(c *clientConn) error {
	at := d.own
	if !d.outer.IsZero() && (at.IsZero() || d.outer.Before(at)) {
		at = d.outer
	}
	return c.Conn.SetReadDeadline(at)
}

// clear takes the own deadline away.
func (d *readDeadline) clear(c *clientConn) { d.set(c, time.Time{}) }

// atLeast makes sure that reads may block for span, and for no more than 9/8 of it: requests in quick
// succession move the deadline only now and then.
func (d *readDeadline) atLeast(c *clientConn, now time.Time, span time.Duration) {
	d.mu.Lock()
	left := d.own.Sub(now)
	d.mu.Unlock()
	if left < span || left > span+span/8 {
		d.set(c, now.Add(span+span/8))
	}
}
