package scheduler

// heap is a binary heap whose elements know their own position, so that any of them can be moved or
// removed in O(log n). The zero position means "not in it": positions count from 1.
type heap[T any] struct {
	a    []T
	less func(a, b T) bool
	pos  func(T) *int
}

func (h *heap[T]) len() int { return len(h.a) }

// top is the least element; the heap must not be empty.
func (h *heap[T]) top() T { return h.a[0] }

func (h *heap[T]) push(x T) {
	h.a = append(h.a, x)
	*h.pos(x) = len(h.a)
	h.up(len(h.a) - 1)
}

func (h *heap[T]) remove(x T) {
	i := *h.pos(x) - 1
	*h.pos(x) = 0
	last := len(h.a) - 1
	if i != last {
		h.a[i] = h.a[last]
		*h.pos(h.a[i]) = i + 1
	}
	var none T
	h.a[last] = none
	h.a = h.a[:last]
	if i != last {
		h.settle(i)
	}
}

// fix puts x back in order after its key has changed.
func (h *heap[T]) fix(x T) { h.settle(*h.pos(x) - 1) }

func (h *heap[T]) settle(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

func (h *heap[T]) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !h.less(h.a[i], h.a[p]) {
			return
		}
		h.swap(i, p)
		i = p
	}
}

func (h *heap[T]) down(i int) (moved bool) {
	for {
		c := 2*i + 1
		if c >= len(h.a) {
			return moved
		}
		if c+1 < len(h.a) && h.less(h.a[c+1], h.a[c]) {
			c++
		}
		if !h.less(h.a[c], h.a[i]) {
			return moved
		}
		h.swap(i, c)
		i, moved = c, true
	}
}

func (h *heap[T]) swap(i, j int) {
	h.a[i], h.a[j] = h.a[j], h.a[i]
	*h.pos(h.a[i]) = i + 1
	*h.pos(h.a[j]) = j + 1
}
