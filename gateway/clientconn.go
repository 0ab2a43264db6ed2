package gateway

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// clientConn stands between the HTTP server and a client's connection, and hands the server one request
// header at a time, checked and whole. Everything after the header stays here: the request's body is
// read by readBody on the handler's behalf, and the next request waits for its turn. So
//
//   - a handler runs as soon as the header is there, and may refuse without having read, or having asked
//     for, one byte of the body;
//   - no byte reaches the server that headerScan has not seen, and header_timeout runs to the header's end
//     however the header dribbles in;
//   - a request that waits can be watched for a hang-up without taking bytes from anybody.
//
// The server believes that requests have no body (headerReceived tells it so). The read side belongs to
// the connection's serving goroutine; watching, writing and closing are safe beside it.
type clientConn struct {
	net.Conn
	edge   *edge
	limits *edgeLimits // as of the header being read
	peer   netip.Addr  // zero: not an internet address

	// The server's own read buffer, lent by its last Read. It lies idle while a handler runs, so what
	// was read too much stays in it (rest), and chunked bodies are read through it.
	buf  []byte
	rest []byte

	scan    headerScan
	fault   *faultError // why this connection's next header is refused
	speaks  language    // of the client, as far as its refused header was read
	raw     bool        // hijacked: bytes pass as they are
	served  bool        // at least one header was read
	body    requestBody
	reading readDeadline
	writing time.Time // the write deadline in force; zero: none

	answer *[]byte // pooled: what the next Write writes instead of what it is given

	pending atomic.Bool // body bytes may be on their way: see Close
	closed  atomic.Bool
	hangup  hangup
}

// faultError is a header that cannot be served.
type faultError struct {
	code Code
	why  string
}

func (e *faultError) Error() string { return e.why }

var (
	errHeaderTooLarge = &faultError{code: CodeHeadersTooLarge}
	errHeaderSlow     = &faultError{CodeBodySlow, "The request's header did not arrive in time."}
)

// Read fills p with the next request's header. It blocks until the header is whole, the client is gone
// (io.EOF), or the header is refused: then the server gets one byte, so that it answers at all, and the
// fault at its next Read.
func (c *clientConn) Read(p []byte) (int, error) {
	if c.raw {
		return c.fill(p)
	}
	if c.fault != nil {
		return 0, c.fault
	}
	if !c.finishBody() {
		return 0, io.EOF
	}
	c.scan = headerScan{}
	c.limits = c.edge.limits.Load()
	c.buf = p
	n := copy(p, c.rest) // moves within the buffer, mostly
	c.rest = nil
	if n == 0 {
		var err error
		if n, err = c.awaitRequest(p); err != nil {
			return 0, io.EOF
		}
	}
	for timed := false; ; {
		switch c.scan.scan(p[:n]) {
		case scanDone:
			if c.scan.pos > c.limits.maxHeader {
				return c.refuseHeader(p, n, errHeaderTooLarge)
			}
			c.served = true
			c.rest = p[c.scan.pos:n]
			c.startBody()
			return c.scan.pos, nil
		case scanBad:
			return c.refuseHeader(p, n, &faultError{CodeBadRequest, "The request was not read: " + c.scan.why + "."})
		}
		if n >= c.limits.maxHeader || n == len(p) {
			return c.refuseHeader(p, n, errHeaderTooLarge)
		}
		if !timed {
			timed = true
			c.reading.set(c, time.Now().Add(c.limits.headerTimeout))
		}
		m, err := c.fill(p[n:])
		n += m
		if m > 0 || err == nil {
			continue
		}
		if isTimeout(err) && !onlyBlankLine(p[:n]) {
			return c.refuseHeader(p, n, errHeaderSlow)
		}
		return 0, io.EOF
	}
}

// awaitRequest waits for the first bytes of a request: a new connection has header_timeout for them, one
// that was served before idle_timeout.
func (c *clientConn) awaitRequest(p []byte) (int, error) {
	now := time.Now()
	if c.served {
		c.reading.atLeast(c, now, c.limits.idleTimeout)
	} else {
		c.reading.set(c, now.Add(c.limits.headerTimeout))
	}
	for {
		if n, err := c.fill(p); n > 0 || err != nil {
			return n, err
		}
	}
}

