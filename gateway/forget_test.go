package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
)

// Each request keeps its flow in memory while it is under way, and none longer, however it ends: every kind of end has
// a tenant of its own, and so a flow, and after a while there is none.
func TestEveryKindOfEndLetsItsFlowBeForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := "[server]\nbody_timeout = \"1s\"\nmax_body_bytes = \"64KiB\"\nbody_buffer = \"4KiB\"\n" + changed(t, bounded,
			`timeout = "10s"`, `timeout = "2s"`, "name = \"default\"\nlevel = \"batch\"\nrate = \"2/s\"\nmax_wait = \"0s\"", "name = \"default\"\nlevel = \"batch\"\nrate = \"1/s\"\nmax_wait = \"0s\"",
			"id = \"shop\"\nkeys = [\"HASH-shop\"]\nplan = \"tenants\"\nsemantics = [\"chat\"]", "id = \"shop\"\nkeys = [\"HASH-shop\"]\nplan = \"tenants\"\nsemantics = [\"chat\", \"export\"]")
		w := newWorld(t, text, func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/v1/chat/slow":
				time.Sleep(time.Second)
			case "/v1/chat/late":
				time.Sleep(time.Minute)
			case "/v1/chat/broken":
				c := ctx.Conn()
				_ = c.Close()
			case "/v1/chat/stream":
				ctx.SetContentType("text/event-stream")
				ctx.SetBodyStream(&ticking{left: 3}, -1)
			}
		})
		as := func(kind string, more ...string) []string {
			return append([]string{"X-API-Key: shop", "X-Tenant-Id: " + kind}, more...)
		}
		ends := func(kind, code, request string, more ...string) {
			t.Helper()
			if a := w.do(request, as(kind, more...)...); a.code() != code {
				t.Errorf("%s: %d %s, want %s", kind, a.status, a.body, code)
			}
		}
		waiting := make(chan reply, 3)
		send := func(kind, request string, more ...string) {
			go func() { waiting <- w.do(request, as(kind, more...)...) }()
			time.Sleep(10 * time.Millisecond)
		}
		send("holder", "GET /v1/chat/slow")
		ends("expired", "wait_expired", "GET /v1/chat/x", "X-Max-Wait: 50ms")
		ends("hasty", "wait_too_long", "GET /v1/chat/x", "X-Max-Wait: 0")
		leaves := func(c *visitor) {
			time.Sleep(10 * time.Millisecond)
			_ = c.conn.Close()
			time.Sleep(50 * time.Millisecond)
		}
		left := w.client()
		left.send("GET /v1/chat/x", as("left")...)
		leaves(left)
		leftBody := w.client()
		leftBody.send("POST /v1/chat/x", as("left-body", "Content-Length: 10000")...)
		leaves(leftBody)
		send("displaced", "GET /v1/reports/x")
		ends("full", "queue_full", "GET /v1/reports/x")
		send("better", "GET /v1/chat/x")
		if a := <-waiting; a.code() != "displaced" {
			t.Errorf("%d %s", a.status, a.body)
		}
		<-waiting
		<-waiting

		ends("served", "", "GET /v1/chat/x")
		ends("body", "", "POST /v1/chat/x", "", "hello")
		ends("stream", "", "GET /v1/chat/stream")
		ends("over", "", "GET /v1/mixed/x")
		ends("over", "rate_exceeded", "GET /v1/mixed/x")
		ends("slow-body", "body_slow", "POST /v1/chat/x", "Content-Length: 100")
		ends("broken", "upstream_error", "GET /v1/chat/broken")
		ends("late", "upstream_timeout", "GET /v1/chat/late")
		goneBody := w.client()
		goneBody.send("POST /v1/chat/x", as("gone-body", "Content-Length: 100")...)
		leaves(goneBody)
		cut := w.client()
		cut.send("GET /v1/chat/stream", as("cut")...)
		time.Sleep(1500 * time.Millisecond)
		_ = cut.conn.Close()
		time.Sleep(time.Minute)

		sound := w.g.live.Load()
		broken := *sound
		broken.behind = nil
		w.g.live.Store(&broken)
		ends("panic", "internal", "GET /v1/chat/x")
		w.g.live.Store(sound)
		w.refused.Store(true)
		w.g.live.Load().upstreams["api"].DropIdle()
		ends("nowhere", "no_upstream", "GET /v1/chat/x")
		w.refused.Store(false)

		synctest.Wait()
		seen := map[string]bool{}
		for _, f := range w.snapshot().Flows {
			seen[f.Tenant] = true
		}
		if len(seen) < 19 {
			t.Errorf("only %d kinds of end: %v", len(seen), seen)
		}
		time.Sleep(time.Hour)
		for _, f := range w.snapshot().Flows {
			t.Errorf("still there after an hour: %+v", f)
		}
		w.idle()
	})
}
