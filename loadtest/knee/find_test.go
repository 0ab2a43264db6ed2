package knee

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var usual = Options{MaxRate: 4000, Step: 5 * time.Second, Times: 3, MaxTime: time.Hour}

func fixed(s float64) func() float64 { return func() float64 { return s } }

func exponential(mean float64) func() float64 {
	rng := rand.New(rand.NewPCG(7, 7))
	return func() float64 { return mean * rng.ExpFloat64() }
}

// contention is the throughput of n at a time in the universal scalability law, in requests a second.
func contention(n int) float64 {
	x := float64(n)
	return 50 * x / (1 + 0.05*(x-1) + 0.0005*x*(x-1))
}

func TestTheKneeAndTheSeatsOfModelsWithAKnownAnswer(t *testing.T) {
	if testing.Short() {
		t.Log("takes seconds")
	}
	for _, step := range []struct {
		name       string
		fresh      func() station
		low, high  float64 // of the knee, a second
		few, plenty int
	}{
		{"16 workers, 20 ms", func() station { return newPool(16, fixed(0.02)) }, 720, 800, 16, 16},
	} {
		u := &simulated{t: t, fresh: step.fresh}
		c, err := Find(context.Background(), u, usual, func(s *Step) {
			t.Logf("%s: rate %.0f goodput %.0f p50 %v p99 %v in flight %.1f seats %d: %v", step.name, s.Load.Rate, s.Goodput, s.P50, s.High, s.InFlight, s.Load.Seats, s.Verdict)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v knee %.0f, %+v", c.End, c.Knee.Goodput, c.Seats.Seats)
	}
	_ = math.Inf
}
