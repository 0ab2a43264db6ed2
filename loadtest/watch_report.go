package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/tally"
)

// WatchReport is the outcome of a watch run.
type WatchReport struct {
	Scenario string        `json:"scenario"`
	Command  string        `json:"command"`
	Start    time.Time     `json:"start"`
	Void     string        `json:"void,omitempty"`
	Flows    int           `json:"flows"`
	Pages    int           `json:"pages"`
	Without  tally.Figures `json:"without"`
	With     tally.Figures `json:"with"`
	// P99 of each pair of blocks that is compared.
	Pairs []watchPair `json:"pairs"`
	// Cores that the gateway used, medians over the blocks.
	CoresWithout float64 `json:"cores_without"`
	CoresWith    float64 `json:"cores_with"`
	CoresLooking float64 `json:"cores_looking"` // the median of the pairs' differences
	EventBytes   int64   `json:"event_bytes"`   // of a snapshot
	PerSecond    float64 `json:"snapshots_a_second"`
	OldestMS     float64 `json:"oldest_snapshot_ms"`
	ListMS       float64 `json:"slowest_list_ms"`
	Resident     int64   `json:"resident_bytes"`
	Checks       []Check `json:"checks"`
}

type watchPair struct {
	Without tally.Millis `json:"p99_without_ms"`
	With    tally.Millis `json:"p99_with_ms"`
	Cores   float64      `json:"cores_looking"`
}

// The bounds that watching is held to.
const (
	watchCores  = 0.02 // of a core, for one page
	watchFactor = 1.05
	watchSlack  = tally.Millis(2 * time.Millisecond)
)

func newWatchReport(w *watched, command string) *WatchReport {
	without, with := w.plan.phases()
	r := &WatchReport{Scenario: "watch", Command: command, Start: w.start, Flows: w.o.flows, Pages: w.o.pages, Resident: w.resident}
	everybody := make([]int, w.o.flows)
	for who := range everybody {
		everybody[who] = who
	}
	unbroken := make([]bool, len(w.run.Arrivals))
	r.Without, r.With = w.run.FiguresOf(unbroken, without, everybody...), w.run.FiguresOf(unbroken, with, everybody...)
	var a, b, difference []float64
	compared := 0
	for i := range with {
		cores := func(p openloop.Phase) float64 { return w.spent[p.Name] / w.plan.block.Seconds() }
		a, b, difference = append(a, cores(without[i])), append(b, cores(with[i])), append(difference, cores(with[i])-cores(without[i]))
		if openloop.Void(openloop.Lags(w.run.Arrivals, w.run.Results, []openloop.Phase{without[i], with[i]})) != "" {
			continue
		}
		compared++
		r.Pairs = append(r.Pairs, watchPair{
			Without: w.run.FiguresOf(unbroken, without[i:i+1], everybody...).P99,
			With:    w.run.FiguresOf(unbroken, with[i:i+1], everybody...).P99,
			Cores:   difference[i],
		})
	}
	if 2*compared < len(with) {
		r.Void = fmt.Sprintf("the generator was on time in %d of %d pairs of blocks only", compared, len(with))
	}
	r.CoresWithout, r.CoresWith, r.CoresLooking = median(a), median(b), median(difference)
	r.sight(w)
	r.judge(w)
	return r
}

// sight sums up what the pages were given.
func (r *WatchReport) sight(w *watched) {
	var bytes int64
	snapshots := 0
	for _, s := range w.seen {
		bytes, snapshots = bytes+s.Bytes, snapshots+s.Snapshots
		r.OldestMS = max(r.OldestMS, float64(s.Oldest.Microseconds())/1000)
		r.ListMS = max(r.ListMS, s.SlowestMS)
	}
	if snapshots > 0 {
		r.EventBytes = bytes / int64(snapshots)
	}
	r.PerSecond = float64(snapshots) / float64(len(w.seen)) / w.plan.block.Seconds()
}

func (r *WatchReport) judge(w *watched) {
	check := func(name string, held bool, figure string, values ...any) {
		r.Checks = append(r.Checks, Check{Name: name, Held: held, Figure: fmt.Sprintf(figure, values...)})
	}
	failures, worst := 0, ""
	for _, s := range w.seen {
		if s.Err != nil || s.Snapshots < int(w.plan.block.Seconds())-2 {
			failures++
			worst = fmt.Sprintf("; one had %d snapshots, %v", s.Snapshots, s.Err)
		}
	}
	check("every page is told once a second", failures == 0, "%d of %d openings fell short, %.2f snapshots a second%s", failures, len(w.seen), r.PerSecond, worst)
	lost := r.Without.RefusedTotal() + r.Without.FailedTotal() + r.With.RefusedTotal() + r.With.FailedTotal()
	check("nobody is refused or lost", lost == 0, "%d of %d", lost, r.Without.Offered+r.With.Offered)
	if r.Pages == 1 {
		check("a page costs at most 2 % of a core", r.CoresLooking <= watchCores, "%.2f %%, of %.1f %% without it", 100*r.CoresLooking, 100*r.CoresWithout)
	}
	var ratios, more []float64
	for _, p := range r.Pairs {
		ratios = append(ratios, float64(p.With)/float64(p.Without))
		more = append(more, float64(p.With-p.Without)/float64(time.Millisecond))
	}
	if len(ratios) > 0 {
		check("p99 within 5 % or 2 ms, in pairs", median(ratios) <= watchFactor || median(more) <= float64(watchSlack)/float64(time.Millisecond),
			"median of %d pairs: %.3f times, %+.2f ms", len(ratios), median(ratios), median(more))
	}
	check("gateway and upstream ended in order", w.stopped == nil, "%v", w.stopped)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func (r *WatchReport) failed() error {
	switch {
	case r.Void != "":
		return fmt.Errorf("the run is void: %s", r.Void)
	case !held(r.Checks):
		return errFailed
	}
	return nil
}

func (r *WatchReport) print(out io.Writer) {
	fmt.Fprintf(out, "watch: %d flows with traffic, %s open in every other block.\n\n", r.Flows, plural(r.Pages, "page"))
	fmt.Fprintf(out, "  %-34s %10s %10s\n", "", "without", "with")
	fmt.Fprintf(out, "  %-34s %10d %10d\n", "sent", r.Without.Offered, r.With.Offered)
	fmt.Fprintf(out, "  %-34s %10s %10s\n", "p50 ms", of(&r.Without, r.Without.P50), of(&r.With, r.With.P50))
	fmt.Fprintf(out, "  %-34s %10s %10s\n", "p99 ms", of(&r.Without, r.Without.P99), of(&r.With, r.With.P99))
	fmt.Fprintf(out, "  %-34s %9.1f%% %9.1f%%\n", "of a core, the gateway's", 100*r.CoresWithout, 100*r.CoresWith)
	fmt.Fprintf(out, "  a snapshot has %d bytes and is at most %.0f ms old; the slowest list of callers took %.1f ms; %d MiB resident\n\n", r.EventBytes, r.OldestMS, r.ListMS, r.Resident>>20)
	if r.Void != "" {
		fmt.Fprintf(out, "VOID: %s\n", r.Void)
	}
	printChecks(out, r.Checks, "")
	fmt.Fprintf(out, "\n%s\n", r.Command)
}
