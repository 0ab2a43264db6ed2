package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestGammaDrawsHaveTheirMeanAndVariance(t *testing.T) {
	for _, cv := range []float64{0, 0.3, 0.9, 1, 1.1, 2, 5} {
		r := rand.New(rand.NewPCG(1, 1))
		g := newGamma(cv)
		const n = 400_000
		sum, squares := 0., 0.
		for range n {
			x := g.draw(r)
			sum += x
			squares += x * x
		}
		want := cv
		if cv == 0 {
			want = 1 // nothing is known: Poisson
		}
		mean := sum / n
		if got := math.Sqrt(squares/n - mean*mean); math.Abs(mean-1) > 5*want/math.Sqrt(n) || math.Abs(got/want-1) > 0.05 {
			t.Errorf("cv %v: mean %.4f, cv %.4f", cv, mean, got)
		}
	}
}

// uniform is a tenant of one rate and cv.
func uniform(rate, cv float64, bins int) *tenant {
	t := &tenant{name: "a", width: 600, pauses: make([]float64, bins)}
	for range bins {
		t.rates, t.cvs, t.told = append(t.rates, rate), append(t.cvs, cv), append(t.told, cv)
	}
	return t
}

func TestCountsHaveTheRateAndTheVarianceOfTheirGaps(t *testing.T) {
	for _, c := range []struct{ rate, cv float64 }{{5, 1}, {50, 1}, {50, 0.5}, {50, 2}, {200, 3}} {
		a := newRenewal(uniform(c.rate, c.cv, 4), rand.New(rand.NewPCG(2, 2)))
		const seconds, long = 40_000, 10
		sum, squares := 0., 0.
		for i := range seconds / long {
			n := 0.
			for j := range long * cellsASec {
				n += float64(a.cell(i*long*cellsASec + j))
			}
			sum += n
			squares += n * n
		}
		const n = seconds / long
		mean := sum / n
		phi := (squares/n - mean*mean) / mean
		if rate := mean / long; math.Abs(rate/c.rate-1) > 5*c.cv/math.Sqrt(seconds*c.rate) {
			t.Errorf("%v/s, cv %v: rate %.3f", c.rate, c.cv, rate)
		}
		if want := c.cv * c.cv; math.Abs(phi/want-1) > 0.1 {
			t.Errorf("%v/s, cv %v: variance %.3f times the mean, want about %.3f", c.rate, c.cv, phi, want)
		}
	}
}

func TestRatesGoInStraightLinesFromMiddleToMiddle(t *testing.T) {
	u := &tenant{width: 600, rates: []float64{10, 40, 40, 0}}
	for _, c := range []struct{ at, want float64 }{
		{300, 10},
		{600, 25},
		{900, 40},
		{1200, 40},
		{1800, 20},
		{2100, 0},
		{0, 5},
		{2400, 5},
		{2700, 10}, // the first follows on the last
	} {
		if got := u.at(c.at); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("at %v s: %v/s, want %v", c.at, got, c.want)
		}
	}
}

func TestPausesMakeUpTheVariationOfTheGapsAndKeepTheCount(t *testing.T) {
	const rate, cv, bins = 20, 15, 200
	u := uniform(rate, cv, bins)
	u.pause()
	if want := 600 * math.Sqrt((cv*cv-1)/(rate*600.)); math.Abs(u.pauses[0]-want) > 1e-9 {
		t.Fatalf("a pause of %v s, want %v", u.pauses[0], want)
	}
	a := newRenewal(u, rand.New(rand.NewPCG(3, 3)))
	gaps, squares, n, last := 0., 0., 0., -1.
	for i := range bins * 600 * cellsASec {
		for k := range a.cell(i) {
			at := float64(i)*cellSecond + float64(k)*1e-4
			if last >= 0 {
				gaps += at - last
				squares += (at - last) * (at - last)
			}
			last = at
			n++
		}
	}
	mean := gaps / (n - 1)
	if got := n / (bins * 600); math.Abs(got/rate-1) > 0.02 {
		t.Errorf("%.3f/s, want %v", got, rate)
	}
	if got := math.Sqrt(squares/(n-1)/mean/mean - 1); math.Abs(got/cv-1) > 0.1 {
		t.Errorf("gaps of a cv of %.2f, want %v", got, cv)
	}
}

func TestVerdictsOnJumpsOfTheSourceAreToldApart(t *testing.T) {
	u := uniform(10, 1, 6)
	u.rates[2], u.rates[3] = 100, 100
	u.told[5] = 5
	for _, c := range []struct {
		at   float64
		want string
	}{
		{600, steady},
		{905, jump}, // tenfold within ten minutes: at its begin it doubles in 41 s
		{964, jump},
		{1300, steady}, // by then it does no more
		{1800, steady},
		{3100, uneven},
	} {
		if got := u.kind(int64(c.at * 1000)); got != c.want {
			t.Errorf("at %v s: %s, want %s", c.at, got, c.want)
		}
	}
	if n := u.jumps(); n != 1 {
		t.Errorf("%d jumps, want 1", n)
	}
	u.findings = []finding{{at: 905_000}, {at: 1_300_000}, {at: 1_310_000}}
	for i, expected := range []float64{20, 30, 30} {
		u.findings[i].Expected = expected
	}
	if got := u.kinds(); !slices.Equal(got, []string{jump, steady, again}) {
		t.Errorf("kinds %v", got)
	}
	u.pauses[2] = 330 // before the pause was the jump
	if got := u.kind(1_300_000); got != jump {
		t.Errorf("after a pause: %s", got)
	}
	u.pauses[2], u.pauses[4] = 0, 301
	if got := u.kind(2_700_000); got != packed {
		t.Errorf("in a bin that was mostly a pause: %s", got)
	}
	u.pauses[4] = 0
	u.rates[2] = 60 // sixfold doubles in 72 s
	if got := u.kind(905_000); got != steady {
		t.Errorf("at a tide: %s", got)
	}
}

func TestTenantsAreRead(t *testing.T) {
	const head = "time_ms,caller,count,iat_cv\n"
	stem := write(t, map[string]string{".bins.csv": head + "0,a,60,1.5\n0,b,6000,0.9\n600000,b,1200,1.1\n1200000,a,600,0.00\n1200000,b,0,0\n"})
	got, err := readTenants(stem + ".bins.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].name != "b" || got[1].width != 600 || len(got[1].rates) != 3 || got[1].rates[0] != 0.1 || got[1].rates[1] != 0 || got[1].rates[2] != 1 || got[1].cvs[0] != 1.5 {
		t.Errorf("%+v %+v", got[0], got[1])
	}
	for _, bad := range []string{"", head, head + "0,a,1,1\n", head + "0,a,1\n600000,a,1\n", head + "x,a,1,1\n", "time_ms,caller,count\n0,a,1\n"} {
		if got, err := readTenants(write(t, map[string]string{".bins.csv": bad}) + ".bins.csv"); err == nil {
			t.Errorf("%q: %v", strings.ReplaceAll(bad, "\n", "|"), got)
		}
	}
}
