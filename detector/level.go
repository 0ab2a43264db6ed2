package detector

import "math"

const (
	shortSeconds  = 8  // time constant of the recent level
	longSeconds   = 64 // and of the longer one
	learnSeconds  = 5  // seen for less, a flow is not judged
	knownSeconds  = 32 // what the level is worth, between its two means
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

// now is the short level brought forward by its own lag along the trend that it shows against the long one, within none
// and the fastest tide.
func (l *level) now(tide float64) float64 {
	trend := (l.short - l.long) * (shortSeconds / (longSeconds - shortSeconds))
	return l.short + min(max(0, trend), l.short*(growth(tide*shortSeconds)-1))
}

// growth is e^x for x of at least 0: for the small ones, which is nearly all, by its series.
func growth(x float64) float64 {
	if x < 0.25 {
		return 1 + x*(1+x*(0.5+x*(1./6)))
	}
	return math.Exp(min(x, 50))
}
