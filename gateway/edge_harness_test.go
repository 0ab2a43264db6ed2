package gateway

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"tidegate/gateway/config"
)

// edgeConfig is a server of small limits.
func edgeConfig() *config.Server {
	second := func(n int) config.Duration { return config.Duration{Duration: time.Duration(n) * time.Second} }
	return &config.Server{
		MaxConnections: 100, MaxHeaderBytes: 4 << 10, MaxBodyBytes: 1 << 20, MaxBodyMemory: 1 << 20, BodyBuffer: 8 << 10,
		HeaderTimeout: second(5), BodyTimeout: second(30), MinBodyRate: 1 << 10, IdleTimeout: second(75), WriteStallTimeout: second(30),
	}
}

func limitsOf(c *config.Server) *bodyLimits {
	return &bodyLimits{
		max: int64(c.MaxBodyBytes), buffer: int64(c.BodyBuffer), timeout: c.BodyTimeout.Duration,
		minRate: int64(c.MinBodyRate), memory: newBodyMemory(int64(c.MaxBodyMemory)),
	}
}

// bubble runs f in virtual time. At its end, once the clean-ups have closed everything, it lets the server's
// own sweepers run out.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(2 * time.Minute) })
		f(t)
	})
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// edgeTest is an edge on an in-memory listener, or on a loopback socket.
type edgeTest struct {
	t    *testing.T
	edge *edge
	dial func() net.Conn
}

func startEdge(t *testing.T, c *config.Server, handler fasthttp.RequestHandler) *edgeTest {
	t.Helper()
	e := newEdge(c, newRequestIDs(), quiet{}, handler, writeRefusal)
	e.server.NoDefaultDate = true
	ln := fasthttputil.NewInmemoryListener()
	serveEdge(t, e, ln)
	return &edgeTest{t: t, edge: e, dial: func() net.Conn {
		conn, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}}
}

func startSocketEdge(t *testing.T, c *config.Server, handler fasthttp.RequestHandler) *edgeTest {
	t.Helper()
	e := newEdge(c, newRequestIDs(), quiet{}, handler, writeRefusal)
	e.server.NoDefaultDate = true
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveEdge(t, e, ln)
	return &edgeTest{t: t, edge: e, dial: func() net.Conn {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}}
}

func serveEdge(t *testing.T, e *edge, ln net.Listener) {
	served := make(chan error, 1)
	go func() { served <- e.serve(ln) }()
	t.Cleanup(func() {
		ln.Close()
		<-served
	})
}

// client is one connection of a test.
type client struct {
	t  *testing.T
	c  net.Conn
	br *bufio.Reader
}

func (e *edgeTest) connect() *client {
	conn := e.dial()
	e.t.Cleanup(func() { conn.Close() })
	return &client{t: e.t, c: conn, br: bufio.NewReader(conn)}
}

func (c *client) send(s string) *client {
	c.t.Helper()
	if _, err := io.WriteString(c.c, s); err != nil {
		c.t.Fatalf("cannot send: %v", err)
	}
	return c
}

// answer reads one answer.
func (c *client) answer() *answer {
	c.t.Helper()
	_ = c.c.SetReadDeadline(time.Now().Add(5 * time.Minute))
	a := &answer{}
	if err := a.Read(c.br); err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	return a
}

type answer struct{ fasthttp.Response }

// says checks status and body, where a body is given.
func (a *answer) says(t *testing.T, status int, part string) {
	t.Helper()
	if a.StatusCode() != status || !strings.Contains(string(a.Body()), part) {
		t.Fatalf("status %d, body %s; want %d with %q in it", a.StatusCode(), a.Body(), status, part)
	}
}

// closed checks that the connection ends here.
func (c *client) closed() {
	c.t.Helper()
	_ = c.c.SetReadDeadline(time.Now().Add(5 * time.Minute))
	if b, err := c.br.ReadByte(); err != io.EOF {
		c.t.Fatalf("connection goes on: %q, %v", b, err)
	}
}

// echo answers with what arrived, read as the gateway reads it.
func echo(limits *bodyLimits) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		result, held := readBody(ctx, limits)
		defer releaseBody(ctx)
		var body []byte
		switch result {
		case bodyWhole:
			body = ctx.Request.Body()
		case bodyStreams:
			var err error
			if body, err = io.ReadAll(ctx.Request.BodyStream()); err != nil {
				result = bodyFailure(ctx)
			}
		}
		if code := result.code(); code != CodeNone {
			writeRefusal(ctx, &Refusal{Code: code})
			return
		}
		ctx.Response.Header.Set("X-Result", result.String())
		ctx.Response.Header.Set("X-Held", strconv.FormatInt(held, 10))
		ctx.Response.SetBodyString(string(ctx.Method()) + " " + string(ctx.RequestURI()) + " " + string(body))
	}
}
