package upstream

import "sync"

// Backlog is how many requests may wait for a worker where nothing else is said: as many as the listen queue
// of a usual Linux holds.
const Backlog = 4096

// workers are a fixed number of places to work with one queue in front, first in, first out, as of a pool of
// threads. It knows nothing of callers. A request whose client has left keeps its place and then its worker:
// the server does not learn of it before it writes. It is safe for concurrent use.
type workers struct {
	backlog int

	mu      sync.Mutex
	free    int
	waiting []chan struct{} // in order of arrival
}

// enter returns true once the request has a worker, and false at once where the backlog is full.
func (w *workers) enter() bool {
	w.mu.Lock()
	if w.free > 0 {
		w.free--
		w.mu.Unlock()
		return true
	}
	if len(w.waiting) >= w.backlog {
		w.mu.Unlock()
		return false
	}
	turn := make(chan struct{})
	w.waiting = append(w.waiting, turn)
	w.mu.Unlock()
	<-turn
	return true
}

// leave hands the worker to the first who waits.
func (w *workers) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		w.free++
		return
	}
	close(w.waiting[0])
	w.waiting = w.waiting[1:]
}
