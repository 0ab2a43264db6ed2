package knee

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var usual = Options{MaxRate: 4000, Step: 5 * time.Second, Times: 3, MaxTime: time.Hour}

func fixed(s float64) func() float64 { return func() float64 { return s } }

func exponential(mean float64) func() float64 {
	rng := rand.New(rand.NewPCG(7, 7))
	return func() float64 { return mean * rng.ExpFloat64() }
}

// find calibrates a model in a bubble.
func find(t *testing.T, u *simulated, o Options) (c *Curve, told []Step, err error) {
	synctest.Test(t, func(t *testing.T) {
		u.t = t
		c, err = Find(t.Context(), u, o, func(s *Step) { told = append(told, *s) })
	})
	return c, told, err
}

// The law of contention, in requests a second with n at a time: half of what it could be at 20, its most at 43.
func contention(n int) float64 {
	x := float64(n)
	return 50 * x / (1 + 0.05*(x-1) + 0.0005*x*(x-1))
}

func TestTheKneeAndTheSeatsOfModelsWithAKnownAnswer(t *testing.T) {
	for _, step := range []struct {
		name        string
		fresh       func() station
		low, high   float64 // of the knee's throughput, a second
		few, plenty int
	}{
		// Pools of workers: the seats are the workers. The knee is nearer to what they can do (c / service) the more
		// they are, as p99 of a queue says.
		{"1 worker, 5 ms", func() station { return newPool(1, fixed(0.005)) }, 60, 100, 1, 1},
		{"4 workers, 50 ms", func() station { return newPool(4, fixed(0.05)) }, 64, 80, 4, 4},
		{"16 workers, 20 ms", func() station { return newPool(16, fixed(0.02)) }, 720, 800, 16, 16},
		{"64 workers, 100 ms", func() station { return newPool(64, fixed(0.1)) }, 600, 640, 63, 65},
		// Exponential service: the time in M/M/1 is exponential of rate 50 - load, so that p99 is k times that of a
		// lone request at a load of 50 (1 - 1/k) = 33. That of a lone request is known from a hundred to some 30 %.
		{"M/M/1, 20 ms", func() station { return newPool(1, exponential(0.02)) }, 25, 45, 1, 2},
		{"M/M/4, 20 ms", func() station { return newPool(4, exponential(0.02)) }, 160, 200, 4, 5},
		{"M/M/16, 20 ms", func() station { return newPool(16, exponential(0.02)) }, 740, 810, 15, 17},
		// Service that slows down with company: by the two asymptotes 11 seats, which do 65 % of the most; the most
		// with 43; three times the latency of one at 27, where it does 93 %.
		{"contention", func() station { return &shared{rate: contention, rng: rand.New(rand.NewPCG(3, 3))} }, 430, 537, 18, 35},
		// 500/s let through, 20 ms each: ten at a time, whatever the upstream could do.
		{"a limit of 500/s", func() station { return &limited{station: newPool(1000, fixed(0.02)), rate: 500} }, 450, 510, 9, 11},
	} {
		for seed := range uint64(2) {
			u := &simulated{fresh: step.fresh, seed: 1000 * seed}
			c, told, err := find(t, u, usual)
			if err != nil {
				t.Errorf("%s: %v", step.name, err)
				continue
			}
			if c.End != Found || c.Beyond == nil || c.Beyond.Load.Rate > precision*c.Knee.Load.Rate {
				t.Errorf("%s: ended as %v, not between %v and %v/s", step.name, c.End, c.Knee.Load.Rate, c.Beyond)
			}
			if g := c.Knee.Goodput; g < step.low || g > step.high {
				t.Errorf("%s: knee at %.1f/s, want from %v to %v", step.name, g, step.low, step.high)
			}
			if n := c.Seats.Seats; n < step.few || n > step.plenty {
				t.Errorf("%s: %d seats, want from %d to %d", step.name, n, step.few, step.plenty)
			}
			if len(told) != len(u.played) || len(told) != len(c.Steps)+len(c.Seats.Tried) {
				t.Errorf("%s: %d steps told, %d played, %d and %d known", step.name, len(told), len(u.played), len(c.Steps), len(c.Seats.Tried))
			}
			holdsBounds(t, step.name, u, c)
		}
	}
}

