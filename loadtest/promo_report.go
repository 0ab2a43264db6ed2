package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

// Row is one line of the report: a caller, or several of a kind.
type Row struct {
	Name    string        `json:"name"`
	Callers int           `json:"callers"`
	Whole   tally.Figures `json:"whole"` // from the first to the last arrival
	Quiet   tally.Figures `json:"quiet"`
	Jump    tally.Figures `json:"jump"`
	After   tally.Figures `json:"after"`
}

// Report is the outcome of a run.
type Report struct {
	Scenario string    `json:"scenario"`
	Seed     uint64    `json:"seed"`
	Start    time.Time `json:"start"`
	Phases   []phase   `json:"phases"`
	Void     string    `json:"void,omitempty"` // why the run says nothing
	Rows     []Row     `json:"rows"`

	Surges         []sighted     `json:"surges"`
	VerdictAfter   *tally.Millis `json:"verdict_after_ms"` // from the jump; null: none
	SpiderServed   []int         `json:"spider_served_per_second"`
	SpiderPlanned  float64       `json:"spider_surge_share_calculated_per_second"`
	SpiderMeasured float64       `json:"spider_surge_share_per_second"`

	Upstream         upstream.Counts    `json:"upstream"`
	BrokenBySemantic map[string]float64 `json:"refused_within_rate"` // the gateway's own count
	Checks           []Check            `json:"checks"`
}

// phase is a span of the run and the generator's lag in it.
type phase struct {
	Name   string       `json:"name"`
	From   tally.Millis `json:"from_ms"`
	To     tally.Millis `json:"to_ms"`
	LagP99 tally.Millis `json:"lag_p99_ms"`
	LagMax tally.Millis `json:"lag_max_ms"`
	Unsent int          `json:"unsent"`
}

const brokenMetric = "tidegate_refused_within_rate_total"

func newReport(p *played) *Report {
	phases := p.when.phases()
	timed, void := phasesOf(p)
	e := &evidence{
		rows:             promoRows(p, phases),
		jumpFrom:         p.when.jumpPhase().From,
		jumpTo:           p.when.jumpPhase().To,
		share:            surgeShare(p.cast, p.when.jumpPhase()),
		brokenBySemantic: p.metrics.By(brokenMetric, "semantic"),
		counts:           p.counts,
		stopped:          p.stopped,
	}
	for _, s := range p.surges {
		e.surges = append(e.surges, sighted{Caller: s.Caller, Semantic: s.Semantic, At: tally.Millis(s.At.Sub(p.start))})
	}
	for who, m := range p.cast {
		if m.name == spider {
			e.spider = p.run.ServedPerSecond(who, int(p.when.length()/time.Second))
		}
	}
	r := &Report{
		Scenario: "promo", Seed: p.seed, Start: p.start, Phases: timed, Void: void, Rows: e.rows,
		Surges: e.surges, SpiderServed: e.spider, SpiderPlanned: e.share, SpiderMeasured: e.beyondQuota(),
		Upstream: e.counts, BrokenBySemantic: e.brokenBySemantic, Checks: judge(e),
	}
	if delay, found := e.verdictDelay(); found {
		r.VerdictAfter = (*tally.Millis)(&delay)
	}
	return r
}

// phasesOf are the phases of a run with the generator's lag in each, and why the run is void, if it is.
func phasesOf(p *played) (timed []phase, void string) {
	phases := p.when.phases()
	lags := openloop.Lags(p.run.Arrivals, p.run.Results, phases)
	for i, l := range lags {
		timed = append(timed, phase{
			Name: l.Phase, From: tally.Millis(phases[i].From), To: tally.Millis(phases[i].To),
			LagP99: tally.Millis(l.P99), LagMax: tally.Millis(l.Max), Unsent: l.Unsent,
		})
	}
	return timed, openloop.Void(lags)
}

// castRows are the names of the rows in the order of the cast, and the members of each.
func castRows(cast []member) (names []string, members map[string][]int) {
	members = make(map[string][]int)
	for who, m := range cast {
		if members[m.row] == nil {
			names = append(names, m.row)
		}
		members[m.row] = append(members[m.row], who)
	}
	return names, members
}

// promoRows adds up the results by row, in the order of the cast.
func promoRows(p *played, phases []openloop.Phase) []Row {
	names, members := castRows(p.cast)
	whole := openloop.Phase{From: 0, To: p.when.length()}
	broken := p.run.BrokenPromises()
	rows := make([]Row, 0, len(names))
	for _, name := range names {
		of := members[name]
		rows = append(rows, Row{
			Name: name, Callers: len(of),
			Whole: p.run.Figures(broken, whole, of...),
			Quiet: p.run.Figures(broken, phases[1], of...),
			Jump:  p.run.Figures(broken, phases[2], of...),
			After: p.run.Figures(broken, phases[3], of...),
		})
	}
	return rows
}

func (r *Report) held() bool { return held(r.Checks) }

