package flat

import (
	"context"
	"io"
	"log"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// ReadyPath answers 200 of the proxy itself, and does not count.
const ReadyPath = "/loadtest/ready"

// maxConns to the upstream: more than the limit can ever have out.
const maxConns = 20000

// New is the proxy: what the limit lets pass is forwarded at once, everything else is answered 429 with a
// Retry-After of one second. dial reaches the upstream.
func New(limit *Limit, dial fasthttp.DialFunc) *fasthttp.Server {
	client := &fasthttp.HostClient{
		Addr: "upstream", Dial: dial, MaxConns: maxConns, MaxIdleConnDuration: time.Minute,
		MaxIdemponentCallAttempts: 1, NoDefaultUserAgentHeader: true, DisableHeaderNamesNormalizing: true,
	}
	return &fasthttp.Server{
		Name: "flat", NoDefaultDate: true, IdleTimeout: 5 * time.Minute, CloseOnShutdown: true,
		Logger: log.New(io.Discard, "", 0), // of clients that left
		Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == ReadyPath {
				return
			}
			if !limit.Allow(time.Now()) {
				ctx.Response.Header.Set("Retry-After", "1")
				ctx.SetStatusCode(fasthttp.StatusTooManyRequests)
				return
			}
			answer := fasthttp.AcquireResponse()
			defer fasthttp.ReleaseResponse(answer)
			if err := client.Do(&ctx.Request, answer); err != nil {
				ctx.SetStatusCode(fasthttp.StatusBadGateway)
				return
			}
			ctx.SetStatusCode(answer.StatusCode())
			ctx.SetContentTypeBytes(answer.Header.ContentType())
			ctx.SetBody(answer.Body())
		},
	}
}

// Serve runs the proxy on an address until ctx is done or the listener fails. What is in flight then is cut.
func Serve(ctx context.Context, address, upstream string, qps int) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer listener.Close()
	dial := func(string) (net.Conn, error) { return net.DialTimeout("tcp", upstream, 5*time.Second) }
	failed := make(chan error, 1)
	go func() { failed <- New(NewLimit(qps, time.Now()), dial).Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}
