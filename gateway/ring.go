package gateway

import "sync"

// ring keeps the last of what is added to it. Safe for concurrent use.
type ring[T any] struct {
	mu   sync.Mutex
	most int
	kept []T
	next int // where the next one goes, once most are kept
}

func newRing[T any](most int) *ring[T] { return &ring[T]{most: max(most, 1)} }

func (r *ring[T]) add(v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) < r.most {
		r.kept = append(r.kept, v)
		return
	}
	r.kept[r.next] = v
	r.next = (r.next + 1) % r.most
}

// last returns up to n, newest first.
func (r *ring[T]) last(n int) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = min(n, len(r.kept))
	out := make([]T, 0, n)
	for i := range n {
		out = append(out, r.kept[(r.next-1-i+2*len(r.kept))%len(r.kept)])
	}
	return out
}

// find returns up to n that fit, newest first.
func (r *ring[T]) find(n int, fits func(*T) bool) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []T{}
	for i := 0; i < len(r.kept) && len(out) < n; i++ {
		if v := &r.kept[(r.next-1-i+2*len(r.kept))%len(r.kept)]; fits(v) {
			out = append(out, *v)
		}
	}
	return out
}

// resize changes how many are kept; the newest stay.
func (r *ring[T]) resize(most int) {
	most = max(most, 1)
	r.mu.Lock()
	same := most == r.most
	r.mu.Unlock()
	if same {
		return
	}
	newest := r.last(most)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most, r.next, r.kept = most, 0, make([]T, 0, len(newest))
	for i := len(newest) - 1; i >= 0; i-- {
		r.kept = append(r.kept, newest[i])
	}
}
