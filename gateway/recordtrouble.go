package gateway

import (
	"errors"
	"sync"
	"time"

	"tidegate/gateway/record"
)

// recordTrouble is whether requests are missing in the trace. The recorder tells of a failure once a minute at most, and counts
// what it drops; with traffic, one that fails drops something every few seconds.
type recordTrouble struct {
	mu      sync.Mutex
	since   time.Time
	last    time.Time // that something went wrong
	err     error
	dropped uint64
}

// missingFor is how long nothing may go wrong before all is well again.
const missingFor = 10 * time.Second

// failed notes that something went wrong.
func (t *recordTrouble) failed(now time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failedLocked(now, err)
}

func (t *recordTrouble) failedLocked(now time.Time, err error) {
	if t.err == nil || now.Sub(t.last) > missingFor {
		t.since = now
	}
	t.last, t.err = now, err
}

// look compares what the recorder has dropped with what it had a second ago; nil: nothing is recorded.
func (t *recordTrouble) look(now time.Time, r *record.Recorder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r == nil {
		t.err, t.dropped = nil, 0
		return
	}
	dropped := r.Stats().Dropped
	if dropped > t.dropped {
		err := t.err
		if err == nil || now.Sub(t.last) > missingFor {
			err = errors.New("requests are missing in the trace: the disk is too slow")
		}
		t.failedLocked(now, err)
	}
	t.dropped = dropped
}

func (t *recordTrouble) Trouble() (since time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil || time.Since(t.last) > missingFor {
		return time.Time{}, nil
	}
	return t.since, t.err
}
