package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"tidegate/detector"
)

// odds are what the detector is swept over; marked is its default.
var odds = []float64{1, 3, 8, 20, 40, 80, 160, 400, 1000, 2000}

const marked = detector.UsualOdds

const (
	ours     = "tidegate"
	oursOdds = "odds %g"
)

// point is what one setting of one method gives.
type point struct {
	Setting string `json:"setting"`
	Marked  bool   `json:"default,omitempty"`
	score
}

// curve is one method's points on one trace, in the order of their false alarms.
type curve struct {
	Method string  `json:"method"`
	Points []point `json:"points"`
}

// panel is all curves of one trace.
type panel struct {
	Trace  string  `json:"trace"`
	Curves []curve `json:"curves"`
}

// goal is what was asked of the detector, and what was reached for.
type goal struct {
	name                      string
	within2, within5, falseIs float64
}

var goals = []goal{{"asked", 0.80, 0.97, 1.5}, {"reached for", 0.90, 0.98, 0.5}}

const perBurstAsked = 1.3

func curveCommand(flags *flag.FlagSet, args []string) error {
	dir := tracesFlag(flags)
	picture := flags.String("picture", "", "`file` for the picture, .svg or .png")
	figures := flags.String("json", "", "`file` for the figures")
	seeds := flags.Int("seeds", 3, "how often arrivals are put at moments within their second; the mean is given")
	flags.Parse(args) // ends the program itself
	if err := needTraces(*dir); err != nil {
		return err
	}
	found, err := stems(*dir, ".dense.csv.gz")
	if err != nil {
		return err
	}
	var panels []panel
	for _, stem := range found {
		l, err := readLabels(stem)
		if err != nil {
			return err
		}
		if len(l.bursts()) == 0 || len(l.clean) == 0 {
			continue // there is no delay to be told, or no false alarm
		}
		d, err := readDense(stem + ".dense.csv.gz")
		if err != nil {
			return err
		}
		began := time.Now()
		p := panel{nameOf(*dir, stem), append([]curve{sweepDetector(&d, &l, max(1, *seeds))}, sweepRules(&d, &l)...)}
		printPanel(&p)
		fmt.Printf("in %v\n\n", time.Since(began).Round(100*time.Millisecond))
		panels = append(panels, p)
	}
	if len(panels) == 0 {
		return fmt.Errorf("cannot draw a curve: no trace in %s has counts by the second, bursts in its labels and clean times", *dir)
	}
	if *figures != "" {
		text, err := json.MarshalIndent(panels, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(*figures, append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("cannot write the figures: %w", err)
		}
	}
	if *picture != "" {
		if err := drawPanels(panels, *picture); err != nil {
			return err
		}
	}
	return checkAsked(panels)
}

// sweepDetector plays the trace with each of the odds, with each seed. No flow is known before.
func sweepDetector(d *dense, l *labels, seeds int) curve {
	scores := make([][]score, len(odds))
	for seed := range seeds {
		cells := scatter(d.seconds, rand.New(rand.NewPCG(uint64(seed), 1)))
		each(len(odds), func(i int) {
			c := settings()
			c.Odds = odds[i]
			scores[i] = append(scores[i], judge(l, moments(playCells(c, d.start, cells))))
		})
	}
	out := curve{Method: ours}
	for i, o := range odds {
		out.Points = append(out.Points, point{fmt.Sprintf(oursOdds, o), o == marked, mean(scores[i])})
	}
	return out
}

// sweepRules plays the trace with each rule and each of its thresholds, and keeps for each rule what no other of its
// thresholds beats.
func sweepRules(d *dense, l *labels) []curve {
	out := make([]curve, len(families))
	each(len(families), func(i int) {
		out[i].Method = families[i].name
		for _, r := range ratios {
			for _, k := range sigmas {
				p := point{Setting: thresholds(r, k), score: judge(l, playRule(families[i].make(r, k), d))}
				out[i].Points = append(out[i].Points, p)
			}
		}
		out[i].Points = unbeaten(out[i].Points)
	})
	return out
}

// unbeaten are the points beside which no other has fewer false alarms and is as quick, in the order of false alarms.
func unbeaten(points []point) (best []point) {
	slices.SortStableFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.FalseADay, b.FalseADay), -cmp.Compare(a.Within2, b.Within2), -cmp.Compare(a.Within5, b.Within5))
	})
	for _, p := range points {
		if !slices.ContainsFunc(best, func(b point) bool { return b.Within2 >= p.Within2 && b.Within5 >= p.Within5 }) {
			best = append(best, p)
		}
	}
	return best
}

// each does n things, as many at once as there are cores.
func each(n int, do func(i int)) {
	var wait sync.WaitGroup
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		turn <- struct{}{}
		wait.Go(func() {
			do(i)
			<-turn
		})
	}
	wait.Wait()
}

func moments(findings []finding) (at []int64) {
	for _, f := range findings {
		at = append(at, f.at)
	}
	return at
}

func printPanel(p *panel) {
	s := p.Curves[0].Points[0].score
	fmt.Printf("%s: %d bursts, %.0f clean hours\n", p.Trace, s.Bursts, s.CleanHours)
	fmt.Printf("%-40s%8s%8s%12s%12s%10s\n", "", "in 2 s", "in 5 s", "false a day", "per burst", "verdicts")
	for _, c := range p.Curves {
		fmt.Println(c.Method)
		for _, pt := range c.Points {
			if pt.Within2 < least || pt.FalseADay > most {
				continue // nobody would run it
			}
			name := pt.Setting
			if pt.Marked {
				name += " (default)"
			}
			fmt.Printf("  %-38s%7.1f%%%7.1f%%%12.2f%12.2f%10.0f\n", name, 100*pt.Within2, 100*pt.Within5, pt.FalseADay, pt.PerBurst, pt.Verdicts)
		}
	}
}

// checkAsked says for each trace whether the default settings come to what was asked, and to what was reached for.
func checkAsked(panels []panel) error {
	var missed error
	for _, p := range panels {
		for _, pt := range p.Curves[0].Points {
			if !pt.Marked {
				continue
			}
			for i, g := range goals {
				ok := pt.Within2 >= g.within2 && pt.Within5 >= g.within5 && pt.FalseADay <= g.falseIs && pt.PerBurst <= perBurstAsked
				fmt.Printf("%s, %s (%.0f %% in 2 s, %.0f %% in 5 s, %.1f false a clean day, %.1f verdicts a burst): %s\n",
					p.Trace, g.name, 100*g.within2, 100*g.within5, g.falseIs, perBurstAsked, verdictOf(ok))
				if !ok && i == 0 {
					missed = errors.Join(missed, fmt.Errorf("%s: %w", p.Trace, errAsked))
				}
			}
		}
	}
	return missed
}
