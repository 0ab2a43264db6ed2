package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// Nothing takes a seat or a place from a request because nothing was heard of it for long: neither a sweep of idle
// flows, nor a reload, nor a table that is full.
func TestARequestThatIsSilentForTenMinutesStaysCounted(t *testing.T) {
	patient := func(t *testing.T) string {
		return "[server]\nidle_timeout = \"10s\"\n[limits]\nmax_flows = 2\n" + changed(t, basic,
			`max_wait = "2s"`, `max_wait = "1h"`, `timeout = "10s"`, "timeout = \"1h\"\nstall_timeout = \"1h\"")
	}
	for _, tc := range []struct {
		name   string
		answer fasthttp.RequestHandler
		early  string // what the client has before the silence
	}{
		{"before its answer", slowly(10 * time.Minute), ""},
		{"in the middle of its answer", func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("text/event-stream")
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				_, _ = io.WriteString(w, "data: first\n\n")
				_ = w.Flush()
				time.Sleep(10 * time.Minute)
				_, _ = io.WriteString(w, "data: last\n\n")
			})
		}, "data: first\n\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, patient(t), func(ctx *fasthttp.RequestCtx) {
					if string(ctx.Path()) == "/v1/chat/silent" {
						tc.answer(ctx)
					}
				})
				start := time.Now()
				silent := w.client()
				defer silent.conn.Close()
				silent.send("GET /v1/chat/silent", "X-API-Key: vip")
				time.Sleep(time.Second)
				// And one that waits behind it as long.
				waits := make(chan reply, 1)
				go func() { waits <- w.do("GET /v1/chat/x", "X-API-Key: vip") }()
				time.Sleep(time.Second)
				for minute := range 9 {
					// Flows come and go beside it, more than the table has places for, and reloads.
					for i := range 3 {
						w.do("GET /v1/chat/x", "X-API-Key: "+[]string{"ann", "bob", "shop"}[i], "X-Tenant-Id: "+fmt.Sprint("t", minute))
					}
					w.reload(patient(t) + fmt.Sprintf("# %d\n", minute))
					p := w.snapshot().Pools[1]
					f := w.flow("vip", "chat", "")
					if p.Name != "vip" || p.InUse != 1 || p.Waiting != 1 || f.InFlight != 1 || f.Waiting != 1 {
						t.Fatalf("minute %d: %+v, its flow %+v", minute, p, f)
					}
					if n := w.g.active.Load(); n != 2 {
						t.Fatalf("minute %d: %d requests under way", minute, n)
					}
					time.Sleep(time.Minute)
				}
				resp, err := http.ReadResponse(silent.br, nil)
				if err != nil || resp.StatusCode != 200 {
					t.Fatalf("%v %v", resp, err)
				}
				body, err := io.ReadAll(resp.Body)
				if want := map[bool]string{true: tc.early + "data: last\n\n", false: "done"}[tc.early != ""]; string(body) != want || err != nil {
					t.Errorf("%q, %v", body, err)
				}
				if took := time.Since(start); took != 10*time.Minute {
					t.Errorf("answered after %v", took)
				}
				if a := <-waits; a.status != 200 {
					t.Errorf("who waited: %d %s", a.status, a.body)
				}
				w.idle()
				if n := w.ends(outcomeServed); n != 2+27 {
					t.Errorf("%d served, want 29", n)
				}
			})
		})
	}
}
