package detector

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSteadyPoissonTrafficIsNeverASurge(t *testing.T) {
	for _, rate := range []float64{5, 9, 10, 11, 20, 55, 220, 1000} {
		r := rand.New(rand.NewPCG(uint64(rate), 2))
		m := newSim(t)
		m.c.MinRate = 1
		m.run(3*3600, poisson(r, at(rate)))
		if len(m.began) > 0 {
			t.Errorf("%v/s: verdicts at %v s", rate, m.began)
		}
	}
}

func TestTideIsNoSurgeAndTheSameInTenSecondsIs(t *testing.T) {
	const quiet = 90
	ramp := func(from, to, in float64) func(float64) float64 {
		return func(s float64) float64 { return from + (to-from)*min(1, max(0, (s-quiet)/in)) }
	}
	double := func(from, in float64) func(float64) float64 {
		return func(s float64) float64 { return from * math.Exp2(min(1, max(0, (s-quiet)/in))) }
	}
	for _, c := range []struct {
		name  string
		rate  func(float64) float64
		surge bool
	}{
		{"twice in 60 s, straight", ramp(60, 120, 60), false},
		{"twice in 90 s, straight", ramp(60, 120, 90), false},
		{"twice in 60 s", double(60, 60), false},
		{"twice in 60 s, much traffic", double(1000, 60), false},
		{"twice in 60 s, straight, much traffic", ramp(1000, 2000, 60), false},
		{"twice in 60 s, little traffic", double(12, 60), false},
		{"60 to 240 in 4 min", ramp(60, 240, 240), false},
		{"60 to 240 in 10 s", ramp(60, 240, 10), true},
		{"twice in 10 s", ramp(60, 120, 10), true},
	} {
		const seeds = 60
		alarmed := 0
		for seed := range seeds {
			r := rand.New(rand.NewPCG(uint64(seed), 3))
			m := newSim(t)
			m.run(quiet, poisson(r, at(c.rate(0))))
			m.run(300, poisson(r, func(s float64) float64 { return c.rate(s + quiet) }))
			if len(m.began) > 0 {
				alarmed++
			}
		}
		if c.surge && alarmed < seeds || !c.surge && alarmed > 1 {
			t.Errorf("%s: %d of %d alarmed", c.name, alarmed, seeds)
		}
	}
}

func TestLittleTrafficIsNeverASurge(t *testing.T) {
	m := newSim(t)
	m.run(120, steady(1))
	m.run(60, steady(9)) // nine times as much, and below min_rate
	for range 5 {        // one request a day becomes three
		m.s += 8 * 3600
		m.step(1)
	}
	if len(m.began) > 0 {
		t.Errorf("verdicts at %v", m.began)
	}
}

func TestNewCallerAtItsPlansRateIsNoSurge(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	m := newSim(t)
	m.run(600, poisson(r, at(200)))
	m2 := newSim(t)
	m2.step(1) // tried once by hand, then used an hour later
	m2.run(30, steady(0))
	m2.s += 3600
	m2.run(600, poisson(r, at(200)))
	if len(m.began)+len(m2.began) > 0 {
		t.Errorf("verdicts at %v, %v", m.began, m2.began)
	}
}

func TestLevelKeepsUpWithATideThatGoesOn(t *testing.T) {
	const perSecond = math.Ln2 / 60
	var l level
	truth := 0.
	for i := range 3000 {
		truth = 20 * math.Exp(perSecond*float64(i)*cellSeconds)
		l.learn(uint32(math.Round(truth * cellSeconds)))
	}
	if got := l.now(math.Exp(perSecond * shortSeconds)); math.Abs(got-truth) > 0.05*truth {
		t.Errorf("the level is %v, the tide has come to %v", got, truth)
	}
}

// Real traffic is burstier than Poisson's: here each arrival brings twelve more within 2 s, which makes the variance
// 13 times the mean.
func TestBurstyTrafficIsJudgedByItsOwnDispersion(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	m := newSim(t)
	var due [20]int64
	bursty := func(rate float64) func(float64) int64 {
		return func(float64) int64 {
			for range draw(r, rate/13*cellSeconds) {
				for range 13 {
					due[r.IntN(20)]++
				}
			}
			n := due[0]
			copy(due[:], due[1:])
			due[19] = 0
			return n
		}
	}
	m.run(1800, bursty(100))
	early := len(m.began)
	m.run(4*3600, bursty(100))
	if n := len(m.began) - early; early > 1 || n > 1 {
		t.Errorf("%d surges in the first half hour, %d in the next 4 h", early, n)
	}
	begin, known := m.s, len(m.began)
	m.run(10, bursty(500))
	if len(m.began) != known+1 || m.began[known]-begin > 5 {
		t.Errorf("five times as much at %v: verdicts at %v", begin, m.began)
	}
}

// What comes once, all in one moment, is no surge: a surge lasts over more than a cell.
func TestOneFullCellIsNoSurge(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	m := newSim(t)
	m.run(60, poisson(r, at(20)))
	for range 10 {
		m.step(60)
		m.run(30, poisson(r, at(20)))
	}
	if len(m.began) > 0 {
		t.Errorf("verdicts at %v", m.began)
	}
}

func TestFlowThatComesInBatchesBecomesKnownAsSuch(t *testing.T) {
	for _, every := range []float64{7, 20} {
		r := rand.New(rand.NewPCG(21, uint64(every)))
		m := newSim(t)
		batch := func(s float64) float64 {
			if math.Mod(s, every) < 2 {
				return 100
			}
			return 5
		}
		m.run(1800, poisson(r, batch))
		early := len(m.began)
		m.run(3600, poisson(r, batch))
		if n := len(m.began) - early; n > 0 {
			t.Errorf("batches each %v s: %d surges in the first half hour, %d in the next hour", every, early, n)
		}
	}
}
