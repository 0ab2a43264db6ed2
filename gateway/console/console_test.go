package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"tidegate/gateway/config"
)

// desk is a console with everything it shows under the test's hand.
type desk struct {
	*Console
	asked    int // for a snapshot
	snapshot *Snapshot
	ready    bool
	logged   *observer.ObservedLogs
	control  *files

	explainQuery  ExplainQuery
	flowsQuery    FlowsQuery
	refusalsQuery RefusalsQuery
	queueLimit    int
	callersQuery  CallersQuery
	historyQuery  HistoryQuery
	auditQuery    AuditQuery

	mu      sync.Mutex
	audited []AuditEntry
	decided []string // caller, semantic, decision
	tested  Change   // by whom the webhook was
}

func newDesk(listen string, tokens ...config.Token) *desk {
	core, logged := observer.New(zapcore.DebugLevel)
	d := &desk{snapshot: &Snapshot{Version: "v1"}, ready: true, logged: logged, control: newFiles()}
	d.Console = New(Options{
		Tokens:  tokens,
		Listen:  listen,
		Gateway: "127.0.0.1:8080",
		Snapshot: func() *Snapshot {
			d.asked++
			return d.snapshot
		},
		Ready:        func() (bool, string) { return d.ready, "draining" },
		WriteMetrics: func(w io.Writer) { fmt.Fprint(w, "tidegate_flows 3\n") },
		Log:          zap.New(core),
		Explain: func(q ExplainQuery) (any, error) {
			d.explainQuery = q
			if q.Caller == "nobody" {
				return nil, errors.New(`there is no caller "nobody"`)
			}
			return map[string]any{"caller": q.Caller, "rule": "free/*/chat", "overrides": []string{}}, nil
		},
		Flows: func(q FlowsQuery) (FlowsPage, error) {
			d.flowsQuery = q
			if q.Cursor == "old" {
				return FlowsPage{}, errors.New("cursor = \"old\": the list has changed; begin again without one")
			}
			s := busy()
			return FlowsPage{Time: s.Time, Total: s.FlowsTotal, Flows: s.Flows, Next: "c2"}, nil
		},
		Refusals: func(q RefusalsQuery) []RefusalView {
			d.refusalsQuery = q
			return busy().Refusals
		},
		Queue: func(limit int) *QueueView {
			d.queueLimit = limit
			return queued()
		},
		Control: d.control,
		Redact:  config.RedactHashes,
	})
	d.furnish()
	return d
}

func tokenOf(secret, role string) config.Token {
	sum := sha256.Sum256([]byte(secret))
	return config.Token{Name: role, Role: role, SHA256: hex.EncodeToString(sum[:])}
}

// request is one request to the console; headers are "Name: value".
type request struct {
	method  string // GET
	path    string
	host    string // localhost:8081
	from    string // 127.0.0.1
	local   string // 127.0.0.1
	headers []string
	body    string
}

func (d *desk) ask(r request) *fasthttp.Response {
	or := func(value, otherwise string) string {
		if value == "" {
			return otherwise
		}
		return value
	}
	var req fasthttp.Request
	req.Header.SetMethod(or(r.method, "GET"))
	req.SetRequestURI(r.path)
	req.Header.SetHost(or(r.host, "localhost:8081"))
	for _, h := range r.headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	req.SetBodyString(r.body)
	var ctx fasthttp.RequestCtx
	ctx.Init2(between{
		local:  &net.TCPAddr{IP: net.ParseIP(or(r.local, "127.0.0.1")), Port: 8081},
		remote: &net.TCPAddr{IP: net.ParseIP(or(r.from, "127.0.0.1")), Port: 40000},
	}, nil, false)
	req.CopyTo(&ctx.Request)
	d.Handler(&ctx)
	var answer fasthttp.Response
	ctx.Response.CopyTo(&answer)
	if ctx.Response.IsBodyStream() {
		_ = ctx.Response.CloseBodyStream() // nobody reads it
	}
	return &answer
}

// between is a connection of which only the ends are asked for.
type between struct {
	net.Conn
	local, remote net.Addr
}

func (b between) LocalAddr() net.Addr  { return b.local }
func (b between) RemoteAddr() net.Addr { return b.remote }

