package console

import (
	"math"
	"strconv"
	"time"
)

// HistoryQuery asks how something was.
type HistoryQuery struct {
	Kind string // one of HistoryKinds
	// Name is a pool's name, "pool/level", "caller" or "caller/semantic"; of total empty.
	Name string
	// Span is how far back, at most 15 minutes by the second, and above that at most 7 days by the minute.
	Span time.Duration
	// Until is the end; zero: now.
	Until time.Time
}

// HistoryKinds are what is remembered.
var HistoryKinds = []string{"total", "pool", "level", "caller"}

// HistoryView is how something was, oldest first. The fields of a pool are seats, in_use, committed, excess, surge, lent, borrowed and
// waiting; of a level waiting, oldest_wait_ms and dispatched_per_s; of a caller and of total rate, admitted_per_s, refused_per_s,
// in_flight, waiting and, of a caller, expected.
type HistoryView struct {
	Kind   string            `json:"kind"`
	Name   string            `json:"name"`
	From   time.Time         `json:"from"` // of the first value
	StepMS int64             `json:"step_ms"`
	Fields map[string]Series `json:"fields"` // all of the same length
}

// Series are values a step apart; NaN, in JSON null, where nothing is known.
type Series []float64

// MarshalJSON writes the values with at most three decimals.
func (s Series) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 2+6*len(s)), '[')
	for i, v := range s {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			out = append(out, "null"...)
			continue
		}
		out = strconv.AppendFloat(out, math.Round(v*1000)/1000, 'f', -1, 64)
	}
	return append(out, ']'), nil
}
