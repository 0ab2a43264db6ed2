package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"
)

func quietCommand(flags *flag.FlagSet, args []string) error {
	dir := tracesFlag(flags)
	of := flags.String("of", "nasa/july_days15-28,nasa_hosts,azure/conv,mooncake", "`traces`, or the folders they are alone in, by commas")
	seeds := flags.Int("seeds", 3, "how often arrivals known by the second are put at moments within it")
	flags.Parse(args) // ends the program itself
	if err := needTraces(*dir); err != nil {
		return err
	}
	held := true
	for name := range strings.SplitSeq(*of, ",") {
		runs, err := playQuiet(*dir, name, max(1, *seeds))
		if err != nil {
			return err
		}
		for _, r := range runs {
			fmt.Printf("%s, %s: %d callers, %.0f clean hours of %.0f: %d verdicts, %d in clean time: %s\n",
				name, r.how, r.callers, r.clean, r.hours, r.verdicts, len(r.wrong), verdictOf(len(r.wrong) == 0))
			for _, w := range r.wrong {
				fmt.Println("  " + w)
			}
			held = held && len(r.wrong) == 0
		}
	}
	if !held {
		return errAsked
	}
	return nil
}

// quietRun is what was found in a trace in which nothing is to be found.
type quietRun struct {
	how          string
	callers      int
	hours, clean float64
	verdicts     int
	wrong        []string // a line for each
	spans        []span   // clean
}

func (r *quietRun) take(caller string, findings []finding) {
	r.verdicts += len(findings)
	for _, f := range findings {
		if inside(r.spans, f.at) {
			r.wrong = append(r.wrong, fmt.Sprintf("%s at %s: observed %.2f/s, expected %.2f/s, score %.0f of %.0f",
				caller, time.UnixMilli(f.at).UTC().Format("Mon 15:04:05.0"), f.Observed, f.Expected, f.Score, f.Needed))
		}
	}
}

// newRun is about a trace's time. Where nobody wrote down what is clean, all of it is.
func newRun(how string, callers int, all span, l *labels) *quietRun {
	r := &quietRun{how: how, callers: callers, hours: float64(all.to-all.from) / 3.6e6, spans: l.clean}
	if len(l.clean) == 0 {
		r.spans = []span{all}
	}
	for _, s := range r.spans {
		r.clean += float64(s.to-s.from) / 3.6e6
	}
	return r
}

// playQuiet plays a trace as it is where it tells moments, and as often as there are seeds where it tells seconds.
func playQuiet(dir, name string, seeds int) (runs []*quietRun, err error) {
	stem := filepath.Join(dir, name)
	l, err := readLabels(stem)
	if err != nil {
		return nil, err
	}
	if path := stem + ".dense.csv.gz"; exists(path) {
		d, err := readDense(path)
		if err != nil {
			return nil, err
		}
		all := span{d.start, d.start + int64(len(d.seconds))*1000}
		for seed := range seeds {
			r := newRun(fmt.Sprintf("seed %d", seed), 1, all, &l)
			r.take(d.caller, playCells(settings(), d.start, scatter(d.seconds, rand.New(rand.NewPCG(uint64(seed), 2)))))
			runs = append(runs, r)
		}
		return runs, nil
	}
	path, err := eventsOf(dir, name)
	if err != nil {
		return nil, err
	}
	times, _, err := readEvents(path)
	if err != nil {
		return nil, err
	}
	all := span{never, -never}
	for _, t := range times {
		all = span{min(all.from, t[0]), max(all.to, t[len(t)-1]+1000)}
	}
	r := newRun("as it is", len(times), all, &l)
	for _, caller := range sortedNames(times) {
		r.take(caller, playTimes(settings(), times[caller]))
	}
	runs = append(runs, r)
	for seed := 0; seed < seeds && bySecond(times); seed++ {
		r := newRun(fmt.Sprintf("spread within its seconds, seed %d", seed), len(times), all, &l)
		random := rand.New(rand.NewPCG(uint64(seed), 2))
		for _, caller := range sortedNames(times) {
			r.take(caller, playTimes(settings(), within(times[caller], random)))
		}
		runs = append(runs, r)
	}
	return runs, nil
}
