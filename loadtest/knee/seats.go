package knee

import (
	"math"
	"time"
)

const (
	// enough is the share of the throughput with plenty of seats that the right number of seats must reach.
	enough = 0.95
	// overfull is how far the load behind seats is above what can be served, so that no seat is ever idle for lack of work.
	overfull = 1.3
	mostOver = 5 // and at most so far above the lowest load that was not carried
	// As long as a quarter more seats do a twentieth more, there were too few to begin with: a pool of workers that
	// was full would do no more, and one that was not a quarter more.
	widen, gain = 1.25, 1.05
)

// Seats is how many requests the upstream should have at a time.
type Seats struct {
	Seats    int
	Measured bool    // tried behind seats; else only by Little's law at the highest load that was carried
	Nearest  int     // the number that was tried: Seats, or a few less
	Goodput  float64 // a second, with those
	Highest  float64 // a second, with plenty of seats
	Latency  time.Duration
	High     time.Duration // its high quantile, with all these seats in use
	Tried    []Step        // in the order played
}

// seatSearch finds the smallest number of seats that is enough. What is too few is known by Little's law, what
// is plenty is found from the knee upwards; that more seats do not do less is assumed in between, as it holds below the knee.
type seatSearch struct {
	unloaded time.Duration // mean latency without a queue

	few     int     // too few
	plenty  int     // enough
	reached float64 // throughput with plenty
	best    float64 // throughput with the most that were worth it
	most    int     // how many they were; 0: none was tried yet
	ceiling int     // so many did more, but were too slow; 0: none
	topped  bool    // more than those do no more
	lowest  int     // tries of the least number that could do
}

// next is the number of seats to be tried next, or that there is nothing left to try.
func (s *seatSearch) next() (seats int, ok bool) {
	switch {
	case s.most == 0:
		return s.plenty, true
	case !s.topped && s.ceiling == 0:
		return int(math.Ceil(widen * float64(s.plenty))), true
	case !s.topped:
		return (s.plenty + s.ceiling) / 2, true
	case s.plenty-s.few <= 1:
		return 0, false
	case s.lowest < 2:
		return s.few + 1, true // most upstreams are pools of workers, and one of these two is their answer
	}
	return (s.few + s.plenty) / 2, true
}

// add takes the throughput with the number of seats that next has named, and whether it was good enough in all else.
func (s *seatSearch) add(seats int, goodput float64, fine bool) {
	switch {
	case s.most == 0:
		if s.best, s.reached, s.most = goodput, goodput, seats; goodput == 0 {
			s.plenty, s.few, s.topped = seats, seats-1, true
		}
	case !s.topped:
		more := goodput > gain*s.best
		switch {
		case more && fine:
			s.plenty, s.most, s.best, s.reached = seats, seats, goodput, goodput
		case more:
			s.ceiling = seats
		}
		if !more || s.ceiling != 0 && s.ceiling-s.plenty <= 1 {
			s.top()
		}
	case fine && goodput >= enough*s.best:
		s.plenty, s.reached = seats, goodput
		s.lowest++
	default:
		s.few = seats
		s.lowest++
	}
}

// top ends the search for plenty and says what is too few for it: rounded down, as the latency that it comes from is
// known to some percent.
func (s *seatSearch) top() {
	s.topped = true
	s.few = min(s.plenty, max(1, int(enough*s.best*s.unloaded.Seconds()))) - 1
}

// answer is the number of seats. What was found reaches 95 % or more of the throughput; in proportion to what is missing
// from the whole there are a few more.
func (s *seatSearch) answer() int {
	if s.reached == 0 {
		return s.plenty
	}
	return min(s.most, max(s.plenty, int(math.Round(float64(s.plenty)*s.best/s.reached))))
}
