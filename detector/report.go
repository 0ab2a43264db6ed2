package detector

import "time"

// State is where the flow stands.
func (f *Flow) State() State { return f.state }

// Surging says that the flow has burst and the surge has not ended: Surge or Cooling.
func (f *Flow) Surging() bool { return f.state >= Surge }

// Rate is what was observed over the window, in arrivals a second.
func (f *Flow) Rate() float64 {
	if f.cells.windowN == 0 {
		return 0
	}
	return float64(f.cells.window) / (float64(f.cells.windowN) * cellSeconds)
}

// Expected is the rate that the flow is held to, in arrivals a second, before what a tide may add. During a surge it
// stands still.
func (f *Flow) Expected() float64 {
	if f.state == Learning {
		return f.level.long
	}
	return f.expected
}

// Since is the begin of the surge, as the evidence has it: up to 6.4 s before the verdict. Zero when there is none.
func (f *Flow) Since() time.Time {
	if !f.Surging() {
		return time.Time{}
	}
	return f.origin.Add(time.Duration(f.began))
}

// Score is the evidence for a surge in nats; 0 where it is too little to be weighed, well below 8. During a surge it is
// that of the newest 1.6 s, and 0 once the surge does not show in them.
func (f *Flow) Score() float64 { return f.score }

// Peak is the highest rate that the surge, or the last one, has had over the window, in arrivals a second.
func (f *Flow) Peak() float64 { return f.peak }

// Quiet says that nothing has come for so long that the flow need not be stepped until something does. What it has
// learned it keeps; who drops a quiet flow makes it learn anew.
func (f *Flow) Quiet(now time.Time) bool {
	if f.Surging() || f.partial > 0 {
		return false
	}
	return f.cells.zeros >= ringCells || int64(now.Sub(f.origin))-f.last > ringCells*int64(cell)
}

// Report is a flow's verdict with what it rests on.
type Report struct {
	Observed, Expected float64   // arrivals a second, over the window and before what a tide may add
	Ratio              float64   // of the two; 0 when nothing is expected
	Score, Needed      float64   // the evidence and what makes a surge now, in nats
	Since              time.Time // begin of the surge; zero: there is none
	Slot               Slot
	Seasonal           bool // the season has a part in what is expected
	Learning           bool // the flow has no season of its own for this hour yet
}

// Report is what the last step found.
func (f *Flow) Report() Report {
	r := Report{
		Observed: f.Rate(), Expected: f.Expected(), Score: f.score, Needed: float64(f.needed), Since: f.Since(),
		Slot: f.hour.slot, Seasonal: f.hour.allowed > 0 && float64(f.hour.allowed) >= f.expected,
	}
	if r.Expected > 0 {
		r.Ratio = r.Observed / r.Expected
	}
	_, known := f.season.At(r.Slot)
	r.Learning = !known
	return r
}

// Season is the flow's own, with the level that the flow has now. It may be replaced before the first step.
func (f *Flow) Season() *Season {
	if f.state != Learning {
		l := &f.level
		f.season.last = last{float32(l.short), float32(l.long), float32(l.seconds), f.hour.learned}
	}
	return &f.season
}

// Follow sets the shape of its semantic, which the flow goes by until its own week is known. It may be nil.
func (f *Flow) Follow(p *Shape) { f.shape = p }
