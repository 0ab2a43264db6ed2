package gateway

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// eachFlow shows every flow once, as it is when it is come to.
func (g *Gateway) eachFlow(visit func(v *console.FlowView)) {
	g.scheduler.EachFlow(func(f scheduler.FlowStats) {
		if v, ok := g.flowView(&f); ok {
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

// whoseQueue names the callers who have most waiting in a queue, for the log.
func (g *Gateway) whoseQueue(q queueName) string {
	waiting := make(map[string]int)
	for _, f := range g.scheduler.Queue(0).Flows {
		if d, ok := f.Flow.Data.Load().(*flowData); ok && f.Pool == q.pool && f.Level == q.level {
			waiting[d.caller] += f.Waiting
		}
	}
	return foremost(waiting)
}

// foremost is the three callers with the highest counts and what all others have together:
// "spider-77 300, heron 12, magpie 9, 4 more with 11".
func foremost(counts map[string]int) string {
	callers := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var said []string
	for _, c := range callers[:min(3, len(callers))] {
		said = append(said, c+" "+strconv.Itoa(counts[c]))
	}
	if rest := callers[len(said):]; len(rest) > 0 {
		sum := 0
		for _, c := range rest {
			sum += counts[c]
		}
		said = append(said, strconv.Itoa(len(rest))+" more with "+strconv.Itoa(sum))
	}
	return strings.Join(said, ", ")
}
