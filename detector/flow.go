package detector

import "time"

const (
	cell         = 100 * time.Millisecond
	early        = cell / 10   // a step this near the end of a cell ends it
	mostArrivals = 1 << 40     // in one step: so that sums fit
	hotScales    = 4           // 0.2 to 1.6 s: by these a surge is seen to go on
	boundsEvery  = 16          // cells
	stopped      = time.Minute // silence this long ends a surge: before it, nobody knows what the flow will come back as
)

// Flow is what the detector knows of one flow, its season included: at most 1.5 KiB, without pointers but the time
// zone's and its semantic's shape. Make it with NewFlow, use it by pointer from then on. Not safe for concurrent use.
type Flow struct {
	origin     time.Time // moments are kept as ns since it
	end        int64     // of the newest whole cell
	last       int64     // the last step
	partial    int64     // arrivals since end
	turn       int64     // when the calendar is looked at again
	window     time.Duration
	state      State
	relearned  bool    // something was, since the last surge
	needed     float32 // the score that makes a surge now
	stale      float64 // seconds in which nothing was learned and the level may have risen as a tide does
	level      level
	bounds     [scales]uint32 // below these counts there is no evidence worth weighing
	hour       hour
	excursion  excursion
	cells      cells
	score      float64
	dispersion dispersion    // up to here is what each step needs, in as few lines of memory as it fits; see Fetch
	rise       time.Duration // that the growth of a tide is reckoned for
	growth     growth
	expected   float64
	peak       float64
	began, hot int64 // a surge's begin; when it last showed
	lately     level // of a surge, while it lasts: what is the new normal if it lasts for Learn
	shape      *Shape
	season     Season
}

// NewFlow is a flow of which nothing is known.
func NewFlow(now time.Time) Flow {
	f := Flow{origin: now}
	f.dispersion.spread()
	return f
}

// Step tells the arrivals since the last step and is called about every 100 ms while the flow is not quiet. Moments
// between two cells and moments a little before the last one are fine; a gap is neither silence nor a surge.
func (f *Flow) Step(c *Config, now time.Time, arrivals int64) Verdict {
	at := int64(now.Sub(f.origin))
	// Mostly a step is what a whole cell ends with, and nothing else is to be looked at.
	if past := at - f.end - int64(cell); past >= -int64(early) && past <= int64(early) && at >= f.last && at < f.turn &&
		arrivals >= 0 && arrivals <= mostArrivals && f.window == c.Window {
		f.push(arrivals + f.partial)
		f.end, f.last, f.partial = f.end+int64(cell), at, 0
		return f.decide(c)
	}
	return f.stepOddly(c, now, at, min(max(0, arrivals), mostArrivals))
}

// stepOddly is a step at any moment, after any time.
func (f *Flow) stepOddly(c *Config, now time.Time, at, arrivals int64) Verdict {
	if f.window != c.Window {
		f.window = c.Window
		f.cells.observe(windowCells(c.Window))
	}
	if at < f.last-int64(time.Second) {
		f.shift(at - f.last)
	}
	at = max(at, f.last)
	if f.last == 0 && f.cells.ticks == 0 {
		f.end = at - int64(cell) // the first step is a cell, and the others fall in with it
		f.resume()
	}
	whole := (at + int64(early) - f.end) / int64(cell)
	if whole > ringCells && f.cells.zeros >= ringCells && f.partial == 0 {
		f.silence(c.in(now), time.Duration(at-f.last))
	}
	if at >= f.turn {
		f.look(c, now)
	}
	switch {
	case whole == 0:
		f.partial = min(f.partial+arrivals, mostArrivals)
		f.last = at
		return None
	case whole > ringCells:
		return f.gap(c, at)
	}
	// What came after the end of the newest cell is not known apart: it is taken to be spread over the step.
	end := f.end + whole*int64(cell)
	rest := int64(0)
	if over := at - end; over > int64(early) && at > f.last {
		rest = int64(float64(arrivals) * float64(over) / float64(at-f.last))
	}
	arrivals -= rest
	if whole > 1 {
		arrivals = f.spread(arrivals, whole)
	}
	f.push(arrivals + f.partial)
	f.end, f.last, f.partial = end, at, rest
	return f.decide(c)
}

// spread pushes all but the newest of several whole cells, evenly filled, and gives what is left for that one. A
// flow that was silent was not stepped: what came came now, not all the while.
func (f *Flow) spread(arrivals, whole int64) int64 {
	silent := f.silent()
	for ; whole > 1; whole-- {
		share := arrivals / whole
		if silent {
			share = 0
		}
		arrivals -= share
		f.push(share + f.partial)
		f.partial = 0
	}
	return arrivals
}

