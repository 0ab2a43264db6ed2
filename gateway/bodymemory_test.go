package gateway

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/valyala/fasthttp"
)

func TestAllBodiesTogetherAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := edgeConfig()
		limits := limitsOf(c)
		limits.memory = newBodyMemory(64 << 10)
		hold := make(chan struct{})
		e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) {
			result, _ := readBody(ctx, limits)
			defer releaseBody(ctx)
			if code := result.code(); code != CodeNone {
				writeRefusal(ctx, &Refusal{Code: code})
				return
			}
			<-hold
		})
		var holders []*client
		for range 8 { // 8 KiB each
			holders = append(holders, e.connect().send(post(8000)+strings.Repeat("x", 8000)))
			synctest.Wait()
		}
		if held := limits.memory.held.Load(); held != 64<<10 {
			t.Fatalf("%d bytes held, want 64 KiB", held)
		}
		e.connect().send(post(8000)+strings.Repeat("x", 8000)).answer().says(t, 429, "queue_full")
		e.connect().send(postChunked+chunk("abc")).answer().says(t, 429, "queue_full")
		close(hold)
		for _, h := range holders {
			h.answer().says(t, 200, "")
		}
		if held := limits.memory.held.Load(); held != 0 {
			t.Errorf("%d bytes still held", held)
		}
	})
}

func TestAClientHoldsNoMoreMemoryThanItHasSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := edgeConfig()
		c.BodyBuffer = 1 << 20
		limits := limitsOf(c)
		e := startEdge(t, c, echo(limits))
		e.connect().send(post(1<<20) + "x") // and says no more
		synctest.Wait()
		if held := limits.memory.held.Load(); held > firstBuffer {
			t.Errorf("%d bytes held for one", held)
		}
	})
}

func TestASmallBodyThatIsHereIsReadWithoutAllocation(t *testing.T) {
	c := edgeConfig()
	limits := limitsOf(c)
	conn := &clientConn{edge: newEdge(c, newRequestIDs(), quiet{}, func(*fasthttp.RequestCtx) {}, writeRefusal)}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init2(conn, quiet{}, false)
	body := make([]byte, 2000)
	if n := testing.AllocsPerRun(200, func() {
		conn.scan.length, conn.rest = 2000, body
		conn.startBody()
		if result, _ := readBody(ctx, limits); result != bodyWhole || len(ctx.Request.Body()) != 2000 {
			t.Fatal("not read")
		}
		releaseBody(ctx)
	}); n > 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
}
