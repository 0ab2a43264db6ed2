package replay

import (
	"cmp"
	"slices"
	"time"
)

// Report is what became of a trace. Its JSON names are part of the public contract.
type Report struct {
	Config   string     `json:"config"`
	Requests int64      `json:"requests"`
	FromMS   int64      `json:"from_ms"` // of the first and of the last arrival, by the trace's clock
	ToMS     int64      `json:"to_ms"`
	Total    Row        `json:"total"`
	Rows     []Row      `json:"rows"`             // by caller and semantic, the busiest first
	Others   *OtherRows `json:"others,omitempty"` // all that are in none of the rows
	Pools    []Pool     `json:"pools"`
	Notes    []Note     `json:"notes"`
	Passed   *Passed    `json:"passed_over,omitempty"`

	all []*tally
}

// OtherRows are rows that are told together.
type OtherRows struct {
	Rows int `json:"rows"`
	Row
}

// Note is something that is to be known before the rest is believed.
type Note string

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

// Report says what became of all that was played, with at most so many rows; 0: with all.
func (e *Engine) Report(rows int) *Report {
	r := &Report{Config: e.file, FromMS: floorMS(e.first), ToMS: floorMS(e.last), Rows: []Row{}, all: slices.Clone(e.tallies)}
	slices.SortStableFunc(r.all, func(a, b *tally) int {
		return cmp.Or(cmp.Compare(b.offered, a.offered), cmp.Compare(a.caller, b.caller), cmp.Compare(a.semantic, b.semantic))
	})
	var total, rest tally
	for i, t := range r.all {
		total.join(t)
		if rows > 0 && i >= rows && len(r.all) > rows+1 {
			rest.join(t)
			continue
		}
		r.Rows = append(r.Rows, t.row())
	}
	if n := len(r.all) - len(r.Rows); n > 0 {
		r.Others = &OtherRows{n, rest.row()}
	}
	r.Requests, r.Total = total.offered, total.row()
	for _, p := range e.pools {
		r.Pools = append(r.Pools, Pool{p.name, p.seats, p.mostInUse, p.mostWaits, seconds(time.Duration(p.full))})
	}
	r.Notes = e.notes()
	return r
}

// PassedOver adds what of the trace could not be played.
func (r *Report) PassedOver(t *Trace) {
	r.Passed = t.passedOver()
}

func (t *Trace) passedOver() *Passed {
	first, all := t.Flaws()
	if all == 0 && t.Nobody() == 0 {
		return nil
	}
	p := &Passed{Lines: all, First: []string{}, Without: t.Nobody()}
	for _, f := range first {
		p.First = append(p.First, f.Error())
	}
	return p
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
