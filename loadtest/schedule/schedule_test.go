package schedule

import (
	"math"
	"slices"
	"testing"
	"time"
)

func make1(t *testing.T, spread Spread, seed uint64, pieces ...Piece) []Arrival {
	t.Helper()
	arrivals, err := Make(nil, 0, spread, seed, pieces...)
	if err != nil {
		t.Fatal(err)
	}
	return arrivals
}

func between(arrivals []Arrival, from, to time.Duration) (n int) {
	for _, a := range arrivals {
		if a.At >= from && a.At < to {
			n++
		}
	}
	return n
}

func TestEvenArrivalsAreEqualGapsApart(t *testing.T) {
	arrivals := make1(t, Even, 7, Steady(time.Minute, 100))
	if len(arrivals) != 6000 {
		t.Fatalf("%d arrivals in a minute of 100/s, want 6000", len(arrivals))
	}
	for i := 1; i < len(arrivals); i++ {
		if gap := arrivals[i].At - arrivals[i-1].At; (gap - 10*time.Millisecond).Abs() > time.Microsecond {
			t.Fatalf("gap %d is %v, want 10ms", i, gap)
		}
	}
}

func TestPoissonArrivalsHaveTheMeanAndSpreadOfIndependentCallers(t *testing.T) {
	const rate, seconds = 50, 2000
	arrivals := make1(t, Poisson, 1, Steady(seconds*time.Second, rate))
	counts := make([]float64, seconds)
	for _, a := range arrivals {
		counts[int(a.At/time.Second)]++
	}
	var sum, squares float64
	for _, n := range counts {
		sum += n
		squares += n * n
	}
	mean := sum / seconds
	variance := squares/seconds - mean*mean
	// The standard error of the mean is sqrt(50/2000) = 0.16, of the variance about 50 * sqrt(2/2000) = 1.6.
	if math.Abs(mean-rate) > 0.8 {
		t.Errorf("mean %.2f a second, want %d", mean, rate)
	}
	if math.Abs(variance-rate) > 8 {
		t.Errorf("variance %.1f, want %d as of a Poisson process", variance, rate)
	}
}

func TestARateThatDoublesGrowsByTheSameFactorInEqualTimes(t *testing.T) {
	// From 100/s to 400/s in 60 s: the mass by t is 100/k (exp(kt) - 1), k = ln 4 / 60.
	arrivals := make1(t, Even, 3, Piece{Length: time.Minute, From: 100, To: 400})
	k := math.Log(4) / 60
	for _, second := range []int{0, 15, 30, 45, 59} {
		from := float64(second)
		want := 100 / k * (math.Exp(k*(from+1)) - math.Exp(k*from))
		got := between(arrivals, time.Duration(second)*time.Second, time.Duration(second+1)*time.Second)
		if math.Abs(float64(got)-want) > 1.01 {
			t.Errorf("second %d: %d arrivals, want %.1f", second, got, want)
		}
	}
	if !slices.IsSortedFunc(arrivals, func(a, b Arrival) int { return int(a.At - b.At) }) {
		t.Error("the arrivals are out of order")
	}
}

func TestAJumpHappensAtItsMomentAndSilenceIsSilent(t *testing.T) {
	pieces := []Piece{Steady(10*time.Second, 15), Steady(10*time.Second, 800), Steady(10*time.Second, 0), Steady(10*time.Second, 15)}
	for _, spread := range []Spread{Even, Poisson} {
		arrivals := make1(t, spread, 5, pieces...)
		for i, want := range []float64{150, 8000, 0, 150} {
			from := time.Duration(i) * 10 * time.Second
			got := float64(between(arrivals, from, from+10*time.Second))
			if math.Abs(got-want) > 5*math.Sqrt(want) {
				t.Errorf("spread %d, piece %d: %.0f arrivals, want about %.0f", spread, i, got, want)
			}
		}
		// The gap under way is cut short by the jump: a mean of 1/800 s, not of 1/15 s.
		for _, a := range arrivals {
			if a.At >= 10*time.Second {
				if a.At > 10*time.Second+20*time.Millisecond {
					t.Errorf("spread %d: the first arrival of the jump comes %v late", spread, a.At-10*time.Second)
				}
				break
			}
		}
	}
}

