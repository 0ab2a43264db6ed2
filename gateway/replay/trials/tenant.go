package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// tenant is a caller's rates over the bins of a trace, and what was found in the arrivals made of them.
type tenant struct {
	name  string
	start int64     // ms
	width float64   // of a bin, in seconds
	rates []float64 // arrivals a second, outside of pauses
	cvs   []float64 // coefficient of variation of the gaps between arrivals, outside of pauses; 0: not known

	pauses []float64 // seconds in which nothing came
	told   []float64 // what the source tells of cvs, pauses and all

	arrivals int64
	findings []finding
	wrong    []wrongOne
}

// wrongOne is a verdict that is false, of a kind.
type wrongOne struct {
	finding
	kind string
}

// readTenants reads the columns time_ms,caller,count,iat_cv, in the order of time. A bin that a caller has no row for is empty. The
// busiest come first.
func readTenants(path string) ([]*tenant, error) {
	type row struct {
		at, count int64
		cv        float64
		caller    string
	}
	var all []row
	width := int64(math.MaxInt64)
	err := readLines(path, func(n int, line string) error {
		f := strings.Split(line, ",")
		if n == 1 {
			if len(f) < 4 || f[0] != "time_ms" || f[3] != "iat_cv" {
				return fmt.Errorf("it begins with %.60q, must have the columns time_ms,caller,count,iat_cv", line)
			}
			return nil
		}
		if len(f) < 4 {
			return fmt.Errorf("%.60q has fewer than four columns", line)
		}
		at, err1 := strconv.ParseInt(f[0], 10, 64)
		count, err2 := strconv.ParseInt(f[2], 10, 64)
		cv, err3 := strconv.ParseFloat(f[3], 64)
		if err := cmp.Or(err1, err2, err3); err != nil {
			return err
		}
		if len(all) > 0 && at > all[len(all)-1].at {
			width = min(width, at-all[len(all)-1].at)
		}
		all = append(all, row{at, count, cv, f[1]})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if width == math.MaxInt64 {
		return nil, fmt.Errorf("cannot read %s: it has no two bins", path)
	}
	bins := int((all[len(all)-1].at-all[0].at)/width) + 1
	of := make(map[string]*tenant)
	var tenants []*tenant
	for _, r := range all {
		t := of[r.caller]
		if t == nil {
			t = &tenant{
				name: r.caller, start: all[0].at, width: float64(width) / 1000,
				rates: make([]float64, bins), cvs: make([]float64, bins), pauses: make([]float64, bins), told: make([]float64, bins),
			}
			of[r.caller] = t
			tenants = append(tenants, t)
		}
		b := (r.at - all[0].at) / width
		t.rates[b], t.cvs[b], t.told[b] = float64(r.count)/t.width, r.cv, r.cv
	}
	slices.SortStableFunc(tenants, func(a, b *tenant) int { return cmp.Compare(b.mean(), a.mean()) })
	return tenants, nil
}

func (t *tenant) mean() (sum float64) {
	for _, r := range t.rates {
		sum += r
	}
	return sum / float64(len(t.rates))
}

func (t *tenant) medianCV() float64 {
	s := slices.DeleteFunc(slices.Clone(t.told), func(cv float64) bool { return cv == 0 })
	if len(s) == 0 {
		return 0
	}
	slices.Sort(s)
	return s[len(s)/2]
}

// pausedFrom is the cv from which on a bin's gaps are taken to hold a pause.
const pausedFrom = 2

// pause takes the unevenness of a bin with many arrivals to be one pause in it: of n gaps with a mean of 1, one that is
// as long as n p makes up a cv^2 of n p^2. Nothing but one long gap or clumps can make a cv of tens, and where the
// neighbouring bins are even, n is by just that share of the bin below theirs.
func (t *tenant) pause() {
	const longest = 0.98 // of the bin
	for b, cv := range t.told {
		if n := t.rates[b] * t.width; cv > pausedFrom && n > 0 {
			p := min(longest, math.Sqrt((cv*cv-1)/n))
			t.pauses[b] = p * t.width
			t.rates[b] /= 1 - p
			t.cvs[b] = 1
		}
	}
}

// bin is the number of the bin at a moment in ms, counted on from the first week.
func (t *tenant) bin(at int64) int { return int(float64(at-t.start) / 1000 / t.width) }

// rate and cv are those of a bin. The bins come again, week after week.
func (t *tenant) rate(bin int) float64 { return t.rates[t.again(bin)] }

func (t *tenant) cv(bin int) float64 { return t.cvs[t.again(bin)] }

func (t *tenant) again(bin int) int { return (bin%len(t.rates) + len(t.rates)) % len(t.rates) }

// at is the rate at so many seconds from the start, in a straight line between the middles of bins.
func (t *tenant) at(seconds float64) float64 {
	x := seconds/t.width - 0.5
	b := int(math.Floor(x))
	from, to := t.rate(b), t.rate(b+1)
	return from + (to-from)*(x-float64(b))
}

// The kinds of verdicts.
const (
	again  = "again, after a pause, what had been found before and was not learned yet"
	jump   = "on a rise of the source's own rate that doubles quicker than rise"
	packed = "where all arrivals of ten minutes came within less than five"
	steady = "where the gaps have a cv up to 2"
	uneven = "where the gaps have a cv of 2 to 10"
	clumps = "where the gaps have a cv above 10"
)

// kinds says what each verdict is to be counted as. A level that is the very one of the verdict before is one of which
// nothing was learned since.
func (t *tenant) kinds() (kinds []string) {
	for i, f := range t.findings {
		k := t.kind(f.at)
		if i > 0 && f.Expected == t.findings[i-1].Expected {
			k = again
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// kind says what a verdict at a moment in ms is, by the source alone.
func (t *tenant) kind(at int64) string {
	const known = 64 // seconds of traffic that a level is of
	b := t.again(t.bin(at))
	end := float64(at-t.start) / 1000
	looked := known + t.pauses[b] + t.pauses[t.again(b-1)] // nothing is learned in a pause
	for s := max(0, end-looked); s < end; s++ {
		if t.doubles(s) {
			return jump
		}
	}
	before := t.again(t.bin(at - known*1000))
	if max(t.pauses[b], t.pauses[before]) > t.width/2 {
		return packed
	}
	switch cv := max(t.told[b], t.told[before]); {
	case cv > 10:
		return clumps
	case cv > pausedFrom:
		return uneven
	}
	return steady
}

// tide is the most that a tide grows in a second, as a factor.
var tide = math.Exp2(1 / settings().Rise.Seconds())

// doubles says that the rate, so many seconds from the start, goes up so as to double in less than rise.
func (t *tenant) doubles(seconds float64) bool {
	rate, next := t.at(seconds), t.at(seconds+1)
	return next > rate*tide
}

// jumps is how many of the bins rise so from the one before.
func (t *tenant) jumps() (n int) {
	for b := range t.rates {
		if t.doubles((float64(b) + 0.5) * t.width) {
			n++
		}
	}
	return n
}
