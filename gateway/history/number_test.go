package history

import (
	"math"
	"testing"
)

func TestNumbersAreAsPreciseAsIsSaid(t *testing.T) {
	for n := range 4097 {
		if got := numberOf(float32(n)).float(); got != float64(n) {
			t.Fatalf("%d is %v", n, got)
		}
		if got := numberOf(float32(n)).coarse().float(); n <= 256 && got != float64(n) {
			t.Fatalf("%d by the minute is %v", n, got)
		}
	}
	for v := 1e-4; v < 4e9; v *= 1.0007 {
		if got := numberOf(float32(v)).float(); math.Abs(got-v) > max(v/4096, 1./2048)*1.0001 {
			t.Fatalf("%v is %v", v, got)
		}
		if got := numberOf(float32(v)).coarse().float(); math.Abs(got-v) > (v/256+max(v/4096, 1./2048))*1.0001 {
			t.Fatalf("%v by the minute is %v", v, got)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(-1), -1, 0} {
		if got := numberOf(float32(v)); got != 0 {
			t.Fatalf("%v is %v", v, got)
		}
	}
	for _, v := range []float64{4.3e9, 1e30, math.Inf(1)} {
		if got := numberOf(float32(v)); got != largest || got.float() < 4e9 {
			t.Errorf("%v is %v", v, got.float())
		}
	}
}

func TestNumbersAreInOrderAndCoarseOnesAreAmongThem(t *testing.T) {
	last := -1.0
	for n := range unknown {
		v := n.float()
		if v <= last || numberOf(float32(v)) != n {
			t.Fatalf("number %d is %v after %v, and %d again", n, v, last, numberOf(float32(v)))
		}
		last = v
		if c := n.coarse(); c == unknown || c.coarse() != c || max(c, n)-min(c, n) > 8 && n < largest-8 {
			t.Fatalf("number %d is %d, and that %d", n, c, c.coarse())
		}
	}
	if !math.IsNaN(unknown.float()) || unknown.coarse() != unknown {
		t.Error("what is unknown is known")
	}
}
