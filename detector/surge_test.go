package detector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestJumpOfSteadyTrafficIsFoundAtOnce(t *testing.T) {
	for _, c := range []struct{ from, to, within float64 }{
		{15, 800, 0.3},
		{20, 100, 1}, // without any variance before, and nothing mutes it
		{1000, 5000, 0.3},
		{100, 170, 7},
	} {
		for _, known := range []float64{5, 7, 30, 600} {
			m := newSim(t)
			m.run(known, steady(c.from))
			if len(m.began) > 0 {
				t.Fatalf("%v/s: a surge before there was one", c.from)
			}
			m.run(20, steady(c.to))
			if len(m.began) != 1 || m.began[0]-known > c.within+1e-6 {
				t.Errorf("%v/s to %v/s after %v s: verdicts at %v, want one within %v s", c.from, c.to, known, m.began, c.within)
			}
			if since := m.f.Since().Sub(t0).Seconds(); math.Abs(since-known) > 0.5+c.within {
				t.Errorf("%v/s to %v/s after %v s: since %v", c.from, c.to, known, since)
			}
		}
	}
}

// A jump may come anywhere in a cell.
func TestJumpOfPoissonTrafficIsFoundInTime(t *testing.T) {
	for _, c := range []struct{ from, to, q50, q95, q99 float64 }{
		{20, 800, 0.2, 0.3, 0.5},
		{15, 800, 0.2, 0.3, 0.3},
		{50, 125, 1.5, 3, 4},
	} {
		var delays []float64
		for seed := range 200 {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			m := newSim(t)
			m.run(60, poisson(r, at(c.from)))
			if len(m.began) > 0 {
				t.Fatalf("%v/s, seed %d: a surge before there was one", c.from, seed)
			}
			inside := r.Float64() * cellSeconds
			m.step(draw(r, c.from*inside+c.to*(cellSeconds-inside)))
			m.run(20, poisson(r, at(c.to)))
			if len(m.began) != 1 {
				t.Fatalf("%v/s to %v/s, seed %d: verdicts at %v", c.from, c.to, seed, m.began)
			}
			delays = append(delays, m.began[0]-60-inside)
		}
		slices.Sort(delays)
		q50, q95, q99 := delays[100], delays[190], delays[198]
		if q50 > c.q50 || q95 > c.q95 || q99 > c.q99 {
			t.Errorf("%v/s to %v/s: median %.2f s, p95 %.2f s, p99 %.2f s; want %v, %v, %v", c.from, c.to, q50, q95, q99, c.q50, c.q95, c.q99)
		}
	}
}

func TestSurgeIsNotLearnedAndEndsWhenItIsCalm(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	m := newSim(t)
	m.run(120, poisson(r, at(50)))
	before := m.f.Expected()
	m.run(20*60, poisson(r, at(800)))
	if m.f.State() != Surge || !m.f.Surging() {
		t.Errorf("after 20 min the flow is %v", m.f.State())
	}
	if e := m.f.Expected(); math.Abs(e-before) > 0.15*before {
		t.Errorf("expected %v before and %v in the surge", before, e)
	}
	if p := m.f.Peak(); p < 800 || p > 1000 {
		t.Errorf("peak %v", p)
	}
	m.run(8, poisson(r, at(50)))
	if m.f.State() != Cooling {
		t.Errorf("8 s after the surge the flow is %v", m.f.State())
	}
	m.run(5, poisson(r, at(50)))
	if len(m.began) != 1 || len(m.ended) != 1 || m.f.Surging() || !m.f.Since().IsZero() {
		t.Errorf("13 s after the surge: began %v, ended %v, %v", m.began, m.ended, m.f.State())
	}
	m.run(300, poisson(r, at(50)))
	if e := m.f.Expected(); e > 65 {
		t.Errorf("expected %v after the surge", e)
	}
	end := m.s
	m.run(10, poisson(r, at(800)))
	if len(m.began) != 2 || m.began[1]-end > 0.5 {
		t.Errorf("a second surge at %v: verdicts at %v", end, m.began)
	}
}

func TestShortHoldEndsASurgeNoEarlierThanItIsOver(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 18))
	m := newSim(t)
	m.c.Hold = time.Second
	m.run(120, poisson(r, at(50)))
	m.run(60, poisson(r, at(95))) // often too little to show within 1.6 s
	end := m.s
	m.run(60, poisson(r, at(50)))
	if len(m.began) != 1 || len(m.ended) != 1 || m.ended[0] < end || m.ended[0] > end+10 {
		t.Errorf("over at %v: began %v, ended %v", end, m.began, m.ended)
	}
}

