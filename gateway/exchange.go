package gateway

import (
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"

	"tidegate/gateway/policy"
	"tidegate/gateway/upstream"
	"tidegate/scheduler"
)

// exchange is one request between its arrival and its end. It is used again for others, so nothing
// may keep it; what outlives it is copied.
//
// Everything happens on the goroutine that serves the client, but SeatDone, which may come from the
// one that reads the upstream's answer.
type exchange struct {
	g    *Gateway
	live *live
	ctx  *fasthttp.RequestCtx

	start   time.Time
	id      [maxRequestID]byte
	idLen   int
	ownID   []byte // the client's own request id, where it is not believed; in kept
	client  netip.Addr
	trusted bool // the peer is a trusted proxy
	trace   traceContext

	fields  fieldValues
	path    []byte // normalised
	scratch []byte
	kept    []byte // copies of what the header's bytes said before they moved
	lines   []byte // header lines for the upstream
	head    upstream.Head
	plain   bool // the answer stands ready at the connection
	keyHash [32]byte
	bearer  bool // the Authorization field is a key of ours
	tag     []byte
	maxWait time.Duration // asked for by the request; negative: not
	tenant  []byte        // as counted and passed on, in kept; an anonymous caller's address is not here

	route    *policy.Route
	caller   *policy.Caller
	semantic *policy.Semantic
	rule     *policy.Rule
	flow     *scheduler.Flow
	data     *flowData
	item     scheduler.Item
	waited   bool
	refusal  Refusal

	holds    atomic.Bool  // a seat
	seatTime atomic.Int64 // ns that it was held
	result   upstream.Result
	outcome  outcome
	code     Code

	forwarded bool // the upstream was asked, and ends the request
	left      bool // the handler has returned
	finished  bool // the client has got its answer, or never will
}

const maxRequestID = 128

var exchanges = sync.Pool{New: func() any { return &exchange{scratch: make([]byte, 0, 512)} }}

func (g *Gateway) begin(ctx *fasthttp.RequestCtx) *exchange {
	x := exchanges.Get().(*exchange)
	x.g, x.live, x.ctx = g, g.live.Load(), ctx
	x.start = ctx.Time() // when the header was whole
	if x.start.IsZero() {
		x.start = time.Now() // it never was: what is refused at the edge
	}
	x.maxWait = -1
	peer := peerOf(ctx)
	x.client = peer
	if x.live.proxies.trusts(peer) {
		x.trusted = true
		x.client = x.live.proxies.clientAddress(peer, &ctx.Request.Header)
	}
	g.active.Add(1)
	return x
}

// name gives the request its id: the gateway's own, or the one of a proxy that is believed.
func (x *exchange) name(given []byte) {
	if x.trusted && acceptableRequestID(given) {
		x.idLen = copy(x.id[:], given)
		return
	}
	x.idLen = len(x.g.ids.append(x.id[:0]))
	if acceptableRequestID(given) {
		x.ownID = x.keep(given)
	}
}

// keep copies b to where it stays for the life of the exchange.
func (x *exchange) keep(b []byte) []byte {
	from := len(x.kept)
	x.kept = append(x.kept, b...)
	return x.kept[from:len(x.kept):len(x.kept)]
}

func (x *exchange) requestID() []byte { return x.id[:x.idLen] }

// leave ends the handler's part. A panic on the way is answered and costs nobody else anything.
func (x *exchange) leave() {
	if p := recover(); p != nil {
		x.panicked(p)
	}
	releaseBody(x.ctx)
	if !x.forwarded {
		x.finished = true
	}
	x.left = true
	x.end()
}

func (x *exchange) panicked(p any) {
	x.g.logs.Error("panic", zap.ByteString("request_id", x.requestID()), zap.Any("value", p), zap.ByteString("stack", debug.Stack()))
	if x.holds.Load() {
		x.SeatDone(upstream.Result{Outcome: upstream.UpstreamError})
	} else if x.flow != nil && x.item.Verdict != scheduler.Granted {
		x.unpin()
	}
	x.ctx.Response.ResetBody() // ends an answer that was being streamed, too
	var stale []string
	for name := range x.ctx.Response.Header.All() {
		stale = append(stale, string(name))
	}
	for _, name := range stale {
		x.ctx.Response.Header.Del(name)
	}
	x.outcome, x.code = outcomeInternal, CodeInternal
	x.writeRefusal(CodeInternal)
	x.ctx.Response.Header.SetConnectionClose()
	x.finished = true
}

// SeatDone frees the seat. It is safe to be told twice; the first counts.
func (x *exchange) SeatDone(upstream.Result) {
	if !x.holds.CompareAndSwap(true, false) {
		return
	}
	now := time.Now()
	x.seatTime.Store(int64(x.g.scheduler.Release(now, &x.item)))
}

// Finished takes the end of a request that was forwarded.
func (x *exchange) Finished(res upstream.Result) {
	x.result = res
	x.outcome = outcomeOf(res.Outcome)
	x.finished = true
	x.end()
}

func outcomeOf(o upstream.Outcome) outcome {
	switch o {
	case upstream.Served:
		return outcomeServed
	case upstream.Gone:
		return outcomeGone
	case upstream.UpstreamTimeout:
		return outcomeUpstreamTimeout
	case upstream.BodyError:
		return outcomeBodyError
	}
	return outcomeUpstreamError
}

// unpin lets go of the flow of a request that got no seat.
func (x *exchange) unpin() {
	if x.flow != nil {
		x.g.scheduler.Unpin(x.flow)
		x.flow = nil
	}
}

// end counts and logs the request, and gives the exchange back, once the handler and the answer are
// both through with it.
func (x *exchange) end() {
	if !x.left || !x.finished {
		return
	}
	x.settle()
	x.g.active.Add(-1)
	x.clear()
	exchanges.Put(x)
}

// clear forgets the request, so that nothing of it stays reachable or is taken for the next one's. The
// refusal is large and rare.
func (x *exchange) clear() {
	refused := x.code != CodeNone
	x.g, x.live, x.ctx = nil, nil, nil
	x.ownID, x.path, x.tag, x.tenant = nil, nil, nil, nil
	x.fields.seen = 0 // the values behind it do not count then
	x.client, x.trusted, x.bearer, x.plain, x.waited = netip.Addr{}, false, false, false, false
	x.keyHash, x.trace = [32]byte{}, traceContext{}
	x.route, x.caller, x.semantic, x.rule, x.flow, x.data = nil, nil, nil, nil, nil, nil
	x.item.Reset()
	if refused || x.refusal.Detail != "" {
		x.refusal = Refusal{}
	}
	x.head, x.result = upstream.Head{}, upstream.Result{}
	x.outcome, x.code = outcomeServed, CodeNone
	x.forwarded, x.left, x.finished = false, false, false
	x.seatTime.Store(0)
	x.scratch, x.kept, x.lines = x.scratch[:0], x.kept[:0], x.lines[:0]
}
