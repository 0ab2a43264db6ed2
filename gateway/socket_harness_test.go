package gateway

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// socketWorld is a whole gateway in real time: clients, gateway and upstream meet over loopback sockets, whose
// buffers, resets and half-closed ends no in-memory connection has. What is waited for is an event; the bound
// only ends a test that has failed.
type socketWorld struct {
	*world
	addr string // where clients connect
}

const socketBound = 30 * time.Second

// newSocketWorld starts a gateway before an upstream that a test writes. The text's http://api is that upstream.
func newSocketWorld(t *testing.T, text string, upstream fasthttp.RequestHandler) *socketWorld {
	t.Helper()
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	up := &fasthttp.Server{
		NoDefaultDate: true, NoDefaultServerHeader: true, StreamRequestBody: true, Logger: quiet{}, Handler: upstream,
		CloseOnShutdown: true, Concurrency: 1 << 16,
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = up.Serve(target)
	}()

	w := &socketWorld{world: &world{t: t, log: &logBuffer{}, ended: make(chan error, 1)}}
	encoder := zap.NewProductionEncoderConfig()
	encoder.MessageKey = "event"
	started := make(chan net.Addr, 1)
	w.g, err = New(configOf(t, strings.ReplaceAll(text, "http://api", "http://"+target.Addr().String())), Options{
		Version: "test", NoDate: true,
		Log:     zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(encoder), w.log, zap.DebugLevel)),
		Listen:  func(string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
		Started: func(data, _ net.Addr) { started <- data },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	go func() { w.ended <- w.g.Run(ctx) }()
	w.addr = (<-started).String()
	t.Cleanup(func() {
		cancel()
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
		_ = target.Close()
		<-served
	})
	return w
}

// until waits for something to be so.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for start := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(start) > socketBound {
			t.Fatalf("%s: not within %v", what, socketBound)
		}
	}
}

// client connects.
func (w *socketWorld) client() *visitor {
	w.t.Helper()
	c, err := w.connect()
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *socketWorld) connect() (*visitor, error) {
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(socketBound))
	return &visitor{w: w.world, conn: c, br: bufio.NewReader(c)}, nil
}

// do sends one request on a connection of its own.
func (w *socketWorld) do(request string, lines ...string) reply {
	c, err := w.connect()
	if err != nil {
		return reply{err: err}
	}
	defer c.conn.Close()
	return c.do(request, lines...)
}

// inUse is how many seats of a pool are taken.
func (w *socketWorld) inUse(pool string) int {
	for _, p := range w.snapshot().Pools {
		if p.Name == pool {
			return p.InUse
		}
	}
	w.t.Fatalf("there is no pool %s", pool)
	return 0
}

// ends is how many requests ended so, of all callers and semantics.
func (w *world) ends(o outcome) (n int) {
	t := w.g.telemetry
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.flows {
		if c := f.outcomes[o].Load(); c != nil {
			n += int(c.Get())
		}
	}
	return n
}

// idle fails unless every seat, place and byte comes back.
func (w *socketWorld) idle() {
	w.t.Helper()
	until(w.t, "all requests to end", func() bool { return w.g.active.Load() == 0 })
	// Nothing is under way, so nothing may be held either.
	for _, p := range w.snapshot().Pools {
		if p.InUse != 0 || p.Waiting != 0 || p.Committed != 0 || p.Excess != 0 || p.Surge != 0 {
			w.t.Errorf("all requests have ended, and pool %s has %+v", p.Name, p)
		}
	}
	if n := w.g.bodies.held.Load(); n != 0 {
		w.t.Errorf("%d bytes of bodies are still held", n)
	}
}
