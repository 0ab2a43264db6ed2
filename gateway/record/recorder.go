package record

import (
	"errors"
	"os"
	"sync"
	"time"
)

const (
	// batchRows fill half of what deflate can look back on, twice over: larger batches would compress no better, smaller
	// ones cost more writes.
	batchRows = 1024
	// batches bounds what waits for a slow disk: some 30,000 entries in 4 MB, a second at the most that two cores serve.
	batches = 32
	// spareBatches are kept besides the one that is being filled: one that is written, one for what comes meanwhile, and
	// one more so that a moment's haste allocates nothing.
	spareBatches = 3
	// flushAfter is how long an entry may wait for its batch to fill.
	flushAfter = 2 * time.Second
	// diskWait bounds how long Apply and Close wait for the disk.
	diskWait = 5 * time.Second
)

// Recorder keeps a trace. All methods are safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	key     saltKey
	batch   *batch   // that is being filled; nil if all are full or it is closed
	full    []*batch // oldest first
	free    []*batch
	made    int // batches in all
	opts    Options
	next    *directory // opened by Apply, to be changed to; nil: none
	nextKey saltKey
	closed  bool
	stats   Stats

	apply    sync.Mutex    // one Apply or Close at a time
	dir      os.FileInfo   // of the last directory that was opened
	wake     chan struct{} // something is in full, or next is there
	switched chan struct{} // the writer has changed to next
	stop     chan struct{}
	done     chan error
}

type batch struct {
	rows [batchRows]row
	n    int
}

// Open begins to record. A directory that cannot be written, or into which another process records, is an error.
func Open(o Options) (*Recorder, error) { return open(o, openDirectory) }

func open(o Options, opener func(string) (*directory, saltKey, error)) (*Recorder, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d, key, err := opener(o.Dir)
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		key: key, batch: new(batch), opts: o, made: 1,
		full: make([]*batch, 0, batches), free: make([]*batch, 0, batches),
		wake: make(chan struct{}, 1), switched: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan error, 1),
	}
	for range spareBatches - 1 {
		r.free, r.made = append(r.free, new(batch)), r.made+1
	}
	r.dir, _ = os.Stat(o.Dir)
	w := &writer{r: r, dir: d, encoder: newEncoder()}
	w.count()
	go w.run()
	return r, nil
}

// Add records a request that has ended. It never waits for the disk: what does not fit is counted as dropped.
func (r *Recorder) Add(e *Entry) {
	at := e.At.UnixMilli()
	r.mu.Lock()
	b := r.batch
	if b == nil {
		r.stats.Dropped++
		r.mu.Unlock()
		return
	}
	p := &b.rows[b.n]
	p.at, p.cost, p.bytes, p.seat = at, e.Cost, e.Bytes, e.Seat
	p.caller, p.semantic, p.route, p.outcome, p.code = e.Caller, e.Semantic, e.Route, e.Outcome, e.Code
	p.tenant = 0
	if len(e.Tenant) > 0 {
		p.tenant = r.key.tenantHash(e.Caller, e.Tenant)
	}
	b.n++
	if b.n < batchRows {
		r.mu.Unlock()
		return
	}
	r.turnLocked()
	r.mu.Unlock()
	r.rouse()
}

// turnLocked hands the batch over and takes another.
func (r *Recorder) turnLocked() {
	r.full = append(r.full, r.batch)
	r.batch = nil
	r.takeLocked()
}

// takeLocked takes a batch to fill. While the disk is slow new ones are made, up to a bound.
func (r *Recorder) takeLocked() {
	if n := len(r.free); n > 0 {
		r.batch, r.free = r.free[n-1], r.free[:n-1]
	} else if r.made < batches {
		r.batch, r.made = new(batch), r.made+1
	}
}

func (r *Recorder) rouse() {
	select {
	case r.wake <- struct{}{}:
	default: // is awake already
	}
}

// Apply takes other options from now on. If their directory cannot be used, the error says so and nothing changes.
func (r *Recorder) Apply(o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	r.apply.Lock()
	defer r.apply.Unlock()
	if r.isClosed() {
		return errors.New("the recorder is closed")
	}
	there, err := os.Stat(o.Dir)
	if err == nil && os.SameFile(there, r.dir) {
		r.mu.Lock()
		r.opts = o
		r.mu.Unlock()
		return nil
	}
	d, key, err := openDirectory(o.Dir)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.opts = o
	before := r.next // not changed to yet: the disk is slow
	select {
	case <-r.switched: // an Apply did not wait for it
	default:
	}
	r.next, r.nextKey = d, key
	r.mu.Unlock()
	if before != nil {
		before.lock.Close()
	}
	r.dir, _ = os.Stat(o.Dir)
	r.rouse()
	// The directory before is given back when this returns, unless its disk has the writer stand.
	late := time.NewTimer(diskWait)
	defer late.Stop()
	select {
	case <-r.switched:
	case <-late.C:
	}
	return nil
}

func (r *Recorder) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// Close writes what is left and ends. It waits for the disk five seconds at most; the error says that the end of the
// trace may be missing. Entries that are added later are dropped. A second Close does nothing.
func (r *Recorder) Close() error {
	r.apply.Lock()
	defer r.apply.Unlock()
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	if r.batch != nil && r.batch.n > 0 {
		r.full = append(r.full, r.batch)
	}
	r.batch = nil
	r.mu.Unlock()
	close(r.stop)
	late := time.NewTimer(diskWait)
	defer late.Stop()
	select {
	case err := <-r.done:
		return err
	case <-late.C:
		return errors.New("cannot end the record: the disk did not take the last entries within 5 s")
	}
}

// Stats returns the counts up to now.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}
