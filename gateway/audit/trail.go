// Package audit keeps who did what, when, from where and why.
//
// An entry is in memory at once, so that whoever acts waits for no disk, and a goroutine of its own brings it to the disk:
// lines of JSON in one file, which is followed by a second when it is full. While the disk takes nothing, entries wait in
// memory, and a later attempt writes them. IDs count entries without a gap, over restarts too; so a gap in the file tells of
// lines that somebody took out, or that were lost when more waited for the disk than memory was given for.
package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// mostRecent and recentBytes bound the written entries that are also kept in memory: what is asked for is mostly the
	// newest, and must be there while a disk does not answer.
	mostRecent  = 10_000
	recentBytes = 16 << 20
	// mostWaiting bounds the entries that wait for the disk; what comes then is lost to the file. Past waitingBytes diffs
	// are left out, which are nearly all of an entry's size, so that memory holds to the bound whatever is changed.
	mostWaiting  = 100_000
	waitingBytes = 64 << 20
	// mostBatch and batchBytes bound what one write takes on.
	mostBatch  = 1000
	batchBytes = 1 << 20
	// slowDisk is how long an entry may wait for the disk before that is trouble.
	slowDisk = 10 * time.Second
)

// Trail is what was done, newest last. Safe for concurrent use.
type Trail struct {
	odd func(error)

	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
	running atomic.Bool
	closing sync.Once

	writing sync.Mutex // one at a time writes; nobody else waits for it
	file    *file      // nil: nothing is kept on a disk

	mu      sync.Mutex
	last    uint64  // ID
	known   bool    // what the file holds; until then entries are counted from 1
	recent  []Entry // on the disk
	held    int     // bytes of recent
	waiting []Entry // for the disk
	bytes   int     // of waiting
	since   time.Time
	lost    uint64
	failed  time.Time // since when the disk takes nothing
	err     error
}

// Open opens the trail that is kept in a directory; "": it is in memory only. It never fails: what is wrong is told to odd,
// which may be nil, when it begins to be wrong, and by Trouble; until it is right again, entries wait in memory.
func Open(dir string, odd func(error)) *Trail {
	if odd == nil {
		odd = func(error) {}
	}
	t := &Trail{odd: odd, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	if dir == "" {
		return t
	}
	t.file = newFile(dir)
	if err := t.begin(); err != nil {
		t.fails(err)
	}
	return t
}

// begin opens the file and takes in what it holds. It is called under writing, or by Open.
func (t *Trail) begin() error {
	var recent []Entry
	held := 0
	last, odd, err := t.file.open(func(e *Entry) {
		recent, held = t.keep(recent, held, e)
	})
	if err != nil {
		return err
	}
	for _, err := range odd {
		t.odd(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known {
		return nil // opened anew, and all that was written meanwhile is ours
	}
	waiting := slices.Clone(t.waiting) // others may be reading it
	for i := range waiting {
		waiting[i].ID += last
	}
	t.known, t.last, t.waiting = true, t.last+last, waiting
	t.recent, t.held = recent, held
	return nil
}

// keep puts an entry behind those that are kept, within the bounds. It gives up the oldest some at a time, so that not each
// new one moves them all.
func (t *Trail) keep(recent []Entry, held int, e *Entry) ([]Entry, int) {
	recent, held = append(recent, *e), held+e.size()
	if len(recent) <= mostRecent+mostRecent/4 && held <= recentBytes+recentBytes/4 {
		return recent, held
	}
	drop := 0
	for drop < len(recent)-1 && (len(recent)-drop > mostRecent || held > recentBytes) {
		held -= recent[drop].size()
		drop++
	}
	return append([]Entry(nil), recent[drop:]...), held
}

// Add takes an entry in, and returns it as it is kept: with its ID, and the time if it had none. It never waits for a disk.
func (t *Trail) Add(e Entry) Entry {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e = e.bounded()
	t.mu.Lock()
	t.last++
	e.ID = t.last
	overflow := false
	switch {
	case t.file == nil:
		t.recent, t.held = t.keep(t.recent, t.held, &e)
	case len(t.waiting) >= mostWaiting:
		t.lost++
		overflow = t.lost == 1
	default:
		if t.bytes > waitingBytes && e.Diff != "" {
			e.Diff = "(left out: the disk takes no entries)"
		}
		if len(t.waiting) == 0 {
			t.since = time.Now()
		}
		t.waiting, t.bytes = append(t.waiting, e), t.bytes+e.size()
	}
	t.mu.Unlock()
	if overflow {
		t.odd(fmt.Errorf("entries of the audit trail are lost from number %d on: %d wait for the disk; the log has them, and state.dir must be made writable", e.ID, mostWaiting))
	}
	select {
	case t.wake <- struct{}{}:
	default: // is awake already
	}
	return e
}

// Find returns entries, newest first. It looks into the files only for what is no longer in memory.
func (t *Trail) Find(q Query) []Entry {
	q.Query = strings.ToLower(q.Query)
	t.mu.Lock()
	waiting, recent, known, oldest := t.waiting, t.recent, t.known, t.last+1
	t.mu.Unlock()
	found := search(recent, &q, search(waiting, &q, []Entry{}))
	for _, entries := range [][]Entry{waiting, recent} {
		if len(entries) > 0 {
			oldest = entries[0].ID
		}
	}
	if !known || oldest <= 1 || len(found) >= q.Limit {
		return found
	}
	if q.Before == 0 || q.Before > oldest {
		q.Before = oldest
	}
	q.Limit -= len(found)
	return append(found, t.file.find(&q)...)
}

// search appends what fits of entries that stand oldest first.
func search(entries []Entry, q *Query, found []Entry) []Entry {
	for i := len(entries) - 1; i >= 0 && len(found) < q.Limit; i-- {
		if q.fits(&entries[i]) {
			found = append(found, entries[i])
		}
	}
	return found
}

// Stats are counts of entries.
type Stats struct {
	Last    uint64 // ID
	Waiting int    // for the disk
	Lost    uint64 // to the file, since Open
}

// Stats says how many entries there are.
func (t *Trail) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{Last: t.last, Waiting: len(t.waiting), Lost: t.lost}
}

// Trouble says why entries do not reach the disk, and since when; nil: they do.
func (t *Trail) Trouble() (since time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.failed, t.err
	}
	if len(t.waiting) > 0 && time.Since(t.since) > slowDisk {
		return t.since, errors.New("the disk does not answer; entries wait in memory")
	}
	return time.Time{}, nil
}
