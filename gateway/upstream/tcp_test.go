package upstream

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

// silentExchange takes no notice.
type silentExchange struct{}

func (silentExchange) SeatDone(Result) {}
func (silentExchange) Finished(Result) {}

// tcpTarget listens on loopback and serves each connection with serve.
func tcpTarget(tb testing.TB, serve func(n int, c net.Conn, br *bufio.Reader)) string {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = ln.Close() })
	go func() {
		for n := 0; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go serve(n, c, bufio.NewReader(c))
		}
	}()
	return "http://" + ln.Addr().String()
}

func newTCP(tb testing.TB, url string) *Upstream {
	tb.Helper()
	c := upstreamConfig()
	c.Targets = []config.Target{{URL: url, Weight: 1}}
	u, err := New(c, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(u.Close)
	return u
}

// ask sends one request through u, without a server.
func ask(tb testing.TB, u *Upstream, method, body string) string {
	tb.Helper()
	var ctx fasthttp.RequestCtx
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI("/v1/x")
	req.Header.SetHost("h")
	req.SetBodyString(body)
	ctx.Init(&req, nil, quiet{})
	res, answered := u.Forward(&ctx, silentExchange{}, &Head{})
	if !answered {
		return res.Outcome.String() + " " + res.Reason.String()
	}
	return string(ctx.Response.Body())
}

// A real socket shows that its peer has closed it, before a request is lost on it.
func TestAPostOnAConnectionThatTheTargetHasClosedIsSentOnANewOne(t *testing.T) {
	for name, end := range map[string]func(c *net.TCPConn){
		"closed":   func(c *net.TCPConn) { _ = c.Close() },
		"reset":    func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
		"half way": func(c *net.TCPConn) { _ = c.CloseWrite() },
		"says more": func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{})
			url := tcpTarget(t, func(n int, c net.Conn, br *bufio.Reader) {
				for {
					req, err := http.ReadRequest(br)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					if n > 0 {
						_, _ = io.WriteString(c, ok("second"))
						continue
					}
					_, _ = io.WriteString(c, ok("first"))
					end(c.(*net.TCPConn))
					close(ended)
					if name != "says more" {
						return
					}
				}
			})
			u := newTCP(t, url)
			if got := ask(t, u, "POST", "hi"); got != "first" {
				t.Fatalf("got %q", got)
			}
			<-ended
			// What the peer did reaches this end of a loopback connection in a moment.
			c := u.fleet.Load().targets[0].idle
			for range 1000 {
				if len(c) == 1 && !c[0].alive() {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if got := ask(t, u, "POST", "hi"); got != "second" {
				t.Errorf("got %q, want the answer of a new connection", got)
			}
		})
	}
}

// What a target says between two requests is no answer to the second.
func TestWhatCameUnaskedIsNoAnswer(t *testing.T) {
	said := make(chan struct{})
	url := tcpTarget(t, func(n int, c net.Conn, br *bufio.Reader) {
		if n > 0 {
			always(ok("right"))(n, c, br)
			return
		}
		readRequest(br)
		_, _ = io.WriteString(c, ok("first"))
		time.Sleep(time.Millisecond) // apart from the answer
		_, _ = io.WriteString(c, ok("wrong"))
		close(said)
		readRequest(br)
	})
	u := newTCP(t, url)
	if got := ask(t, u, "GET", ""); got != "first" {
		t.Fatalf("got %q", got)
	}
	<-said
	for _, c := range u.fleet.Load().targets[0].idle {
		c.began -= instant(probeAfter) // as if it had been idle for that long
		for range 1000 {
			if !c.alive() {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	if got := ask(t, u, "GET", ""); got != "right" {
		t.Errorf("got %q", got)
	}
}

func TestAKeptConnectionIsAlive(t *testing.T) {
	var dials atomic.Int32
	url := tcpTarget(t, func(n int, c net.Conn, br *bufio.Reader) {
		dials.Add(1)
		always(ok("hello"))(n, c, br)
	})
	u := newTCP(t, url)
	for range 20 {
		if got := ask(t, u, "POST", "hi"); got != "hello" {
			t.Fatalf("got %q", got)
		}
	}
	if dials.Load() != 1 {
		t.Errorf("%d connections, want one", dials.Load())
	}
}

func TestARefusedTCPConnection(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String()
	_ = ln.Close()
	u := newTCP(t, url)
	if got := ask(t, u, "GET", ""); got != "no_upstream dial" {
		t.Errorf("got %q", got)
	}
}

// echoless is a connection to a target that answers at once, in the caller's own goroutine: what is
// measured on it is the work of this package and of fasthttp's parser.
type echoless struct {
	answer []byte
	left   []byte
}

func (c *echoless) Write(p []byte) (int, error) { c.left = c.answer; return len(p), nil }

func (c *echoless) Read(p []byte) (int, error) {
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *echoless) Close() error                     { return nil }
func (c *echoless) LocalAddr() net.Addr              { return nil }
func (c *echoless) RemoteAddr() net.Addr             { return nil }
func (c *echoless) SetDeadline(time.Time) error      { return nil }
func (c *echoless) SetReadDeadline(time.Time) error  { return nil }
func (c *echoless) SetWriteDeadline(time.Time) error { return nil }

func prepared(tb testing.TB, answer, method, body string) (*Upstream, func()) {
	tb.Helper()
	c := upstreamConfig("http://a")
	u, err := New(c, Options{Dial: func(string, time.Duration) (net.Conn, error) { return &echoless{answer: []byte(answer)}, nil }})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(u.Close)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7).To4()}, quiet{})
	raw := method + " /v1/chat/completions?x=1 HTTP/1.1\r\nHost: api.example.org\r\nX-Tidegate-Caller: acme\r\nAccept: */*\r\n\r\n"
	from := strings.NewReader(raw)
	reader := bufio.NewReader(from)
	head := &Head{}
	return u, func() {
		ctx.Request.Reset()
		ctx.Response.Reset()
		from.Reset(raw)
		reader.Reset(from)
		if err := ctx.Request.Header.Read(reader); err != nil {
			tb.Fatal(err)
		}
		ctx.Request.SetBodyString(body)
		if res, answered := u.Forward(&ctx, silentExchange{}, head); !answered {
			tb.Fatalf("%+v", res)
		}
	}
}

