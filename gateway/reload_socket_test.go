package gateway

import (
	"bytes"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// Clients that keep their connections, requests that wait and answers in full flow, over sockets, while everything that
// a reload can change is changed many times a second.
func TestReloadsUnderLoadOverSocketsLoseNobodyAndLeaveNothing(t *testing.T) {
	var asked atomic.Int64
	text := changed(t, basic, `access = "all"`, `access = "off"`, `rate = "100/s"`, `rate = "1000000/s"`, `max_wait = "2s"`, `max_wait = "60s"`, "seats = 2", "seats = 2\nlong_ceiling = 1.0")
	w := newSocketWorld(t, text, func(ctx *fasthttp.RequestCtx) {
		n := asked.Add(1)
		if n%8 == 0 {
			ctx.SetBodyStream(strings.NewReader(strings.Repeat("x", 300<<10)), -1)
			return
		}
		ctx.SetBodyString("done")
	})
	at := w.g.live.Load().config.Upstreams[0].Targets[0].URL
	even := []byte(hashed(strings.ReplaceAll(text, "http://api", at)))
	odd := []byte(strings.ReplaceAll(hashed(changed(t, text,
		"seats = 2", "seats = 3", `rate = "1000000/s"`, `rate = "900000/s"`, `name = "vip"`, `name = "very-important"`, `pool = "vip"`, `pool = "very-important"`,
		`timeout = "10s"`, `timeout = "11s"`, "[[levels]]\nname = \"batch\"", "[[levels]]\nname = \"between\"\n[[levels]]\nname = \"batch\"",
		"name = \"chat\"\npath", "name = \"chat\"\nmethods = [\"GET\"]\npath", "name = \"tenants\"", "name = \"by-tenant\"", `plan = "tenants"`, `plan = "by-tenant"`)), "http://api", at))

	const clients = 6
	stop := make(chan struct{})
	var served atomic.Int64
	var load sync.WaitGroup
	for i := range clients {
		load.Go(func() {
			c, err := w.connect()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.conn.Close()
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = c.conn.SetDeadline(time.Now().Add(socketBound))
				a := c.do("GET /v1/chat/x", "X-API-Key: "+[]string{"ann", "bob", "vip"}[i%3])
				if a.status != 200 || a.err != nil || a.body != "done" && len(a.body) != 300<<10 {
					t.Errorf("%d %.200s %v", a.status, a.body, a.err)
					return
				}
				served.Add(1)
			}
		})
	}
	// Those in our code: the HTTP library keeps workers of closed connections for seconds. Of them the fewest there
	// ever were: the peaks depend on the machine, and what a reload leaves behind is always there.
	stacks := make([]byte, 4<<20)
	goroutines := func() (ours int64) {
		for stack := range bytes.SplitSeq(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
			if bytes.Contains(stack, []byte("tidegate/")) {
				ours++
			}
		}
		return ours
	}
	reload := func(times int) (fewest int64) {
		fewest = math.MaxInt64
		for i := range times {
			w.g.take([][]byte{odd, even}[i%2], nil)
			// The load is to have met each of them.
			for now := served.Load(); served.Load() < now+clients && !t.Failed(); {
				time.Sleep(time.Millisecond)
			}
			fewest = min(fewest, goroutines())
		}
		return fewest
	}
	before := reload(20)
	reload(40)
	after := reload(20)
	close(stop)
	load.Wait()
	t.Logf("%d served, at least %d goroutines, then %d", served.Load(), before, after)
	if before == 0 || after > before+10 {
		t.Errorf("at least %d goroutines, and %d after forty reloads more", before, after)
	}
	if v := w.g.live.Load().version; v != 81 {
		t.Errorf("version %d, want 81: %v", v, w.g.loadError.Load())
	}
	w.idle()
	if n := w.ends(outcomeServed); n != int(served.Load()) {
		t.Errorf("%d counted as served, want %d", n, served.Load())
	}
	for o := range outcome(outcomes) {
		if n := w.ends(o); o != outcomeServed && n != 0 {
			t.Errorf("%d ended as %s", n, o)
		}
	}
}
