package detector

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"
)

func TestFlowIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Flow{}); n > 1536 {
		t.Errorf("a flow is %d bytes, at most 1,536 are allowed", n)
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	m := newSim(t)
	source := poisson(r, func(s float64) float64 { return 50 })
	if n := testing.AllocsPerRun(5000, func() { m.f.Step(m.c, m.now(), source(0)); m.s += cellSeconds }); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// As a ticker does: all flows in turn, each with its own arrivals.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name       string
		rate, then float64
	}{{"idle", 0, 0}, {"10", 10, 10}, {"300", 300, 300}, {"surge", 50, 500}} {
		b.Run(c.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			counts := make([]int64, 4096)
			fill := func(rate float64) {
				for i := range counts {
					counts[i] = draw(r, rate*cellSeconds)
				}
			}
			fill(c.rate)
			config, now := config(), time.Now() // monotonic, as in life
			flows := make([]Flow, 64)
			for i := range flows {
				flows[i] = NewFlow(now)
			}
			for i := range 1000 {
				now = now.Add(cell)
				for j := range flows {
					flows[j].Step(config, now, counts[(i*71+j)&4095])
				}
			}
			fill(c.then)
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				j := i & 63
				if j == 0 {
					now = now.Add(cell)
				}
				flows[j].Step(config, now, counts[(i+i>>6*7)&4095])
				i++
			}
		})
	}
}
