package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

// The bounds that reloads are held to.
const (
	reloadFactor = 1.1 // of the p99 without reloads, or
	reloadSlack  = tally.Millis(3 * time.Millisecond)
	leastRate    = 0.9 // of ten changes a second: with fewer the run does not show what it should
	// A reload that leaks anything at all leaks a goroutine, a compiled policy, or both. A minute makes 600 of them, the
	// shortest run 80; what comes and goes by itself is a handful of idle connections.
	moreGoroutines = 20
	// The smallest thing worth leaking is the config's text, some 3 KiB, beside what is made of it, tens of KiB. The
	// heap just after a collection is allowed 2 KiB a reload, and 4 MiB for what idles in pools.
	moreHeap, moreHeapEach = 4 << 20, 2 << 10
	// The process also holds what the collector has freed and not given back, up to as much again as the heap under
	// load at its highest.
	moreResident, moreResidentShare = 32 << 20, 0.5
)

// reloadEvidence is all that the checks look at.
type reloadEvidence struct {
	rows []reloadRow
	// kinds are chat and export of both pools together, to compare; the digests wait of their own doing.
	kinds         []reloadRow
	puts          []put
	planned       int // changes that ten a second would be
	before, after memory
	versions      int // that were added
	waitedThrough int // digests that waited while their semantic was removed
	sent          int64
	counts        upstream.Counts
	broken        float64 // promises, as the gateway counts
	stopped       error
}

// reloadRow is what became of a kind of work, without reloads and with them.
type reloadRow struct {
	Name    string        `json:"name"`
	Whole   tally.Figures `json:"whole"`
	Without tally.Figures `json:"without"` // of the blocks that are compared
	With    tally.Figures `json:"with"`
}

// judgeReload holds what must be true however slow the machine is.
func judgeReload(e *reloadEvidence) []Check {
	return []Check{
		e.nothingLost(), e.noConnectionCut(), e.no5xx(), e.nobodyRefused(), e.servedOnce(), e.putsAnswered(), e.quickEnough(), e.versionsAdded(),
		e.removedUnderWaiting(), e.goroutinesFlat(), e.heapFlat(), e.residentFlat(), endedInOrder(e.stopped),
	}
}

// judgeQuickness holds what only a generator that was on time can tell.
func judgeQuickness(e *reloadEvidence) (checks []Check) {
	for i := range e.kinds {
		checks = append(checks, asQuick(&e.kinds[i]))
	}
	return checks
}

// count adds up over the rows.
func (e *reloadEvidence) count(of func(f *tally.Figures) int) (n int) {
	for i := range e.rows {
		n += of(&e.rows[i].Whole)
	}
	return n
}

