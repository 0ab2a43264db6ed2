package scheduler

// slots is where flows, or callers, are found by number, so that all of them can be walked over a few at a time while others
// are made and dropped: who stays, stays in its slot. There are as many slots as there ever were owners at once, of 8 bytes
// each.
type slots[T any] struct {
	all  []*T
	free []int32
}

// put gives x a slot and returns its number.
func (s *slots[T]) put(x *T) int32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		s.all[i] = x
		return i
	}
	s.all = append(s.all, x)
	return int32(len(s.all) - 1)
}

func (s *slots[T]) drop(i int32) {
	s.all[i] = nil
	s.free = append(s.free, i)
}

// chunk is how many slots are looked at while the lock is held.
const chunk = 1000

// flowChunk is how many flows are described while the lock is held: some 15 microseconds. All of them are, once a second.
const flowChunk = 128

// from is the next chunk of slots from number i; it may hold nil. There is none past the last one.
func (s *slots[T]) from(i, n int) []*T {
	if i >= len(s.all) {
		return nil
	}
	return s.all[i:min(i+n, len(s.all))]
}
