package detector

import (
	"math"
	"math/rand/v2"
)

// year is one flow's hours, week after week, as a source has them with noise, told to a season.
type year struct {
	s      Season
	r      *rand.Rand
	noise  float64 // coefficient of variation of an hour's mean
	source func(week int, slot Slot) float64
	week   int
	slot   Slot // the next hour
}

func newYear(seed uint64, source func(week int, slot Slot) float64) *year {
	return &year{r: rand.New(rand.NewPCG(seed, 1)), noise: 0.3, source: source}
}

// hours plays so many hours. Each is made by noise of its own, whatever an earlier one was: so two years of one seed
// differ by what their sources differ in and nothing else.
func (w *year) hours(n int) {
	for range n {
		sigma := math.Sqrt(math.Log1p(w.noise * w.noise))
		noise := math.Exp(sigma*w.r.NormFloat64() - sigma*sigma/2)
		if rate := w.source(w.week, w.slot); rate >= 0 { // below: not seen
			w.s.Learn(w.slot, rate*noise)
		}
		if w.slot++; w.slot == slots {
			w.week, w.slot = w.week+1, 0
		}
	}
}

func (w *year) weeks(n int) { w.hours(n * slots) }

// growth is what is allowed from one hour to another by the flow's own past, and at least 1.
func (w *year) growth(from, to Slot) float64 {
	factor, _ := Growth(&w.s, nil, from, to)
	return factor
}

// office is a day of work: little at night, much by day, less at weekends.
func office(_ int, slot Slot) float64 {
	hour := float64(slot % hours)
	rate := 20 + 80*math.Max(0, math.Sin((hour-6)/14*math.Pi))
	if slot.weekend() {
		return 0.3 * rate
	}
	return rate
}

// attacked is source with six hours at so many times the rate, from that hour on.
func attacked(source func(int, Slot) float64, week int, from Slot, times float64) func(int, Slot) float64 {
	return func(w int, slot Slot) float64 {
		rate := source(w, slot)
		if w == week && slot >= from && slot < from+6 {
			rate *= times
		}
		return rate
	}
}

// geometric is the geometric mean.
type geometric struct{ sum, n float64 }

func (m *geometric) add(x float64) { m.sum, m.n = m.sum+math.Log(x), m.n+1 }

func (m *geometric) mean() float64 { return math.Exp(m.sum / m.n) }
