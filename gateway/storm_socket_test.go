package gateway

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// storm is clients that end their requests in every way there is, all at once.
type storm struct {
	w        *socketWorld
	sent     atomic.Int64           // requests whose header was sent whole
	answered [outcomes]atomic.Int64 // of them: those whose end the client saw
}

const stormText = `[server]
body_buffer = "4KiB"
answer_buffer = "32KiB"
max_body_bytes = "256KiB"
body_timeout = "100ms"
header_timeout = "200ms"
write_stall_timeout = "300ms"
`

// stormKinds are the ways in which a client behaves; each is given a connection of its own.
var stormKinds = [...]struct {
	name string
	act  func(s *storm, c *visitor, key string)
}{
	{"is served", func(s *storm, c *visitor, key string) { s.ask(c, "GET /v1/chat/x", key) }},
	{"is served what has no body", func(s *storm, c *visitor, key string) { s.ask(c, "HEAD /v1/chat/x", key) }},
	{"keeps its connection", func(s *storm, c *visitor, key string) {
		for range 5 {
			s.ask(c, "GET /v1/chat/x", key)
		}
	}},
	{"sends a small body", func(s *storm, c *visitor, key string) { s.ask(c, "POST /v1/chat/x", key, "", "hello") }},
	{"sends a large body", func(s *storm, c *visitor, key string) {
		s.ask(c, "POST /v1/chat/x", key, "", strings.Repeat("x", 100<<10))
	}},
	{"reads a stream", func(s *storm, c *visitor, key string) { s.ask(c, "GET /v1/chat/stream", key) }},
	{"asks for an upgrade", func(s *storm, c *visitor, key string) {
		s.ask(c, "GET /v1/chat/x", key, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
	}},
	{"takes its time", func(s *storm, c *visitor, key string) { s.ask(c, "GET /v1/chat/slow", key) }},
	{"does not wait", func(s *storm, c *visitor, key string) { s.ask(c, "GET /v1/chat/slow", key, "X-Max-Wait: 0") }},
	{"waits a moment only", func(s *storm, c *visitor, key string) { s.ask(c, "GET /v1/chat/x", key, "X-Max-Wait: 3ms") }},
	{"is of a low level", func(s *storm, c *visitor, key string) { s.ask(c, "GET /v1/reports/x", key) }},
	{"is over its rate", func(s *storm, c *visitor, key string) { s.ask(c, "GET /v1/mixed/x", key) }},
	{"may be in flight once", func(s *storm, c *visitor, key string) { s.ask(c, "GET /open/slow", key) }},
	{"is unknown", func(s *storm, c *visitor, _ string) { s.ask(c, "GET /v1/chat/x", "nobody") }},
	{"goes nowhere", func(s *storm, c *visitor, key string) { s.ask(c, "GET /none", key) }},
	{"is malformed", func(s *storm, c *visitor, key string) { s.ask(c, "GET /v1/chat/x", key, "X-Max-Wait: soon") }},
	{"sends too large a body", func(s *storm, c *visitor, key string) { s.ask(c, "POST /v1/chat/x", key, "Content-Length: 1000000") }},
	{"never sends its body", func(s *storm, c *visitor, key string) { s.ask(c, "POST /v1/chat/x", key, "Content-Length: 100") }},
	{"meets an upstream that fails", func(s *storm, c *visitor, key string) { s.ask(c, "POST /v1/chat/close", key, "", "x") }},
	{"meets an upstream that breaks off", func(s *storm, c *visitor, key string) { s.ask(c, "GET /v1/chat/broken", key) }},
	{"meets an upstream that says nothing", func(s *storm, c *visitor, key string) { s.ask(c, "GET /v1/chat/silent", key) }},
	{"leaves at once", func(s *storm, c *visitor, key string) { s.begin(c, "GET /v1/chat/slow", key) }},
	{"resets while it waits", func(s *storm, c *visitor, key string) {
		s.begin(c, "GET /v1/chat/slow", key)
		time.Sleep(5 * time.Millisecond)
		_ = c.conn.(*net.TCPConn).SetLinger(0)
	}},
	{"closes its half and listens", func(s *storm, c *visitor, key string) {
		s.begin(c, "GET /v1/chat/slow", key)
		_ = c.conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c.br)
	}},
	{"leaves in the middle of its body", func(s *storm, c *visitor, key string) {
		s.begin(c, "POST /v1/chat/x", key, "Content-Length: 100000")
		_, _ = c.conn.Write(make([]byte, 50_000))
	}},
	{"leaves in the middle of its answer", func(s *storm, c *visitor, key string) {
		s.begin(c, "GET /v1/chat/stream", key)
		_, _ = c.br.Peek(100)
		_ = c.conn.(*net.TCPConn).SetLinger(0)
	}},
	{"does not read", func(s *storm, c *visitor, key string) {
		c.takeLittle()
		s.begin(c, "GET /v1/chat/endless", key)
		time.Sleep(500 * time.Millisecond)
	}},
	{"sends two at once", func(s *storm, c *visitor, key string) {
		s.begin(c, "GET /v1/chat/x", key)
		s.begin(c, "GET /v1/chat/stream", key)
		s.end(c, "GET")
		s.end(c, "GET")
	}},
	{"is no HTTP", func(_ *storm, c *visitor, _ string) {
		_, _ = io.WriteString(c.conn, "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
		_, _ = io.Copy(io.Discard, c.br)
	}},
	{"never ends its header", func(_ *storm, c *visitor, _ string) {
		_, _ = io.WriteString(c.conn, "GET /v1/chat/x HTTP/1.1\r\nX-API-Key: ann\r\n")
		_, _ = io.Copy(io.Discard, c.br)
	}},
}

// begin sends a request.
func (s *storm) begin(c *visitor, request, key string, lines ...string) {
	s.sent.Add(1)
	method, target, _ := strings.Cut(request, " ")
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: api.example\r\nX-API-Key: %s\r\n", method, target, key)
	body := ""
	for i, l := range lines {
		if l == "" {
			body = lines[i+1]
			fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
			break
		}
		b.WriteString(l + "\r\n")
	}
	b.WriteString("\r\n" + body)
	_, _ = b.WriteTo(c.conn)
}

// end reads an answer, and counts as what its request has ended.
func (s *storm) end(c *visitor, method string) {
	resp, err := http.ReadResponse(c.br, &http.Request{Method: method})
	if err != nil {
		return
	}
	body, err := io.ReadAll(resp.Body)
	a := reply{status: resp.StatusCode, header: resp.Header, body: string(body), err: err}
	switch code := a.code(); {
	case err != nil: // half of a stream: whose fault it was is not to be seen from here
	case a.header.Get("Content-Type") != "application/problem+json":
		s.answered[outcomeServed].Add(1)
	case method == "HEAD": // of a refusal without its document only the status is known
	case code == "upstream_error", code == "no_upstream":
		s.answered[outcomeUpstreamError].Add(1)
	case code == "upstream_timeout":
		s.answered[outcomeUpstreamTimeout].Add(1)
	case code == "body_too_large", code == "body_slow":
		s.answered[outcomeBodyError].Add(1)
	case code == "internal":
		s.w.t.Errorf("%s", body)
	default:
		s.answered[outcomeRefused].Add(1)
		a.isHonest(s.w.t, code)
	}
}

func (s *storm) ask(c *visitor, request, key string, lines ...string) {
	s.begin(c, request, key, lines...)
	method, _, _ := strings.Cut(request, " ")
	s.end(c, method)
}

// stormUpstream behaves as the path says.
func stormUpstream(ctx *fasthttp.RequestCtx) {
	large := strings.Repeat("x", 100<<10)
	switch path := string(ctx.Path()); path[strings.LastIndexByte(path, '/')+1:] {
	case "stream":
		ctx.SetBodyStream(strings.NewReader(large), -1)
	case "endless":
		ctx.SetBodyStream(readerOf(func(b []byte) (int, error) { return copy(b, large), nil }), -1)
	case "slow":
		time.Sleep(20 * time.Millisecond)
	case "silent":
		time.Sleep(250 * time.Millisecond)
	case "close":
		c := ctx.Conn()
		_ = c.Close()
	case "broken":
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhalf of it")
		})
	default:
		ctx.SetBodyString("done")
	}
}

