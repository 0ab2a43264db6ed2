package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/tally"
)

// ReloadReport is the outcome of a reload run.
type ReloadReport struct {
	Scenario string      `json:"scenario"`
	Command  string      `json:"command"`
	Seed     uint64      `json:"seed"`
	Start    time.Time   `json:"start"`
	Void     string      `json:"void,omitempty"` // why Quickness says nothing
	Compared int         `json:"pairs_compared"`
	Pairs    int         `json:"pairs"`
	Rows     []reloadRow `json:"rows"`
	Puts     int         `json:"puts"`
	Before   memory      `json:"before"`
	After    memory      `json:"after"`
	Checks   []Check     `json:"checks"`
	// Quickness are the checks that Void is about.
	Quickness []Check `json:"quickness"`
}

func newReloadReport(r *reloaded, command string) *ReloadReport {
	without, with, void := comparable(r)
	run := tally.Run{Arrivals: r.arrivals, Results: r.results, Quotas: make([]tally.Quota, len(r.cast))}
	unbroken := make([]bool, len(r.arrivals))
	row := func(name string, of func(s *steady) bool) reloadRow {
		var senders []int
		for who := range r.cast {
			if of(&r.cast[who]) {
				senders = append(senders, who)
			}
		}
		return reloadRow{
			Name:    name,
			Whole:   run.Figures(unbroken, openloop.Phase{To: r.plan.length()}, senders...),
			Without: run.FiguresOf(unbroken, without, senders...),
			With:    run.FiguresOf(unbroken, with, senders...),
		}
	}
	e := &reloadEvidence{
		puts: r.puts, planned: r.plan.pairs * int(r.plan.block/putGap), before: r.before, after: r.after,
		versions: r.versionAfter - r.versionBefore, sent: r.sent, counts: r.counts, stopped: r.stopped,
		waitedThrough: waitedThrough(r),
	}
	for _, n := range r.metrics.By(brokenMetric, "semantic") {
		e.broken += n
	}
	for i := range r.cast {
		name := r.cast[i].row
		if !slices.ContainsFunc(e.rows, func(have reloadRow) bool { return have.Name == name }) {
			e.rows = append(e.rows, row(name, func(s *steady) bool { return s.row == name }))
		}
	}
	if len(r.warm.Arrivals) > 0 {
		everybody := make([]int, len(r.cast))
		for who := range everybody {
			everybody[who] = who
		}
		e.rows = append(e.rows, reloadRow{
			Name:  "all, warm-up",
			Whole: r.warm.Figures(make([]bool, len(r.warm.Arrivals)), openloop.Phase{To: r.plan.warm}, everybody...),
		})
	}
	for _, kind := range []string{"chat", "export"} {
		e.kinds = append(e.kinds, row(kind, func(s *steady) bool { return s.tag == kind }))
	}
	return &ReloadReport{
		Scenario: "reload", Command: command, Seed: r.seed, Start: r.start, Void: void, Compared: len(with), Pairs: r.plan.pairs,
		Rows: e.rows, Puts: len(r.puts), Before: r.before, After: r.after, Checks: judgeReload(e), Quickness: judgeQuickness(e),
	}
}

// comparable are the blocks that are compared: the pairs in which the generator was on time in both. A pair in which
// it was not tells nothing of the gateway's quickness; without half of the pairs, the run is void.
func comparable(r *reloaded) (without, with []openloop.Phase, void string) {
	a, b := r.plan.phases()
	late := func(phases []openloop.Phase) (of []string) {
		for _, lag := range openloop.Lags(r.arrivals, r.results, phases) {
			of = append(of, openloop.Void([]openloop.Lag{lag}))
		}
		return of
	}
	lateA, lateB := late(a), late(b)
	var first string
	for i := range a {
		if why := cmp.Or(lateA[i], lateB[i]); why != "" {
			if first == "" {
				first = why
			}
			continue
		}
		without, with = append(without, a[i]), append(with, b[i])
	}
	if 2*len(with) < len(a) {
		void = fmt.Sprintf("only %d of %d pairs of blocks can be compared; the first of the others: %s", len(with), len(a), first)
	}
	return without, with, void
}

// waitedThrough counts the digests that were waiting in the gateway when their semantic was removed, by what the
// answers say of the time they waited.
func waitedThrough(r *reloaded) (n int) {
	for i := range r.results {
		result := &r.results[i]
		if r.cast[r.arrivals[i].Who].tag != "digest" || !result.Waited {
			continue
		}
		for _, p := range r.puts {
			// The change comes into force some time between its sending and its answer.
			if p.removed && p.Err == nil && result.Sent < p.At && result.Sent+result.Wait > p.At+p.Took {
				n++
			}
		}
	}
	return n
}

// failed says why the run is no success, as an error of its kind; nil: it is one. What is lost is lost, however late
// the generator was.
func (r *ReloadReport) failed() error {
	switch {
	case !held(r.Checks):
		return errFailed
	case r.Void != "":
		return fmt.Errorf("the p99 cannot be compared: %s", r.Void)
	case !held(r.Quickness):
		return errFailed
	}
	return nil
}

func (r *ReloadReport) print(out io.Writer) {
	fmt.Fprintf(out, "reload, seed %d: %d changed configs under a load of 60 %%. Latencies in ms, of served requests, from the moment they were meant to be sent;\n"+
		"blocks without and with reloads take turns, and %d of %d pairs of them are compared.\n\n", r.Seed, r.Puts, r.Compared, r.Pairs)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, strings.Join([]string{"work", "sent", "served", "waited", "p50 without", "p50 with", "p99 without", "p99 with", "max without", "max with"}, "\t")+"\t")
	for i := range r.Rows {
		row := &r.Rows[i]
		a, b, f := &row.Without, &row.With, &row.Whole
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", row.Name, f.Offered, f.Served(), f.Waited,
			of(a, a.P50), of(b, b.P50), of(a, a.P99), of(b, b.P99), of(a, a.Max), of(b, b.Max))
	}
	w.Flush()
	fmt.Fprintln(out)
	if r.Void == "" {
		printChecks(out, slices.Concat(r.Checks, r.Quickness), "")
	} else {
		printChecks(out, r.Checks, "")
		fmt.Fprintln(out, "VOID: the p99 with and without reloads cannot be compared.")
	}
	fmt.Fprintf(out, "\n%s\n", r.Command)
}
