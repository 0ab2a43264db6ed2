package replay

import (
	"math"
	"strconv"
)

// appendVerdict appends what the detector says of a flow.
func appendVerdict(b []byte, d *flow) []byte {
	r := d.watch.State.Report()
	b = appendNumber(b, `,"observed":`, round(r.Observed))
	b = appendNumber(b, `,"expected":`, round(r.Expected))
	b = appendNumber(b, `,"ratio":`, round(r.Ratio))
	b = appendNumber(b, `,"score":`, round(r.Score))
	b = appendNumber(b, `,"needed":`, round(r.Needed))
	if !r.Since.IsZero() {
		b = append(b, `,"since_ms":`...)
		b = strconv.AppendInt(b, r.Since.UnixMilli(), 10)
	}
	b = appendJSON(append(b, `,"slot":`...), r.Slot.String())
	b = strconv.AppendBool(append(b, `,"seasonal":`...), r.Seasonal)
	return strconv.AppendBool(append(b, `,"learning":`...), r.Learning)
}

func round(x float64) float64 { return math.Round(x*100) / 100 }