// reasons tells which of the rows' refusals or failures there were.
func (e *reloadEvidence) reasons(of func(f *tally.Figures) map[string]int) string {
	var parts []string
	for i := range e.rows {
		if counts := of(&e.rows[i].Whole); len(counts) > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", e.rows[i].Name, byReason(counts)))
		}
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

func refused(f *tally.Figures) map[string]int { return f.Refused }
func failed(f *tally.Figures) map[string]int  { return f.Failed }

func (e *reloadEvidence) nothingLost() Check {
	offered := e.count(func(f *tally.Figures) int { return f.Offered })
	served := e.count((*tally.Figures).Served)
	lost := e.count(func(f *tally.Figures) int {
		return f.GivenUp + f.Failed[openloop.Timeout.String()] + f.Failed[openloop.Unsent.String()]
	})
	return Check{
		Name:   "every request is answered",
		Figure: fmt.Sprintf("%d sent, %d served, %d without an answer", offered, served, lost),
		Held:   offered > 0 && lost == 0,
	}
}

func (e *reloadEvidence) noConnectionCut() Check {
	cut := e.count(func(f *tally.Figures) int {
		return f.Failed[openloop.Broken.String()] + f.Failed[openloop.Dial.String()]
	})
	return Check{Name: "no connection is closed early or refused", Figure: fmt.Sprintf("%d were", cut), Held: cut == 0}
}

func (e *reloadEvidence) no5xx() Check {
	n := e.count((*tally.Figures).FailedTotal)
	return Check{Name: "no answer is a 5xx, nothing fails in another way", Figure: fmt.Sprintf("%d failed%s", n, e.reasons(failed)), Held: n == 0}
}

func (e *reloadEvidence) nobodyRefused() Check {
	n := e.count((*tally.Figures).RefusedTotal)
	return Check{
		Name:   "nobody is refused, as every config promises more than is sent",
		Figure: fmt.Sprintf("%d refused%s; %.0f within rate, as the gateway counts", n, e.reasons(refused), e.broken),
		Held:   n == 0 && e.broken == 0,
	}
}

func (e *reloadEvidence) servedOnce() Check {
	return Check{
		Name:   "the upstream sees each request once",
		Figure: fmt.Sprintf("%d sent in all, %d served by the upstream, %d still in flight", e.sent, e.counts.Served, e.counts.InFlight),
		Held:   e.counts.Served == e.sent && e.counts.InFlight == 0,
	}
}

func (e *reloadEvidence) putsAnswered() Check {
	var wrong []string
	for _, p := range e.puts {
		if p.Err != nil {
			wrong = append(wrong, fmt.Sprintf("at %.1f s: %v", p.At.Seconds(), p.Err))
		}
	}
	c := Check{
		Name:   "every changed config is taken: 200 to each PUT, and it is what the next GET shows",
		Figure: fmt.Sprintf("%d put, p50 %v ms, the slowest %v ms", len(e.puts), putTook(e.puts, 0.5), putTook(e.puts, 1)),
		Held:   len(e.puts) > 0 && len(wrong) == 0,
	}
	if len(wrong) > 0 {
		c.Figure += fmt.Sprintf("; %d went wrong, first: %s", len(wrong), wrong[0])
	}
	return c
}

// putTook is a quantile, from 0 to 1, of the time that a change took, its GET with it.
func putTook(puts []put, q float64) tally.Millis {
	if len(puts) == 0 {
		return 0
	}
	took := make([]time.Duration, 0, len(puts))
	for _, p := range puts {
		took = append(took, p.Took)
	}
	slices.Sort(took)
	return tally.Millis(took[int(q*float64(len(took)-1))])
}

func (e *reloadEvidence) quickEnough() Check {
	return Check{
		Name:   "ten configs are changed a second",
		Figure: fmt.Sprintf("%d of %d", len(e.puts), e.planned),
		Held:   float64(len(e.puts)) >= leastRate*float64(e.planned),
	}
}

func (e *reloadEvidence) versionsAdded() Check {
	c := Check{
		Name:   "each change is a version of its own",
		Figure: fmt.Sprintf("%d changes, %d versions", len(e.puts), e.versions),
		Held:   e.versions == len(e.puts),
	}
	for i := 1; i < len(e.puts); i++ {
		if last, next := e.puts[i-1].Version, e.puts[i].Version; next != last+1 {
			c.Held = false
			c.Figure += fmt.Sprintf("; %d follows %d", next, last)
			break
		}
	}
	return c
}

func (e *reloadEvidence) removedUnderWaiting() Check {
	removals := 0
	for _, p := range e.puts {
		if p.removed {
			removals++
		}
	}
	return Check{
		Name:   "a semantic is removed while work of it waits",
		Figure: fmt.Sprintf("removed %d times, while %d requests of it waited in all", removals, e.waitedThrough),
		Held:   e.waitedThrough > 0,
	}
}

func asQuick(r *reloadRow) Check {
	bound := max(tally.Millis(reloadFactor*float64(r.Without.P99)), r.Without.P99+reloadSlack)
	return Check{
		Name: fmt.Sprintf("the p99 of %s is within %.0f %% or %v ms of the one without reloads", r.Name, (reloadFactor-1)*100, reloadSlack),
		Figure: fmt.Sprintf("without %v ms of %d, with %v ms of %d, bound %v ms",
			r.Without.P99, r.Without.Served(), r.With.P99, r.With.Served(), bound),
		Held: r.Without.Served() > 0 && r.With.Served() > 0 && r.With.P99 <= bound,
	}
}

func (e *reloadEvidence) goroutinesFlat() Check {
	return Check{
		Name:   "goroutines are as many as before",
		Figure: fmt.Sprintf("%d, then %d; bound %d more", e.before.Goroutines, e.after.Goroutines, moreGoroutines),
		Held:   e.before.Goroutines > 0 && e.after.Goroutines <= e.before.Goroutines+moreGoroutines,
	}
}

func (e *reloadEvidence) heapFlat() Check {
	bound := e.before.Heap + moreHeap + int64(len(e.puts))*moreHeapEach
	return Check{
		Name:   "the heap is as large as before, just after a collection",
		Figure: fmt.Sprintf("%.1f MiB, then %.1f; bound %.1f", mebi(e.before.Heap), mebi(e.after.Heap), mebi(bound)),
		Held:   e.before.Heap > 0 && e.after.Heap <= bound,
	}
}

func (e *reloadEvidence) residentFlat() Check {
	bound := e.before.Resident + max(moreResident, int64(moreResidentShare*float64(e.before.Resident)))
	return Check{
		Name:   "so is the process",
		Figure: fmt.Sprintf("%.1f MiB, then %.1f; bound %.1f", mebi(e.before.Resident), mebi(e.after.Resident), mebi(bound)),
		Held:   e.before.Resident > 0 && e.after.Resident <= bound,
	}
}

func mebi(bytes int64) float64 { return float64(bytes) / (1 << 20) }