func TestNothingIsLeftOfAStormOfEveryKindOfEnd(t *testing.T) {
	text := stormText + changed(t, basic,
		`access = "all"`, `access = "sampled"`,
		"name = \"shared\"\nseats = 2", "name = \"shared\"\nseats = 10\nlong_ceiling = 0.9\nmax_waiting = 6\nmax_flow_share = 0.5",
		"rules = [ {", "rules = [ { route = \"open\", semantic = \"chat\", max_in_flight = 1, over_in_flight = \"reject\" }, {",
		`max_wait = "2s"`, `max_wait = "100ms"`, `max_wait = "60s"`, `max_wait = "200ms"`, `timeout = "10s"`, "timeout = \"150ms\"\nstall_timeout = \"150ms\"")
	s := &storm{w: newSocketWorld(t, text, stormUpstream)}
	w := s.w
	rounds := 40 // of each kind
	if raceEnabled {
		rounds = 12
	}
	order := rand.New(rand.NewPCG(41, 41)).Perm(rounds * len(stormKinds))
	next := make(chan int)
	var clients sync.WaitGroup
	for range 24 {
		clients.Go(func() {
			for i := range next {
				c, err := w.connect()
				if err != nil {
					t.Error(err)
					return
				}
				kind := i % len(stormKinds)
				stormKinds[kind].act(s, c, []string{"ann", "ann", "bob", "vip"}[i/len(stormKinds)%4])
				_ = c.conn.Close()
			}
		})
	}
	for _, i := range order {
		next <- i
	}
	close(next)
	clients.Wait()
	until(t, "every connection to be closed", func() bool { return w.g.edge.connections() == 0 })
	w.idle()

	total := 0
	for o := range outcome(outcomes) {
		n := w.ends(o)
		t.Logf("%6d ended as %s; %d were seen to", n, o, s.answered[o].Load())
		total += n
		if n < int(s.answered[o].Load()) {
			t.Errorf("%d were told so, and %d counted as %s", s.answered[o].Load(), n, o)
		}
		if n == 0 && o != outcomeInternal || n > 0 && o == outcomeInternal {
			t.Errorf("%d ended as %s", n, o)
		}
	}
	// Not counted are those that were gone before their header was read; counted besides, what is no HTTP or no header.
	if most := int(s.sent.Load()) + 2*rounds; total > most || total < most-8*rounds {
		t.Errorf("%d ends of %d requests", total, most)
	}
	w.allGaugesAreZero()
	if lines := w.log.lines("panic"); len(lines) > 0 {
		t.Errorf("%s", lines[0])
	}

	// And everything is there for those who come now.
	for range 3 {
		for _, key := range []string{"ann", "bob", "vip"} {
			if a := w.do("GET /v1/chat/x", "X-API-Key: "+key, "X-Max-Wait: 0"); a.status != 200 {
				t.Errorf("%s afterwards: %d %s", key, a.status, a.body)
			}
		}
	}
}