const (
	smallAnswer = "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Type: application/json\r\nConnection: keep-alive\r\nContent-Length: 16\r\n\r\n{\"hello\":\"x\"}..."
	smallChunks = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"hello\":\"x\"}...\r\n0\r\n\r\n"
)

// With the race detector sync.Pool forgets some of what is put into it, on purpose, so the number
// means nothing then.
func TestAShortExchangeAllocatesNothing(t *testing.T) {
	for _, tc := range []struct{ name, answer, method, body string }{
		{"GET", smallAnswer, "GET", ""},
		{"POST", smallAnswer, "POST", `{"prompt":"hello"}`},
		{"chunked answer", smallChunks, "GET", ""},
	} {
		_, do := prepared(t, tc.answer, tc.method, tc.body)
		for range 100 {
			do()
		}
		if n := testing.AllocsPerRun(500, do); n >= 1 && !raceEnabled {
			t.Errorf("%s: %v allocations for each request", tc.name, n)
		}
	}
}

func BenchmarkForward(b *testing.B) {
	for _, method := range []string{"GET", "POST"} {
		b.Run(method, func(b *testing.B) {
			body := ""
			if method == "POST" {
				body = `{"prompt":"hello"}`
			}
			_, do := prepared(b, smallAnswer, method, body)
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}

// BenchmarkHostClient is what fasthttp's own client costs for the same.
func BenchmarkHostClient(b *testing.B) {
	hc := fasthttp.HostClient{
		Addr: "a:80", Dial: func(string) (net.Conn, error) { return &echoless{answer: []byte(smallAnswer)}, nil }, MaxIdemponentCallAttempts: 1,
		DisablePathNormalizing: true, NoDefaultUserAgentHeader: true,
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7).To4()}, quiet{})
	b.ReportAllocs()
	for b.Loop() {
		ctx.Request.Reset()
		ctx.Response.Reset()
		ctx.Request.Header.SetMethod("GET")
		ctx.Request.Header.SetRequestURI("/v1/chat/completions?x=1")
		ctx.Request.Header.SetHost("api.example.org")
		ctx.Request.Header.Set("X-Tidegate-Caller", "acme")
		ctx.Request.Header.Set("Accept", "*/*")
		ctx.Request.Header.Del("Connection")
		if err := hc.Do(&ctx.Request, &ctx.Response); err != nil {
			b.Fatal(err)
		}
		ctx.Response.Header.Del("Connection")
	}
}

// A body behind an answer that has none would be the answer to whoever comes next.
func TestABodyBehindABodilessAnswerIsNobodysAnswer(t *testing.T) {
	for name, head := range map[string]string{
		"HEAD": "HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n",
		"204":  "HTTP/1.1 204 No Content\r\n\r\n",
		"304":  "HTTP/1.1 304 Not Modified\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			read, sent := make(chan struct{}), make(chan struct{})
			url := tcpTarget(t, func(n int, c net.Conn, br *bufio.Reader) {
				for first := n == 0; ; first = false {
					if _, err := http.ReadRequest(br); err != nil {
						return
					}
					if !first {
						_, _ = io.WriteString(c, ok("own"))
						continue
					}
					_, _ = io.WriteString(c, head)
					<-read
					_, _ = io.WriteString(c, ok("poison"))
					close(sent)
				}
			})
			u := newTCP(t, url)
			method := "GET"
			if name == "HEAD" {
				method = "HEAD"
			}
			if got := ask(t, u, method, ""); got != "" {
				t.Fatalf("got %q", got)
			}
			close(read)
			<-sent
			// However soon the next request comes: a connection that is not looked at counts as just used.
			c := u.fleet.Load().targets[0].idle
			for range 1000 {
				if len(c) == 1 && !c[0].alive() {
					break
				}
				time.Sleep(time.Millisecond)
			}
			c[0].began = now()
			if got := ask(t, u, "GET", ""); got != "own" {
				t.Errorf("got %q, want its own answer", got)
			}
		})
	}
}
