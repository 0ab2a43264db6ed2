package main

import (
	"slices"
	"testing"
)

// counts are seconds at a steady count, and from there on these.
func counts(steady int32, then ...int32) *dense {
	return &dense{caller: "a", start: 7000, seconds: append(slices.Repeat([]int32{steady}, 100), then...)}
}

func TestRulesFindWhatTheyAreMadeFor(t *testing.T) {
	const onset = 7000 + 100*1000
	for _, c := range []struct {
		name   string
		family int
		counts *dense
		want   []int64 // ms after the onset
	}{
		{"one second is enough", 0, counts(100, 170, 100, 100), []int64{1000}},
		{"below the ratio", 0, counts(100, 149), nil},
		{"above the ratio, within the deviations", 0, counts(10, 20), nil},
		{"one surge while it goes on", 0, counts(100, 200, 200, 100, 100, 200), []int64{1000}},
		{"and a second one after it was over for long", 0, counts(100, append(append([]int32{200}, slices.Repeat([]int32{100}, 12)...), 200)...), []int64{1000, 14000}},
		{"one second of two is not enough", 1, counts(100, 170, 100, 170), nil},
		{"two are", 1, counts(100, 170, 170), []int64{2000}},
		{"the average needs two", 2, counts(100, 180, 180, 180), []int64{2000}},
		{"and one that is high", 2, counts(100, 300), []int64{1000}},
		{"a slow rise is none", 2, counts(100, 101, 102, 103, 104, 105, 106, 107), nil},
		{"nor what comes before a minute is known", 0, &dense{start: onset, seconds: []int32{10, 10, 100, 10}}, nil},
	} {
		got := playRule(families[c.family].make(1.5, 5), c.counts)
		for i := range got {
			got[i] -= onset
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: found at %v ms, want %v", c.name, got, c.want)
		}
	}
}