// holdsBounds sees that the upstream was never put under more than is promised.
func holdsBounds(t *testing.T, name string, u *simulated, c *Curve) {
	t.Helper()
	carried := c.Unloaded.Load.Rate
	for _, s := range c.Steps[1:] {
		if s.Load.Rate > carried*growth*(1+1e-9) {
			t.Errorf("%s: a step of %.0f/s although only %.0f/s was known to be carried", name, s.Load.Rate, carried)
		}
		if s.Verdict == Carried {
			carried = max(carried, s.Load.Rate)
		}
	}
	most := 0
	for _, load := range u.played {
		if load.Seats == 0 {
			most = max(most, minOut+int(2*load.Rate*c.Limit.Seconds()))
		}
	}
	if u.peak > most {
		t.Errorf("%s: %d were out at a time, want at most %d", name, u.peak, most)
	}
}

func TestWithoutAKneeWithinTheBoundItSaysSo(t *testing.T) {
	u := &simulated{fresh: func() station { return newPool(1e6, fixed(0.02)) }}
	o := usual
	o.MaxRate = 1000
	c, _, err := find(t, u, o)
	if err != nil || c.End != NoKnee || c.Beyond != nil || c.Knee.Load.Rate != 1000 {
		t.Fatalf("%v, %+v", err, c)
	}
	if c.Seats.Measured || c.Seats.Seats < 20 || c.Seats.Seats > 21 {
		t.Errorf("seats %+v, want 20 by Little's law: 1000/s x 20 ms", c.Seats)
	}
	for _, load := range u.played {
		if load.Rate > 1000 {
			t.Errorf("%.0f/s was played, and 1000 is the bound", load.Rate)
		}
	}
}

func TestAStartRateSkipsTheStepsBelowIt(t *testing.T) {
	u := &simulated{fresh: func() station { return newPool(16, fixed(0.02)) }}
	o := usual
	o.Start = 500
	c, _, err := find(t, u, o)
	if err != nil || c.End != Found || c.Seats.Seats != 16 {
		t.Fatalf("%v, %+v", err, c)
	}
	if u.played[1].Rate != 500 {
		t.Errorf("the second step has %v/s", u.played[1].Rate)
	}
}

func TestAnObjectiveIsTheLimit(t *testing.T) {
	u := &simulated{fresh: func() station { return newPool(16, fixed(0.02)) }}
	o := usual
	o.Limit = 25 * time.Millisecond
	c, _, err := find(t, u, o)
	if err != nil || c.Limit != o.Limit || c.End != Found {
		t.Fatalf("%v, %+v", err, c)
	}
	// A tight limit is reached long before the workers are all busy; the seats are still theirs.
	if c.Knee.Goodput > 720 || c.Knee.High > o.Limit || c.Seats.Seats < 15 || c.Seats.Seats > 16 {
		t.Errorf("knee %.0f/s at %v, %d seats", c.Knee.Goodput, c.Knee.High, c.Seats.Seats)
	}
	o.Limit = 10 * time.Millisecond
	if _, _, err := find(t, u, o); err == nil || !strings.Contains(err.Error(), "without load latency is 20ms already") {
		t.Errorf("%v", err)
	}
}

func TestAGeneratorThatIsAlwaysLateEndsItAndCountsForNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	u := &simulated{fresh: func() station { return newPool(16, fixed(0.02)) }}
	u.late = func() time.Duration {
		if n := len(u.played); u.played[n-1].Rate > 100 {
			return time.Duration(rng.IntN(int(40 * time.Millisecond)))
		}
		return 0
	}
	c, told, err := find(t, u, usual)
	if err != nil || c.End != GeneratorLate || c.Beyond != nil || c.Knee.Load.Rate > 100 {
		t.Fatalf("%v, %+v", err, c)
	}
	voids := 0
	for _, s := range told {
		if s.Verdict == Void {
			voids++
		}
	}
	if voids != tries {
		t.Errorf("%d void steps, want %d", voids, tries)
	}
}

func TestAVoidStepIsPlayedAgain(t *testing.T) {
	u := &simulated{fresh: func() station { return newPool(16, fixed(0.02)) }}
	u.late = func() time.Duration {
		if n := len(u.played); n == 5 || n == 12 || n == 13 {
			return 20 * time.Millisecond
		}
		return 0
	}
	c, _, err := find(t, u, usual)
	if err != nil || c.End != Found || c.Seats.Seats != 16 || c.Knee.Goodput < 720 {
		t.Fatalf("%v, %+v", err, c)
	}
	if u.played[4].Rate != u.played[5].Rate || u.played[11].Rate != u.played[13].Rate {
		t.Error("a void step was not played again")
	}
}

