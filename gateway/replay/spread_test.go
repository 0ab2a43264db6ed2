package replay

import (
	"math"
	"slices"
	"testing"
)

// moments are all arrivals of a bin.
func moments(b bin) (at []int64) {
	for b.left > 0 {
		at = append(at, b.at)
		b.next()
	}
	return at
}

func TestABinGivesOutItsArrivalsInOrderAndInside(t *testing.T) {
	for _, spread := range []Spread{Random, Even} {
		for _, n := range []int64{0, 1, 2, 3, 60, 1000, 100_000} {
			for _, width := range []int64{1, 1e6, 1e9, 600e9} {
				for _, from := range []int64{0, -5e9, 1_700_000_000_000_000_000} {
					at := moments(newBin(nil, from, width, n, spread, 7))
					if int64(len(at)) != n || !slices.IsSorted(at) {
						t.Fatalf("spread %d: %d of %d arrivals, in order: %v", spread, len(at), n, slices.IsSorted(at))
					}
					if n > 0 && (at[0] < from || at[n-1] >= from+width) {
						t.Fatalf("spread %d: %d in [%d, %d): from %d to %d", spread, n, from, from+width, at[0], at[n-1])
					}
				}
			}
		}
	}
}

func TestEvenArrivalsHaveEqualDistances(t *testing.T) {
	if got, want := moments(newBin(nil, 1000, 100, 4, Even, 1)), []int64{1012, 1037, 1062, 1087}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The k-th of n sorted uniform numbers has the mean k/(n+1) and the variance k(n+1-k)/((n+1)^2(n+2)).
func TestRandomArrivalsAreSortedUniformOnes(t *testing.T) {
	const n, rounds, width = 5, 20_000, 1e9
	var sum, squares [n]float64
	var tenths [10]float64
	for i := range rounds {
		for k, at := range moments(newBin(nil, int64(i)*width, width, n, Random, 3)) {
			u := float64(at-int64(i)*width) / width
			sum[k] += u
			squares[k] += u * u
			tenths[int(10*u)]++
		}
	}
	for k := range n {
		mean := sum[k] / rounds
		variance := squares[k]/rounds - mean*mean
		wantMean := float64(k+1) / (n + 1)
		wantVariance := float64((k+1)*(n-k)) / ((n + 1) * (n + 1) * (n + 2))
		if math.Abs(mean-wantMean) > 5*math.Sqrt(wantVariance/rounds) {
			t.Errorf("number %d has the mean %v, want %v", k+1, mean, wantMean)
		}
		if math.Abs(variance/wantVariance-1) > 0.05 {
			t.Errorf("number %d has the variance %v, want %v", k+1, variance, wantVariance)
		}
	}
	for i, x := range tenths {
		if want := n * rounds / 10.0; math.Abs(x-want) > 5*math.Sqrt(want) {
			t.Errorf("%v in tenth %d, want %v", x, i, want)
		}
	}
}

func TestTheMomentsDependOnTheSeedTheCallerAndTheBinAlone(t *testing.T) {
	at := func(seed uint64, caller string, from int64) (list []int64) {
		for _, m := range moments(newBin(nil, from, 1e9, 20, Random, seedOf(seed, caller))) {
			list = append(list, m-from)
		}
		return list
	}
	first := at(1, "a", 0)
	if !slices.Equal(first, at(1, "a", 0)) {
		t.Error("the same bin has other moments")
	}
	for name, other := range map[string][]int64{"seed": at(2, "a", 0), "caller": at(1, "b", 0), "bin": at(1, "a", 1e9)} {
		if slices.Equal(first, other) {
			t.Errorf("another %s has the same moments", name)
		}
	}
}

func TestSpreadIsReadByName(t *testing.T) {
	for s, want := range map[string]Spread{"random": Random, "even": Even} {
		if got, err := ParseSpread(s); err != nil || got != want {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	if _, err := ParseSpread("odd"); err == nil {
		t.Error(`"odd" is taken`)
	}
}
