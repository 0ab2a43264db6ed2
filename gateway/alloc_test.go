package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"go.uber.org/zap"
)

// A request's whole way costs the objects said here and no more: from the first byte on a kept-alive
// connection to the last one of its answer, server, gateway and forwarding together. Client and upstream are
// made of fixed bytes, and so cost nothing.
func TestAllocationsOfAServedRequest(t *testing.T) {
	text := changed(t, basic, `access = "all"`, `access = "off"`, `level = "debug"`, `level = "info"`, `rate = "100/s"`, "rate = \"1000000/s\"\nburst = 1000000")
	for _, tc := range []struct {
		name, request, status string
		most                  float64
	}{
		{"a GET by its header key", "GET /v1/chat/x?a=b HTTP/1.1\r\nHost: api.example\r\nX-API-Key: ann\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n", "200", allocsServed},
		{"a tag and a tenant", "GET /v1/mixed/x HTTP/1.1\r\nHost: api.example\r\nX-API-Key: ann\r\nX-Semantic: chat\r\nX-Tenant-Id: t1\r\n\r\n", "200", allocsServed},
		{"a small body", "POST /v1/chat/x HTTP/1.1\r\nHost: api.example\r\nX-API-Key: ann\r\nContent-Length: 5\r\n\r\nhello", "200", allocsServed},
		{"refused: the rate is exceeded", "GET /v1/chat/x HTTP/1.1\r\nHost: api.example\r\nX-API-Key: bob\r\nX-Semantic: export\r\n\r\n", "429", allocsRefused},
		{"refused: a wrong key", "GET /v1/chat/x HTTP/1.1\r\nHost: api.example\r\nX-API-Key: wrong\r\n\r\n", "401", allocsRefused},
		{"with a trace kept", "GET /v1/mixed/x HTTP/1.1\r\nHost: api.example\r\nX-API-Key: ann\r\nX-Semantic: chat\r\nX-Tenant-Id: t1\r\n\r\n", "200", allocsServed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := text
			if tc.name == "with a trace kept" {
				text = fmt.Sprintf("[record]\ndir = %q\n", t.TempDir()) + text
			}
			c := startFixed(t, text)
			buf := make([]byte, 8<<10)
			request := []byte(tc.request)
			do := func() {
				if _, err := c.Write(request); err != nil {
					t.Fatal(err)
				}
				for n := 0; ; {
					m, err := c.Read(buf[n:])
					if err != nil {
						t.Fatal(err)
					}
					n += m
					if answered(buf[:n]) {
						return
					}
				}
			}
			for range 200 { // pools fill, tables grow
				do()
			}
			if !strings.HasPrefix(string(buf), "HTTP/1.1 "+tc.status+" ") {
				t.Fatalf("%s", buf)
			}
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pools
			n := testing.AllocsPerRun(1000, do)
			t.Logf("%v allocations", n)
			if n > tc.most && !raceEnabled {
				t.Errorf("%v allocations a request, at most %v so far", n, tc.most)
			}
		})
	}
}

// What a request costs. Lower them when it becomes less; before raising one, find out what for.
const (
	allocsServed  = 0
	allocsRefused = 1 // its id, which is kept for those who look it up
)

// startFixed starts a gateway in real time before an upstream of fixed bytes, and connects to it.
func startFixed(t *testing.T, text string) net.Conn {
	t.Helper()
	front, admin := fasthttputil.NewInmemoryListener(), fasthttputil.NewInmemoryListener()
	c := configOf(t, text)
	g, err := New(c, Options{
		Version: "test", NoDate: true, Log: zap.NewNop(),
		Listen: func(addr string) (net.Listener, error) {
			if addr == c.Server.Listen {
				return front, nil
			}
			return admin, nil
		},
		Dial: func(string, time.Duration) (net.Conn, error) { return newFixedConn(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	conn, err := front.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return conn
}

var fixedAnswer = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello")

// answered says that an answer is whole, by its Content-Length.
func answered(b []byte) bool {
	head := bytes.Index(b, []byte("\r\n\r\n"))
	at := bytes.Index(b, []byte("Content-Length: "))
	if head < 0 || at < 0 {
		return false
	}
	n := 0
	for _, c := range b[at+len("Content-Length: "):] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return len(b) >= head+4+n
}

// fixedConn is a connection to an upstream that answers every request with the same bytes.
type fixedConn struct {
	asked  chan struct{}
	closed chan struct{}
	left   []byte
}

func newFixedConn() *fixedConn {
	return &fixedConn{asked: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Write takes the last bytes of a request for its whole: those that end a header or a small body.
func (c *fixedConn) Write(p []byte) (int, error) {
	if bytes.HasSuffix(p, []byte("\r\n\r\n")) || bytes.HasSuffix(p, []byte("hello")) {
		c.asked <- struct{}{}
	}
	return len(p), nil
}

func (c *fixedConn) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		select {
		case <-c.asked:
			c.left = fixedAnswer
		case <-c.closed:
			return 0, io.EOF
		}
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *fixedConn) Close() error {
	select {
	case <-c.closed:
	default:
		close(c.closed)
	}
	return nil
}

func (c *fixedConn) LocalAddr() net.Addr              { return nil }
func (c *fixedConn) RemoteAddr() net.Addr             { return nil }
func (c *fixedConn) SetDeadline(time.Time) error      { return nil }
func (c *fixedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *fixedConn) SetWriteDeadline(time.Time) error { return nil }
