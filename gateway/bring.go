package gateway

import (
	"time"

	"tidegate/scheduler"
)

// bringWaiting brings flows that have work waiting under the configuration in force. Others come under it with their next
// request; but what waits is paid by its flow's rate, and who has stopped sending would be paid by the old one until all
// of it is through, though an operator has just turned it down. Rule, level and longest wait of what waits stay those
// that took it in.
func (g *Gateway) bringWaiting() {
	p := g.live.Load().policy
	g.scheduler.EachFlow(func(f scheduler.FlowStats) {
		if f.Waiting == 0 {
			return
		}
		d, ok := f.Flow.Data.Load().(*flowData)
		if !ok {
			return // made a moment ago
		}
		c, s := p.Caller(d.caller), p.Semantic(d.semantic)
		if c == nil || s == nil {
			return // what is left of it ends as it began
		}
		if r := p.RouteOf(c, s, d.route); r != nil {
			g.scheduler.Unpin(g.scheduler.Meter(time.Now(), f.Flow.Key, c.Terms(p.Choose(c, r, s))))
		}
	})
}
