package main

import (
	"math"
	"math/rand/v2"
)

// renewal generates a tenant's arrivals, cell by cell. The rate goes in straight lines between the middles of the
// source's bins. Gaps are drawn in units of arrivals due, as independent numbers of a gamma distribution with mean 1
// and the coefficient of variation cv of the bin: so the rate may change within a gap, and over times long against a gap the
// counts have cv^2 times Poisson's variance. Each arrival is one draw; nothing is approximated.
//
// With a cv of 1, and where there is none (0: too few arrivals to tell), that is Poisson. Well above 1, it is clumps: of
// about cv^2 arrivals each, most of one clump within one cell, as many clumps as make up the rate. A bin that has a
// pause has no arrivals in it, the pause being anywhere in the bin.
type renewal struct {
	t        *tenant
	r        *rand.Rand
	due      float64 // until the next arrival
	bin      int
	gaps     gamma
	from, to float64 // the pause, in seconds
}

func newRenewal(t *tenant, r *rand.Rand) *renewal {
	a := &renewal{t: t, r: r, bin: -1}
	a.enter(0)
	a.due = a.gaps.draw(r) * r.Float64()
	return a
}

func (a *renewal) enter(bin int) {
	if bin != a.bin {
		a.bin = bin
		a.gaps = newGamma(a.t.cv(bin))
		pause := a.t.pauses[a.t.again(bin)]
		a.from = a.t.width*float64(bin) + a.r.Float64()*(a.t.width-pause)
		a.to = a.from + pause
	}
}

// cell draws the arrivals of the cell of that number.
func (a *renewal) cell(number int) (n int64) {
	middle := (float64(number) + 0.5) * cellSecond
	a.enter(int(middle / a.t.width))
	if a.from <= middle && middle < a.to {
		return 0
	}
	for a.due -= a.t.at(middle) * cellSecond; a.due < 0; n++ {
		a.due += a.gaps.draw(a.r)
	}
	return n
}

// gamma draws numbers of mean 1 with a gamma distribution, by G. Marsaglia and W. Tsang, A simple method for generating gamma
// variables, ACM Trans. Math. Softw. 26 (2000). A shape below 1 is drawn from the shape above by their power of a uniform
// number.
type gamma struct {
	d, c  float64
	power float64 // 1/shape where shape is below 1; else 0
	scale float64
	plain bool // exponential
}

func newGamma(cv float64) (g gamma) {
	if cv <= 0 || math.Abs(cv-1) < 0.005 {
		return gamma{plain: true}
	}
	shape := 1 / (cv * cv)
	g.scale = cv * cv
	if shape < 1 {
		g.power = 1 / shape
		shape++
	}
	g.d = shape - 1./3
	g.c = 1 / math.Sqrt(9*g.d)
	return g
}

func (g *gamma) draw(r *rand.Rand) float64 {
	if g.plain {
		return r.ExpFloat64()
	}
	for {
		x := r.NormFloat64()
		v := 1 + g.c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := r.Float64()
		if u >= 1-0.0331*x*x*x*x && math.Log(u) >= 0.5*x*x+g.d*(1-v+math.Log(v)) {
			continue
		}
		v *= g.d * g.scale
		if g.power > 0 {
			v *= math.Exp(-g.power * r.ExpFloat64())
		}
		return v
	}
}
