package replay

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"tidegate/scheduler"
)

func TestSeatsComeBackInTheOrderOfTheirEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s ends
	type taken struct {
		at    int64
		count uint64
	}
	var naive []taken
	items := map[*scheduler.Item]taken{}
	for i := range 20_000 {
		if r.IntN(3) > 0 || len(naive) == 0 {
			it, at := &scheduler.Item{}, r.Int64N(50)
			s.push(at, it)
			items[it] = taken{at, uint64(i)}
			naive = append(naive, items[it])
			continue
		}
		first := slices.MinFunc(naive, func(a, b taken) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return int(a.count) - int(b.count)
		})
		if s.heap[0].at != first.at {
			t.Fatalf("next is at %d, want %d", s.heap[0].at, first.at)
		}
		if got := items[s.pop()]; got != first {
			t.Fatalf("got %v, want %v", got, first)
		}
		naive = slices.DeleteFunc(naive, func(x taken) bool { return x == first })
	}
}

func TestAHistogramTellsQuantilesToWithinTwoPercent(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, zero := range []int64{0, 500, 50_000} {
		var h, half, other histogram
		var all []time.Duration
		for i := range 10_000 {
			d := time.Duration(r.ExpFloat64() * float64([]time.Duration{50 * time.Microsecond, ms(20), time.Minute}[i%3]))
			all = append(all, d)
			h.add(d)
			if i%2 == 0 {
				half.add(d)
			} else {
				other.add(d)
			}
		}
		half.join(&other)
		for range zero {
			all = append(all, 0)
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 0.999} {
			want := all[int(q*float64(len(all)))]
			got := h.quantile(q, zero)
			if diff := max(got-want, want-got); diff > want/50+time.Microsecond {
				t.Errorf("%d at once: quantile %v is %v, want %v", zero, q, got, want)
			}
			if joined := half.quantile(q, zero); joined != got {
				t.Errorf("two halves have %v, the whole %v", joined, got)
			}
		}
		if len(h.counts) > 1500 {
			t.Errorf("%d buckets", len(h.counts))
		}
	}
	var none histogram
	if none.quantile(0.5, 0) != 0 || none.quantile(0.99, 10) != 0 {
		t.Error("nothing has a quantile")
	}
	var far histogram
	far.add(1 << 62)
	far.add(-1)
	if got := far.quantile(0.9, 0); got < 1<<61 {
		t.Errorf("the longest wait is told as %v", got)
	}
}

func TestOriginsAreBounded(t *testing.T) {
	s := newOrigins(4)
	seen := map[*Origin]bool{}
	for i := range 1000 {
		o := s.origin(originKey{Caller: string(rune('a' + i)), Type: string(rune('A' + i%100))})
		seen[o] = true
		if i >= 4 && o.Caller != others {
			t.Fatalf("caller %d of 4 is told apart", i)
		}
	}
	if len(s.of) != len(seen) || len(seen) > 2*4+1 {
		t.Errorf("%d origins", len(seen))
	}
	if o := s.origin(originKey{Caller: "a", Type: "A"}); o.Caller != "a" || o.Number != 0 {
		t.Errorf("the first is %+v now", o)
	}
}

func TestACallerWhoInventsTypesLeavesRoomForOthers(t *testing.T) {
	s := newOrigins(5000)
	for i := range 20_000 {
		s.origin(originKey{Caller: "inventor", Type: strconv.Itoa(i)})
	}
	if n := len(s.of); n != mostKinds+1 {
		t.Errorf("%d types of his are told apart, want %d and the rest", n, mostKinds)
	}
	if o := s.origin(originKey{Caller: "inventor", Type: "new"}); o.Caller != "inventor" || o.Type != "" {
		t.Errorf("another one is %+v", o.originKey)
	}
	if o := s.origin(originKey{Caller: "honest", Type: "chat"}); o.Caller != "honest" || o.Type != "chat" {
		t.Errorf("who comes later is %+v", o.originKey)
	}
}
