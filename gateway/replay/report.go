package replay

import (
	"cmp"
	"slices"
	"time"
)

// Report is what became of a trace. Its JSON names are part of the public contract.
type Report struct {
	Requests int64   `json:"requests"`
	FromMS   int64   `json:"from_ms"` // of the first and of the last arrival, by the trace's clock
	ToMS     int64   `json:"to_ms"`
	Total    Row     `json:"total"`
	Rows     []Row   `json:"rows"` // by caller and semantic, the busiest first
	Pools    []Pool  `json:"pools"`
	Made     int     `json:"callers_made"` // that the configuration lacks
	Observes bool    `json:"observes"`     // some rule holds nothing back
	Passed   *Passed `json:"passed_over,omitempty"`
}

// Row is what became of the requests of one caller and semantic.
type Row struct {
	Caller   string `json:"caller"`
	Semantic string `json:"semantic"`

	Offered int64            `json:"offered"`
	AtOnce  int64            `json:"passed_at_once"`
	Waited  int64            `json:"waited"`  // had a seat after a wait
	Refused int64            `json:"refused"` // in all
	Codes   map[string]int64 `json:"refused_by_code"`
	// Of all that had a seat, those that had it at once among them; milliseconds.
	P50 float64 `json:"wait_p50_ms"`
	P99 float64 `json:"wait_p99_ms"`
	Max float64 `json:"wait_max_ms"`

	Surges  int64 `json:"surges"`
	Surging bool  `json:"surging"` // at the end of the trace

	// Of what is observed.
	WouldWait   int64            `json:"would_wait,omitempty"`
	WouldRefuse map[string]int64 `json:"would_refuse_by_code,omitempty"`
}

// Pool is what a pool had at most.
type Pool struct {
	Name        string  `json:"pool"`
	Seats       int     `json:"seats"`
	PeakInUse   int     `json:"peak_in_use"`
	PeakWaiting int     `json:"peak_waiting"`
	FullSeconds float64 `json:"full_s"` // in which no seat was free
}

// Passed is what of the trace was not played.
type Passed struct {
	Lines   int      `json:"lines"` // that could not be read
	First   []string `json:"first"` // twenty of them, with their places
	Without int64    `json:"without_caller"`
}

// Report says what became of all that was played.
func (e *Engine) Report() *Report {
	r := &Report{ToMS: e.last / 1e6, Made: len(e.made), Observes: e.setup.Observe, Rows: make([]Row, 0, len(e.tallies))}
	total := tally{}
	for _, t := range e.tallies {
		total.join(t)
		r.Rows = append(r.Rows, t.row())
	}
	slices.SortStableFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Offered, a.Offered), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Semantic, b.Semantic))
	})
	r.Total = total.row()
	r.Requests, r.FromMS = total.offered, e.first/1e6
	for _, p := range e.pools {
		r.Pools = append(r.Pools, Pool{p.name, p.seats, p.mostInUse, p.mostWaits, seconds(time.Duration(p.full))})
	}
	return r
}

func (t *tally) row() Row {
	return Row{
		Caller: t.caller, Semantic: t.semantic, Offered: t.offered, AtOnce: t.passed, Waited: t.waited,
		Refused: sum(&t.refused), Codes: byCode(&t.refused),
		P50: millis(t.quantile(0.50)), P99: millis(t.quantile(0.99)), Max: millis(t.longest),
		Surges: t.surges, Surging: t.surging, WouldWait: t.wouldWait, WouldRefuse: byCode(&t.wouldRefuse),
	}
}

func byCode(counts *[codes]int64) map[string]int64 {
	m := map[string]int64{}
	for c, n := range counts {
		if n > 0 {
			m[code(c).String()] = n
		}
	}
	return m
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
