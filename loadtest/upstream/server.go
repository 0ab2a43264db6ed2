// Package upstream is the system behind the gateway in a load test: it takes a fixed time for each kind of
// work and counts exactly what is in flight. It does not defend itself; that is the gateway's duty. By default
// it works on all that comes; with a number of workers it has a capacity that can be overrun.
package upstream

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// The paths and times of the two kinds of work. Everything that is not an export takes a chat's time.
const (
	ExportPrefix = "/v1/reports/"
	ChatTime     = 20 * time.Millisecond
	ExportTime   = 200 * time.Millisecond
)

// StatsPath answers with the Counts as JSON; a request for it is not counted.
const StatsPath = "/loadtest/stats"

// Options are what a scenario decides about the upstream.
type Options struct {
	Groups  map[string][]string // of callers, as the gateway names them, that are counted apart
	Workers int                 // requests that are worked on at a time; 0: all
	Backlog int                 // requests that may wait for a worker; one beyond it is answered 503
}

// New is the server.
//
// A request is in flight, waiting for a worker or not, from the call of its handler to just before its answer is written. The gateway
// holds the seat at least that long, so the peak here can never exceed the seats while the gateway keeps
// its word; counted to after the write, a quick gateway could seem to break it.
func New(o Options) *fasthttp.Server {
	counter := newCounter(o.Groups)
	var pool *workers
	if o.Workers > 0 {
		pool = &workers{free: o.Workers, backlog: o.Backlog}
	}
	chat := []byte(`{"answer":"the tide is coming in"}` + "\n")
	report := []byte(`{"rows":["` + strings.Repeat("0123456789abcdef", 256) + `"]}` + "\n")
	return &fasthttp.Server{
		Name:          "sample",
		NoDefaultDate: true,
		IdleTimeout:   5 * time.Minute,
		Handler: func(ctx *fasthttp.RequestCtx) {
			path := string(ctx.Path())
			ctx.SetContentType("application/json")
			if path == StatsPath {
				json.NewEncoder(ctx).Encode(counter.read())
				return
			}
			h := &ctx.Request.Header
			group := counter.begin(string(h.Peek("X-Tidegate-Caller")), string(h.Peek("X-Tidegate-Semantic")))
			defer counter.end(group)
			if pool != nil {
				if !pool.enter() {
					counter.turnAway()
					ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
					return
				}
				defer pool.leave()
			}
			if strings.HasPrefix(path, ExportPrefix) {
				time.Sleep(ExportTime)
				ctx.SetBody(report)
				return
			}
			time.Sleep(ChatTime)
			ctx.SetBody(chat)
		},
	}
}

// Serve runs the server on an address until ctx is done or the listener fails. What is in flight then is cut.
func Serve(ctx context.Context, address string, o Options) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer listener.Close()
	failed := make(chan error, 1)
	go func() { failed <- New(o).Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}
