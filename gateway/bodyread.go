package gateway

import (
	"io"
	"time"
)

// requestBody is the body of the request that a connection is serving.
type requestBody struct {
	left     int64 // bytes to come: of a body of known length, or of the current chunk
	chunks   chunkReader
	chunked  bool
	expect   bool // the client waits for 100 Continue
	whole    bool // read to its end
	failed   bodyResult
	limits   *bodyLimits
	received int64 // bytes of the body, without its chunks' framing
	raw      int64 // bytes off the wire
	waited   time.Duration
	deadline time.Time // zero: none

	buffer []byte
	pooled *bodyBuffer
	held   int64

	stream bodyStream
}

// startBody prepares for the body that the header just read announces.
func (c *clientConn) startBody() {
	length := c.scan.length
	if length == 0 {
		if !c.body.whole {
			c.body = requestBody{whole: true}
		}
		return
	}
	c.body = requestBody{left: length, expect: c.scan.seen&(seenContinue|seenHTTP11) == seenContinue|seenHTTP11}
	if length == bodyChunked {
		c.body.left, c.body.chunked = 0, true
	}
	if length == bodyChunked || length > int64(len(c.rest)) {
		c.pending.Store(true)
	}
}

// drainBytes and drainTime bound what is read of a body that nobody wanted, to keep its connection.
const (
	drainBytes = 256 << 10
	drainTime  = 2 * time.Second
)

// finishBody drops what is left of the last request's body, and says whether the connection can serve
// another request.
func (c *clientConn) finishBody() bool {
	b := &c.body
	b.release()
	if !c.served || b.whole {
		return true
	}
	if b.failed != 0 || b.expect && b.raw == 0 && len(c.rest) == 0 {
		return false // the client may send the body or not: where the next request begins is not known
	}
	if !b.chunked && b.left <= int64(len(c.rest)) {
		c.rest = c.rest[b.left:]
		c.endBody()
		return true
	}
	if !b.chunked && b.left > drainBytes {
		return false
	}
	b.limits = &bodyLimits{max: b.received + drainBytes}
	b.deadline = time.Now().Add(drainTime)
	scratch := refusalBuffers.Get().(*[]byte)
	defer refusalBuffers.Put(scratch)
	for {
		if _, err := b.read(c, (*scratch)[:cap(*scratch)]); err != nil {
			return err == io.EOF
		}
	}
}

func (c *clientConn) endBody() {
	c.body.whole = true
	if c.pending.Load() {
		c.pending.Store(false)
	}
}

// read reads body bytes into p, which is not empty. Its errors are io.EOF at the body's end, or a
// *bodyError, which lasts.
func (b *requestBody) read(c *clientConn, p []byte) (int, error) {
	if b.failed != 0 {
		return 0, bodyErrors[b.failed]
	}
	if b.whole {
		return 0, io.EOF
	}
	if b.chunked && b.left == 0 {
		if err := b.nextChunk(c); err != nil {
			return 0, err
		}
		if b.left > b.limits.max-b.received {
			return 0, b.fail(bodyTooLarge)
		}
	}
	n, err := b.fill(c, p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.received += int64(n)
	if err != nil {
		return n, err
	}
	if b.left == 0 && !b.chunked {
		c.endBody()
		return n, io.EOF
	}
	return n, nil
}

// nextChunk reads framing up to the next chunk's first byte; io.EOF after the last.
func (b *requestBody) nextChunk(c *clientConn) error {
	for {
		if len(c.rest) == 0 {
			n, err := b.fill(c, c.buf)
			if err != nil {
				return err
			}
			c.rest = c.buf[:n]
		}
		used, state := b.chunks.parse(c.rest)
		c.rest = c.rest[used:]
		switch state {
		case chunkBegins:
			b.left = b.chunks.size
			return nil
		case chunksEnd:
			c.endBody()
			return io.EOF
		case chunksBroken:
			return b.fail(bodyMalformed)
		}
	}
}

// fill reads what is here, or waits for more: until the client's rate falls below min_body_rate, which
// counts only the time spent waiting for it, or until the deadline.
func (b *requestBody) fill(c *clientConn, p []byte) (int, error) {
	if len(c.rest) > 0 {
		n, _ := c.fill(p)
		b.raw += int64(n)
		return n, nil
	}
	if b.expect && b.raw == 0 {
		b.expect = false
		if _, err := c.Write(continueLine); err != nil {
			return 0, b.fail(bodyGone)
		}
	}
	for {
		begun := time.Now()
		until := b.deadline
		if rate := b.limits.minRate; rate > 0 {
			allowed := bodyGrace + secondsFor(b.raw, rate) - b.waited
			if at := begun.Add(allowed); until.IsZero() || at.Before(until) {
				until = at
			}
		}
		c.reading.set(c, until)
		n, err := c.fill(p)
		b.waited += time.Since(begun)
		b.raw += int64(n)
		switch {
		case n > 0:
			return n, nil
		case err == nil:
		case isTimeout(err):
			return 0, b.fail(bodySlow)
		default:
			return 0, b.fail(bodyGone)
		}
	}
}

var continueLine = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// secondsFor is how long n bytes take at rate bytes a second.
func secondsFor(n, rate int64) time.Duration {
	return time.Duration(n/rate)*time.Second + time.Duration(n%rate)*time.Second/time.Duration(rate)
}

func (b *requestBody) fail(r bodyResult) error {
	b.failed = r
	return bodyErrors[r]
}

// readWhole reads the body into pooled memory: bodyStreams if it is longer than the buffer allows. The
// memory grows with what has arrived, so that a client holds no more than it has sent.
func (b *requestBody) readWhole(c *clientConn, length int64) bodyResult {
	most := b.limits.buffer
	if length > 0 {
		most = length
	}
	want := max(min(most, firstBuffer), min(most, int64(len(c.rest))))
	if !b.grow(want) {
		return bodyNoMemory
	}
	for {
		if len(b.buffer) == cap(b.buffer) {
			if int64(len(b.buffer)) > b.limits.buffer {
				return bodyStreams
			}
			if !b.grow(min(int64(cap(b.buffer))*4, max(most, int64(cap(b.buffer))+1))) {
				return bodyNoMemory
			}
		}
		n, err := b.read(c, b.buffer[len(b.buffer):cap(b.buffer)])
		b.buffer = b.buffer[:len(b.buffer)+n]
		switch {
		case err == io.EOF:
			return bodyWhole
		case err != nil:
			return b.failed
		}
		if b.chunked && int64(len(b.buffer)) > b.limits.buffer {
			return bodyStreams
		}
	}
}
