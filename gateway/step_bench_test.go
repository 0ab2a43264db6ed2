package gateway

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"tidegate/gateway/watch"
	"tidegate/scheduler"
)

// manyFlows is a gateway with flows that have traffic, each at a rate of its own between 1 and 50 a second.
type manyFlows struct {
	g     *Gateway
	flows []*flowData
	rates []float64
	now   time.Time
	r     *rand.Rand
}

func newManyFlows(b testing.TB, n int) *manyFlows {
	m := &manyFlows{g: benchGateway(b), now: time.Now(), r: rand.New(rand.NewPCG(1, 1))}
	for i := range n {
		caller := fmt.Sprintf("caller-%d", i)
		key := scheduler.Key{Caller: m.g.names.Callers.Index(caller), Semantic: m.g.names.Semantics.Index("chat"), Route: scheduler.NoRoute}
		m.flows = append(m.flows, &flowData{
			caller: caller, semantic: "chat", flow: &scheduler.Flow{Key: key}, series: m.g.telemetry.flow(caller, "chat"),
		})
		m.rates = append(m.rates, math.Exp2(m.r.Float64()*math.Log2(50)))
	}
	return m
}

// arrive counts what comes in a tenth of a second.
func (m *manyFlows) arrive() {
	for i, d := range m.flows {
		due := m.rates[i] * watch.Every.Seconds()
		n := int(due)
		if m.r.Float64() < due-float64(n) {
			n++
		}
		for range n {
			m.g.count(d)
		}
	}
}

func (m *manyFlows) step() {
	m.now = m.now.Add(watch.Every)
	m.g.step(m.now)
}

// BenchmarkStepFlows is the whole of what is done ten times a second for 10,000 flows with traffic: 200 ns for each is
// 2 % of a core. Arrivals are counted between the steps, and are the requests' cost. What is shown is processor time, as
// others may be at work too.
func BenchmarkStepFlows(b *testing.B) {
	const n = 10_000
	m := newManyFlows(b, n)
	for range 300 {
		m.arrive()
		m.step()
	}
	var spent time.Duration
	runtime.LockOSThread()
	b.ReportAllocs()
	for b.Loop() {
		m.arrive()
		began := threadTime()
		m.step()
		spent += threadTime() - began
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N*n), "ns/flow")
	b.ReportMetric(0, "ns/op")
}

func TestAStepAllocatesNothing(t *testing.T) {
	m := newManyFlows(t, 300)
	for range 200 {
		m.arrive()
		m.step()
	}
	if n := testing.AllocsPerRun(200, func() { m.arrive(); m.step() }); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// What nothing has come of for a while is no longer looked at.
func TestIdleFlowsCostNothing(t *testing.T) {
	m := newManyFlows(t, 100)
	m.arrive()
	for range 100 {
		m.step()
	}
	if n := m.g.watched.flows.Len(); n != 0 {
		t.Errorf("%d idle flows are stepped", n)
	}
}
