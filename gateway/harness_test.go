package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// world is a whole gateway in virtual time, with an upstream that a test writes.
type world struct {
	t     *testing.T
	g     *Gateway
	front *fasthttputil.InmemoryListener
	admin *fasthttputil.InmemoryListener
	log   *logBuffer
	state string // directory
	stop  func()
	ended chan error

	target  *fasthttputil.InmemoryListener
	refused atomic.Bool // the upstream takes no connections
	dials   atomic.Int64
	calls   atomic.Int64
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) Sync() error { return nil }

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// lines are those of one event.
func (l *logBuffer) lines(event string) (found []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, `"event":"`+event+`"`) {
			found = append(found, line)
		}
	}
	return found
}

// jsonLog writes all levels.
func jsonLog(to *logBuffer) *zap.Logger {
	encoder := zap.NewProductionEncoderConfig()
	encoder.MessageKey = "event"
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(encoder), to, zap.DebugLevel))
}

func hashOf(key string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(key))) }

// basic is a small platform: one pool of two seats, and one of one for the VIP.
const basic = `
[log]
access = "all"
level = "debug"
[identify]
anonymous = "visitors"
[[levels]]
name = "realtime"
[[levels]]
name = "batch"
[[pools]]
name = "shared"
seats = 2
[[pools]]
name = "vip"
seats = 1
[[semantics]]
name = "chat"
level = "realtime"
rate = "100/s"
max_wait = "2s"
[[semantics]]
name = "export"
level = "batch"
rate = "20/s"
max_wait = "60s"
[[semantics]]
name = "default"
level = "batch"
rate = "2/s"
max_wait = "0s"
over_rate = "reject"
[[plans]]
name = "plain"
rules = [ { semantic = "export", rate = "3/s", over_rate = "reject", message = "Exports are three a second." } ]
[[plans]]
name = "tenants"
count_by = "tenant"
[[upstreams]]
name = "api"
targets = [{ url = "http://api" }]
timeout = "10s"
[[routes]]
name = "chat"
path = "/v1/chat/*"
upstream = "api"
semantics = ["chat"]
[[routes]]
name = "reports"
path = "/v1/reports/*"
upstream = "api"
semantics = ["export"]
[[routes]]
name = "mixed"
path = "/v1/mixed/*"
upstream = "api"
semantics = ["chat", "export"]
[[routes]]
name = "open"
path = "/open/*"
upstream = "api"
semantics = ["chat"]
public = true
[[callers]]
id = "ann"
keys = ["HASH-ann"]
semantics = ["chat", "export"]
[[callers]]
id = "bob"
keys = ["HASH-bob"]
semantics = ["chat"]
[[callers]]
id = "vip"
keys = ["HASH-vip"]
pool = "vip"
semantics = ["chat"]
[[callers]]
id = "off"
keys = ["HASH-off"]
enabled = false
semantics = ["chat"]
[[callers]]
id = "shop"
keys = ["HASH-shop"]
plan = "tenants"
semantics = ["chat"]
[[callers]]
id = "visitors"
semantics = ["chat"]
`

// hashed is a text with each HASH-key replaced by what the config wants of that key.
func hashed(text string) string {
	return regexp.MustCompile(`HASH-[a-z]+`).ReplaceAllStringFunc(text, func(s string) string { return hashOf(s[len("HASH-"):]) })
}