// code is the answer's status, with the problem's code where it is one.
func code(t *testing.T, answer *fasthttp.Response) string {
	t.Helper()
	status := fmt.Sprint(answer.StatusCode())
	if string(answer.Header.ContentType()) != "application/problem+json" {
		return status
	}
	var p problem
	if err := json.Unmarshal(answer.Body(), &p); err != nil {
		t.Fatalf("problem %q: %v", answer.Body(), err)
	}
	if p.Status != answer.StatusCode() || p.Title == "" || p.Detail == "" || p.Type != "urn:tidegate:problem:"+p.Code {
		t.Errorf("problem is not whole: %q", answer.Body())
	}
	return status + " " + p.Code
}

func TestProbesAreOpenToAll(t *testing.T) {
	d := newDesk("0.0.0.0:8081", tokenOf("s3cret", "owner"))
	stranger := request{host: "balancer.example", headers: []string{"Sec-Fetch-Site: cross-site"}}
	for _, method := range []string{"GET", "HEAD"} {
		stranger.method = method
		stranger.path = "/healthz"
		if got := code(t, d.ask(stranger)); got != "200" {
			t.Errorf("%s /healthz = %s", method, got)
		}
		stranger.path = "/readyz"
		d.ready = true
		if got := code(t, d.ask(stranger)); got != "200" {
			t.Errorf("%s /readyz = %s when ready", method, got)
		}
		d.ready = false
		answer := d.ask(stranger)
		if got := code(t, answer); got != "503" || !strings.Contains(string(answer.Body()), "draining") {
			t.Errorf("%s /readyz = %s %q when draining", method, got, answer.Body())
		}
	}
	stranger.method = "POST"
	if got := code(t, d.ask(stranger)); got != "403 host_forbidden" {
		t.Errorf("POST /readyz = %s", got)
	}
}

func TestPathsOnALoopbackListenerWithoutTokens(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	for _, c := range []struct{ path, want, contentType string }{
		{"/", "200", "text/html; charset=utf-8"},
		{"/live/live.css", "200", "text/css; charset=utf-8"},
		{"/live/js/main.js", "200", "text/javascript; charset=utf-8"},
		{"/metrics", "200", "text/plain; version=0.0.4; charset=utf-8"},
		{"/api/v1/snapshot", "200", "application/json"},
		{"/debug/pprof", "302", ""},
		{"/debug/pprof/", "200", ""},
		{"/debug/pprof/goroutine?debug=1", "200", ""},
		{"/debug/pprof/profile?seconds=121", "400 bad_request", ""},
		{"/debug/pprof/profile?seconds=-1", "400 bad_request", ""},
		{"/debug/pprof/trace?seconds=99999999999999999999", "400 bad_request", ""},
		{"/nothing", "404 not_found", "application/problem+json"},
		{"/api/v1/confi", "404 not_found", ""},
		{"/debug/pprofx", "404 not_found", ""},
		{"/api/v1/snapshot/", "404 not_found", ""},
	} {
		answer := d.ask(request{path: c.path})
		if got := code(t, answer); got != c.want {
			t.Errorf("GET %s = %s, want %s", c.path, got, c.want)
		}
		if got := string(answer.Header.ContentType()); c.contentType != "" && got != c.contentType {
			t.Errorf("GET %s is %s, want %s", c.path, got, c.contentType)
		}
	}
	if got := string(d.ask(request{path: "/metrics"}).Body()); got != "tidegate_flows 3\n" {
		t.Errorf("/metrics = %q", got)
	}
}

func TestEveryAnswerHasTheSecurityHeaders(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	for _, r := range []request{
		{path: "/"},
		{path: "/live/live.css"},
		{path: "/live/nothing"},
		{path: "/api/v1/session"},
		{path: documentPath},
		{path: "/metrics"},
		{path: "/healthz"},
		{path: "/readyz"},
		{path: "/api/v1/snapshot"},
		{path: "/debug/pprof/"},
		{path: "/debug/pprof/heap"},
		{path: "/nothing"},
		{path: "/", host: "evil.example"},
		{path: "/", method: "PUT"},
	} {
		h := &d.ask(r).Header
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff",
			"Referrer-Policy":        "no-referrer",
			"X-Frame-Options":        "DENY",
		} {
			if got := string(h.Peek(name)); got != want {
				t.Errorf("%+v: %s = %q, want %q", r, name, got, want)
			}
		}
		cache := "no-store"
		if h.Peek("ETag") != nil {
			cache = "no-cache"
		}
		if got := string(h.Peek("Cache-Control")); got != cache {
			t.Errorf("%+v: Cache-Control = %q, want %q", r, got, cache)
		}
		policy := string(h.Peek("Content-Security-Policy"))
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%+v: policy %q", r, policy)
		}
		if got := h.Peek("Access-Control-Allow-Origin"); got != nil {
			t.Errorf("%+v: lets %q read", r, got)
		}
	}
}

