package gateway

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

// edge is the data plane's server with the limits of its connections. Safe for concurrent use.
type edge struct {
	server *fasthttp.Server
	limits atomic.Pointer[edgeLimits]
	open   atomic.Int64
	ids    *requestIDs
	refuse func(ctx *fasthttp.RequestCtx, r *Refusal)

	turnedAway func(id string, peer netip.Addr) // a connection too many was refused; nil: nobody is told
}

// edgeLimits bounds connections and headers. It is immutable.
type edgeLimits struct {
	maxConnections int64
	maxHeader      int // bytes
	headerTimeout  time.Duration
	idleTimeout    time.Duration
	writeStall     time.Duration // 0: none
}

// newEdge makes the server that hands requests to handler. What is refused before a handler could see it (a
// malformed, too large or too slow header) goes to refuse, which answers it by writeRefusal and counts it; its
// Refusal is valid during the call. Serve with edge.serve.
//
// Handlers find on ctx a request without a body, until readBody.
func newEdge(c *config.Server, ids *requestIDs, log fasthttp.Logger, handler fasthttp.RequestHandler, refuse func(*fasthttp.RequestCtx, *Refusal)) *edge {
	e := &edge{ids: ids, refuse: refuse}
	e.apply(c)
	e.server = &fasthttp.Server{
		Handler:        handler,
		ErrorHandler:   e.headerFailed,
		HeaderReceived: headerReceived,
		Logger:         log,

		// The listener counts connections and refuses in the gateway's own words; the server's count must
		// never be the narrower one.
		Concurrency:    2*c.MaxConnections + 1024,
		ReadBufferSize: int(c.MaxHeaderBytes), // one header, whole

		// clientConn sets the deadlines: the server's own would be totals.
		ReadTimeout: 0, WriteTimeout: 0, IdleTimeout: 0,

		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true, // headers hold keys
		CloseOnShutdown:              true,
	}
	return e
}

// apply takes new limits: for new connections at once, for others from their next header on. A larger
// max_header_bytes than at the start needs a restart, since the server's buffers have its size.
func (e *edge) apply(c *config.Server) {
	e.limits.Store(&edgeLimits{
		maxConnections: int64(c.MaxConnections),
		maxHeader:      int(c.MaxHeaderBytes),
		headerTimeout:  c.HeaderTimeout.Duration,
		idleTimeout:    c.IdleTimeout.Duration,
		writeStall:     c.WriteStallTimeout.Duration,
	})
}

// serve accepts connections until ln is closed.
func (e *edge) serve(ln net.Listener) error {
	return e.server.Serve(&edgeListener{Listener: ln, edge: e})
}

// connections is the number of open ones.
func (e *edge) connections() int64 { return e.open.Load() }

func (e *edge) connClosed() { e.open.Add(-1) }

// headerReceived hides the body from the server, which would otherwise read its beginning before the handler
// runs, and tell clients to continue that the handler may refuse.
func headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if n := h.ContentLength(); n > 0 || n == bodyChunked {
		h.SetContentLength(0)
		h.Del(fasthttp.HeaderExpect)
	}
	return fasthttp.RequestConfig{}
}

// headerFailed answers a header that could not be served.
func (e *edge) headerFailed(ctx *fasthttp.RequestCtx, err error) {
	r := Refusal{Code: CodeBadRequest}
	var small *fasthttp.ErrSmallBuffer
	if c, ok := ctx.Conn().(*clientConn); ok && c.fault != nil {
		r.Code, r.Detail = c.fault.code, c.fault.why
		ctx.Request.Header.Set(fasthttp.HeaderAcceptLanguage, c.speaks.tag())
	} else if errors.As(err, &small) {
		r.Code = CodeHeadersTooLarge
	}
	r.RequestID = string(e.ids.append(nil))
	ctx.Response.Header.Set("X-Request-Id", r.RequestID)
	e.refuse(ctx, &r)
}
