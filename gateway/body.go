package gateway

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// bodyLimits bounds the reading of request bodies.
type bodyLimits struct {
	max     int64         // bytes of a body; above it the request is refused
	buffer  int64         // bodies up to this are read whole before admission
	timeout time.Duration // to the end of a body that is read before admission; 0: none
	minRate int64         // bytes a second, after the first bodyGrace; 0: none
	memory  *bodyMemory
}

// bodyGrace is how long a body may take before its rate is looked at: the slow start of a bad link.
const bodyGrace = 5 * time.Second

// bodyResult says what became of a request's body.
type bodyResult uint8

const (
	bodyWhole     bodyResult = iota // in memory, or there is none
	bodyStreams                     // larger than the buffer: the request carries it as a stream
	bodyTooLarge                    // 413
	bodySlow                        // 408
	bodyMalformed                   // 400: broken chunks
	bodyNoMemory                    // 429 queue_full: all bodies held have reached max_body_memory
	bodyGone                        // the client went away in the middle
)

// code is what a request with such a body is refused with; CodeNone if it is not, or if nobody is
// left to be told (bodyGone).
func (r bodyResult) code() Code {
	switch r {
	case bodyTooLarge:
		return CodeBodyTooLarge
	case bodySlow:
		return CodeBodySlow
	case bodyMalformed:
		return CodeBadRequest
	case bodyNoMemory:
		return CodeQueueFull
	}
	return CodeNone
}

func (r bodyResult) String() string {
	return [...]string{"whole", "streams", "too large", "slow", "malformed", "no memory", "gone"}[r]
}

// bodyError is what a body stream's Read returns when it fails.
type bodyError struct{ result bodyResult }

func (e *bodyError) Error() string { return "cannot read the request's body: " + e.result.String() }

// Timeout says that the client was too slow: a bodyError is a net.Error.
func (e *bodyError) Timeout() bool { return e.result == bodySlow }

// Temporary is false: a body that failed stays failed.
func (e *bodyError) Temporary() bool { return false }

// bodyErrors are the errors ready made: a failed body costs no memory.
var bodyErrors = func() (t [bodyGone + 1]*bodyError) {
	for i := range t {
		t[i] = &bodyError{bodyResult(i)}
	}
	return t
}()

// bodyMemory is the budget of all bodies held at one time. Safe for concurrent use.
type bodyMemory struct {
	max  atomic.Int64
	held atomic.Int64
}

// newBodyMemory makes a budget of max bytes.
func newBodyMemory(max int64) *bodyMemory {
	m := &bodyMemory{}
	m.max.Store(max)
	return m
}

// take reserves n bytes, or nothing.
func (m *bodyMemory) take(n int64) bool {
	if m.held.Add(n) <= m.max.Load() {
		return true
	}
	m.held.Add(-n)
	return false
}

func (m *bodyMemory) give(n int64) { m.held.Add(-n) }

// declaredTooLarge says, from the header alone, that the body is larger than max bytes.
func declaredTooLarge(ctx *fasthttp.RequestCtx, max int64) bool {
	return declaredLength(ctx) > max
}

// declaredLength is the body's length in bytes by the request's header: 0 if there is none, -1 if it is
// chunked and so not known before its end. The server's own header knows nothing of the body until it was read.
func declaredLength(ctx *fasthttp.RequestCtx) int64 {
	if c, ok := ctx.Conn().(*clientConn); ok {
		return c.scan.length
	}
	return int64(len(ctx.Request.Body()))
}

// readBody reads the request's body up to limits.buffer bytes into memory; a larger one it leaves as a
// stream on ctx.Request, of which nothing more is read than what the upstream takes. It returns the
// bytes of memory held until releaseBody. Call it at most once for a request, in its handler.
//
// Only a body that is not here yet costs deadlines and clock readings. A client that expects it is
// told to continue at the first byte that is missing, and not before.
func readBody(ctx *fasthttp.RequestCtx, limits *bodyLimits) (result bodyResult, held int64) {
	c, ok := ctx.Conn().(*clientConn)
	if !ok {
		if int64(len(ctx.Request.Body())) > limits.max {
			return bodyTooLarge, 0
		}
		return bodyWhole, 0
	}
	b := &c.body
	length := c.scan.length
	switch {
	case length == 0:
		return bodyWhole, 0
	case length > limits.max:
		return bodyTooLarge, 0
	}
	b.limits = limits
	if length > limits.buffer {
		b.stream = bodyStream{conn: c}
		ctx.Request.SetBodyStream(&b.stream, int(length))
		return bodyStreams, 0
	}
	if limits.timeout > 0 && (length == bodyChunked || length > int64(len(c.rest))) {
		b.deadline = time.Now().Add(limits.timeout)
	}
	result = b.readWhole(c, length)
	switch result {
	case bodyWhole:
		ctx.Request.SetBodyRaw(b.buffer)
		ctx.Request.Header.SetContentLength(len(b.buffer))
	case bodyStreams:
		b.deadline = time.Time{}
		b.stream = bodyStream{conn: c, prefix: b.buffer}
		ctx.Request.SetBodyStream(&b.stream, -1)
	default:
		b.release()
	}
	return result, b.held
}

// releaseBody gives back the memory of the request's body. Call it when nothing reads the body any more,
// on every way out of the handler; calling it again does nothing.
func releaseBody(ctx *fasthttp.RequestCtx) {
	if c, ok := ctx.Conn().(*clientConn); ok && c.body.held > 0 {
		ctx.Request.ResetBody()
		c.body.release()
	}
}

// bodyFailure says what went wrong with a body while it was streamed: bodyStreams or bodyWhole if nothing
// did. Forwarding that failed with it failed by the client's fault, not the upstream's.
func bodyFailure(ctx *fasthttp.RequestCtx) bodyResult {
	if c, ok := ctx.Conn().(*clientConn); ok {
		return c.body.failed
	}
	return bodyWhole
}

// bodyOnItsWay says that body bytes of the request may still arrive, so that the connection cannot be
// used for another request unless they are read.
func bodyOnItsWay(ctx *fasthttp.RequestCtx) bool {
	c, ok := ctx.Conn().(*clientConn)
	return ok && c.pending.Load()
}

// bodyStream is a body that is read while it is forwarded.
type bodyStream struct {
	conn   *clientConn
	prefix []byte // what was read before it was known to be large
	closed bool
}

// Read reads on, under min_body_rate and max_body_bytes. A body that fails stays failed.
func (s *bodyStream) Read(p []byte) (int, error) {
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	if len(s.prefix) > 0 {
		n := copy(p, s.prefix)
		s.prefix = s.prefix[n:]
		return n, nil
	}
	return s.conn.body.read(s.conn, p)
}

// Close ends the reading; what was not read is drained before the next request, if it is little.
func (s *bodyStream) Close() error {
	s.closed = true
	return nil
}