func TestSurgeDoesNotExcuseTheNext(t *testing.T) {
	for seed := range 20 {
		r := rand.New(rand.NewPCG(uint64(seed), 19))
		m := newSim(t)
		m.run(120, poisson(r, at(50)))
		m.run(30, poisson(r, at(800)))
		m.run(60, poisson(r, at(50)))
		begin := m.s
		m.run(20, poisson(r, at(110)))
		if len(m.began) != 2 || m.began[1]-begin > 6 {
			t.Errorf("seed %d: a second one of 2.2 times at %v: verdicts at %v", seed, begin, m.began)
		}
	}
}

func TestRiseThatLastsForLearnIsTheNewNormal(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	m := newSim(t)
	m.run(120, poisson(r, at(50)))
	m.run(2*3600, poisson(r, at(200)))
	if len(m.began) != 1 || len(m.ended) != 1 || math.Abs(m.ended[0]-m.began[0]-1800) > 10 {
		t.Fatalf("began %v, ended %v, want one surge of 30 min", m.began, m.ended)
	}
	m.run(20, poisson(r, at(600)))
	if len(m.began) != 2 {
		t.Errorf("three times the new normal: began %v", m.began)
	}
}

func TestSurgeWithPausesIsOneAndBecomesTheNewNormal(t *testing.T) {
	for _, pause := range []float64{5, 14, 40} {
		r := rand.New(rand.NewPCG(9, uint64(pause)))
		m := newSim(t)
		m.run(600, poisson(r, at(12)))
		for range 12 {
			m.run(600-pause, poisson(r, at(60)))
			m.run(pause, steady(0))
		}
		if len(m.began) != 1 || len(m.ended) != 1 || m.ended[0]-m.began[0] > 1900+4*pause {
			t.Errorf("pauses of %v s: began %v, ended %v, want one surge of 30 min and its pauses", pause, m.began, m.ended)
		}
		m.run(300, poisson(r, at(60)))
		if e := m.f.Report().Expected; e < 50 || e > 70 {
			t.Errorf("pauses of %v s: %.1f/s are expected after two hours", pause, e)
		}
	}
}

func TestSilenceEndsASurgeAfterAMinute(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 100))
	m := newSim(t)
	m.run(600, poisson(r, at(50)))
	m.run(60, poisson(r, at(400)))
	stopped := m.s
	m.run(100, steady(0))
	if len(m.ended) != 1 || m.ended[0]-stopped < 60 || m.ended[0]-stopped > 75 || !m.f.Quiet(m.now()) {
		t.Errorf("silent since %v: ended %v, quiet %v", stopped, m.ended, m.f.Quiet(m.now()))
	}
	m.run(60, poisson(r, at(50)))
	if len(m.began) != 1 {
		t.Errorf("back to the usual: verdicts at %v", m.began)
	}
}

// What pauses for longer than a minute is found again, until it has lasted for Learn all in all.
func TestSurgeThatPausesForMinutesIsLearnedAllTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 101))
	m := newSim(t)
	m.run(600, poisson(r, at(12)))
	for range 12 {
		m.run(600, poisson(r, at(60)))
		m.run(180, steady(0))
	}
	if n := len(m.began); n < 2 || n > 4 || len(m.ended) != n {
		t.Errorf("ten minutes of surge and three of silence, for hours: began %v, ended %v", m.began, m.ended)
	}
}

func TestHoveringAtTheThresholdDoesNotFlap(t *testing.T) {
	for _, ratio := range []float64{1.2, 1.3, 1.4, 1.5, 1.7} {
		r := rand.New(rand.NewPCG(8, uint64(ratio*10)))
		m := newSim(t)
		m.run(300, poisson(r, at(200)))
		m.run(3600, poisson(r, func(s float64) float64 { return 200 * (ratio + 0.1*math.Sin(s/3)) }))
		if len(m.began) > 2 {
			t.Errorf("%v times its level for an hour: %d surges", ratio, len(m.began))
		}
	}
}

func TestStatesAndVerdictsHaveNames(t *testing.T) {
	for want, got := range map[string]string{
		"learning": Learning.String(), "calm": Calm.String(), "rising": Rising.String(), "surge": Surge.String(),
		"cooling": Cooling.String(), "unknown": State(9).String(), "none": None.String(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if SurgeBegan.String() != "surge" || SurgeEnded.String() != "calm" {
		t.Error("a verdict is not named as its event is")
	}
}
