package gateway

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"tidegate/gateway/policy"
	"tidegate/gateway/watch"
	"tidegate/scheduler"
)

// flowData is what the gateway keeps of a flow beside what the scheduler does. Its counters are
// touched by every request; the detector's part belongs to the detector's goroutine.
type flowData struct {
	caller, semantic, route string
	tenant                  string
	flow                    *scheduler.Flow
	series                  *flowSeries

	watch    watch.Flow // counts what arrives, whatever becomes of it
	admitted atomic.Uint64
	refused  atomic.Uint64
	unpaid   atomic.Uint64 // of those admitted, what its rate had not paid
	// Of what is observed: what would have waited, and been refused.
	wouldWait, wouldRefuse atomic.Uint64
	rule                   atomic.Pointer[ruleFields]
	census                 atomic.Pointer[flowCensus] // what the last census said of it; nil: it has met none

	kept uint64 // revision of its season that was handed over to be kept; the detector's goroutine's own
}

// Watch is the part of the flow that is watched.
func (d *flowData) Watch() *watch.Flow { return &d.watch }

// grant counts a seat that was given to the flow.
func (d *flowData) grant(it *scheduler.Item) {
	if !it.Paid {
		d.unpaid.Add(1)
	}
	d.admitted.Add(1)
}

// ruleFields is what a flow's answers say of its rule, made once for each.
type ruleFields struct {
	rule   *policy.Rule
	policy []byte // the value of RateLimit-Policy
	name   []byte // the rule's id as RateLimit has it
	waits  *metrics.PrometheusHistogram
}

// dataOf is the flow's data, made at its first request.
func (g *Gateway) dataOf(x *exchange) *flowData {
	if d, ok := x.flow.Data.Load().(*flowData); ok {
		return d
	}
	d := &flowData{
		caller: x.caller.ID, semantic: x.semantic.Name, tenant: x.flow.Key.Tenant, flow: x.flow,
		series: g.telemetry.flow(x.caller.ID, x.semantic.Name),
	}
	if x.rule.NamesRoute {
		d.route = x.route.Name
	}
	if x.flow.Data.CompareAndSwap(nil, d) {
		return d
	}
	return x.flow.Data.Load().(*flowData) // somebody was faster
}

// key is what the request is counted and queued by.
func (x *exchange) key() scheduler.Key {
	tenant := x.tenant
	if x.caller.Anonymous {
		x.scratch = addressKey(x.client).AppendTo(x.scratch[:0])
		tenant = x.scratch
	}
	return x.caller.Key(x.route, x.semantic, x.rule, text(tenant))
}

// ruleFields are those of the rule in force.
func (x *exchange) ruleFields() *ruleFields {
	d := x.data
	if f := d.rule.Load(); f != nil && f.rule == x.rule {
		return f
	}
	f := &ruleFields{
		rule:   x.rule,
		policy: appendRateLimitPolicy(nil, x.rule.ID, x.rule.Limit.N, x.rule.Limit.Per),
		name:   appendSFString(nil, x.rule.ID),
		waits:  x.g.telemetry.waits(x.caller.Pool, x.rule.Level),
	}
	d.rule.Store(f)
	return f
}

// countWait records a wait that has ended.
func (x *exchange) countWait() {
	it := &x.item
	x.ruleFields().waits.Update(it.Waited.Seconds())
	if it.Verdict == scheduler.Granted && it.Estimate >= 0 {
		x.g.telemetry.estimateMissed(it.Estimate, it.Waited)
	}
}

// addressSeed spreads the returns of those who are known by their address only.
func addressSeed(a netip.Addr) uint64 {
	b := addressKey(a).As16()
	return binary.LittleEndian.Uint64(b[:8]) ^ binary.LittleEndian.Uint64(b[8:])
}
