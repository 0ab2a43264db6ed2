package knee

import "math"

// The plan of the steps.
const (
	growth    = 1.5  // from one step up to the next
	precision = 1.05 // the bracket of the knee, highest carried to lowest not carried
	tries     = 6    // of a step that is void: whatever else runs on the machine may be over by then
)

// ramp decides the load of the next step from the verdicts on those before. Rates are per second.
type ramp struct {
	start, limit float64 // the first step above what is known to be carried, and the highest load allowed

	carried float64 // the highest
	beyond  float64 // the lowest that was not; 0: none yet
	again   float64 // the rate of a step that is to be played once more; 0: none
	voids   int     // of the steps at that rate
	late    bool    // one of them was
	beaten  End     // why no higher load can be played; 0: it can
}

// next is the load of the next step, or why there is none.
func (r *ramp) next() (rate float64, end End) {
	switch {
	case r.again != 0:
		return r.again, 0
	case r.beaten != 0:
		return 0, r.beaten
	case r.beyond != 0:
		if r.beyond/r.carried <= precision {
			return 0, Found
		}
		return math.Sqrt(r.beyond * r.carried), 0
	case r.carried >= r.limit:
		return 0, NoKnee
	case r.carried < r.start:
		return min(r.start, r.limit), 0
	}
	return min(r.carried*growth, r.limit), 0
}

// add takes the verdict on a step at the rate that next has named.
func (r *ramp) add(rate float64, v Verdict) {
	switch {
	case v == Void && r.voids < tries-1:
		r.again, r.voids = rate, r.voids+1
		return
	case v == Void:
		r.beaten = GeneratorLate
	case v == Carried:
		r.carried = rate
	case v == Late && !r.late:
		r.again, r.late = rate, true
		return
	case v == Full:
		r.beyond, r.beaten = rate, NoConnections
	default:
		r.beyond = rate
	}
	r.again, r.voids, r.late = 0, 0, false
}
