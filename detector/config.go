package detector

import "time"

// Config is what the operator sets. It may change between two steps of a flow.
type Config struct {
	Window      time.Duration  // over which Rate is observed: 100ms to 6.4s
	Ratio       float64        // smallest lasting step looked for, above 1: 1.5 is half as much again
	Rise        time.Duration  // doubling in this time or more slowly is a tide; above 0
	MinRate     float64        // arrivals a second: below it, observed over Window, a flow never surges
	Learn, Hold time.Duration  // a surge this long is the new normal; calm this long ends one
	Season      bool           // the hours of the week that a flow has had say what may come
	Zone        *time.Location // of the hours of the week; nil: that of the moments given
	Odds        float64        // how much likelier than a blip a burst must be; 0: 20. More is later and with fewer false alarms
}

// State is where a flow stands.
type State uint8

// The states of a flow.
const (
	Learning State = iota // seen for less than 5 s: not judged
	Calm                  // as expected
	Rising                // there is evidence, but not as much as a surge takes
	Surge                 // burst, and still above what was expected
	Cooling               // burst, and back to what was expected for less than Hold
)

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

var stateNames = [...]string{"learning", "calm", "rising", "surge", "cooling"}

// Verdict is what one step changed.
type Verdict uint8

// The verdicts.
const (
	None Verdict = iota
	SurgeBegan
	SurgeEnded
)

func (v Verdict) String() string {
	switch v {
	case SurgeBegan:
		return "surge"
	case SurgeEnded:
		return "calm"
	default:
		return "none"
	}
}
