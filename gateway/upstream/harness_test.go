package upstream

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"tidegate/gateway/config"
)

// told is an Exchange that keeps what it was told, and when.
type told struct {
	mu     sync.Mutex
	seats  []Result
	ends   []Result
	seatAt []time.Duration
	endAt  []time.Duration
	start  time.Time
}

func (e *told) SeatDone(r Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seats = append(e.seats, r)
	e.seatAt = append(e.seatAt, time.Since(e.start))
}

func (e *told) Finished(r Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.seats) <= len(e.ends) {
		panic("Finished before SeatDone")
	}
	e.ends = append(e.ends, r)
	e.endAt = append(e.endAt, time.Since(e.start))
}

// only gives the one SeatDone and the one Finished.
func (e *told) only(t *testing.T) (seat, end Result) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.seats) != 1 || len(e.ends) != 1 {
		t.Fatalf("told SeatDone %d times and Finished %d times, want once each", len(e.seats), len(e.ends))
	}
	return e.seats[0], e.ends[0]
}

func (e *told) counts() (seats, ends int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.seats), len(e.ends)
}

// rig is a gateway's server around an Upstream, with targets that are plain functions of a connection.
type rig struct {
	t       *testing.T
	up      *Upstream
	front   *fasthttputil.InmemoryListener
	told    *told
	trusted bool
	ended   bool
	clients []net.Conn

	mu     sync.Mutex
	failed []Reason
	dials  map[string]int
}

// targetFunc serves one connection, which is closed after it. n counts the connections of its target.
type targetFunc func(n int, c net.Conn, br *bufio.Reader)

func upstreamConfig(urls ...string) config.Upstream {
	d := func(d time.Duration) config.Duration { return config.Duration{Duration: d} }
	c := config.Upstream{
		Name: "api", Balance: "round_robin", Timeout: d(30 * time.Second), StallTimeout: d(20 * time.Second),
		ConnectTimeout: d(2 * time.Second), Retries: 1,
	}
	for _, u := range urls {
		c.Targets = append(c.Targets, config.Target{URL: u, Weight: 1})
	}
	return c
}

// newRig starts a gateway before the targets, which are named by host: http://host.
func newRig(t *testing.T, o Options, targets map[string]targetFunc) *rig {
	t.Helper()
	r := &rig{t: t, front: fasthttputil.NewInmemoryListener(), told: &told{start: time.Now()}, dials: map[string]int{}}
	var urls []string
	for _, host := range []string{"a", "b", "c"} {
		if _, ok := targets[host]; ok {
			urls = append(urls, "http://"+host)
		}
	}
	o.Dial = func(address string, _ time.Duration) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(address)
		r.mu.Lock()
		n := r.dials[host]
		r.dials[host]++
		r.mu.Unlock()
		serve := targets[host]
		if serve == nil {
			return nil, fmt.Errorf("dial %s: connection refused", address)
		}
		pipe := fasthttputil.NewPipeConns()
		go func() {
			c := pipe.Conn2()
			serve(n, c, bufio.NewReader(c))
			_ = c.Close()
		}()
		return pipe.Conn1(), nil
	}
	o.Failed = func(_ string, reason Reason) {
		r.mu.Lock()
		r.failed = append(r.failed, reason)
		r.mu.Unlock()
	}
	up, err := New(upstreamConfig(urls...), o)
	if err != nil {
		t.Fatal(err)
	}
	r.up = up
	server := &fasthttp.Server{
		NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true, StreamRequestBody: true,
		DisablePreParseMultipartForm: true, Logger: quiet{}, MaxRequestBodySize: 1 << 30,
		Handler: func(ctx *fasthttp.RequestCtx) {
			if n := ctx.Request.Header.ContentLength(); n >= 0 && n <= 64<<10 {
				ctx.Request.Body() // as the gateway does before it admits
			}
			res, answered := r.up.Forward(ctx, r.told, &Head{Trusted: r.trusted})
			if !answered {
				if n := ctx.Response.Header.Len(); n != 0 {
					t.Errorf("an unanswered response has %d headers: %q", n, ctx.Response.Header.String())
				}
				ctx.SetStatusCode(599)
				ctx.SetBodyString(res.Outcome.String() + " " + res.Reason.String())
			}
		},
	}
	go func() { _ = server.Serve(r.front) }()
	t.Cleanup(r.end)
	return r
}

// end closes everything and lets fasthttp's own goroutines run out.
func (r *rig) end() {
	if r.ended {
		return
	}
	r.ended = true
	r.up.Close()
	_ = r.front.Close()
	for _, c := range r.clients {
		_ = c.Close()
	}
	time.Sleep(3 * time.Hour) // targets of the tests sleep up to an hour
	for _, s := range r.up.Targets() {
		if s.InFlight != 0 {
			r.t.Errorf("%s has %d in flight at the end", s.URL, s.InFlight)
		}
	}
}

// client is a raw connection to the gateway.
type client struct {
	net.Conn
	br *bufio.Reader
}

func (r *rig) client() *client {
	r.t.Helper()
	c, err := r.front.Dial()
	if err != nil {
		r.t.Fatal(err)
	}
	r.clients = append(r.clients, c)
	return &client{c, bufio.NewReader(c)}
}

func (c *client) send(s string) { _, _ = io.WriteString(c, s) }

// answer reads an answer's head.
func (c *client) answer(t *testing.T, method string) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(c.br, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return resp
}

// get asks on a new connection and reads the whole answer.
func (r *rig) get(request string) (*http.Response, string, error) {
	r.t.Helper()
	c := r.client()
	defer c.Close()
	c.send(request)
	method, _, _ := strings.Cut(request, " ")
	resp := c.answer(r.t, method)
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

const simpleGet = "GET /v1/x HTTP/1.1\r\nHost: h\r\n\r\n"

// readRequest reads a request with its body, as a target does; nil if the connection ends.
func readRequest(br *bufio.Reader) (*http.Request, string) {
	req, err := http.ReadRequest(br)
	if err != nil {
		return nil, ""
	}
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, ""
	}
	return req, string(b)
}

// always answers every request with the same bytes.
func always(answer string) targetFunc {
	return func(_ int, c net.Conn, br *bufio.Reader) {
		for {
			if req, _ := readRequest(br); req == nil {
				return
			}
			_, _ = io.WriteString(c, answer)
		}
	}
}

// once answers one request and closes.
func once(answer string) targetFunc {
	return func(_ int, c net.Conn, br *bufio.Reader) {
		if req, _ := readRequest(br); req != nil {
			_, _ = io.WriteString(c, answer)
		}
	}
}

func ok(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func one(f targetFunc) map[string]targetFunc { return map[string]targetFunc{"a": f} }

// bubble runs f in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}
