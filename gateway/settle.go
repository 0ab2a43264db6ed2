package gateway

import (
	"net/netip"
	"time"

	"tidegate/gateway/console"
	"tidegate/gateway/upstream"
	"tidegate/scheduler"
)

// settle counts a request's end and logs it, whichever way it ended.
func (x *exchange) settle() {
	now := time.Now()
	series := x.g.nobody
	switch {
	case x.data != nil:
		series = x.data.series
	case x.rule != nil: // refused between the two: rare enough to be looked up
		series = x.g.telemetry.flow(x.caller.ID, x.semantic.Name)
	}
	series.done(x.outcome, now.Sub(x.start))
	if x.code != CodeNone {
		series.refused(x.code.String())
		x.g.keepRefusal(x, now)
	}
	if x.item.Breach() {
		series.brokePromise()
		x.g.breaches.Add(1)
	}
	if x.item.OnTime && !x.item.CutShort() {
		x.g.available.settled(x.outcome)
	}
	if x.outcome == outcomeRefused && x.caller != nil {
		x.g.alerts.vips.refused(x)
	}
	if x.outcome == outcomeRefused && x.data != nil {
		x.data.refused.Add(1)
	}
	if r := x.g.recorder.Load(); r != nil && x.route != deskRoute {
		x.record(r)
	}
	if x.g.access.wants(x.outcome, now) {
		x.log(now)
	}
}

func (x *exchange) log(now time.Time) {
	h := &x.ctx.Request.Header
	e := accessEntry{
		RequestID: string(x.requestID()), ClientRequestID: string(x.ownID), Key: x.keyHash, Tenant: string(x.tenant),
		Method: string(h.Method()), Path: string(x.path), Status: x.ctx.Response.StatusCode(), Outcome: x.outcome,
		Total: now.Sub(x.start), Seat: time.Duration(x.seatTime.Load()), Queue: x.item.Waited,
		Bytes: x.result.Bytes, Target: x.result.Target,
	}
	if x.trace != (traceContext{}) {
		e.TraceID = string(x.trace.trace[:])
	}
	if x.client.IsValid() {
		e.Remote = x.client.String()
	}
	if x.caller != nil {
		e.Caller = x.caller.ID
	}
	if x.route != nil {
		e.Route = x.route.Name
	}
	if x.rule != nil {
		e.Semantic, e.Rule = x.semantic.Name, x.rule.ID
	}
	if x.code != CodeNone {
		e.Code, e.Status = x.code.String(), x.code.Status()
	}
	if x.item.Verdict == scheduler.Granted {
		e.Band = x.item.Band.String()
	}
	if x.result.Reason != upstream.ReasonNone {
		e.Reason = x.result.Reason.String()
	} else if x.code == CodeBadRequest {
		e.Reason = x.refusal.Detail
	}
	x.g.access.write(&e)
}

// turnedAway counts and logs a connection too many as one refused request: it was refused like any
// other, though nothing of it was read.
func (g *Gateway) turnedAway(id string, peer netip.Addr) {
	now := time.Now()
	g.nobody.done(outcomeRefused, 0)
	g.nobody.refused(CodeQueueFull.String())
	g.refusals.add(console.RefusalView{Time: now, RequestID: id, Code: CodeQueueFull.String(), RetryAfterMS: defaultRetry.Milliseconds()})
	if g.access.wants(outcomeRefused, now) {
		e := accessEntry{RequestID: id, Status: CodeQueueFull.Status(), Outcome: outcomeRefused, Code: CodeQueueFull.String(), Reason: "server.max_connections"}
		if peer.IsValid() {
			e.Remote = peer.String()
		}
		g.access.write(&e)
	}
}

// keepRefusal puts a refusal among those that can be looked up.
func (g *Gateway) keepRefusal(x *exchange, now time.Time) {
	v := console.RefusalView{
		Time: now, RequestID: x.refusal.RequestID, Code: x.code.String(),
		WaitedMS: x.item.Waited.Milliseconds(),
	}
	if after, ok := x.refusal.retryAfter(isSafe(&x.ctx.Request.Header)); ok {
		v.RetryAfterMS = wholeMillis(after)
	}
	if x.caller != nil {
		v.Caller = x.caller.ID
	}
	if x.route != nil {
		v.Route = x.route.Name
	}
	if x.rule != nil {
		v.Semantic, v.Rule, v.RuleAt, v.Version = x.semantic.Name, x.rule.ID, x.rule.At, x.live.version
	}
	if it := &x.item; x.data != nil && it.Verdict != scheduler.Waiting {
		v.Tenant, v.Band, v.WithinRate, v.Place = x.data.tenant, it.Band.String(), it.OnTime, it.Place
		v.EstimateMS, v.MaxWaitMS = estimateMillis(it.Estimate), it.MaxWait.Milliseconds()
		decidedBy(&v, &it.Quota, &it.Load)
	}
	g.refusals.add(v)
}
