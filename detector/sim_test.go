package detector

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var t0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func config() *Config {
	return &Config{
		Window: time.Second, Ratio: 1.5, Rise: time.Minute, MinRate: 10,
		Learn: 30 * time.Minute, Hold: 10 * time.Second,
	}
}

// sim steps one flow every 100 ms with what a source says came, and notes the verdicts.
type sim struct {
	*testing.T
	c     *Config
	f     Flow
	s     float64 // seconds since t0
	began []float64
	ended []float64
}

func newSim(t *testing.T) *sim { return &sim{T: t, c: config(), f: NewFlow(t0)} }

func (m *sim) now() time.Time {
	return t0.Add(time.Duration(m.s * float64(time.Second)).Round(time.Millisecond))
}

func (m *sim) step(arrivals int64) Verdict {
	m.s += cellSeconds
	v := m.f.Step(m.c, m.now(), arrivals)
	switch v {
	case SurgeBegan:
		m.began = append(m.began, m.s)
	case SurgeEnded:
		m.ended = append(m.ended, m.s)
	}
	return v
}

// run plays source, in arrivals a second at the seconds since its begin, for so many seconds.
func (m *sim) run(seconds float64, source func(s float64) int64) {
	for i := range int(math.Round(seconds / cellSeconds)) {
		m.step(source(float64(i) * cellSeconds))
	}
}

// steady sends rate without any variance.
func steady(rate float64) func(float64) int64 {
	sent := 0.
	return func(s float64) int64 {
		due := math.Floor(rate*(s+cellSeconds) + 1e-6)
		n := due - sent
		sent = due
		return int64(n)
	}
}

// poisson sends independent arrivals at a rate that may change.
func poisson(r *rand.Rand, rate func(s float64) float64) func(float64) int64 {
	return func(s float64) int64 { return draw(r, rate(s+cellSeconds/2)*cellSeconds) }
}

func at(rate float64) func(float64) float64 { return func(float64) float64 { return rate } }

// draw is a Poisson number of that mean: by its gaps if it is small, else by the normal law, which is close enough there.
func draw(r *rand.Rand, mean float64) int64 {
	if mean > 60 {
		return max(0, int64(math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	n, limit := int64(0), math.Exp(-mean)
	for p := r.Float64(); p > limit; p *= r.Float64() {
		n++
	}
	return n
}
