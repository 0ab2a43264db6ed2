package gateway

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

func TestSeatsComeBackWhateverHappens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, strings.Replace(basic, `timeout = "10s"`, "timeout = \"1s\"\nretries = 1", 1), func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/v1/chat/slow":
				time.Sleep(5 * time.Second)
			case "/v1/chat/502":
				ctx.SetStatusCode(502)
			case "/v1/chat/panic":
				panic("upstream")
			case "/v1/chat/close":
				c := ctx.Conn()
				c.Close()
			}
		})
		for _, tc := range []struct {
			path, code, outcome string
			status              int
		}{
			{"/v1/chat/slow", "upstream_timeout", "upstream_timeout", 504},
			{"/v1/chat/502", "", "served", 502},
			{"/v1/chat/close", "upstream_error", "upstream_error", 502},
			{"/v1/chat/ok", "", "served", 200},
		} {
			a := w.do("GET "+tc.path, "X-API-Key: ann")
			if a.status != tc.status || a.code() != tc.code {
				t.Errorf("%s: %d %s", tc.path, a.status, a.code())
			}
			lines := w.log.String()
			if !strings.Contains(lines, `"outcome":"`+tc.outcome+`"`) {
				t.Errorf("%s: no outcome %s in the log", tc.path, tc.outcome)
			}
		}
		w.refused.Store(true)
		w.g.live.Load().upstreams["api"].DropIdle()
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 503 || a.code() != "no_upstream" || a.header.Get("Retry-After") == "" {
			t.Errorf("refused connections: %d %s", a.status, a.body)
		}
		time.Sleep(10 * time.Second)
		w.idle()
	})
}

func TestAPanicIsCaught(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		sound := w.g.live.Load()
		broken := *sound
		broken.behind = nil // forwarding will fail in a way that nobody thought of
		w.g.live.Store(&broken)
		a := w.do("GET /v1/chat/x", "X-API-Key: ann")
		w.g.live.Store(sound)
		if a.status != 500 || a.code() != "internal" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if len(w.log.lines("panic")) != 1 {
			t.Error("the log does not show the panic")
		}
		if n := w.metric(`tidegate_requests_total{caller="ann",semantic="chat",outcome="internal"}`); n != 1 {
			t.Errorf("%v counted as internal", n)
		}
		w.idle()
	})
}

func TestStreamsHoldTheirSeatToTheLastByte(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("text/event-stream")
			ctx.SetBodyStream(&ticking{left: 10}, -1)
		})
		c := w.client()
		defer c.conn.Close()
		c.send("GET /v1/chat/x", "X-API-Key: ann", "Accept: text/event-stream")
		for range 9 {
			time.Sleep(time.Second)
			if s := w.snapshot(); s.Pools[0].InUse != 1 {
				t.Errorf("%d in use during the stream", s.Pools[0].InUse)
			}
		}
		a := c.receive("GET")
		if strings.Count(a.body, "data: tick") != 10 {
			t.Errorf("%d %q %v", a.status, a.body, a.err)
		}
		time.Sleep(2 * time.Second)
		w.idle()
	})
}

// ticking gives an event a second.
type ticking struct{ left int }

func (s *ticking) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	s.left--
	time.Sleep(time.Second)
	return copy(p, "data: tick\n\n"), nil
}

func TestShutdownTellsThoseWhoWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, slowly(3*time.Second))
		results := make(chan reply, 10)
		for range 2 {
			go func() { results <- w.do("GET /v1/chat/x", "X-API-Key: ann") }()
		}
		time.Sleep(10 * time.Millisecond)
		waiting := make(chan reply, 1)
		go func() { waiting <- w.do("GET /v1/chat/x", "X-API-Key: bob") }()
		time.Sleep(10 * time.Millisecond)
		open := w.client()
		defer open.conn.Close()
		w.stop()
		time.Sleep(time.Millisecond)
		if ok, _ := w.g.ready(); ok {
			t.Error("still ready")
		}
		if a := <-waiting; a.status != 503 || a.code() != "draining" {
			t.Errorf("who waits: %d %s", a.status, a.code())
		}
		for range 2 {
			if a := <-results; a.status != 200 {
				t.Errorf("who is in flight: %d %s", a.status, a.body)
			}
		}
		if err := <-w.ended; err != nil {
			t.Errorf("run: %v", err)
		}
		w.ended <- nil
	})
}
