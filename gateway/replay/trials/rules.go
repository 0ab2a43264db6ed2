package main

import (
	"fmt"
	"math"
)

// A rule says, of each second's count, whether it is too much. It is told every second.
type rule interface{ hot(count float64) bool }

// family is the rules of one kind, for all thresholds that are tried.
type family struct {
	name string
	make func(ratio, sigmas float64) rule
}

var families = []family{
	{"one second over the last minute", func(r, k float64) rule { return &overMean{ratio: r, sigmas: k, row: 1} }},
	{"two seconds in a row", func(r, k float64) rule { return &overMean{ratio: r, sigmas: k, row: 2} }},
	{"EWMA chart", func(r, k float64) rule { return &chart{ratio: r, sigmas: k} }},
}

// The thresholds that are tried, each with each.
var (
	ratios = []float64{1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 2, 2.2, 2.5, 3, 4}
	sigmas = []float64{3, 4, 5, 6, 8, 10, 13, 16}
)

func thresholds(ratio, sigmas float64) string { return fmt.Sprintf("x %g, %g sigma", ratio, sigmas) }

const minute = 60 // seconds

// overMean is a count of ratio times the last minute's mean and sigmas standard deviations of Poisson traffic above
// it, so many seconds in a row.
type overMean struct {
	ratio, sigmas float64
	row           int

	last  [minute]float64
	sum   float64
	n     int
	above int
}

func (r *overMean) hot(count float64) bool {
	mean := r.sum / float64(max(1, min(r.n, minute)))
	if r.n >= minute && count >= r.ratio*mean && count >= mean+r.sigmas*math.Sqrt(mean) {
		r.above++
	} else {
		r.above = 0
	}
	r.sum += count - r.last[r.n%minute]
	r.last[r.n%minute] = count
	r.n++
	return r.above >= r.row
}

// chart is an exponentially weighted moving average of the counts that leaves its control limits: those are about a
// slow average, by the variance that the counts themselves show around it.
type chart struct {
	ratio, sigmas float64

	fast, slow, variance float64
	n                    int
}

const (
	fastShare = 0.5      // of the newest second
	slowShare = 1. / 120 // half of it is of the last 83 s
)

func (r *chart) hot(count float64) bool {
	if r.n == 0 {
		r.fast, r.slow, r.variance = count, count, count
	}
	r.n++
	r.fast += (count - r.fast) * fastShare
	limit := r.sigmas * math.Sqrt(max(r.variance, r.slow)*fastShare/(2-fastShare))
	hot := r.n > minute && r.fast >= r.ratio*r.slow && r.fast >= r.slow+limit
	d := count - r.slow
	r.slow += d * slowShare
	if !hot { // what is out of control is no usual variance
		r.variance += (d*d - r.variance) * slowShare
	}
	return hot
}

// holdSeconds without a hot one end a surge, as with the detector.
const holdSeconds = 10

// playRule gives the moments, in ms, at which a rule finds a surge: the ends of seconds.
func playRule(r rule, d *dense) (found []int64) {
	surging, last := false, 0
	for i, n := range d.seconds {
		switch {
		case r.hot(float64(n)):
			if !surging {
				found = append(found, d.start+int64(i+1)*1000)
			}
			surging, last = true, i
		case surging && i-last >= holdSeconds:
			surging = false
		}
	}
	return found
}
