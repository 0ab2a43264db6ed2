package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// SampleOptions shape the sample upstream. Zero values mean the defaults given.
type SampleOptions struct {
	Capacity int           // requests in flight up to which latency is constant; 128
	Chat     time.Duration // latency of /v1/chat and of an event of its stream; 20 ms
	Reports  time.Duration // latency of /v1/reports; 200 ms
	Other    time.Duration // latency of everything else; 20 ms
}

const (
	sampleReport = 64 << 10 // bytes of a report
	sampleEvents = 8        // of a stream
)

// Sample is an upstream to try the gateway on, inside the same process and without a port. It is a
// real HTTP server behind real connections: chat answers short JSON, or a stream of events if the
// request accepts text/event-stream or says stream=1; reports answers about 64 KiB; every other path
// short JSON. Above its capacity it slows down as real systems do: with twice as many requests in
// flight each takes twice as long, so its throughput stays where it was. It is safe for concurrent
// use.
type Sample struct {
	opts     SampleOptions
	ln       *fasthttputil.InmemoryListener
	inFlight atomic.Int64
	report   []byte
}

// NewSample makes a sample upstream and starts to serve.
func NewSample(o SampleOptions) *Sample {
	if o.Capacity <= 0 {
		o.Capacity = 128
	}
	for _, d := range []struct {
		latency *time.Duration
		or      time.Duration
	}{{&o.Chat, 20 * time.Millisecond}, {&o.Reports, 200 * time.Millisecond}, {&o.Other, 20 * time.Millisecond}} {
		if *d.latency <= 0 {
			*d.latency = d.or
		}
	}
	s := &Sample{opts: o, ln: fasthttputil.NewInmemoryListener(), report: makeReport()}
	server := &fasthttp.Server{
		Handler:                      s.serve,
		Name:                         "tidegate-sample",
		NoDefaultDate:                true, // fasthttp dates answers from a goroutine that never ends
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
		IdleTimeout:                  time.Minute,
		Logger:                       quiet{},
	}
	go func() { _ = server.Serve(s.ln) }()
	return s
}

// Dial connects to the sample. The error says that it was closed.
func (s *Sample) Dial() (net.Conn, error) { return s.ln.Dial() }

// InFlight is how many requests it works on.
func (s *Sample) InFlight() int { return int(s.inFlight.Load()) }

// Close lets no new connections in. Those that are there serve until the other side closes them.
func (s *Sample) Close() { _ = s.ln.Close() }

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func makeReport() []byte {
	b := append(make([]byte, 0, sampleReport+128), `{"object":"report","rows":[`...)
	for i := 0; len(b) < sampleReport; i++ {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"row":%d,"amount":%d.%02d}`, i, i*37%1000, i*13%100)
	}
	return append(b, "]}\n"...)
}

func (s *Sample) serve(ctx *fasthttp.RequestCtx) {
	s.inFlight.Add(1)
	if ctx.Request.IsBodyStream() {
		_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
	}
	ctx.SetContentType("application/json")
	path := ctx.Path()
	switch {
	case bytes.HasPrefix(path, []byte("/v1/chat")):
		if wantsStream(ctx) {
			s.stream(ctx) // and it leaves when the stream has ended
			return
		}
		s.work(s.opts.Chat)
		ctx.SetBodyString(`{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"Hello from the sample upstream."}}]}` + "\n")
	case bytes.HasPrefix(path, []byte("/v1/reports")):
		s.work(s.opts.Reports)
		ctx.SetBody(s.report)
	default:
		s.work(s.opts.Other)
		quoted, _ := json.Marshal(string(path)) // a string always can be
		ctx.SetBodyString(`{"object":"sample","path":` + string(quoted) + "}\n")
	}
	s.inFlight.Add(-1)
}

func wantsStream(ctx *fasthttp.RequestCtx) bool {
	return bytes.Contains(ctx.Request.Header.Peek("Accept"), eventStream) || string(ctx.QueryArgs().Peek("stream")) == "1"
}

// work takes as long as a request does under the present load.
func (s *Sample) work(d time.Duration) {
	load := float64(s.inFlight.Load()) / float64(s.opts.Capacity)
	time.Sleep(time.Duration(float64(d) * max(1, load)))
}

func (s *Sample) stream(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("text/event-stream")
	ctx.Response.Header.Set("Cache-Control", "no-cache")
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer s.inFlight.Add(-1)
		for i := range sampleEvents {
			s.work(s.opts.Chat)
			fmt.Fprintf(w, "data: {\"object\":\"chat.completion.chunk\",\"index\":%d,\"delta\":\"word%d \"}\n\n", i, i)
			if w.Flush() != nil {
				return // the reader has gone
			}
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
}
