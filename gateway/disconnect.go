package gateway

import (
	"net"
	"sync"
	"sync/atomic"
)

// watchHangup says when the client of c is gone: the channel is closed once its connection was closed,
// reset, or closed for writing (a client that half-closes after its request counts as gone, as it does
// for net/http). Bytes that the client sends meanwhile are no hang-up and are not touched.
//
// The watch lasts as long as the connection, since a hang-up is for ever: there is nothing to stop, a
// request that waited leaves it behind, and the next one that waits on the connection pays nothing.
// Only requests that wait should ask: the first to do so on a connection pays a system call and some 800 bytes. Call it on the
// serving goroutine. A connection that did not come through the gateway's listener is not watched:
// the channel is nil.
func watchHangup(c net.Conn) <-chan struct{} {
	if cc, ok := c.(*clientConn); ok {
		return cc.hangup.watch(cc)
	}
	return nil
}

// hangup is one connection's watch.
type hangup struct {
	gone   chan struct{} // nil: not asked for yet
	once   sync.Once
	ticket atomic.Uint64 // at the socket watcher; 0: none
	ahead  *readAhead    // the watch by reading
}

func (h *hangup) watch(c *clientConn) <-chan struct{} {
	if h.gone == nil {
		h.gone = make(chan struct{})
		h.ticket.Store(watchSocket(c.Conn, h))
		if c.closed.Load() {
			h.forget() // closed in between, and the ticket not seen
		}
	}
	if h.ticket.Load() == 0 && h.ahead == nil && len(c.rest) == 0 {
		c.reading.clear(c)
		h.ahead = startReadAhead(c.Conn, h)
	}
	return h.gone
}

// report closes the channel.
func (h *hangup) report() { h.once.Do(func() { close(h.gone) }) }

// forget ends the watch of a connection that is about to be closed, before its descriptor can mean
// another connection.
func (h *hangup) forget() {
	if t := h.ticket.Load(); t != 0 {
		unwatchSocket(t)
	}
}

// readAhead watches connections that have no socket to ask (in-memory ones, TLS, other systems): it reads on
// in the background, as net/http does. What it gets belongs to the connection's next read. It sees no
// hang-up behind bytes of a pipelined request or of a body.
type readAhead struct {
	done chan struct{}
	b    [1]byte
	n    int
	err  error
}

func startReadAhead(c net.Conn, h *hangup) *readAhead {
	r := &readAhead{done: make(chan struct{})}
	go func() {
		r.n, r.err = c.Read(r.b[:])
		if r.n == 0 && r.err != nil && !isTimeout(r.err) {
			h.report()
		}
		close(r.done)
	}()
	return r
}

// takeAhead is a read of what the watch has read, or is reading: deadlines set meanwhile hold for it.
func (h *hangup) takeAhead(p []byte) (int, error) {
	<-h.ahead.done
	n, err := copy(p, h.ahead.b[:h.ahead.n]), h.ahead.err
	h.ahead = nil
	if n > 0 {
		err = nil // if it lasts, the next read has it too
	}
	return n, err
}