func configOf(t testing.TB, text string) *config.Config {
	t.Helper()
	c, err := config.LoadBytes("config.toml", []byte(hashed(text)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newWorld starts a gateway before an upstream; call it in a bubble. Its clients have no address.
func newWorld(t *testing.T, text string, upstream fasthttp.RequestHandler) *world {
	t.Helper()
	return newWorldBehind(t, "", text, upstream)
}

// newWorldBehind is newWorld with all clients connecting from one IP address.
func newWorldBehind(t *testing.T, peer, text string, upstream fasthttp.RequestHandler) *world {
	t.Helper()
	return startWorld(t, peer, "", text, upstream)
}

// newWorldIn is newWorld with a state directory.
func newWorldIn(t *testing.T, state, text string, upstream fasthttp.RequestHandler) *world {
	t.Helper()
	return startWorld(t, "", state, text, upstream)
}

func startWorld(t *testing.T, peer, state, text string, upstream fasthttp.RequestHandler, more ...func(*Options)) *world {
	t.Helper()
	w := &world{
		t: t, state: state, front: fasthttputil.NewInmemoryListener(), admin: fasthttputil.NewInmemoryListener(), log: &logBuffer{},
		ended: make(chan error, 1), target: fasthttputil.NewInmemoryListener(),
	}
	c := configOf(t, text)
	o := Options{
		Text: []byte(hashed(text)), Version: "test", NoDate: true, State: state,
		Log: jsonLog(w.log),
		Listen: func(addr string) (net.Listener, error) {
			if addr == c.Server.Listen {
				return fromAddress{w.front, net.ParseIP(peer)}, nil
			}
			return w.admin, nil
		},
		Dial: func(addr string, _ time.Duration) (net.Conn, error) {
			if w.refused.Load() {
				return nil, fmt.Errorf("dial %s: connection refused", addr)
			}
			w.dials.Add(1)
			return w.target.Dial()
		},
	}
	for _, change := range more {
		change(&o)
	}
	g, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	w.g = g
	up := &fasthttp.Server{
		NoDefaultDate: true, NoDefaultServerHeader: true, StreamRequestBody: true, Logger: quiet{},
		Handler: func(ctx *fasthttp.RequestCtx) {
			w.calls.Add(1)
			upstream(ctx)
		},
	}
	if upstream != nil { // else the test serves w.target itself
		go func() { _ = up.Serve(w.target) }()
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	go func() { w.ended <- g.Run(ctx) }()
	time.Sleep(time.Millisecond)
	t.Cleanup(func() {
		cancel()
		<-w.ended
		_ = up.Shutdown()
		_ = w.target.Close()
		time.Sleep(2 * time.Minute)
	})
	return w
}

// fromAddress gives connections an address; nil: they have none.
type fromAddress struct {
	net.Listener
	ip net.IP
}

func (l fromAddress) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil || l.ip == nil {
		return c, err
	}
	return addressed{c, l.ip}, nil
}

type addressed struct {
	net.Conn
	ip net.IP
}

func (c addressed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: c.ip, Port: 50000} }

func (w *world) snapshot() *console.Snapshot { return w.g.snapshot() }

// idle fails unless every seat and place is free again.
func (w *world) idle() {
	w.t.Helper()
	synctest.Wait() // the client has the last byte a moment before the gateway is through with the request
	for _, p := range w.snapshot().Pools {
		if p.InUse != 0 || p.Waiting != 0 {
			w.t.Errorf("pool %s: %d in use, %d waiting; want it empty", p.Name, p.InUse, p.Waiting)
		}
	}
	if n := w.g.active.Load(); n != 0 {
		w.t.Errorf("%d requests are still counted as under way", n)
	}
	if n := w.g.bodies.held.Load(); n != 0 {
		w.t.Errorf("%d bytes of bodies are still held", n)
	}
}

// metric is the value of a series, as /metrics shows it.
func (w *world) metric(series string) float64 {
	var b bytes.Buffer
	w.g.telemetry.WriteMetrics(&b)
	for line := range strings.Lines(b.String()) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				w.t.Fatal(err)
			}
			return v
		}
	}
	return 0
}

// mirror answers with what the upstream was sent.
func mirror(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("text/plain")
	fmt.Fprintf(ctx, "%s %s\n", ctx.Method(), ctx.RequestURI())
	for k, v := range ctx.Request.Header.All() {
		fmt.Fprintf(ctx, "%s: %s\n", k, v)
	}
	body := ctx.Request.Body()
	fmt.Fprintf(ctx, "\n%s", body)
}

// slowly answers after a while.
func slowly(d time.Duration) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		time.Sleep(d)
		ctx.SetBodyString("done")
	}
}

// flow is a flow of the snapshot; the zero one if it is not there.
func (w *world) flow(caller, semantic, tenant string) console.FlowView {
	for _, f := range w.snapshot().Flows {
		if f.Caller == caller && f.Semantic == semantic && f.Tenant == tenant {
			return f
		}
	}
	return console.FlowView{}
}
