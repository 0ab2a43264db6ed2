package upstream

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// headBuffer bounds the header of an answer, and is what one read takes from a target at most.
const headBuffer = 16 << 10

var epoch = time.Now()

// instant is monotonic time in nanoseconds since an arbitrary moment; 0 is no time. It is half as
// dear to read as time.Now.
type instant int64

func now() instant { return instant(time.Since(epoch)) }

func (t instant) after(d time.Duration) instant { return t + instant(d) }

func (t instant) wall() time.Time { return time.Now().Add(time.Duration(t - now())) }

// far is a deadline that never comes.
const far = instant(1 << 62)

// conn is a connection to a target. It belongs to one request at a time; only the deadlines may be
// moved, and interrupt called, from another goroutine.
//
// A deadline of the kernel's poller costs more to set than a small request otherwise spends here, so
// it is not moved with each request. What is armed may be too early, never too late: when it fires
// before its time, it is armed again for the time that is meant, and the read goes on.
type conn struct {
	net   net.Conn
	br    *bufio.Reader // reads through conn.Read
	probe *probe        // nil where a connection cannot be looked at

	reused bool // it has served a request before
	unsure bool // its last answer had no body to read, and a faulty target may have sent one
	swept  bool // it was idle at the last sweep; guarded by target.mu

	// Of the request it serves now, or served last.
	began    instant
	seen     int64 // bytes of the answer
	begun    bool  // the answer has begun: from now on reading may take stall
	wrote    int64 // bytes of the request
	readErr  error // what ended the reading; nil after it: what was read is at fault
	partial  bool  // the request was not sent whole: no second request may follow it
	stall    time.Duration
	writeBy  instant
	halted   atomic.Bool  // halt was called
	readBy   atomic.Int64 // instant
	readSet  atomic.Int64 // instant that is armed; 0: none
	writeSet instant
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, headBuffer) }}

func newConn(nc net.Conn) *conn {
	c := &conn{net: nc, probe: newProbe(nc)}
	c.br = readers.Get().(*bufio.Reader)
	c.br.Reset(c)
	return c
}

// begin readies c for a request that starts now. Until the first byte of the answer, reading may take
// timeout; after it, and for each write, stall.
func (c *conn) begin(at instant, timeout, stall time.Duration) {
	c.seen, c.begun, c.wrote, c.readErr, c.partial = 0, false, 0, nil, false
	c.began, c.stall, c.unsure = at, stall, false
	c.writeBy = at.after(stall)
	c.readBy.Store(int64(at.after(timeout)))
}

// close ends c for good. Nobody may be reading from it.
func (c *conn) close() {
	_ = c.net.Close()
	if c.br != nil {
		c.br.Reset(nil)
		readers.Put(c.br)
		c.br = nil
	}
}

// interrupt ends whatever reads from or writes to c in another goroutine; that one closes it.
func (c *conn) interrupt() { _ = c.net.Close() }

// halt makes a Write that is under way, and each later one, fail.
func (c *conn) halt() {
	c.halted.Store(true)
	_ = c.net.SetWriteDeadline(time.Unix(1, 0))
}

// awaitBy moves the deadline of a Read that is perhaps under way in another goroutine.
func (c *conn) awaitBy(t instant) {
	c.readBy.Store(int64(t))
	c.readSet.Store(int64(t))
	_ = c.net.SetReadDeadline(t.wall())
}

// Read is for br alone.
func (c *conn) Read(p []byte) (int, error) {
	by := c.readBy.Load()
	if c.begun {
		by = int64(now().after(c.stall))
	}
	for {
		if set := c.readSet.Load(); by != int64(far) && (set == 0 || set > by) {
			c.armRead(instant(by))
		}
		n, err := c.net.Read(p)
		if n > 0 {
			c.seen += int64(n)
			c.begun = true
			if err != nil {
				c.readErr = err
			}
			return n, err
		}
		if err == nil || !isTimeout(err) {
			c.readErr = err
			return 0, err
		}
		// The deadline that fired may be one of an earlier request, or have been moved meanwhile.
		if !c.begun {
			by = c.readBy.Load()
		}
		if now() >= instant(by) {
			c.readErr = err
			return 0, err
		}
		if by == int64(far) {
			c.readSet.Store(0)
			_ = c.net.SetReadDeadline(time.Time{})
			// awaitBy may have come between, and its deadline would be lost.
			if later := c.readBy.Load(); later != by {
				c.awaitBy(instant(later))
			}
		} else {
			c.armRead(instant(by))
		}
	}
}

func (c *conn) armRead(by instant) {
	c.readSet.Store(int64(by))
	_ = c.net.SetReadDeadline(by.wall())
}

// Write sends all of p. It may take until writeBy.
func (c *conn) Write(p []byte) (int, error) {
	if c.writeSet == 0 || c.writeSet > c.writeBy {
		c.armWrite()
	}
	done := 0
	for {
		if c.halted.Load() { // after arming: halt's own deadline may have been overwritten
			return done, errHalted
		}
		n, err := c.net.Write(p[done:])
		done += n
		c.wrote += int64(n)
		if err == nil || c.halted.Load() || !isTimeout(err) || now() >= c.writeBy {
			return done, err
		}
		c.armWrite()
	}
}

func (c *conn) armWrite() {
	c.writeSet = c.writeBy
	_ = c.net.SetWriteDeadline(c.writeBy.wall())
}

// alive says whether the target has neither closed the idle connection nor said anything unasked.
func (c *conn) alive() bool {
	return c.br.Buffered() == 0 && (c.probe == nil || c.probe.alive())
}

func isTimeout(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}