// push adds a whole cell, and learns the one that falls out of the ring if it is to be learned.
func (f *Flow) push(arrivals int64) {
	count := uint32(min(arrivals, mostCounted))
	oldest := f.cells.push(count)
	f.hour.count(count)
	if f.cells.ticks&1 == 0 {
		if f.cells.ticks&(ringCells-1) == 0 && f.Surging() {
			f.dispersion.doubt()
		}
		f.dispersion.learn(&f.cells)
	}
	if f.Surging() {
		f.cells.valid = min(f.cells.valid+1, ringCells)
		if !f.silent() {
			f.lately.learn(count)
		}
		return
	}
	if f.silent() {
		f.settleSilence()
		return
	}
	if f.state == Learning {
		f.level.learn(count)
		f.hour.learned = f.hour.slot
		return
	}
	if f.cells.valid == ringCells {
		f.learn(oldest)
	} else {
		f.cells.valid++
	}
}

func (f *Flow) learn(cell uint32) {
	f.relearned = true
	f.level.learn(cell)
	if f.hour.seen > ringSeconds { // the cell is of this hour
		f.hour.learned = f.hour.slot
	}
	f.stale = max(0, f.stale-4*cellSeconds)
}

// silent says that the flow has stopped: empty cells for a second, and for ten times as long as it usually takes
// between two arrivals.
func (f *Flow) silent() bool {
	if f.cells.zeros < uint32(time.Second/cell) {
		return false
	}
	if f.state == Learning {
		return true
	}
	return float64(f.cells.zeros)*cellSeconds*f.level.long > 10 || f.cells.zeros > 10*ringCells
}

// settleSilence learns what came before the silence, and then nothing: a flow that stops has not become slow.
func (f *Flow) settleSilence() {
	empty := int(min(f.cells.zeros, ringCells))
	for i := int(f.cells.valid) - 1; i >= empty; i-- {
		f.learn(f.cells.back(i))
	}
	f.cells.valid = 0
	f.stale += cellSeconds
}

// decide moves the flow between its states.
func (f *Flow) decide(c *Config) Verdict {
	switch f.state {
	case Learning:
		if f.level.seconds < learnSeconds-cellSeconds/2 {
			return None
		}
		f.state = Calm
		f.dispersion.settle()
		return None
	case Calm, Rising:
		score, since := f.judge(c)
		f.score = score
		if score == 0 && f.excursion.phase == none {
			f.state = Calm
			return None
		}
		f.watch(c, score, score > 0 && f.shows(c) > 0)
		switch {
		case score >= float64(f.needed) && f.Rate() >= c.MinRate:
			f.state = Surge
			f.began, f.hot = f.end-int64(since)*int64(cell), f.end
			f.peak = f.Rate()
			if f.relearned { // else it is the same surge, after a pause
				f.lately = level{}
			}
			f.relearned = false
			f.dispersion.doubt()
			return SurgeBegan
		case score >= noted:
			f.state = Rising
		default:
			f.state = Calm
		}
		return None
	default:
		return f.decideSurge(c)
	}
}

// decideSurge ends a surge that has been calm for Hold, or has lasted for Learn.
func (f *Flow) decideSurge(c *Config) Verdict {
	rate := f.Rate()
	f.peak = max(f.peak, rate)
	f.score = f.shows(c)
	if f.excursion.phase == unknown {
		score, _ := f.weigh(c)
		f.watch(c, score, f.score > 0)
	}
	if f.score > 0 && rate >= 0.8*c.MinRate {
		f.state, f.hot = Surge, f.end
	} else {
		f.state = Cooling
	}
	if f.silent() && f.cells.zeros < uint32(stopped/cell) {
		f.hot += int64(cell) // a pause is no calm
		return None
	}
	if f.lately.seconds >= c.Learn.Seconds() {
		f.level = level{f.lately.long, f.lately.long, f.lately.seconds}
		return f.calm(ringCells)
	}
	mean := float64(f.cells.sums[scales-1]) / ringSeconds
	calm := max((1+c.Ratio)/2*f.expected, 0.8*c.MinRate)
	if f.end-f.hot >= int64(c.Hold) && mean < calm {
		return f.calm(ringCells) // the mean says that the surge has left them
	}
	return None
}

// calm ends the surge; the newest cells may be judged and learned.
func (f *Flow) calm(newest uint8) Verdict {
	f.state, f.score = Calm, 0
	f.cells.valid = newest
	f.cells.ticks = 0 // the surge's end is no difference to learn from
	return SurgeEnded
}

// gap goes on after so long without a step that the cells say nothing of now: what came in it is neither silence nor
// a surge, and the level is still the best guess, but may have risen as far as a tide can.
func (f *Flow) gap(c *Config, at int64) Verdict {
	f.stale += time.Duration(at - f.end).Seconds()
	f.excursion.phase = none // nobody knows what became of it
	f.end, f.last, f.partial = at, at, 0
	f.cells.clear()
	if f.Surging() && at-f.hot >= int64(c.Hold) {
		return f.calm(0)
	}
	return None
}

// shift follows a clock that was set back: all moments kept move with it.
func (f *Flow) shift(by int64) {
	f.end += by
	f.last += by
	f.began += by
	f.hot += by
	f.turn += by
	f.hour.until += by
	f.excursion.began += by
	f.excursion.shown += by
}

func windowCells(window time.Duration) uint8 {
	return uint8(min(max(1, (window+cell/2)/cell), ringCells))
}