func TestWritesNeedATypeThatNoFormCanSend(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	for _, c := range []struct{ method, path, contentType, want string }{
		{"POST", "/", "", "415 unsupported_media_type"},
		{"POST", "/", "application/x-www-form-urlencoded", "415 unsupported_media_type"},
		{"POST", "/", "text/plain; application/json", "415 unsupported_media_type"},
		{"DELETE", "/nothing", "", "415 unsupported_media_type"},
		{"POST", "/api/v1/reload", "multipart/form-data; boundary=application/json", "415 unsupported_media_type"},
		{"OPTIONS", "/", "", "415 unsupported_media_type"},
		{"POST", "/", "application/json", "405 method_not_allowed"},
		{"PUT", "/api/v1/snapshot", "Application/TOML ; charset=utf-8", "405 method_not_allowed"},
		{"PUT", "/healthz", "application/json", "405 method_not_allowed"},
		{"PUT", "/nothing", "application/toml", "404 not_found"},
	} {
		r := request{method: c.method, path: c.path, body: "{}"}
		if c.contentType != "" {
			r.headers = []string{"Content-Type: " + c.contentType}
		}
		answer := d.ask(r)
		if got := code(t, answer); got != c.want {
			t.Errorf("%s %s as %q = %s, want %s", c.method, c.path, c.contentType, got, c.want)
		}
		if allow := string(answer.Header.Peek("Allow")); strings.HasPrefix(c.want, "405") && allow != "GET, HEAD" {
			t.Errorf("%s %s allows %q", c.method, c.path, allow)
		}
	}
}

func TestSnapshotIsAskedForAtMostEvery100ms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("127.0.0.1:8081")
		look := func(path string, asked int) {
			t.Helper()
			if got := code(t, d.ask(request{path: path})); got != "200" {
				t.Fatalf("GET %s = %s", path, got)
			}
			if d.asked != asked {
				t.Errorf("asked %d times, want %d", d.asked, asked)
			}
		}
		look("/api/v1/snapshot", 1)
		look("/api/v1/snapshot", 1)
		time.Sleep(99 * time.Millisecond)
		look("/api/v1/snapshot", 1)
		time.Sleep(time.Millisecond)
		look("/", 1) // the page has no part of it
		look("/api/v1/snapshot", 2)
	})
}

func TestWithoutASnapshotTheConsoleSaysSo(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.snapshot = nil
	for _, path := range []string{"/api/v1/snapshot"} {
		answer := d.ask(request{path: path})
		if got := code(t, answer); got != "503 no_snapshot" || string(answer.Header.Peek("Retry-After")) != "1" {
			t.Errorf("GET %s = %s", path, got)
		}
	}
	d.snapshot = &Snapshot{}
	if got := code(t, d.ask(request{path: "/api/v1/snapshot"})); got != "200" {
		t.Errorf("once there is one: %s", got)
	}
}

func TestServesAndShutsDown(t *testing.T) {
	d := newDesk("127.0.0.1:0")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- d.Serve(ln) }()

	exchange := func(raw string) string {
		t.Helper()
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, raw); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	answer := exchange("GET /healthz HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(answer, "ok\n") || strings.Contains(answer, "Server:") {
		t.Errorf("answer %q", answer)
	}
	// A secret in what cannot be parsed comes back neither in the answer nor in the log.
	answer = exchange("GET /api/v1/snapshot HTTP/1.1\r\nAuthorization Bearer s3cret\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, "nosniff") || strings.Contains(answer, "s3cret") {
		t.Errorf("malformed: %q", answer)
	}
	if _, ok := d.server.Logger.(silent); !ok || d.logged.Len() != 0 {
		t.Errorf("%d lines of what was sent, logger %T", d.logged.Len(), d.server.Logger)
	}
	if err := d.Shutdown(); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}