func (c *clientConn) refuseHeader(p []byte, n int, fault *faultError) (int, error) {
	c.fault = fault
	c.speaks = preferredLanguage(fieldValue(p[:n], "accept-language"))
	c.pending.Store(true)
	p[0] = 'x' // the beginning of a method, whatever it was
	return 1, nil
}

// onlyBlankLine says that nothing but the blank line came that some clients send after a body.
func onlyBlankLine(b []byte) bool {
	return len(b) <= 2 && b[0] == '\r'
}

// fill reads what comes next: what was read ahead, then the socket.
func (c *clientConn) fill(p []byte) (int, error) {
	if len(c.rest) > 0 {
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	if c.hangup.ahead != nil {
		return c.hangup.takeAhead(p)
	}
	return c.Conn.Read(p)
}

// answerWith has the server's answer, which is to be without headers and body, replaced by what is in a
// buffer of answerBuffers. Call it on the serving goroutine, in the handler.
func (c *clientConn) answerWith(b *[]byte) { c.answer = b }

var answerBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// Write writes b, or the answer that stands in for it.
func (c *clientConn) Write(b []byte) (int, error) {
	if c.answer == nil {
		return c.write(b)
	}
	answer := c.answer
	c.answer = nil
	_, err := c.write(*answer)
	answerBuffers.Put(answer)
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// write gives the client write_stall_timeout for every stretch of the answer, and no limit for the whole.
func (c *clientConn) write(b []byte) (int, error) {
	const stretch = 64 << 10 // so that a slow but living reader of a large answer is not cut
	written := 0
	for {
		if stall := c.edge.limits.Load().writeStall; stall > 0 {
			now := time.Now()
			if c.writing.IsZero() || c.writing.Sub(now) < stall {
				c.writing = now.Add(stall + stall/8)
				if err := c.Conn.SetWriteDeadline(c.writing); err != nil {
					return written, err
				}
			}
		}
		part := b
		if len(part) > stretch {
			part = part[:stretch]
		}
		n, err := c.Conn.Write(part)
		written += n
		if b = b[n:]; err != nil || len(b) == 0 {
			return written, err
		}
	}
}

// SetReadDeadline bounds reads besides the connection's own deadlines: a moment in the past interrupts the
// read of a body from another goroutine. Safe for concurrent use.
func (c *clientConn) SetReadDeadline(t time.Time) error {
	return c.reading.bound(c, t)
}

// SetWriteDeadline holds until the next Write, which sees to its own.
func (c *clientConn) SetWriteDeadline(t time.Time) error {
	c.writing = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline sets both.
func (c *clientConn) SetDeadline(t time.Time) error {
	if err := c.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.SetReadDeadline(t)
}

// passThrough ends the reading of headers: from now on bytes pass as they are (a hijacked connection).
// Call it on the serving goroutine, in the handler that hijacks.
func (c *clientConn) passThrough() {
	c.raw = true
	c.reading.clear(c)
}

// Close closes the connection. Where body bytes may be on their way it first says that no more is
// written and reads them for a moment: closing at once would reset the connection, and the answer could
// be lost on its way to a client that is still sending.
func (c *clientConn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	c.hangup.forget()
	if c.pending.Load() {
		c.linger()
	}
	c.edge.connClosed()
	return c.Conn.Close()
}

const (
	lingerBytes = 256 << 10
	lingerTime  = 500 * time.Millisecond
)

func (c *clientConn) linger() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	scratch := refusalBuffers.Get().(*[]byte)
	defer refusalBuffers.Put(scratch)
	for total := 0; total < lingerBytes; {
		n, err := c.Conn.Read((*scratch)[:cap(*scratch)])
		if err != nil {
			return
		}
		total += n
	}
}

// isTimeout says that a deadline passed. Not every connection's error is a whole net.Error.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
