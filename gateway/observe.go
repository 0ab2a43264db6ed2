package gateway

import (
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// observed counts what would have happened to requests whose rule is observed. Nothing of it did: it is
// kept apart from what is refused, in the metrics, the read model and the log. Safe for concurrent use.
type observed struct {
	mu                            sync.Mutex
	passed, waited, refused, gone uint64
	breaches                      uint64 // refusals that would have broken the promise
	byCode                        map[string]uint64
	notices                       gate
}

// What would have become of a request, in metrics. Refusals go by their codes.
const (
	observedPassed = "passed"
	observedWaited = "waited"
	observedGone   = "gone"
)

func (o *observed) count(verdict string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch verdict {
	case observedPassed:
		o.passed++
	case observedWaited:
		o.waited++
	case observedGone:
		o.gone++
	default:
		o.refused++
		if o.byCode == nil {
			o.byCode = make(map[string]uint64)
		}
		o.byCode[verdict]++
	}
}

func (o *observed) breach() {
	o.mu.Lock()
	o.breaches++
	o.mu.Unlock()
}

// judge takes what the scheduler would have decided since it was last asked.
func (g *Gateway) judge(now time.Time) {
	for _, j := range g.scheduler.Judged() {
		d, ok := j.Flow.Data.Load().(*flowData)
		if !ok {
			continue // its request ended before it was counted with its flow
		}
		switch {
		case j.Verdict == scheduler.Gone:
			g.wouldBe(d.series, observedGone)
		case j.Verdict != scheduler.Granted:
			code := codeOf(j.Verdict)
			d.wouldRefuse.Add(1)
			g.wouldBe(d.series, code.String())
			if j.Breach {
				g.observed.breach()
			}
			g.wouldRefuse(&j, d, code, now)
		case j.Waited:
			d.wouldWait.Add(1)
			g.wouldBe(d.series, observedWaited)
		default:
			g.wouldBe(d.series, observedPassed)
		}
	}
}

func (g *Gateway) wouldBe(series *flowSeries, verdict string) {
	series.observed(verdict)
	g.observed.count(verdict)
}

// wouldRefuse keeps and logs a refusal that did not happen, as far as one that had would be logged.
func (g *Gateway) wouldRefuse(j *scheduler.Judged, d *flowData, code Code, now time.Time) {
	v := console.RefusalView{
		Time: j.At, RequestID: j.Name, Code: code.String(), Observed: true,
		Caller: d.caller, Semantic: d.semantic, Route: d.route, Tenant: d.tenant,
		RetryAfterMS: wholeMillis(j.Back), WaitedMS: j.Wait.Milliseconds(),
		Band: j.Band.String(), WithinRate: j.OnTime, Place: j.Place, EstimateMS: estimateMillis(j.Estimate),
	}
	decidedBy(&v, &j.Quota, &j.Load)
	if r := d.rule.Load(); r != nil {
		v.Rule, v.RuleAt, v.Version, v.MaxWaitMS = r.rule.ID, r.rule.At, int(r.rule.Version), r.rule.MaxWait.Milliseconds()
	}
	g.refusals.add(v)
	if ok, missed := g.observed.notices.pass(noticesPerSecond, g.access.second(now)); ok {
		if missed > 0 {
			g.logs.Info("suppressed", zap.String("of", "would_refuse"), zap.Int64("count", missed))
		}
		g.logs.Info("would_refuse", zap.String("request_id", v.RequestID), zap.String("caller", v.Caller), zap.String("semantic", v.Semantic),
			zap.String("rule", v.Rule), zap.String("code", v.Code), zap.String("band", v.Band), zap.Int64("waited_ms", v.WaitedMS), zap.Int64("estimate_ms", v.EstimateMS))
	}
}

// decidedBy adds the numbers that a refusal was decided by.
func decidedBy(v *console.RefusalView, q *scheduler.Quota, l *scheduler.Load) {
	v.Limit, v.Remaining, v.ResetMS = q.Limit, q.Remaining, wholeMillis(q.Reset)
	v.Pool, v.Seats, v.InUse, v.Waiting = l.Pool, l.Seats, l.InUse, l.Waiting
}

// estimateMillis is an estimate as it is shown; -1: unknown.
func estimateMillis(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

// observedView is nil while everything is enforced and always was.
func (g *Gateway) observedView(st *scheduler.Stats) *console.ObservedView {
	rules := g.live.Load().policy.Observing()
	o := &g.observed
	o.mu.Lock()
	v := &console.ObservedView{Rules: rules, Passed: o.passed, Waited: o.waited, Refused: o.refused, Gone: o.gone, RefusedWithinRate: o.breaches, ByCode: maps.Clone(o.byCode)}
	o.mu.Unlock()
	if len(rules) == 0 && v.Passed+v.Waited+v.Refused+v.Gone == 0 {
		return nil
	}
	if v.Rules == nil {
		v.Rules = []string{}
	}
	if v.ByCode == nil {
		v.ByCode = map[string]uint64{}
	}
	v.Pools, v.Levels = []console.PoolView{}, []console.LevelView{}
	if st.Shadow != nil {
		v.Pools, v.Levels = poolViews(st.Shadow), levelViews(st.Shadow)
	}
	return v
}
