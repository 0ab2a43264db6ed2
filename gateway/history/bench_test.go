package history

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"runtime/debug"
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
	t := &traffic{rnd: rand.New(rand.NewPCG(1, 2)), samples: make([]Sample, series)}
	for i := range series {
		t.keys = append(t.keys, Key{Caller, fmt.Sprintf("caller-%05d", i), "chat"})
		t.mean = append(t.mean, 1+20*t.rnd.Float64())
	}
	return t
}

// step makes the next second: all have work, a tenth has refusals, one in fifty a queue.
func (t *traffic) step() {
	for i, m := range t.mean {
		rate := float32(max(0, int(m+t.rnd.NormFloat64()*m/3+0.5)))
		var refused float32
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

// A second of 10,000 series, all of which do something.
func BenchmarkAdd(b *testing.B) {
	h := Open(Options{})
	tr := trafficOf(DefaultSeries)
	tr.step()
	now := t0
	for b.Loop() {
		h.Add(now, tr.each)
		now = now.Add(time.Second)
	}
}

// An hour of 10,000 such series, with what it takes and leaves behind; -benchtime 1x.
func BenchmarkHour(b *testing.B) {
	tr := trafficOf(DefaultSeries)
	memory := func() uint64 {
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := memory()
	h := Open(Options{Path: filepath.Join(b.TempDir(), "history.db"), Now: func() time.Time { return t0 }})
	defer h.Close()
	var add, pack, write, turn time.Duration
	var adds, minutes, hours, rows, bytes int64
	now := t0
	second := func() {
		tr.step()
		began := time.Now()
		h.Add(now, tr.each)
		add += time.Since(began)
		adds++
		now = now.Add(time.Second)
	}
	over := func(written *time.Duration) {
		began := time.Now()
		h.waitPacked()
		pack += time.Since(began)
		minutes++
		began = time.Now()
		h.Flush()
		*written += time.Since(began)
	}
	second()
	for b.Loop() {
		for range 59 {
			for range 60 {
				second()
			}
			over(&write)
		}
		heap := memory() - before
		b.ReportMetric(float64(heap)/(1<<20), "heap-MiB")
		for range 60 {
			second()
		}
		over(&turn)
		hours++
		d := h.keeper.disk.Load()
		if n, err := column[int64](d.writer, "SELECT count(*) FROM hours UNION ALL SELECT sum(length(block)) FROM hours"); err == nil && len(n) == 2 {
			rows, bytes = n[0], n[1]
		}
	}
	b.ReportMetric(add.Seconds()*1e3/float64(adds), "ms/second")
	b.ReportMetric(pack.Seconds()*1e3/float64(minutes), "pack-ms/minute")
	b.ReportMetric(write.Seconds()*1e3/float64(minutes-hours), "write-ms/minute")
	b.ReportMetric(turn.Seconds()*1e3/float64(hours), "write-ms/hour")
	b.ReportMetric(float64(bytes)/float64(rows)*float64(hoursKept)/1024, "KiB/series-week")
	b.ReportMetric(0, "ns/op")
}
