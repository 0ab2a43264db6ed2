package upstream

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// idleTime is how long an unused connection is kept at least; at most twice as long.
const idleTime = 15 * time.Second

// target is one address and the idle connections to it. It lives as long as its URL stands in the
// configuration.
type target struct {
	url       string
	addr      string // host:port
	authority string // the Host of a request that has none
	dial      func(address string, timeout time.Duration) (net.Conn, error)
	maxIdle   int

	inFlight atomic.Int64
	down     atomic.Bool // the last connection did not work

	mu       sync.Mutex
	idle     []*conn // the last is the one used last: the likeliest to be alive
	retired  bool
	sweeping bool
}

// probeAfter is how long after the beginning of its last request a connection is looked at in any
// case. A busy connection is not: looking is a system call, and costs as much as a small request
// otherwise does here.
const probeAfter = 100 * time.Millisecond

// take gives a connection: an idle one, or a new one if there is none or fresh asks for it. One that
// was idle for a while or is unsure, and any with probe, is looked at before; it is passed over if the target has
// closed it, or has said what nobody asked for: the next request would take that for its answer.
func (t *target) take(fresh, probe bool, at instant, timeout time.Duration) (*conn, error) {
	for !fresh {
		c := t.pop()
		if c == nil {
			break
		}
		if !probe && !c.unsure && at-c.began < instant(probeAfter) || c.alive() {
			return c, nil
		}
		c.close()
	}
	nc, err := t.dial(t.addr, timeout)
	if err != nil {
		return nil, err
	}
	return newConn(nc), nil
}

func (t *target) pop() *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.idle) - 1
	if n < 0 {
		return nil
	}
	c := t.idle[n]
	t.idle[n] = nil
	t.idle = t.idle[:n]
	return c
}

// put keeps c for the next request.
func (t *target) put(c *conn) {
	c.reused, c.swept = true, false
	t.mu.Lock()
	keep := !t.retired && len(t.idle) < t.maxIdle
	if keep {
		t.idle = append(t.idle, c)
		if !t.sweeping {
			t.sweeping = true
			time.AfterFunc(idleTime, t.sweep)
		}
	}
	t.mu.Unlock()
	if !keep {
		c.close()
	}
}

// sweep closes what was idle when it came last. It comes again while anything is idle; so nothing
// has to read a clock when a connection is put back.
func (t *target) sweep() {
	t.mu.Lock()
	n := 0
	for n < len(t.idle) && t.idle[n].swept {
		n++
	}
	old := append([]*conn(nil), t.idle[:n]...)
	left := copy(t.idle, t.idle[n:])
	clear(t.idle[left:])
	t.idle = t.idle[:left]
	for _, c := range t.idle {
		c.swept = true
	}
	if t.sweeping = left > 0; t.sweeping {
		time.AfterFunc(idleTime, t.sweep)
	}
	t.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

// dropIdle closes every idle connection. When the one used last turns out to be dead, those that were
// idle for longer are too, most likely: the target was restarted, or closes what is idle.
func (t *target) dropIdle() {
	t.mu.Lock()
	old := t.idle
	t.idle = nil
	t.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

// retire closes the idle connections and keeps none from now on.
func (t *target) retire() {
	t.mu.Lock()
	t.retired = true
	t.mu.Unlock()
	t.dropIdle()
}

// works notes that the target's last connection worked. It is read far more often than it changes,
// so the line is written only on a change.
func (t *target) works(yes bool) {
	if t.down.Load() == yes {
		t.down.Store(!yes)
	}
}
