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

// Real traffic is burstier than Poisson's: here each arrival brings twelve more within 2 s, which makes the variance 13 times the mean.
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
