package scheduler

// share is a level's promised part of its pool's seat time, kept as a balance in seat seconds: it
// grows by min x seats a second while committed work of the level could be dispatched, and each such
// dispatch is charged to it. While the balance is not negative the level comes before all others.
//
// What the level gets in its ordinary turn is charged too, but never below one dispatch: having used
// an idle pool all night must not cost it its share when the morning comes. What it is owed is kept
// for ten seconds of the promise at most, and forgotten when nothing of it waits. So over any ten
// seconds of waiting the level gets its share less one dispatch.
type share struct {
	min     float64
	lines   int // ready lines with committed work
	balance float64
	last    int64 // core time of balance, ns
}

const shareSpan = 10 // seconds

func (s *share) advance(ns int64, seats int) {
	if s.min == 0 {
		return
	}
	rate := s.min * float64(seats)
	s.balance = min(s.balance+rate*float64(ns-s.last)/1e9, rate*shareSpan)
	s.last = ns
	if s.lines == 0 {
		s.balance = min(s.balance, 0)
	}
}

func (s *share) ready(ns int64, by, seats int) {
	s.advance(ns, seats)
	s.lines += by
	if s.lines == 0 {
		s.balance = min(s.balance, 0)
	}
}

func (s *share) owed(ns int64, seats int) bool {
	if s.min == 0 || s.lines == 0 {
		return false
	}
	s.advance(ns, seats)
	return s.balance >= 0
}

func (s *share) charge(ns int64, b Band, seat float64, seats int) {
	if s.min == 0 || b != Committed {
		return
	}
	s.advance(ns, seats)
	s.balance = max(s.balance-seat, -seat)
}

// correct takes back what a dispatch was charged too much, or charges what it took more.
func (s *share) correct(b Band, back float64) {
	if s.min != 0 && b == Committed {
		s.balance += back
	}
}
