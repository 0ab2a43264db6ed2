package gateway

import (
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/valyala/fasthttp"
)

// BenchmarkWay is a whole request without the system: a client and an upstream whose connections
// answer at once. What remains is what the gateway itself costs; /bare is fasthttp's own server and
// client doing nothing but forwarding.
func BenchmarkWay(b *testing.B) {
	b.Run("gateway", func(b *testing.B) {
		g := benchGateway(b)
		b.ReportAllocs()
		serveLoop(b, func(c net.Conn) { _ = g.edge.server.ServeConn(&clientConn{Conn: c, edge: g.edge}) })
	})
	b.Run("bare", func(b *testing.B) {
		client := &fasthttp.HostClient{
			Addr: "api:80", MaxIdemponentCallAttempts: 1, DisablePathNormalizing: true, NoDefaultUserAgentHeader: true,
			Dial: func(string) (net.Conn, error) { return &upstreamConn{}, nil },
		}
		s := &fasthttp.Server{NoDefaultServerHeader: true, NoDefaultDate: true, Logger: quiet{}, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Request.Header.Del("Connection")
			if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
				b.Fatal(err)
			}
			ctx.Response.Header.Del("Connection")
		}}
		b.ReportAllocs()
		serveLoop(b, func(c net.Conn) { _ = s.ServeConn(c) })
	})
}

func benchGateway(b testing.TB) *Gateway {
	g, err := New(configOf(b, benchConfig), Options{
		Log: zap.NewNop(), NoDate: true,
		Dial: func(string, time.Duration) (net.Conn, error) { return &upstreamConn{}, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	return g
}

const benchConfig = `
[[levels]]
name = "realtime"
[[pools]]
name = "shared"
seats = 512
[[semantics]]
name = "chat"
level = "realtime"
rate = "1000000/s"
[[semantics]]
name = "default"
level = "realtime"
rate = "5/s"
[[plans]]
name = "paid"
rules = [{ semantic = "chat", rate = "900000/s" }]
[[upstreams]]
name = "api"
targets = [{ url = "http://127.0.0.1:1" }]
[[routes]]
name = "chat"
path = "/v1/chat/*"
upstream = "api"
semantics = ["chat"]
[[callers]]
id = "acme"
keys = ["HASH-ann"]
semantics = ["chat"]
[[callers]]
id = "second"
semantics = ["chat"]
`

func serveLoop(b *testing.B, serve func(net.Conn)) {
	b.ResetTimer()
	c := &requestConn{n: b.N}
	serve(c)
	if c.answers != b.N {
		b.Fatalf("%d answers to %d requests", c.answers, b.N)
	}
}

var benchRequest = []byte("GET /v1/chat/x HTTP/1.1\r\nHost: 127.0.0.1:9402\r\nX-API-Key: ann\r\nX-Semantic: chat\r\n\r\n")

// requestConn is a client that sends n requests, each as soon as it is read for.
type requestConn struct {
	fakeConn
	n, answers int
}

func (c *requestConn) Read(p []byte) (int, error) {
	if c.n == 0 {
		return 0, io.EOF
	}
	c.n--
	return copy(p, benchRequest), nil
}

func (c *requestConn) Write(p []byte) (int, error) {
	c.answers++
	return len(p), nil
}

var benchAnswer = []byte("HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Mon, 05 Jan 2026 09:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 16\r\nConnection: keep-alive\r\n\r\n0123456789abcdef")

// upstreamConn is a target that answers each request at once.
type upstreamConn struct {
	fakeConn
	due int
}

func (c *upstreamConn) Read(p []byte) (int, error) {
	if c.due == 0 {
		return 0, io.EOF
	}
	c.due--
	return copy(p, benchAnswer), nil
}

func (c *upstreamConn) Write(p []byte) (int, error) {
	c.due++
	return len(p), nil
}

type fakeConn struct{}

func (fakeConn) Close() error                     { return nil }
func (fakeConn) LocalAddr() net.Addr              { return benchAddr }
func (fakeConn) RemoteAddr() net.Addr             { return benchAddr }
func (fakeConn) SetDeadline(time.Time) error      { return nil }
func (fakeConn) SetReadDeadline(time.Time) error  { return nil }
func (fakeConn) SetWriteDeadline(time.Time) error { return nil }

var benchAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1234}