func TestErrorsEndItAtOnce(t *testing.T) {
	u := &simulated{fresh: func() station { return newPool(16, fixed(0.02)) }}
	u.status = func(load Load) int {
		if load.Rate > 300 {
			return 500
		}
		return 200
	}
	c, told, err := find(t, u, usual)
	if err != nil || c.End != Trouble || c.Beyond == nil || c.Beyond.Verdict != Failing || c.Knee.Load.Rate > 300 {
		t.Fatalf("%v, %+v", err, c)
	}
	last := told[len(told)-1]
	if last.Cut != Failures || last.Reasons["http_500"] > 3*minBad {
		t.Errorf("the last step: %+v", last)
	}
}

func TestEveryWayToEndEarlyKeepsWhatIsKnown(t *testing.T) {
	pool := func() station { return newPool(16, fixed(0.02)) }
	hour := usual
	short := usual
	short.MaxTime = 50 * time.Second
	for _, step := range []struct {
		name string
		u    *simulated
		o    Options
		want End
	}{
		{"interrupted", &simulated{fresh: pool, leave: func(l Load) bool { return l.Rate > 300 }}, hour, Interrupted},
		{"interrupted at the seats", &simulated{fresh: pool, leave: func(l Load) bool { return l.Seats > 0 }}, hour, Interrupted},
		{"out of time", &simulated{fresh: pool}, short, OutOfTime},
		{"does not recover", &simulated{fresh: pool, ask: func(played int) Answer {
			if played > 6 {
				return Answer{Latency: time.Second}
			}
			return Answer{Latency: 20 * time.Millisecond}
		}}, hour, NotRecovered},
	} {
		c, told, err := find(t, step.u, step.o)
		if err != nil || c.End != step.want {
			t.Errorf("%s: %v, %+v", step.name, err, c)
			continue
		}
		carried := slices.IndexFunc(c.Steps, func(s Step) bool { return s.Load.Rate == c.Knee.Load.Rate })
		if carried < 3 || c.Seats.Measured || c.Seats.Seats != max(1, int(math.Ceil(c.Knee.InFlight))) || len(told) < 3 {
			t.Errorf("%s: knee is step %d, seats %+v", step.name, carried, c.Seats)
		}
		a := Advise(c, Wishes{Pool: "p", Semantic: "s", Level: "l", Callers: 1, Headroom: 0.1})
		if a.PoolRate < 0.89*c.Knee.Goodput || a.MaxWait < waits*c.Knee.High {
			t.Errorf("%s: of %.0f/s in %v it makes %+v", step.name, c.Knee.Goodput, c.Knee.High, a)
		}
	}
}

func TestWhatCannotBeCalibratedIsSaid(t *testing.T) {
	pool := func() station { return newPool(16, fixed(0.02)) }
	answer := func(a Answer) func(int) Answer { return func(int) Answer { return a } }
	for _, step := range []struct {
		name string
		u    *simulated
		want string
	}{
		{"it is elsewhere", &simulated{fresh: pool, status: func(Load) int { return 302 }}, "one request at a time is too much"},
		{"a key is missing", &simulated{fresh: pool, ask: answer(Answer{Reason: "http_401"})}, "sent alone got http_401"},
		{"too slow for the time", &simulated{fresh: pool, ask: answer(Answer{Latency: 10 * time.Minute})}, "give it more time"},
		{"always late", &simulated{fresh: pool, late: func() time.Duration { return 30 * time.Millisecond }}, "even without load the generator itself was late"},
		{"one is too much", &simulated{fresh: pool, status: func(Load) int { return 503 }}, "one request at a time is too much"},
	} {
		if _, _, err := find(t, step.u, usual); err == nil || !strings.Contains(err.Error(), step.want) {
			t.Errorf("%s: %v, want %q", step.name, err, step.want)
		}
	}
}

func TestTheModelsAreWhatTheyAreSaidToBe(t *testing.T) {
	// The mean time in M/M/1 is 1 / (mu - lambda): 50 ms at 30/s of 50/s.
	var s Step
	synctest.Test(t, func(t *testing.T) {
		u := &simulated{t: t, fresh: func() station { return newPool(1, exponential(0.02)) }}
		s, _ = u.Play(t.Context(), Load{Rate: 30, Settle: 10 * time.Second, Length: time.Hour})
	})
	if m := s.Mean.Seconds(); math.Abs(m-0.05) > 0.003 {
		t.Errorf("M/M/1: mean time %.4f s, want 0.05", m)
	}
	if l := s.Goodput * s.Mean.Seconds(); math.Abs(l-s.InFlight) > 0.02*l {
		t.Errorf("Little's law: %.3f in flight, and rate x time is %.3f", s.InFlight, l)
	}
	if fmt.Sprintf("%.0f %.0f", contention(1), contention(43)) != "50 537" {
		t.Errorf("contention: %.1f %.1f", contention(1), contention(43))
	}
}
