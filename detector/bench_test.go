package detector

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"
)

func TestFlowIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Flow{}); n > 1024 {
		t.Errorf("a flow is %d bytes, at most 1 KiB is allowed", n)
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

func BenchmarkStep(b *testing.B) {
	for name, rate := range map[string]float64{"10": 10, "300": 300, "idle": 0, "surge": 50} {
		b.Run(name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			counts := make([]int64, 4096)
			for i := range counts {
				counts[i] = draw(r, rate/10)
			}
			c, f, now := config(), NewFlow(t0), time.Now()
			for i := range 3000 {
				now = now.Add(100 * time.Millisecond)
				f.Step(c, now, counts[i])
			}
			if name == "surge" {
				for i := range counts {
					counts[i] *= 10
				}
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(100 * time.Millisecond)
				f.Step(c, now, counts[i&4095])
				i++
			}
		})
	}
}
