package audit

import (
	"context"
	"fmt"
	"time"
)

// The disk is asked again after a second when it has failed, and then less and less often.
const (
	shortestPause = time.Second
	longestPause  = 30 * time.Second
)

// Run writes what is added until Close. It is to be called once.
func (t *Trail) Run() {
	t.running.Store(true)
	defer close(t.done)
	if t.file == nil {
		return
	}
	pause := shortestPause
	retry := time.NewTimer(0)
	defer retry.Stop()
	failing := false
	for {
		select {
		case <-t.stop:
			_ = t.end() // Close tells of it
			return
		case <-t.wake:
			if failing {
				continue // not before its time: each attempt may take a sick disk's while
			}
		case <-retry.C:
		}
		if failing = t.Flush() != nil; !failing {
			pause = shortestPause
			continue
		}
		retry.Reset(pause)
		pause = min(2*pause, longestPause)
	}
}

// Flush writes all that waits, and returns when it has reached the disk, or cannot.
func (t *Trail) Flush() error {
	if t.file == nil {
		return nil
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	for {
		if err := t.ready(); err != nil {
			t.fails(err)
			return err
		}
		t.mu.Lock()
		batch := batchOf(t.waiting)
		t.mu.Unlock()
		if len(batch) == 0 {
			t.works()
			return nil
		}
		if err := t.file.append(batch); err != nil {
			t.fails(err)
			return err
		}
		t.written(len(batch))
	}
}

// batchOf is what the next write takes.
func batchOf(entries []Entry) []Entry {
	n, bytes := 0, 0
	for n < len(entries) && n < mostBatch && bytes < batchBytes {
		bytes += entries[n].size()
		n++
	}
	return entries[:n]
}

// end is the last Flush.
func (t *Trail) end() error {
	err := t.Flush()
	if t.file != nil {
		t.writing.Lock()
		t.file.close()
		t.writing.Unlock()
	}
	return err
}

// ready opens the file if it is not open, or no longer the one under its name.
func (t *Trail) ready() error {
	if t.file.ready() {
		return nil
	}
	return t.begin()
}

// written takes the first n of those that wait among those that are kept.
func (t *Trail) written(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range n {
		e := &t.waiting[i]
		t.bytes -= e.size()
		t.recent, t.held = t.keep(t.recent, t.held, e)
	}
	if t.waiting = t.waiting[n:]; len(t.waiting) == 0 {
		t.waiting = nil // lets the memory of a long wait go
	}
	t.since = time.Now()
}

// fails notes that the disk took nothing. The first time is told.
func (t *Trail) fails(err error) {
	err = fmt.Errorf("cannot keep the audit trail: %w", err)
	t.mu.Lock()
	first := t.err == nil
	if first {
		t.failed = time.Now()
	}
	t.err = err
	t.mu.Unlock()
	if first {
		t.odd(err)
	}
}

func (t *Trail) works() {
	t.mu.Lock()
	t.err, t.failed = nil, time.Time{}
	t.mu.Unlock()
}

// Close writes what waits, for as long as ctx lets it, and ends Run. The error says how many entries have not reached the
// disk. What is added later stays in memory.
func (t *Trail) Close(ctx context.Context) error {
	t.closing.Do(func() { close(t.stop) })
	if !t.running.Load() {
		_ = t.end() // told below
	} else {
		select {
		case <-t.done:
		case <-ctx.Done():
		}
	}
	_, err := t.Trouble()
	if n := t.Stats().Waiting; n > 0 {
		if err == nil {
			err = ctx.Err()
		}
		return fmt.Errorf("%d entries of the audit trail are in the log and not in state.dir: %w", n, err)
	}
	return nil
}
