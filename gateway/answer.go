package gateway

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/octets"
	"tidegate/gateway/upstream"
	"tidegate/scheduler"
)

// refuse answers with a code and ends the request's way: it always says false.
func (x *exchange) refuse(code Code) bool {
	x.code = code
	x.outcome = outcomeRefused
	switch code {
	case CodeBodySlow, CodeBodyTooLarge:
		x.outcome = outcomeBodyError
	}
	x.writeRefusal(code)
	x.unpin()
	return false
}

// statusGone is what logs say of a client that closed its request; nobody reads it as an answer.
const statusGone = 499

// gone ends the way of a request whose caller hung up; there is nobody to answer.
func (x *exchange) gone() bool {
	x.outcome = outcomeGone
	x.unpin()
	x.ctx.Response.Header.SetConnectionClose()
	x.ctx.SetStatusCode(statusGone)
	return false
}

// answerFailure answers a request that got a seat and no answer from its upstream.
func (x *exchange) answerFailure(res upstream.Result) {
	code := CodeUpstreamError
	switch res.Outcome {
	case upstream.UpstreamTimeout:
		code = CodeUpstreamTimeout
	case upstream.NoUpstream:
		code = CodeNoUpstream
	case upstream.BodyError:
		if code = bodyFailure(x.ctx).code(); code == CodeNone {
			code = CodeBadRequest
			if res.Reason == upstream.ReasonBodySlow {
				code = CodeBodySlow
			}
		}
	}
	x.code = code
	x.writeRefusal(code)
}

// writeRefusal writes the refusal with all that is known.
func (x *exchange) writeRefusal(code Code) {
	r := &x.refusal
	r.Code = code
	r.RequestID = string(x.requestID())
	seed := uint64(0)
	if x.caller != nil {
		r.Caller = x.caller.ID
		seed = uint64(x.caller.Index)
		if x.caller.Anonymous {
			seed = addressSeed(x.client)
		} else if code.Status() == fasthttp.StatusTooManyRequests {
			r.OffPeak = x.live.offPeak() // how busy the platform is, is nobody else's business
		}
	} else {
		seed = addressSeed(x.client)
	}
	if x.rule != nil {
		r.Semantic, r.Rule, r.Message = x.semantic.Name, x.rule.ID, x.rule.Message
		if code.Status() != fasthttp.StatusTooManyRequests {
			r.Message = "" // the rule's words are about its limits
		}
	}
	if x.item.Verdict != scheduler.Waiting && x.flow != nil {
		q := x.item.Quota
		if q.Limit == 0 {
			q = x.g.scheduler.Quota(x.start, x.flow)
			x.item.Quota = q
		}
		r.Limit, r.Remaining, r.HasLimit = q.Limit, q.Remaining, true
		if code != CodeDraining { // how fast this gateway's queue moved says nothing of the next one's
			r.RetryAfter = max(r.RetryAfter, x.item.Back)
		}
		if q.Reset > 0 {
			// RateLimit says it in whole seconds, and Retry-After is never before that.
			r.RetryAfter = max(r.RetryAfter, time.Duration(wholeSeconds(q.Reset))*time.Second)
		}
	}
	r.RetryAfter = spread(seed, r.RetryAfter)
	x.label(&x.ctx.Response.Header)
	writeRefusal(x.ctx, r)
}

// label adds the gateway's own fields to an answer.
func (x *exchange) label(h *fasthttp.ResponseHeader) {
	h.SetBytesV(headerRequestID, x.requestID())
	if x.waited {
		x.scratch = x.appendTiming(x.scratch[:0])
		h.AddBytesV(headerTiming, x.scratch) // beside the upstream's own
	}
	if x.hasQuota() {
		h.SetBytesV(headerPolicy, x.ruleFields().policy)
		x.scratch = x.appendQuota(x.scratch[:0])
		h.SetBytesV(headerRateLimit, x.scratch)
	}
}

func (x *exchange) hasQuota() bool { return x.item.Quota.Limit > 0 && x.data != nil }

func (x *exchange) appendTiming(dst []byte) []byte {
	dst = append(dst, "queue;dur="...)
	return strconv.AppendFloat(dst, float64(x.item.Waited)/float64(time.Millisecond), 'f', 1, 64)
}

func (x *exchange) appendQuota(dst []byte) []byte {
	q := &x.item.Quota
	return appendRateLimit(dst, x.ruleFields().name, q.Remaining, q.Reset)
}

// KeepsOut says that a header of the upstream's answer is replaced by the gateway's own.
func (x *exchange) KeepsOut(name []byte) bool {
	switch len(name) {
	case len(headerRequestID):
		return octets.EqualFold(name, "x-request-id")
	case len(headerRateLimit):
		return octets.EqualFold(name, "ratelimit")
	case len(headerPolicy):
		return octets.EqualFold(name, "ratelimit-policy")
	}
	return false
}

// TakePlain gives the client a plain answer with the gateway's own fields, past the server's own
// serialisation: it says false where the server has a say in the answer's head.
func (x *exchange) TakePlain(a *upstream.PlainAnswer) bool {
	c, ok := x.ctx.Conn().(*clientConn)
	if !ok || x.ctx.Request.Header.ConnectionClose() || x.g.draining.Load() || c.pending.Load() {
		return false
	}
	room := answerBuffers.Get().(*[]byte)
	b := append((*room)[:0], a.StatusLine...)
	b = append(b, a.Lines...)
	b = append(b, headerRequestID+": "...)
	b = append(b, x.requestID()...)
	if x.waited {
		b = append(b, "\r\n"+headerTiming+": "...)
		b = x.appendTiming(b)
	}
	if x.hasQuota() {
		b = append(b, "\r\n"+headerPolicy+": "...)
		b = append(b, x.ruleFields().policy...)
		b = append(b, "\r\n"+headerRateLimit+": "...)
		b = x.appendQuota(b)
	}
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(a.Body)), 10)
	b = append(b, "\r\n\r\n"...)
	*room = append(b, a.Body...)
	x.plain = true
	c.answerWith(room)
	return true
}
