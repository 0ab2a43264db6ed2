package detector

import "math"

const (
	shortSeconds  = 8.  // time constant of the recent level
	longSeconds   = 64. // and of the longer one
	learnSeconds  = 5   // seen for less, a flow is not judged
	knownSeconds  = 32  // what the level is worth, between its two means
	leastExpected = 0.1
)

// level is what a flow is known to do, in arrivals a second: two exponential means over the cells that left the ring, so
// that what is being judged is no part of what it is judged by. A cell's share is that of a plain mean at first.
type level struct {
	short, long float64
	seconds     float64 // learned
}

func (l *level) learn(cell uint32) {
	l.seconds += cellSeconds
	rate := float64(cell) * (1 / cellSeconds)
	if l.seconds >= longSeconds {
		l.short += (rate - l.short) * (cellSeconds / shortSeconds)
		l.long += (rate - l.long) * (cellSeconds / longSeconds)
		return
	}
	share := cellSeconds / l.seconds
	l.short += (rate - l.short) * max(share, cellSeconds/shortSeconds)
	l.long += (rate - l.long) * share
}

// now is the short level brought forward by its own lag along the trend that it shows against the long one, within
// none and the growth that the fastest tide has in that lag.
func (l *level) now(growth float64) float64 {
	trend := (l.short - l.long) * (shortSeconds / (longSeconds - shortSeconds))
	if trend <= 0 {
		return l.short
	}
	return min(l.short+trend, l.short*growth)
}

// last is the level that a flow had when it was last there, and in which hour.
type last struct {
	short, long, seconds float32
	slot                 Slot
}

// resume goes on from the level that is kept with the season, if there is one: who comes back is judged by what he did
// when he was there, as after any other gap.
func (f *Flow) resume() {
	l := f.season.last
	if l.seconds < learnSeconds {
		return
	}
	f.level = level{float64(l.short), float64(l.long), float64(l.seconds)}
	f.hour.learned, f.state = l.slot, Calm
	f.stale = math.MaxFloat32 // as long as can be
}
