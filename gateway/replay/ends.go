package replay

import "tidegate/scheduler"

// ends are the moments at which seats come back, the earliest first, and those of one moment in the order in which
// the seats were taken.
type ends struct {
	heap  []end
	count uint64
}

type end struct {
	at    int64 // ns
	count uint64
	item  *scheduler.Item
}

func (a *end) before(b *end) bool { return a.at < b.at || a.at == b.at && a.count < b.count }

func (s *ends) push(at int64, it *scheduler.Item) {
	s.count++
	e := end{at, s.count, it}
	i := len(s.heap)
	s.heap = append(s.heap, e)
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&s.heap[up]) {
			break
		}
		s.heap[i] = s.heap[up]
		i = up
	}
	s.heap[i] = e
}

// pop removes the first. There must be one.
func (s *ends) pop() *scheduler.Item {
	first := s.heap[0].item
	n := len(s.heap) - 1
	e := s.heap[n]
	s.heap[n].item = nil
	s.heap = s.heap[:n]
	if n == 0 {
		return first
	}
	i := 0
	for {
		down := 4*i + 1
		if down >= n {
			break
		}
		for next := down + 1; next < min(4*i+5, n); next++ {
			if s.heap[next].before(&s.heap[down]) {
				down = next
			}
		}
		if !s.heap[down].before(&e) {
			break
		}
		s.heap[i] = s.heap[down]
		i = down
	}
	s.heap[i] = e
	return first
}
