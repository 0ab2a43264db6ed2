package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tidegate/detector"
)

// trial is Poisson traffic whose rate changes at 0 s, and what is asked of the verdicts.
type trial struct {
	name   string
	before float64                 // arrivals a second until 0 s
	rate   func(s float64) float64 // from then on, for so many seconds
	length float64
	asked  []bound
}

// bound is one thing asked of a trial's verdicts.
type bound struct {
	name string
	of   func(*outcome) float64
	most float64 // what it may be
	unit string
}

// outcome is what came of all seeds of a trial.
type outcome struct {
	delays []float64 // seconds to the first verdict, in order; infinite where there was none
	early  int       // verdicts before 0 s
}

func (o *outcome) quantile(q float64) float64 {
	return o.delays[max(0, int(math.Ceil(q*float64(len(o.delays))))-1)]
}

func quantile(q float64) func(*outcome) float64 {
	return func(o *outcome) float64 { return o.quantile(q) }
}

func (o *outcome) found() (n int) {
	for _, d := range o.delays {
		if !math.IsInf(d, 1) {
			n++
		}
	}
	return n
}

func alarmed(o *outcome) float64 { return 100 * float64(o.found()) / float64(len(o.delays)) }

func missed(o *outcome) float64 { return 100 - alarmed(o) }

var early = bound{"verdicts before", func(o *outcome) float64 { return float64(o.early) }, 0, ""}

func at(rate float64) func(float64) float64 { return func(float64) float64 { return rate } }

// line goes from one rate to the other in so many seconds, in a straight line, and stays there.
func line(from, to, seconds float64) func(float64) float64 {
	return func(s float64) float64 { return from + (to-from)*min(1, s/seconds) }
}

// doubling goes from one rate to the other at an even pace of growth.
func doubling(from, to, seconds float64) func(float64) float64 {
	return func(s float64) float64 { return from * math.Pow(to/from, min(1, s/seconds)) }
}

var trials = []trial{
	{"20/s to 800/s at once", 20, at(800), 20, []bound{{"median", quantile(0.5), 0.2, " s"}, {"p99", quantile(0.99), 0.5, " s"}, early}},
	{"50/s to 125/s at once", 50, at(125), 20, []bound{{"p95", quantile(0.95), 3, " s"}, early}},
	{"60/s to 240/s over 4 min, straight", 60, line(60, 240, 240), 300, []bound{{"alarmed", alarmed, 1, " %"}, early}},
	{"60/s to 240/s over 4 min, doubling", 60, doubling(60, 240, 240), 300, []bound{{"alarmed", alarmed, 1, " %"}, early}},
	{"60/s to 240/s over 10 s, straight", 60, line(60, 240, 10), 60, []bound{{"missed", missed, 0, " %"}, early}},
	{"60/s to 240/s over 10 s, doubling", 60, doubling(60, 240, 10), 60, []bound{{"missed", missed, 0, " %"}, early}},
}

func generatedCommand(flags *flag.FlagSet, args []string) error {
	seeds := flags.Int("seeds", 1000, "how often each trial is made")
	flags.Parse(args) // ends the program itself
	held := true
	for _, known := range []time.Duration{2 * time.Minute, 48 * time.Hour} {
		fmt.Printf("known for %v, %d seeds\n", known, *seeds)
		for i := range trials {
			o := trials[i].run(known, max(1, *seeds))
			fmt.Printf("  %-36s found %d, median %s, p95 %s, p99 %s\n", trials[i].name, o.found(),
				inSeconds(o.quantile(0.5)), inSeconds(o.quantile(0.95)), inSeconds(o.quantile(0.99)))
			for _, b := range trials[i].asked {
				v := b.of(o)
				ok := v <= b.most+1e-9
				held = held && ok
				fmt.Printf("    %s %.3g%s, asked at most %g%s: %s\n", b.name, v, b.unit, b.most, b.unit, verdictOf(ok))
			}
		}
	}
	if !held {
		return errAsked
	}
	return nil
}

func inSeconds(s float64) string {
	if math.IsInf(s, 1) {
		return "none"
	}
	return fmt.Sprintf("%.2f s", s)
}

// run makes the trial with so many seeds. Of what the flow is known by, all but the last two minutes is the same for
// all of them.
func (t *trial) run(known time.Duration, seeds int) *outcome {
	const own = 120 // seconds
	shared := newStepper(rand.New(rand.NewPCG(uint64(seeds), 3)))
	shared.play(known.Seconds()-own, at(t.before))
	o := &outcome{delays: make([]float64, seeds), early: len(shared.found)}
	early := make([]int, seeds)
	each(seeds, func(i int) {
		s := *shared
		s.r, s.found = rand.New(rand.NewPCG(uint64(i), 4)), nil
		s.play(own, at(t.before))
		early[i] = len(s.found)
		// The change comes anywhere within a cell.
		inside := s.r.Float64() * cellSecond
		change := s.seconds() + inside
		s.step(t.before*inside + t.rate(0)*(cellSecond-inside))
		s.play(t.length, func(at float64) float64 { return t.rate(at + cellSecond - inside) })
		o.delays[i] = math.Inf(1)
		for _, found := range s.found[early[i]:] {
			o.delays[i] = min(o.delays[i], found-change)
		}
	})
	for _, n := range early {
		o.early += n
	}
	slices.Sort(o.delays)
	return o
}

// stepper steps one flow with Poisson arrivals.
type stepper struct {
	config detector.Config
	r      *rand.Rand
	flow   detector.Flow
	cells  int64     // stepped
	found  []float64 // seconds from the begin
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func newStepper(r *rand.Rand) *stepper {
	return &stepper{config: settings(), r: r, flow: detector.NewFlow(noon)}
}

func (s *stepper) seconds() float64 { return float64(s.cells) * cellSecond }

// step steps a cell in which so many arrivals are due.
func (s *stepper) step(due float64) {
	s.cells++
	now := noon.Add(time.Duration(s.cells) * cellMS * time.Millisecond)
	if s.flow.Step(&s.config, now, poisson(s.r, due)) == detector.SurgeBegan {
		s.found = append(s.found, s.seconds())
	}
}

// play steps for so many seconds, at a rate by the seconds since its own begin.
func (s *stepper) play(seconds float64, rate func(s float64) float64) {
	for i := range int(math.Round(seconds / cellSecond)) {
		s.step(rate((float64(i)+0.5)*cellSecond) * cellSecond)
	}
}

// poisson draws a number by the arrivals of a Poisson process: exact, and quick for what a cell holds.
func poisson(r *rand.Rand, mean float64) (n int64) {
	for due := r.ExpFloat64(); due < mean; due += r.ExpFloat64() {
		n++
	}
	return n
}
