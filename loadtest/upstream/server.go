// Package upstream is the system behind the gateway in a load test: it takes a fixed time for each kind of
// work and counts exactly what is in flight. It does not defend itself; that is the gateway's duty.
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

// New is the server. groups gives callers, as the gateway names them, to groups that are counted apart.
//
// A request is in flight from the call of its handler to just before its answer is written. The gateway
// holds the seat at least that long, so the peak here can never exceed the seats while the gateway keeps
// its word; counted to after the write, a quick gateway could seem to break it.
func New(groups map[string][]string) *fasthttp.Server {
	counter := newCounter(groups)
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
func Serve(ctx context.Context, address string, groups map[string][]string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer listener.Close()
	failed := make(chan error, 1)
	go func() { failed <- New(groups).Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}
