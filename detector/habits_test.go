package detector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// clockwork is a flow of 60/s whose machines call by the clock: each hour a blip of two seconds at one minute, and in
// some hours a burst of two minutes at another.
func clockwork(r *rand.Rand, blip, burst float64, bursts func(hour int) bool) func(s float64) int64 {
	return poisson(r, func(s float64) float64 {
		hour, into := math.Modf(s / 3600)
		into *= 3600
		switch {
		case into >= blip && into < blip+2:
			return 120
		case into >= burst && into < burst+120 && bursts(int(hour)):
			return 60 + min(140, 20*(into-burst)) // it grows within seconds
		}
		return 60
	})
}

func TestBlipsThatComeByTheClockAreNoSurgesOnceTheyAreKnown(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	m := newSim(t)
	m.run(48*3600, clockwork(r, 600, 2400, func(hour int) bool { return hour%2 == 0 }))
	var late, bursts int
	var delays []float64
	for _, at := range m.began {
		hour, into := math.Modf(at / 3600)
		into *= 3600
		switch {
		case into >= 600 && into < 610 && hour >= 12:
			late++
		case into >= 2400 && into < 2410:
			bursts++
			if hour >= 12 {
				delays = append(delays, into-2400)
			}
		}
	}
	if late > 0 {
		t.Errorf("%d of the 36 blips of the last 36 hours were called surges", late)
	}
	if bursts != 24 {
		t.Errorf("%d of 24 bursts found", bursts)
	}
	unknown := newSim(t)
	unknown.run(300, poisson(r, at(60)))
	begin := unknown.s
	unknown.run(20, poisson(r, func(s float64) float64 { return 60 + min(140, 20*s) }))
	if len(unknown.began) != 1 {
		t.Fatalf("verdicts at %v", unknown.began)
	}
	if usual := mean(delays); usual >= unknown.began[0]-begin {
		t.Errorf("bursts at their usual minute were found after %.1f s, the same at any other after %.1f s", usual, unknown.began[0]-begin)
	}
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func TestBurstAtAnUnusualMinuteIsFoundAllTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	m := newSim(t)
	m.run(24*3600, clockwork(r, 600, 2400, func(hour int) bool { return hour%3 == 0 }))
	m.began = nil
	m.run(1500, poisson(r, at(60)))
	begin := m.s
	m.run(20, poisson(r, at(240)))
	if len(m.began) != 1 || m.began[0]-begin > 1.5 {
		t.Errorf("four times as much at %v: verdicts at %v", begin, m.began)
	}
}

// What a caller does to be thought jumpy hides no burst from him.
func TestManyBlipsDoNotHideABurst(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 3))
	m := newSim(t)
	for range 300 {
		m.run(40, poisson(r, at(50)))
		m.run(2, poisson(r, at(300)))
	}
	m.run(60, poisson(r, at(50)))
	if n := m.f.Report().Needed; n > mostNeeded {
		t.Errorf("%v nats needed, at most %v", n, mostNeeded)
	}
	m.began = nil
	begin := m.s
	m.run(10, poisson(r, at(800)))
	if len(m.began) != 1 || m.began[0]-begin > 1.5 {
		t.Errorf("16 times as much at %v: verdicts at %v", begin, m.began)
	}
}

func TestHabitsCountAndFade(t *testing.T) {
	var h habits
	hour := func() {
		for b := range uint8(bins) {
			h.enter(b)
		}
	}
	for range 40 {
		hour()
		h.onset(7)
		h.blip(9, 20)
		h.blip(9, 12)
	}
	h.enter(7)
	usual := h.needed(0)
	h.enter(9)
	odd := h.needed(0)
	h.enter(60)
	other := h.needed(0)
	if usual != noted || !(odd > other) || odd > mostNeeded {
		t.Errorf("needed: %v where bursts begin, %v elsewhere, %v where blips are", usual, other, odd)
	}
	if !(h.needed(400) > h.needed(0)) || !(h.needed(4) < h.needed(0)) {
		t.Errorf("needed at odds of 4, 25, 400: %v, %v, %v", h.needed(4), h.needed(0), h.needed(400))
	}
	for range 1500 {
		hour()
	}
	if h.onsets[7] > 0 || h.blips[9] > 0 {
		t.Errorf("after 1,500 hours %d and %d are left", h.onsets[7], h.blips[9])
	}
}

func TestHabitsAreKeptWithTheSeason(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 4))
	m := newSim(t)
	m.run(8*3600, clockwork(r, 600, 2400, func(int) bool { return true }))
	kept, err := m.f.Season().AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	again := newSim(t)
	again.s = m.s
	again.f = NewFlow(again.now())
	if err := again.f.Season().UnmarshalBinary(kept); err != nil {
		t.Fatal(err)
	}
	if *again.f.Season() != *m.f.Season() {
		t.Error("another season comes back")
	}
	if m.f.season.habits.onsets[2400/binSeconds] == 0 || m.f.season.habits.blips[600/binSeconds] == 0 {
		t.Errorf("not learned: onsets %v, blips %v", m.f.season.habits.onsets, m.f.season.habits.blips)
	}
	again.run(700, clockwork(r, 600, 2400, func(int) bool { return true }))
	if len(again.began) > 0 {
		t.Errorf("the usual blip after a restart: verdicts at %v", again.began)
	}
}

func TestExcursionOfAGapIsForgotten(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 5))
	m := newSim(t)
	m.run(120, poisson(r, at(60)))
	m.run(1.5, poisson(r, at(110)))
	if m.f.excursion.phase != unknown {
		t.Fatalf("no excursion: score %v", m.f.Score())
	}
	m.s += 600
	m.run(60, poisson(r, at(60)))
	if h := m.f.season.habits; h.excursions != 0 {
		t.Errorf("%d bursts or blips were made of it", h.excursions)
	}
}
