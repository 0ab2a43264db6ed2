package replay

import (
	"math"
	"strconv"
)

// appendVerdict appends what the detector says of a flow.
func appendVerdict(b []byte, d *flow) []byte {
	s := &d.watch.State
	observed, expected := s.Rate(), s.Expected()
	b = appendNumber(b, `,"observed":`, round(observed))
	b = appendNumber(b, `,"expected":`, round(expected))
	if expected > 0 {
		b = appendNumber(b, `,"ratio":`, round(observed/expected))
	}
	b = appendNumber(b, `,"score":`, round(s.Score()))
	if since := s.Since(); !since.IsZero() {
		b = append(b, `,"since_ms":`...)
		b = strconv.AppendInt(b, since.UnixMilli(), 10)
	}
	return b
}

func round(x float64) float64 { return math.Round(x*100) / 100 }
