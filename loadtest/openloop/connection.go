package openloop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	maxAnswer = 16 << 20
	// maxIdle is well below the idle timeout of usual servers, so that a request does not run into the
	// server's own closing of the connection.
	maxIdle = 30 * time.Second
)

// connection is one keep-alive connection and its goroutine.
type connection struct {
	g    *generator
	next chan int // index of the arrival to send

	conn     net.Conn // nil: to be dialled
	sendErr  error    // of begin
	unwatch  func() bool
	lastUsed time.Time
	reader   *bufio.Reader
	answer   fasthttp.Response
}

func newConnection(g *generator) *connection {
	return &connection{g: g, next: make(chan int, 1), reader: bufio.NewReaderSize(nil, 4096)}
}

func (c *connection) serve() {
	for i := range c.next {
		c.exchange(i)
		if seen := c.g.plan.Seen; seen != nil {
			seen(&c.g.results[i])
		}
		c.g.release(c)
	}
	c.hangUp()
}

// begin sends a request if there is a connection to send it on. It is called by the one who walks the schedule,
// while the connection is idle and its goroutine waits for next. It does not block: a request fits the socket's
// buffer, which is empty as everything sent before has been answered.
func (c *connection) begin(i int) {
	now := c.leave(i)
	if c.conn != nil && now.Sub(c.lastUsed) > maxIdle {
		c.hangUp()
	}
	if c.conn != nil {
		c.sendErr = c.send(i, now)
	}
}

// leave notes the moment at which a request leaves the generator.
func (c *connection) leave(i int) time.Time {
	now := time.Now()
	c.g.results[i].Sent = now.Sub(c.g.start)
	return now
}

// exchange finishes what begin has begun. Nothing is sent twice.
func (c *connection) exchange(i int) {
	g := c.g
	result := &g.results[i]
	err := c.sendErr
	if c.conn == nil {
		err = c.dial(i)
	}
	if err == nil {
		c.answer.Reset()
		err = c.answer.ReadLimitBody(c.reader, maxAnswer)
	}
	c.lastUsed = time.Now()
	result.Done = c.lastUsed.Sub(g.start)
	if err != nil {
		result.Failure = c.failure(err)
		c.hangUp()
		return
	}
	c.read(result)
	if c.answer.ConnectionClose() {
		c.hangUp()
	}
}

func (c *connection) failure(err error) Failure {
	switch {
	case c.g.hold.Err() != nil:
		return GivenUp
	case isTimeout(err):
		return Timeout
	case c.conn == nil:
		return Dial
	}
	return Broken
}

// dial makes the connection and sends the request on it. Without a connection after it, the dialling has failed.
func (c *connection) dial(i int) error {
	now := c.leave(i)
	ctx, cancel := context.WithDeadline(c.g.hold, now.Add(c.request(i).Timeout))
	defer cancel()
	conn, err := c.g.plan.Dial(ctx)
	if err != nil {
		return err
	}
	c.conn = conn
	c.unwatch = context.AfterFunc(c.g.hold, func() { conn.Close() })
	c.reader.Reset(conn)
	return c.send(i, now)
}

// send writes the request and bounds the whole exchange, from the moment of leaving.
func (c *connection) send(i int, left time.Time) error {
	request := c.request(i)
	if err := c.conn.SetDeadline(left.Add(request.Timeout)); err != nil {
		return err
	}
	_, err := c.conn.Write(request.Bytes)
	return err
}

func (c *connection) request(i int) *Request { return &c.g.plan.Requests[c.g.plan.Arrivals[i].Who] }

// read takes from the answer what the report needs.
func (c *connection) read(result *Result) {
	h := &c.answer.Header
	result.Status = h.StatusCode()
	result.Wait, result.Waited = queueWait(h.Peek("Server-Timing"))
	if result.Status < 400 {
		return
	}
	result.RetryAfter = retryAfter(h.Peek("Retry-After"))
	var problem struct{ Code string }
	if json.Unmarshal(c.answer.Body(), &problem) == nil {
		result.Code = problem.Code
	}
}

func (c *connection) hangUp() {
	if c.conn == nil {
		return
	}
	c.unwatch()
	c.conn.Close()
	c.conn = nil
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
