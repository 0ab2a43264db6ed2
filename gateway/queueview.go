package gateway

import (
	"cmp"
	"slices"
	"time"

	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// eachFlow shows every flow once, as it is when it is come to.
func (g *Gateway) eachFlow(visit func(v *console.FlowView)) {
	g.scheduler.EachFlow(func(f scheduler.FlowStats) {
		if v, ok := flowView(&f); ok {
			visit(&v)
		}
	})
}

// queueView is who waits now, at most limit of them one by one.
func (g *Gateway) queueView(limit int) *console.QueueView {
	q := g.scheduler.Queue(limit)
	v := &console.QueueView{
		Time: time.Now(), Total: q.Total, Levels: levelViews(g.scheduler.Stats(0)),
		Waiting: make([]console.WaitingView, 0, len(q.Items)), Flows: make([]console.QueueByFlow, 0, len(q.Flows)),
	}
	for i := range q.Items {
		it := &q.Items[i]
		d, ok := it.Flow.Data.Load().(*flowData)
		if !ok {
			continue // what waits was counted with its flow before; it cannot be
		}
		v.Waiting = append(v.Waiting, console.WaitingView{
			RequestID: it.Name, Caller: d.caller, Semantic: d.semantic, Route: d.route, Tenant: d.tenant,
			Pool: it.Pool, Level: it.Level, Band: it.Band.String(), WaitedMS: it.Waited.Milliseconds(),
			MaxWaitMS: it.MaxWait.Milliseconds(), EstimateMS: estimateMillis(it.Estimate), Place: it.Place, Bytes: it.Bytes,
		})
	}
	for i := range q.Flows {
		f := &q.Flows[i]
		d, ok := f.Flow.Data.Load().(*flowData)
		if !ok {
			continue
		}
		v.Flows = append(v.Flows, console.QueueByFlow{
			Caller: d.caller, Semantic: d.semantic, Route: d.route, Tenant: d.tenant, Pool: f.Pool, Level: f.Level,
			Waiting: f.Waiting, Unpaid: f.Unpaid, OldestWaitMS: f.OldestWait.Milliseconds(),
		})
	}
	slices.SortStableFunc(v.Flows, func(a, b console.QueueByFlow) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Semantic, b.Semantic))
	})
	return v
}
