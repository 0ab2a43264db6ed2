package gateway

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/console"
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

// measured runs what once for each iteration, after a second of traffic, and shows the processor time that it takes, as others
// may be at work too.
func (c *crowd) measured(b *testing.B, what func()) {
	c.second()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var spent time.Duration
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		c.second()
		b.StartTimer()
		began := threadTime()
		what()
		spent += threadTime() - began
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// BenchmarkCensus10000 is what taking a census of 10,000 flows with traffic costs, once a second.
func BenchmarkCensus10000(b *testing.B) {
	c := newCrowd(b, 10_000)
	c.measured(b, func() { c.g.takeCensus(c.now) })
}

// BenchmarkSnapshot10000 is all that a page costs once a second with 10,000 flows: the census, the snapshot and its JSON. 20 ms
// are 2 % of a core.
func BenchmarkSnapshot10000(b *testing.B) {
	c := newCrowd(b, 10_000)
	fill(c.g)
	size := 0
	c.measured(b, func() {
		c.g.takeCensus(c.now)
		text, err := json.Marshal(c.g.snapshot())
		if err != nil {
			b.Fatal(err)
		}
		size = len(text)
	})
	b.ReportMetric(float64(size), "B/snapshot")
}

// fill lets the snapshot have as many refusals as it shows.
func fill(g *Gateway) {
	for i := range 50 {
		g.refusals.add(console.RefusalView{Time: time.Now(), RequestID: fmt.Sprint(i), Caller: "acme", Semantic: "chat", Code: "rate_exceeded", Rule: "paid/*/chat"})
	}
}

// BenchmarkCallersPage10000 is a page of 50 out of 10,000 callers. The first is sorted and filtered for all who ask for the same
// order after the same census; the others read what is there.
func BenchmarkCallersPage10000(b *testing.B) {
	for _, bc := range []struct {
		name string
		q    console.CallersQuery
	}{
		{"attention", console.CallersQuery{}},
		{"searched", console.CallersQuery{Query: "number 77", Sort: "rate"}},
	} {
		bc.q.Limit = 50
		b.Run(bc.name+"/first", func(b *testing.B) {
			c := newCrowd(b, 10_000)
			c.second()
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				c.g.takeCensus(c.now)
				b.StartTimer()
				c.g.callersPage(bc.q)
			}
		})
		b.Run(bc.name+"/others", func(b *testing.B) {
			c := newCrowd(b, 10_000)
			c.second()
			c.g.takeCensus(c.now)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q := bc.q
				q.Offset = i % 100 * 50
				c.g.callersPage(q)
			}
		})
	}
}

// BenchmarkCensusPages10000 is what the callers' part of 50 open pages costs in a second.
func BenchmarkCensusPages10000(b *testing.B) {
	c := newCrowd(b, 10_000)
	c.measured(b, func() {
		c.g.takeCensus(c.now)
		for i := range 50 {
			c.g.callersPage(console.CallersQuery{Offset: i % 5 * 50, Limit: 50})
		}
	})
}
