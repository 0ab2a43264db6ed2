package gateway

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
)

// Who leaves while he waits is forgotten while the seats are still taken, so it is not the seat that tells of it.
func TestWhoLeavesWhileHeWaitsIsForgottenOverSockets(t *testing.T) {
	serve := make(chan struct{})
	var calls atomic.Int64
	text := "[server]\nbody_buffer = \"4KiB\"\n" + changed(t, basic, `rate = "100/s"`, `rate = "100/1h"`, `max_wait = "2s"`, `max_wait = "24h"`,
		`timeout = "10s"`, `timeout = "60s"`, "seats = 2", "seats = 2\nlong_ceiling = 1.0")
	w := newSocketWorld(t, text, func(*fasthttp.RequestCtx) {
		calls.Add(1)
		<-serve
	})
	held := make(chan reply, 2)
	for range 2 {
		go func() { held <- w.do("GET /v1/chat/x", "X-API-Key: bob") }()
	}
	until(t, "both seats to be taken", func() bool { return w.inUse("shared") == 2 })
	gone := 0
	for _, sent := range []struct {
		name, request string
		lines         []string
		more          string
	}{
		{"nothing more", "GET /v1/chat/x", nil, ""},
		{"a small body", "POST /v1/chat/x", []string{"", "hello"}, ""},
		{"a part of a large body", "POST /v1/chat/x", []string{"Content-Length: 100000"}, "some of it"},
		{"the next request", "GET /v1/chat/x", nil, "GET /v1/chat/y HTTP/1.1\r\nHost: a\r\n"},
	} {
		for how, leave := range map[string]func(*net.TCPConn) error{
			"closes": (*net.TCPConn).Close, "closes its half": (*net.TCPConn).CloseWrite,
			"resets": func(c *net.TCPConn) error {
				_ = c.SetLinger(0)
				return c.Close()
			},
		} {
			c := w.client()
			c.send(sent.request, append([]string{"X-API-Key: ann"}, sent.lines...)...)
			until(t, "it to wait", func() bool { return w.snapshot().Pools[0].Waiting == 1 })
			if _, err := io.WriteString(c.conn, sent.more); err != nil {
				t.Fatal(err)
			}
			if err := leave(c.conn.(*net.TCPConn)); err != nil {
				t.Fatal(err)
			}
			until(t, fmt.Sprintf("who has sent %s and %s to be forgotten", sent.name, how), func() bool { return w.snapshot().Pools[0].Waiting == 0 })
			_ = c.conn.Close()
			gone++
		}
	}
	until(t, "them to be counted", func() bool { return w.ends(outcomeGone) == gone })
	if f := w.flow("ann", "chat", ""); f.Occupancy != 0 || f.Waiting != 0 || f.Admitted != 0 {
		t.Errorf("who was never served has used something: %+v", f)
	}
	close(serve)
	for range 2 {
		if a := <-held; a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	w.idle()
	if n := calls.Load(); n != 2 {
		t.Errorf("the upstream was called %d times, want 2", n)
	}
	if n := w.ends(outcomeRefused); n != 0 {
		t.Errorf("%d counted as refused", n)
	}
}
