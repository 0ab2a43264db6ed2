package gateway

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tidegate/detector"
)

// manySeasons is a table of flows, each with weeks of its own.
func manySeasons(n int) *seasons {
	s, r := &seasons{}, rand.New(rand.NewPCG(1, 1))
	for i := range n {
		var season detector.Season
		size := math.Exp2(10 * r.Float64())
		for range 4 {
			for hour := range detector.Slot(week) {
				season.Learn(hour, size*(1+math.Sin(float64(hour%24)/4))*math.Exp(0.3*r.NormFloat64()))
			}
		}
		s.put(flowNames{fmt.Sprintf("caller-%d", i), "chat", "", ""}, &season, hourOf(time.Now()))
	}
	return s
}

// BenchmarkSeasons is what the tending goroutine does with 10,000 flows: the file, which is written at most every ten
// minutes, its reading at a start, and the shapes, once an hour.
func BenchmarkSeasons(b *testing.B) {
	const n = 10_000
	s := manySeasons(n)
	var data []byte
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			var err error
			if data, err = encodeSeasons(s.table); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(data))/n, "B/flow")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if err := readSeasons(bytes.NewReader(data), func(*seasonLine, *detector.Season) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("shape", func(b *testing.B) {
		for b.Loop() {
			s.shape(time.Now())
		}
	})
	b.Run("tidy", func(b *testing.B) {
		for b.Loop() {
			s.poorest(100, nil)
		}
	})
}