func TestAGapGoesOnFromOnePieceIntoTheNext(t *testing.T) {
	// 400 pieces of 0.15 s at 10/s and 0.05 s at 30/s, 1.5 arrivals in each, are 600 arrivals whose even gaps
	// differ in time but never in mass.
	var pieces []Piece
	for range 200 {
		pieces = append(pieces, Steady(150*time.Millisecond, 10), Steady(50*time.Millisecond, 30))
	}
	if n := len(make1(t, Even, 2, pieces...)); n != 600 {
		t.Errorf("%d arrivals, want 600", n)
	}
}

func TestASeedFixesTheArrivalsAndSendersDiffer(t *testing.T) {
	one := make1(t, Poisson, 9, Steady(10*time.Second, 100))
	if again := make1(t, Poisson, 9, Steady(10*time.Second, 100)); !slices.Equal(one, again) {
		t.Error("the same seed gives other arrivals")
	}
	if other := make1(t, Poisson, 10, Steady(10*time.Second, 100)); slices.Equal(one, other) {
		t.Error("another seed gives the same arrivals")
	}
	both, err := Make(one, 1, Poisson, 9, Steady(10*time.Second, 100))
	if err != nil {
		t.Fatal(err)
	}
	if second := both[len(one):]; second[0].At == one[0].At {
		t.Error("two senders march in step")
	}
	Sort(both)
	for i := 1; i < len(both); i++ {
		if both[i].At < both[i-1].At {
			t.Fatalf("arrival %d is before its predecessor", i)
		}
	}
}

func TestMassBetweenAddsUpToTheWhole(t *testing.T) {
	for _, p := range []Piece{Steady(time.Minute, 7), {Length: time.Minute, From: 10, To: 40}, {Length: time.Minute, From: 40, To: 10}} {
		sum := p.MassBetween(-time.Second, 20*time.Second) + p.MassBetween(20*time.Second, 50*time.Second) + p.MassBetween(50*time.Second, time.Hour)
		if math.Abs(sum-p.mass()) > 1e-6 {
			t.Errorf("%+v: the parts are %v, the whole is %v", p, sum, p.mass())
		}
	}
}

func TestImpossibleRatesAreRefused(t *testing.T) {
	for name, p := range map[string]Piece{
		"negative length":   {Length: -1, From: 1, To: 1},
		"negative rate":     Steady(time.Second, -1),
		"not a number":      Steady(time.Second, math.NaN()),
		"infinite":          Steady(time.Second, math.Inf(1)),
		"growth from zero":  {Length: time.Second, From: 0, To: 5},
		"decline to zero":   {Length: time.Second, From: 5, To: 0},
		"one end is absent": {Length: time.Second, From: 5, To: math.NaN()},
	} {
		if _, err := Make(nil, 0, Even, 1, p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestScatteredArrivalsAreAsManyAsToldAndLieLikePoissonTraffic(t *testing.T) {
	const n, cells = 10000, 1000
	arrivals := Scatter([]Arrival{{At: time.Second}}, 3, 1, 2*time.Second, 12*time.Second, n)
	if len(arrivals) != n+1 || arrivals[0] != (Arrival{At: time.Second}) {
		t.Fatalf("%d arrivals, the first %+v", len(arrivals), arrivals[0])
	}
	var counts [cells]int
	last := 2 * time.Second
	for _, a := range arrivals[1:] {
		if a.Who != 3 || a.At < last || a.At >= 12*time.Second {
			t.Fatalf("%+v after %v", a, last)
		}
		last = a.At
		counts[(a.At-2*time.Second)*cells/(10*time.Second)]++
	}
	// Of Poisson counts the variance is the mean, 10; over 1000 cells it is known to 5 %.
	variance := 0.0
	for _, c := range counts {
		variance += float64((c-n/cells)*(c-n/cells)) / cells
	}
	if variance < 8.5 || variance > 11.5 {
		t.Errorf("variance %.1f, want 10", variance)
	}
	if again := Scatter(nil, 3, 1, 2*time.Second, 12*time.Second, n); again[0] != arrivals[1] || again[n-1] != arrivals[n] {
		t.Error("the same seed gives other arrivals")
	}
}
