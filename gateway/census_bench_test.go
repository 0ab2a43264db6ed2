package gateway

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/watch"
	"tidegate/scheduler"
)

// crowd is a gateway with callers that each have one flow with traffic, real ones: metered by the scheduler and stepped by
// the detector.
type crowd struct {
	*manyFlows
	items []scheduler.Item
	terms []scheduler.Terms
}

func newCrowd(b testing.TB, n int) *crowd {
	var text strings.Builder
	text.WriteString(benchConfig)
	for i := range n {
		fmt.Fprintf(&text, "[[callers]]\nid = \"caller-%d\"\nname = \"Caller number %d\"\nsemantics = [\"chat\"]\n", i, i)
	}
	g, err := New(configOf(b, text.String()), Options{Log: zap.NewNop(), NoDate: true})
	if err != nil {
		b.Fatal(err)
	}
	c := &crowd{manyFlows: &manyFlows{g: g, now: g.began, r: rand.New(rand.NewPCG(1, 1))}, items: make([]scheduler.Item, n)}
	p := g.live.Load().policy
	route, chat := p.Route("chat"), p.Semantic("chat")
	for i := range n {
		x := &exchange{g: g, route: route, caller: p.Caller(fmt.Sprintf("caller-%d", i)), semantic: chat}
		x.rule = p.Choose(x.caller, route, chat)
		x.flow = g.scheduler.Meter(time.Now(), x.key(), x.caller.Terms(x.rule))
		x.data = g.dataOf(x)
		x.ruleFields()
		c.flows, c.terms = append(c.flows, x.data), append(c.terms, x.caller.Terms(x.rule))
		c.rates = append(c.rates, math.Exp2(c.r.Float64()*math.Log2(50)))
	}
	return c
}

// second is a second of traffic, of which one request of each flow is admitted and gives its seat back at once.
func (c *crowd) second() {
	for range int(time.Second / watch.Every) {
		c.arrive()
		c.step()
	}
	for i, d := range c.flows {
		it := &c.items[i]
		it.Reset()
		it.Flow = c.g.scheduler.Meter(time.Now(), d.flow.Key, c.terms[i])
		if c.g.scheduler.Arrive(time.Now(), it) == scheduler.Granted {
			d.grant(it)
			c.g.scheduler.Release(time.Now(), it)
		}
	}
}

// BenchmarkCensus10000 is what taking a census of 10,000 flows with traffic costs, once a second. What is shown is processor
// time, as others may be at work too.
func BenchmarkCensus10000(b *testing.B) {
	c := newCrowd(b, 10_000)
	c.second()
	runtime.LockOSThread()
	var spent time.Duration
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		c.second()
		b.StartTimer()
		began := threadTime()
		c.g.takeCensus(c.now)
		spent += threadTime() - began
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/op")
}
