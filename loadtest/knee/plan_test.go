package knee

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestTheRampGoesUpByHalvesAndClosesIn(t *testing.T) {
	carriedTo := func(most float64) func(rate float64, n int) Verdict {
		return func(rate float64, _ int) Verdict {
			if rate > most {
				return Short
			}
			return Carried
		}
	}
	for _, step := range []struct {
		name    string
		ramp    ramp
		verdict func(rate float64, n int) Verdict
		want    string // rates played
		end     End
		carried float64
	}{
		{"up to the bound", ramp{carried: 100, limit: 300}, carriedTo(1000), "150 225 300", NoKnee, 300},
		{"start below what is known", ramp{carried: 100, start: 50, limit: 120}, carriedTo(1000), "120", NoKnee, 120},
		{"start above", ramp{carried: 10, start: 200, limit: 300}, carriedTo(1000), "200 300", NoKnee, 300},
		{"already at the bound", ramp{carried: 100, limit: 100}, carriedTo(1000), "", NoKnee, 100},
		{"closes in", ramp{carried: 100, limit: 1000}, carriedTo(160), "150 225 184 166 158 162", Found, 157.75},
		{"nothing above the first", ramp{carried: 100, limit: 1000}, carriedTo(100), "150 122 111 105 103", Found, 100},
		{"late once is not late", ramp{carried: 100, limit: 225}, func(_ float64, n int) Verdict {
			if n == 0 {
				return Late
			}
			return Carried
		}, "150 150 225", NoKnee, 225},
		{"late twice is", ramp{carried: 100, limit: 150}, func(rate float64, _ int) Verdict {
			if rate > 104 {
				return Late
			}
			return Carried
		}, "150 150 122 122 111 111 105 105 103", Found, 102.57},
		{"a void one between them", ramp{carried: 100, limit: 104}, func(_ float64, n int) Verdict {
			return []Verdict{Void, Late, Void, Late}[n]
		}, "104 104 104 104", Found, 100},
		{"void for ever", ramp{carried: 100, limit: 1000}, func(float64, int) Verdict { return Void }, "150 150 150 150 150 150", GeneratorLate, 100},
		{"no connections", ramp{carried: 100, limit: 1000}, func(float64, int) Verdict { return Full }, "150", NoConnections, 100},
	} {
		var played []string
		r := step.ramp
		end := Unfinished
		for n := 0; n < 100; n++ {
			rate, why := r.next()
			if end = why; end != 0 {
				break
			}
			played = append(played, fmt.Sprintf("%.0f", rate))
			r.add(rate, step.verdict(rate, n))
		}
		if got := strings.Join(played, " "); got != step.want || end != step.end || math.Abs(r.carried-step.carried) > 0.5 {
			t.Errorf("%s: %s, %v at %.2f; want %s, %v at %.2f", step.name, got, end, r.carried, step.want, step.end, step.carried)
		}
	}
}

func TestTheSeatsAreFoundWithFewTries(t *testing.T) {
	workers := func(c int) func(n int) float64 { return func(n int) float64 { return 50 * float64(min(n, c)) } }
	never := math.MaxInt
	for _, step := range []struct {
		name   string
		plenty int
		does   func(n int) float64
		slow   int // from so many on latency is beyond its limit
		tried  []int
		want   int
	}{
		{"16 workers, 20 in flight at the knee", 20, workers(16), never, []int{20, 25, 15, 16}, 16},
		{"as many in flight as workers", 16, workers(16), never, []int{16, 20, 15}, 16},
		{"fewer in flight than workers", 11, workers(16), never, []int{11, 14, 18, 23, 15, 16}, 16},
		{"more would be too slow", 11, workers(16), 17, []int{11, 14, 18, 16, 17, 15}, 16},
		{"one worker", 1, workers(1), never, []int{1, 2}, 1},
		{"one worker, five in flight", 5, workers(1), never, []int{5, 7, 1}, 1},
		{"64 workers: the last 5 % are stretched to", 80, workers(64), never, []int{80, 100, 60, 61}, 64},
		{"contention", 27, contention, never, []int{27, 34, 9, 10, 18, 22, 24, 23}, 24},
		{"nothing comes through", 8, func(int) float64 { return 0 }, never, []int{8}, 8},
	} {
		s := seatSearch{unloaded: seconds(0.02), plenty: step.plenty}
		var tried []int
		for len(tried) < 50 {
			n, ok := s.next()
			if !ok {
				break
			}
			tried = append(tried, n)
			s.add(n, step.does(n), n < step.slow)
		}
		if !slices.Equal(tried, step.tried) || s.answer() != step.want {
			t.Errorf("%s: tried %v and found %d, want %v and %d", step.name, tried, s.answer(), step.tried, step.want)
		}
	}
}

func TestTheBracketIsOfTheLastWordOnEachLoad(t *testing.T) {
	for _, step := range []struct {
		name         string
		steps        string // rates, each with the first letter of its verdict
		knee, beyond float64
	}{
		{"all are carried", "150o 225o", 225, 0},
		{"late, then carried", "150o 225s 225o", 225, 0},
		{"late twice", "150o 225s 225s", 150, 225},
		{"late, then carried, below one that is short", "150o 300x 225s 225o", 225, 300},
		{"the lowest", "150o 300x 225x 180x 160o", 160, 180},
		{"void says nothing", "150o 225v", 150, 0},
	} {
		c := Curve{Knee: Step{Load: Load{Rate: 100}}}
		for _, word := range strings.Fields(step.steps) {
			var s Step
			var v rune
			fmt.Sscanf(word, "%f%c", &s.Load.Rate, &v)
			s.Verdict = map[rune]Verdict{'o': Carried, 's': Late, 'x': Short, 'v': Void}[v]
			c.note(s)
		}
		beyond := 0.0
		if c.Beyond != nil {
			beyond = c.Beyond.Load.Rate
		}
		if c.Knee.Load.Rate != step.knee || beyond != step.beyond {
			t.Errorf("%s: from %v to %v, want from %v to %v", step.name, c.Knee.Load.Rate, beyond, step.knee, step.beyond)
		}
	}
}
