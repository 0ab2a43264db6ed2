package history

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// traffic is of callers whose rates differ and are noisy.
type traffic struct {
	keys    []Key
	samples []Sample
	mean    []float64
	rnd     *rand.Rand
}

func trafficOf(series int) *traffic {
	t := &traffic{rnd: rand.New(rand.NewPCG(1, 2))}
	for i := range series {
		t.keys = append(t.keys, Key{Caller, fmt.Sprintf("caller-%05d", i), "chat"})
		t.mean = append(t.mean, 1+20*t.rnd.Float64())
	}
	t.samples = make([]Sample, series)
	return t
}

func (t *traffic) step() {
	for i := range t.samples {
		m := t.mean[i]
		rate := float32(max(0, int(m+t.rnd.NormFloat64()*m/3+0.5)))
		refused := float32(0)
		if i%10 == 0 {
			refused = float32(t.rnd.IntN(3))
		}
		t.samples[i] = Sample{rate, rate - refused, refused, float32(t.rnd.IntN(4)), float32(i % 50 / 49 * t.rnd.IntN(9)), float32(m)}
	}
}

func (t *traffic) each(yield func(Key, *Sample)) {
	for i := range t.keys {
		yield(t.keys[i], &t.samples[i])
	}
}

// A second of 10,000 series, all active, without the turn of a minute.
func BenchmarkAdd(b *testing.B) {
	h := Open(Options{})
	tr := trafficOf(DefaultSeries)
	tr.step()
	now := t0
	for b.Loop() {
		h.Add(now, tr.each)
		if now = now.Add(time.Second); now.Second() == 59 {
			now = now.Add(time.Second - time.Minute - 59*time.Second)
			h.second = now.Unix() - 1 // stays in its minute
		}
	}
}
