package detector

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestGapIsNeitherSilenceNorSurge(t *testing.T) {
	for _, gap := range []time.Duration{300 * time.Millisecond, 3 * time.Second, time.Minute, time.Hour, -8 * time.Hour, 24 * time.Hour} {
		r := rand.New(rand.NewPCG(9, 9))
		m := newSim(t)
		m.run(300, poisson(r, at(100)))
		before := m.f.Expected()
		m.s += gap.Seconds()
		m.step(draw(r, 100*min(10, max(0, gap.Seconds()))))
		if e := m.f.Expected(); e < 0.8*before {
			t.Errorf("gap of %v: expected %v before, %v after", gap, before, e)
		}
		m.run(300, poisson(r, at(100)))
		if len(m.began) > 0 {
			t.Errorf("gap of %v: verdicts at %v", gap, m.began)
		}
		at0 := m.s
		m.run(5, poisson(r, at(1000)))
		if len(m.began) != 1 || m.began[0]-at0 > 0.5 {
			t.Errorf("gap of %v, then a surge at %v: verdicts at %v", gap, at0, m.began)
		}
	}
}

func TestLongAbsenceExcusesOneDoublingAndNotForLong(t *testing.T) {
	for _, silent := range []bool{true, false} {
		r := rand.New(rand.NewPCG(17, 17))
		m := newSim(t)
		away := func() {
			if silent {
				m.run(3*3600, steady(0))
			} else {
				m.s += 24 * 3600
			}
		}
		m.run(300, poisson(r, at(100)))
		away()
		m.run(300, poisson(r, at(190))) // risen meanwhile
		if len(m.began) > 0 {
			t.Errorf("silent %v: verdicts at %v", silent, m.began)
		}
		away()
		m.run(60, poisson(r, at(190)))
		begin := m.s
		m.run(20, poisson(r, at(380)))
		if len(m.began) != 1 || m.began[0]-begin > 3 {
			t.Errorf("silent %v: twice as much at %v, a minute after the return: verdicts at %v", silent, begin, m.began)
		}
	}
}

func TestGapInASurgeEndsItOnce(t *testing.T) {
	m := newSim(t)
	m.run(60, steady(20))
	m.run(5, steady(800))
	m.s += 3600
	m.run(60, steady(20))
	if len(m.began) != 1 || len(m.ended) != 1 || m.ended[0] > 3600+66 {
		t.Errorf("began %v, ended %v", m.began, m.ended)
	}
}

func TestSilenceIsNotLearned(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	m := newSim(t)
	m.run(300, poisson(r, at(100)))
	m.run(24*3600, steady(0)) // stepped all the while
	if !m.f.Quiet(m.now()) {
		t.Error("not quiet after a day of silence")
	}
	m.run(300, poisson(r, at(110)))
	if len(m.began) > 0 || m.f.Quiet(m.now()) {
		t.Errorf("verdicts at %v", m.began)
	}
}

func TestFlowThatComesAndGoesIsJudgedByWhatItDoesWhenItIsThere(t *testing.T) {
	for _, on := range []float64{1, 5, 30} {
		r := rand.New(rand.NewPCG(11, uint64(on)))
		m := newSim(t)
		for range 60 { // present at the beginning of each minute
			m.run(on, poisson(r, at(100)))
			m.run(60-on, steady(0))
		}
		if len(m.began) > 0 {
			t.Errorf("%v s of each minute: verdicts at %v", on, m.began)
		}
		begin := m.s
		m.run(5, poisson(r, at(1000)))
		if len(m.began) != 1 || m.began[0]-begin > 1 {
			t.Errorf("%v s of each minute, then ten times as much at %v: verdicts at %v", on, begin, m.began)
		}
	}
}

func TestQuietFlowThatWasNotSteppedIsJudgedOnceItIsBack(t *testing.T) {
	for _, pause := range []float64{1, 5, 7, 3600} {
		r := rand.New(rand.NewPCG(16, 16))
		m := newSim(t)
		m.run(120, poisson(r, at(100)))
		for !m.f.Quiet(m.now()) {
			m.step(0)
		}
		m.s += pause
		m.run(60, poisson(r, at(110)))
		if len(m.began) > 0 {
			t.Errorf("back after %v s: verdicts at %v", pause, m.began)
		}
		for !m.f.Quiet(m.now()) {
			m.step(0)
		}
		m.s += pause
		begin := m.s
		m.run(5, poisson(r, at(1500)))
		if len(m.began) != 1 || m.began[0]-begin > 0.4+1e-6 {
			t.Errorf("back after %v s at %v with 15 times as much: verdicts at %v", pause, begin, m.began)
		}
	}
}

func TestReturnFromADipIsNoSurge(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	m := newSim(t)
	m.run(300, poisson(r, at(500)))
	for range 10 {
		m.run(8, poisson(r, at(250)))
		m.run(60, poisson(r, at(500)))
	}
	if len(m.began) > 0 {
		t.Errorf("verdicts at %v", m.began)
	}
}

func TestIrregularStepsChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 15))
	for _, spread := range []float64{0.005, 0.05, 0.3} { // of the steps, in s around 100 ms or up to that
		m := newSim(t)
		play := func(seconds, rate float64) {
			for end := m.s + seconds; m.s < end; {
				dt := max(0.001, cellSeconds+spread*(2*r.Float64()-1))
				m.s += dt - cellSeconds
				m.step(draw(r, rate*dt))
			}
		}
		play(1200, 300)
		if got := m.f.Rate(); len(m.began) > 0 || math.Abs(got-300) > 75 {
			t.Errorf("steps of 100 ms +- %v s: verdicts at %v, rate %v", spread, m.began, got)
		}
		begin := m.s
		play(5, 3000)
		if len(m.began) != 1 || m.began[0]-begin > 0.4+2*spread {
			t.Errorf("steps of 100 ms +- %v s, surge at %v: verdicts at %v", spread, begin, m.began)
		}
	}
}