func held(checks []Check) bool {
	return !slices.ContainsFunc(checks, func(c Check) bool { return !c.Held })
}

// writeJSON writes a report to a file.
func writeJSON(report any, file string) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot write the report to %s: %w", file, err)
	}
	return nil
}

func (r *Report) print(out io.Writer) {
	fmt.Fprintf(out, "%s, seed %d. Latencies in ms, of served requests, from the moment they were meant to be sent.\n\n", r.Scenario, r.Seed)
	r.printRows(out)
	fmt.Fprintln(out)
	r.printPhases(out)
	fmt.Fprintln(out)
	r.printGateway(out)
	fmt.Fprintln(out)
	printChecks(out, r.Checks, r.Void)
}

// printChecks prints which hold, and in the end whether all do.
func printChecks(out io.Writer, checks []Check, void string) {
	for _, c := range checks {
		mark := "ok  "
		if !c.Held {
			mark = "FAIL"
		}
		fmt.Fprintf(out, "%s  %s: %s\n", mark, c.Name, c.Figure)
	}
	switch {
	case void != "":
		fmt.Fprintln(out, "\nVOID: nothing above counts.")
	case held(checks):
		fmt.Fprintf(out, "\nAll %d checks hold.\n", len(checks))
	default:
		fmt.Fprintln(out, "\nNot all checks hold.")
	}
}

func (r *Report) printRows(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "caller\toffered\tat once\twaited\trefused\tfailed\tgiven up\tbroken\tp50\tp99\tlongest wait\t")
	for _, row := range r.Rows {
		f := &row.Whole
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%v\t%v\t%v\t\n", row.title(), f.Offered, f.AtOnce, f.Waited,
			f.RefusedTotal(), f.FailedTotal(), f.GivenUp, f.Broken, of(f, f.P50), of(f, f.P99), f.LongestWait)
	}
	w.Flush()
	for _, row := range r.Rows {
		if len(row.Whole.Refused) > 0 {
			fmt.Fprintf(out, "%s was refused: %s\n", row.title(), byReason(row.Whole.Refused))
		}
		if len(row.Whole.Failed) > 0 {
			fmt.Fprintf(out, "%s failed: %s\n", row.title(), byReason(row.Whole.Failed))
		}
	}
}

func (r *Row) title() string { return title(r.Callers, r.Name) }

func title(callers int, name string) string {
	if callers > 1 {
		return fmt.Sprintf("%d %s", callers, name)
	}
	return name
}

// of is a latency among what was served, and a dash where nothing was.
func of(f *tally.Figures, latency tally.Millis) string {
	if f.Served() == 0 {
		return "-"
	}
	return latency.String()
}

func byReason(counts map[string]int) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	return strings.Join(parts, ", ")
}

// printPhases shows each row's p99 by phase, and the generator's lag below it.
func (r *Report) printPhases(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "p99 by phase\tquiet\tjump\tafter\t")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s\t%v\t%v\t%v\t\n", row.title(), of(&row.Quiet, row.Quiet.P99), of(&row.Jump, row.Jump.P99), of(&row.After, row.After.P99))
	}
	for _, line := range []struct {
		name string
		lag  func(p phase) tally.Millis
	}{
		{"generator's lag, p99", func(p phase) tally.Millis { return p.LagP99 }},
		{"generator's lag, max", func(p phase) tally.Millis { return p.LagMax }},
	} {
		fmt.Fprint(w, line.name+"\t")
		for _, p := range r.Phases[1:] {
			fmt.Fprintf(w, "%v\t", line.lag(p))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

func (r *Report) printGateway(out io.Writer) {
	verdict := "none"
	if r.VerdictAfter != nil {
		verdict = fmt.Sprintf("%v ms after the jump", *r.VerdictAfter)
	}
	fmt.Fprintf(out, "surge verdict on %s: %s; verdicts in all: %d\n", spider, verdict, len(r.Surges))
	fmt.Fprintf(out, "highest in flight at the upstream: %d in all, %d shared, %d vip; %d requests served\n",
		r.Upstream.Peak, r.Upstream.Groups[upstream.Rest].Peak, r.Upstream.Groups["vip"].Peak, r.Upstream.Served)
	jump := r.Phases[2]
	from, to := int(time.Duration(jump.From)/time.Second), int(time.Duration(jump.To)/time.Second)
	fmt.Fprintf(out, "%s served, second by second of the jump: %v\n", spider, r.SpiderServed[from:to])
	broken := "none"
	var parts []string
	for _, semantic := range slices.Sorted(maps.Keys(r.BrokenBySemantic)) {
		parts = append(parts, fmt.Sprintf("%s %.0f", semantic, r.BrokenBySemantic[semantic]))
	}
	if parts != nil {
		broken = strings.Join(parts, ", ")
	}
	fmt.Fprintf(out, "refused within rate, as the gateway counts: %s\n", broken)
}
