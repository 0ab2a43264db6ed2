package record

import (
	"errors"
	"fmt"
	"time"
)

const (
	retryAfter  = time.Second // the disk is not asked more often while it fails
	reportAfter = time.Minute
)

// writer is the goroutine behind a Recorder, and what only it touches.
type writer struct {
	r       *Recorder
	dir     *directory
	encoder *encoder
	taken   []*batch

	retry    time.Time // not before; zero: at once
	reported time.Time
}

// run writes batches until the Recorder is closed.
func (w *writer) run() {
	tick := time.NewTicker(flushAfter)
	defer tick.Stop()
	for {
		select {
		case <-w.r.wake:
			w.work()
		case <-tick.C:
			w.age()
			w.flush()
			w.work()
		case <-w.r.stop:
			w.retry = time.Time{}
			w.work()
			w.r.done <- w.dir.close()
			return
		}
	}
}

// flush hands over the batch that is being filled, if there is anything in it. It also lets go, one by one, of the
// batches that were made while the disk was slow.
func (w *writer) flush() {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	if n := len(w.r.free); n >= spareBatches {
		w.r.free[n-1], w.r.free, w.r.made = nil, w.r.free[:n-1], w.r.made-1
	}
	if b := w.r.batch; b != nil && b.n > 0 {
		w.r.turnLocked()
	}
}

// work writes all batches that are handed over, and changes to another directory if Apply has opened one.
func (w *writer) work() {
	for {
		next, opts := w.take()
		for _, b := range w.taken {
			w.write(b, opts)
			w.giveBack(b)
		}
		if next != nil {
			w.report(w.dir.close(), opts)
			w.dir, w.retry = next, time.Time{}
			w.count()
			select {
			case w.r.switched <- struct{}{}:
			default:
			}
		} else if len(w.taken) == 0 {
			return
		}
	}
}

// take takes what is to be written to the present directory, and the next one. With that comes another salt, so what
// was hashed with the one before is taken too.
func (w *writer) take() (next *directory, opts Options) {
	r := w.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != nil {
		if r.batch != nil && r.batch.n > 0 {
			r.turnLocked()
		}
		next, r.next, r.key = r.next, nil, r.nextKey
	}
	w.taken = append(w.taken[:0], r.full...)
	r.full = r.full[:0]
	return next, r.opts
}

// write writes a batch as a member, or drops it.
func (w *writer) write(b *batch, opts Options) {
	now := time.Now()
	if now.Before(w.retry) {
		w.dropped(b.n)
		return
	}
	if err := w.put(b, opts, now); err != nil {
		w.retry = now.Add(retryAfter)
		w.dropped(b.n)
		w.report(err, opts)
		w.count()
		return
	}
	w.retry = time.Time{}
	w.r.mu.Lock()
	w.r.stats.Written += uint64(b.n)
	w.r.mu.Unlock()
	w.count()
}

func (w *writer) put(b *batch, opts Options, now time.Time) error {
	d := w.dir
	member := w.encoder.member(b.rows[:b.n], d.size() == 0)
	if d.size() > 0 && d.size()+int64(len(member)) > opts.fileBytes() {
		if err := d.end(); err != nil {
			return err
		}
		member = w.encoder.member(b.rows[:b.n], true)
	}
	if int64(len(member)) > opts.MaxBytes {
		return fmt.Errorf("a batch of %d bytes does not fit into max_bytes = %d", len(member), opts.MaxBytes)
	}
	if d.file == nil {
		if err := d.begin(now); err != nil {
			return err
		}
	}
	if err := d.prune(int64(len(member)), opts.MaxBytes); err != nil {
		if d.size() == 0 {
			err = errors.Join(err, d.end())
		}
		return err
	}
	return d.append(member)
}

// age closes a file that is old enough, so that somebody can have it, and one that was taken away; and holds bounds that
// Apply has made smaller.
func (w *writer) age() {
	now := time.Now()
	w.r.mu.Lock()
	opts := w.r.opts
	w.r.mu.Unlock()
	d := w.dir
	if d.lost() {
		d.forget()
		w.report(errors.New("the open file was removed or replaced; a new one is begun"), opts)
	}
	if d.file != nil && (now.Sub(d.begun) >= opts.FileSpan || d.size() > opts.fileBytes()) {
		w.report(d.end(), opts)
	}
	if d.bytes() > opts.MaxBytes {
		w.report(d.prune(0, opts.MaxBytes), opts)
		w.count()
	}
}

// giveBack makes a batch free.
func (w *writer) giveBack(b *batch) {
	b.n = 0
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	if w.r.batch == nil && !w.r.closed {
		w.r.batch = b
	} else {
		w.r.free = append(w.r.free, b)
	}
}

func (w *writer) dropped(n int) {
	w.r.mu.Lock()
	w.r.stats.Dropped += uint64(n)
	w.r.mu.Unlock()
}

// count says what is in the directory.
func (w *writer) count() {
	files, bytes := len(w.dir.files), w.dir.bytes()
	w.r.mu.Lock()
	w.r.stats.Files, w.r.stats.Bytes = files, bytes
	w.r.mu.Unlock()
}

// report tells of a failure, but not of each: a full disk stays full.
func (w *writer) report(err error, opts Options) {
	now := time.Now()
	if err == nil || opts.Failed == nil || !w.reported.IsZero() && now.Sub(w.reported) < reportAfter {
		return
	}
	w.reported = now
	opts.Failed(fmt.Errorf("cannot record into %s: %w", w.dir.path, err))
}
