package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync/atomic"
	"time"
)

// keeper is the goroutine that writes, and alone waits for the disk.
type keeper struct {
	h      *History
	loaded chan struct{} // closed when what was kept has been taken in, or could not be
	work   chan struct{}
	asked  chan chan struct{}
	ended  chan struct{}
	done   chan struct{}

	disk  atomic.Pointer[disk]
	harm  atomic.Pointer[harm]
	saved map[id]int64 // day for which the file has a series
}

// harm is damage that a reader has found.
type harm struct {
	of  *disk
	err error
}

// trouble is why the disk does not work. Guarded by the history's lock.
type trouble struct {
	err   error
	since time.Time
}

func newKeeper(h *History) *keeper {
	return &keeper{
		h: h, loaded: make(chan struct{}), work: make(chan struct{}, 1), asked: make(chan chan struct{}),
		ended: make(chan struct{}), done: make(chan struct{}),
	}
}

func (k *keeper) run() {
	defer close(k.done)
	k.try(func() error { return k.open(false) })
	close(k.loaded)
	for {
		select {
		case <-k.work:
			k.try(k.write)
		case answer := <-k.asked:
			k.try(k.write)
			close(answer)
		case <-k.ended:
			k.try(k.write)
			k.let()
			return
		}
	}
}

// wake has the keeper write soon.
func (k *keeper) wake() {
	select {
	case k.work <- struct{}{}:
	default:
	}
}

func (k *keeper) flush() {
	answer := make(chan struct{})
	select {
	case k.asked <- answer:
		<-answer
	case <-k.done:
	}
}

func (k *keeper) close(within time.Duration) {
	close(k.ended)
	wait := time.NewTimer(within)
	defer wait.Stop()
	select {
	case <-k.done:
	case <-wait.C: // the disk hangs: the process ends without it
	}
}

// try does something with the file. One that is damaged is set aside, and the same tried with another.
func (k *keeper) try(what func() error) {
	err := k.guarded(what)
	if damaged(err) {
		k.let()
		as, moved := setAside(k.h.options.Path)
		if moved != nil {
			err = fmt.Errorf("%w, and it cannot be set aside: %w", err, moved)
		} else {
			k.h.options.Failed(fmt.Errorf("cannot use %s: %w; it is set aside as %s, and the history begins anew", k.h.options.Path, err, as))
			if err = k.guarded(k.write); damaged(err) {
				k.let()
			}
		}
	}
	k.h.setTrouble(err)
}

// guarded turns a panic of the database into damage: its code is that of another language, and may meet what it does not expect.
func (k *keeper) guarded(what func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			k.disk.Store(nil) // it may hold locks; nobody touches it again
			err = panicked(p)
		}
	}()
	return what()
}

func panicked(p any) error { return errNotOurs{fmt.Sprint("the database does not read it: ", p)} }

// let lets go of the file.
func (k *keeper) let() {
	if d := k.disk.Swap(nil); d != nil && !d.stuck.Load() {
		d.close()
	}
}

// open opens the file and takes in what it has. One that is not there is no fault, and made if create says so.
func (k *keeper) open(create bool) error {
	d, err := openDisk(k.h.options.Path, create)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !create:
		return nil
	case err != nil:
		return fmt.Errorf("cannot open it: %w", err)
	}
	kept, err := d.load(context.Background(), k.h.minute(), k.h.mostNames())
	if err != nil {
		d.close()
		return fmt.Errorf("cannot read it: %w", err)
	}
	k.h.takeIn(kept)
	k.saved = make(map[id]int64, len(kept.series))
	for _, s := range kept.series {
		k.saved[s.id] = s.day
	}
	k.disk.Store(d)
	return nil
}

// write brings onto the disk what is not there yet.
func (k *keeper) write() error {
	if found := k.harm.Swap(nil); found != nil && found.of == k.disk.Load() {
		return found.err
	}
	if d := k.disk.Load(); d != nil && !d.stays() {
		k.let()
	}
	if k.disk.Load() == nil {
		if !k.h.hasSomething() {
			return nil
		}
		if err := k.open(true); err != nil {
			return err
		}
	}
	b := k.h.batch()
	if err := k.disk.Load().write(b, k.saved); err != nil {
		if !full(err) && !damaged(err) {
			k.let() // what the system has once failed to do, an open file may not get over
		}
		return fmt.Errorf("cannot write into it: %w", err)
	}
	k.h.wrote(b)
	return nil
}

// read adds to a line what the file has by the minute of the sum of some series; not ok: it could not, and the line is spoilt.
func (k *keeper) read(ctx context.Context, of []*series, to *line) (ok bool) {
	d := k.disk.Load()
	if d == nil {
		return true
	}
	defer func() {
		if p := recover(); p != nil {
			d.stuck.Store(true)
			k.harm.Store(&harm{d, panicked(p)})
			k.wake()
			ok = false
		}
	}()
	last := to.first + int64(len(to.fields[0])) - 1
	var room [MaxFields * slots]number
	err := d.readHours(ctx, of, to.first/60, last/60, func(hour int64, minutes uint64) {
		for m := range int64(slots) {
			if minutes>>m&1 != 0 {
				to.know(hour*60 + m)
			}
		}
	}, func(hour int64, b block) error {
		s := samples(room[:len(to.fields)*slots])
		if err := b.unpack(s); err != nil {
			return err
		}
		for m := range int64(slots) {
			at := hour*60 + m
			for f := 0; f < len(to.fields) && at >= to.first && at <= last; f++ {
				to.fields[f][at-to.first] += s.field(f)[m].float() // what is unknown stays NaN
			}
		}
		return nil
	})
	if damaged(err) {
		k.harm.Store(&harm{d, err})
		k.wake()
	}
	return err == nil
}

// minute is the one that runs, or before the first sample that of the clock.
func (h *History) minute() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.now != nil:
		return h.now.minute
	case h.closed && len(h.tallies) > 0:
		return h.tallies[len(h.tallies)-1].minute
	}
	return h.options.Now().Unix() / slots
}

func (h *History) mostNames() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.names.most
}

func (h *History) hasSomething() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tallies) > 0
}

func (h *History) batch() *batch {
	minute := h.minute()
	h.mu.Lock()
	defer h.mu.Unlock()
	return &batch{
		packed: slices.Clone(h.packed), tallies: slices.Clone(h.tallies), hour: minute / 60, turned: h.turns > 0,
		key: func(i id) (Key, bool) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if s := h.names.byID[i]; s != nil {
				return s.key, true
			}
			return Key{}, false
		},
	}
}

// wrote takes note that a batch is on the disk: of tallies, memory holds those of the hour that runs.
func (h *History) wrote(b *batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range b.packed {
		p.written = true
	}
	rolled := make(map[*tally]bool)
	for _, t := range b.tallies {
		t.written = true
		rolled[t] = t.minute/60 < b.hour
	}
	h.tallies = slices.DeleteFunc(h.tallies, func(t *tally) bool { return rolled[t] })
}

func (h *History) setTrouble(err error) {
	h.mu.Lock()
	was := h.trouble.err
	switch {
	case err == nil:
		h.trouble = trouble{}
	case was == nil:
		h.trouble = trouble{err, h.options.Now()}
	default:
		h.trouble.err = err
	}
	h.mu.Unlock()
	if err != nil && was == nil {
		h.options.Failed(fmt.Errorf("cannot keep the history in %s: %w", h.options.Path, err))
	}
}

// Trouble is why nothing gets onto the disk, and since when; nil: all is well. It goes on in memory meanwhile.
func (h *History) Trouble() (since time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.trouble.since, h.trouble.err
}