// standing are the gauges that say what is there, not what is under way.
var standing = map[string]bool{
	"tidegate_pool_seats": true, "tidegate_flows": true, "tidegate_build_info": true, "tidegate_upstream_healthy": true, "tidegate_availability": true,
	"tidegate_config_last_reload_successful": true, "tidegate_config_last_reload_success_timestamp_seconds": true,
}

// allGaugesAreZero looks at every gauge of the metrics, and at whatever else counts what is under way.
func (w *socketWorld) allGaugesAreZero() {
	w.t.Helper()
	var b bytes.Buffer
	w.g.telemetry.WriteMetrics(&b)
	kind, looked := "", 0
	for line := range strings.Lines(b.String()) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			_, kind, _ = strings.Cut(strings.TrimSpace(rest), " ")
			continue
		}
		name, _, _ := strings.Cut(line, "{")
		name, _, _ = strings.Cut(name, " ")
		if kind != "gauge" || !strings.HasPrefix(name, "tidegate_") || standing[name] {
			continue
		}
		looked++
		if !strings.HasSuffix(strings.TrimSpace(line), " 0") {
			w.t.Errorf("nothing is under way: %s", line)
		}
	}
	if looked < 5 {
		w.t.Errorf("%d gauges looked at:\n%s", looked, b.String())
	}
	s := w.snapshot()
	for _, l := range s.Levels {
		if l.Waiting != 0 || l.OldestWaitMS != 0 {
			w.t.Errorf("%+v", l)
		}
	}
	for _, f := range s.Flows {
		if f.InFlight != 0 || f.Waiting != 0 {
			w.t.Errorf("%+v", f)
		}
	}
	for _, u := range w.g.live.Load().upstreams {
		for _, target := range u.Targets() {
			if target.InFlight != 0 {
				w.t.Errorf("%+v", target)
			}
		}
	}
}
