package gateway

import (
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/policy"
	"tidegate/scheduler"
)

// handle is a request's way:
//
//	identify -> meter -> judge -> admit -> forward -> settle
//
// Each stage goes on or has answered. Judge has no call of its own: the detector works beside the
// way on what meter has counted, and what it found stands with the flow that admit asks.
// Settle comes from the upstream, when the last byte has been read or written; see exchange.
func (g *Gateway) handle(ctx *fasthttp.RequestCtx) {
	x := g.begin(ctx)
	defer x.leave()
	if x.identify() && x.meter() && x.admit() {
		x.forward()
	}
}

// identify finds out from the header alone whose request it is, for what and under which rule.
func (x *exchange) identify() bool {
	h := &x.ctx.Request.Header
	switch {
	case !x.readFields(h) || !x.readPath(h):
		return x.refuse(CodeBadRequest)
	case x.g.draining.Load():
		return x.refuse(CodeDraining)
	}
	if ok, wait := x.g.addresses.take(x.start, x.client); !ok {
		if !x.live.observe {
			x.refusal.RetryAfter = wait
			return x.refuse(CodeAddressLimited)
		}
		x.g.wouldBe(x.g.nobody, CodeAddressLimited.String())
	}
	if len(x.path) > 1 && x.path[1] == '.' && isDesk(x.path) {
		return x.callerDesk()
	}
	if x.route = x.live.policy.Match(h.Host(), h.Method(), x.path); x.route == nil {
		return x.refuse(CodeRouteUnknown)
	}
	if code := x.findCaller(); code != CodeNone {
		return x.refuse(code)
	}
	if code := x.findTenant(); code != CodeNone {
		return x.refuse(code)
	}
	x.semantic = x.live.policy.SemanticFor(x.route, x.caller, x.tag, x.g.registry)
	x.rule = x.live.policy.Choose(x.caller, x.route, x.semantic)
	if declaredTooLarge(x.ctx, x.live.body.max) {
		return x.refuse(CodeBodyTooLarge)
	}
	return true
}

// meter counts the request with its flow.
func (x *exchange) meter() bool {
	x.flow = x.g.scheduler.Meter(x.start, x.key(), x.caller.Terms(x.rule))
	x.data = x.g.dataOf(x)
	x.ruleFields() // what would be refused is told with its rule, maybe before anything of the flow was answered
	x.g.count(x.data)
	return true
}

// admit reads a body that fits, and brings the request to a seat, through a wait if need be.
func (x *exchange) admit() bool {
	now := x.start
	it := &x.item
	it.Flow, it.Bytes, it.MaxWait, it.Name = x.flow, requestOverhead, x.rule.MaxWait, x.requestID()
	if length := declaredLength(x.ctx); length != 0 {
		if length <= x.live.body.buffer { // a larger one waits at the client
			it.Bytes += max(length, 0)
		}
		// A full queue is told before the body is read, rate and wait after it.
		if x.g.scheduler.Full(now, it) {
			return x.refuse(CodeQueueFull)
		}
		result, held := readBody(x.ctx, x.live.body)
		switch {
		case result == bodyGone:
			return x.gone()
		case result == bodyNoMemory:
			it.Verdict = scheduler.QueueFull
		}
		if code := result.code(); code != CodeNone {
			return x.refuse(code)
		}
		it.Bytes = requestOverhead + held
		now = time.Now()
	}
	// Where the rule only observes, the request's own bound is the one there is.
	if x.maxWait >= 0 && (x.maxWait < it.MaxWait || x.rule.Observe) {
		it.MaxWait, it.OwnWait = x.maxWait, true
	}
	verdict := x.g.scheduler.Arrive(now, it)
	if verdict == scheduler.Waiting {
		verdict = x.g.scheduler.Wait(it, watchHangup(x.ctx.Conn()))
		x.waited = true
		x.countWait()
	}
	switch verdict {
	case scheduler.Granted:
		x.holds.Store(true)
		x.data.grant(it)
		return true
	case scheduler.Gone:
		return x.gone()
	}
	return x.refuse(codeOf(verdict))
}

const requestOverhead = policy.RequestOverhead

func codeOf(v scheduler.Verdict) Code {
	return [...]Code{
		scheduler.RateExceeded: CodeRateExceeded, scheduler.WaitTooLong: CodeWaitTooLong,
		scheduler.WaitExpired: CodeWaitExpired, scheduler.QueueFull: CodeQueueFull,
		scheduler.Displaced: CodeDisplaced, scheduler.TooManyInFlight: CodeTooManyInFlight,
		scheduler.Draining: CodeDraining,
	}[v]
}

// forward hands the request to its upstream, which settles it.
func (x *exchange) forward() {
	x.dress(&x.ctx.Request.Header)
	x.forwarded = true
	up := x.live.behind[x.route.Index]
	res, answered := up.Forward(x.ctx, x, &x.head)
	if answered {
		if !x.plain {
			x.label(&x.ctx.Response.Header)
		}
		return
	}
	x.answerFailure(res)
}
