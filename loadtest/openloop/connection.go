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
		c.g.release(c)
	}
	c.hangUp()
}

// exchange sends one request and reads its answer. Nothing is sent twice.
func (c *connection) exchange(i int) {
	g := c.g
	arrival := g.plan.Arrivals[i]
	request := &g.plan.Requests[arrival.Who]
	result := &g.results[i]

	now := time.Now()
	result.Sent = now.Sub(g.start)
	err := c.connect(now, now.Add(request.Timeout))
	if err != nil {
		result.Failure = Dial
	} else if err = c.roundTrip(request); err != nil {
		result.Failure = Broken
	}
	c.lastUsed = time.Now()
	result.Done = c.lastUsed.Sub(g.start)
	if err != nil {
		switch {
		case g.hold.Err() != nil:
			result.Failure = GivenUp
		case isTimeout(err):
			result.Failure = Timeout
		}
		c.hangUp()
		return
	}
	c.read(result)
	if c.answer.ConnectionClose() {
		c.hangUp()
	}
}

// connect makes sure that there is a connection, and bounds the exchange.
func (c *connection) connect(now, deadline time.Time) error {
	if c.conn != nil && now.Sub(c.lastUsed) > maxIdle {
		c.hangUp()
	}
	if c.conn == nil {
		ctx, cancel := context.WithDeadline(c.g.hold, deadline)
		defer cancel()
		conn, err := c.g.plan.Dial(ctx)
		if err != nil {
			return err
		}
		c.conn = conn
		c.unwatch = context.AfterFunc(c.g.hold, func() { conn.Close() })
		c.reader.Reset(conn)
	}
	return c.conn.SetDeadline(deadline)
}

func (c *connection) roundTrip(request *Request) error {
	if _, err := c.conn.Write(request.Bytes); err != nil {
		return err
	}
	c.answer.Reset()
	return c.answer.ReadLimitBody(c.reader, maxAnswer)
}

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
