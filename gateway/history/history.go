package history

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Options say what is remembered where.
type Options struct {
	// Path is the database's file. "": there is memory only.
	Path string
	// MaxSeries is how many series of callers are remembered at a time; 0: DefaultSeries, below 0: none.
	MaxSeries int
	// Failed is told when the disk stops working, once until it works again, and of a file that was set aside. It may be nil.
	Failed func(error)
	// Now says the time of the start; nil: time.Now.
	Now func() time.Time
}

const (
	// DefaultSeries is how many series of callers are remembered if nothing else is said.
	DefaultSeries = 10_000
	// BySecond and ByMinute are how far back it is known by the second and by the minute.
	BySecond = 15 * time.Minute
	ByMinute = 7 * 24 * time.Hour

	secondsKept = int64(BySecond / time.Minute) // minutes that are over
	hoursKept   = int64(ByMinute / time.Hour)

	// tallyBytes is what the tallies that are in memory may take for each series allowed, and packedBytes what packed minutes may.
	// An hour of tallies of callers takes 1.2 KB, 15 minutes that are packed usually 2 to 3 KB.
	tallyBytes  = 1600
	packedBytes = 4096
	// fewSeries is how many there is room for at least.
	fewSeries = 1000
)

// History is what is remembered. Safe for concurrent use, but for Add, which one goroutine calls.
type History struct {
	options Options
	mu      sync.Mutex
	packing chan struct{} // closed when the minute that is over has been packed; nil: none is yet
	names   names
	order   []*series // in which they came the last time
	ordered []*series // and come this time
	next    int       // place in order of who is expected next
	free    free
	second  int64    // the last that is known; 0: none yet
	now     *running // nil: nothing yet
	before  *running // being packed; nil: it has been
	packed  []*packed
	tallies []*tally // those that are in no hour on the disk, oldest first
	quiet   []*series
	gaveWay uint64
	gaveAt  int64 // second for which quiet was made
	turns   int   // hours that have turned while it ran, one after the other
	closed  bool
	trouble trouble
	keeper  *keeper // nil: there is memory only
}

// Open makes a history and takes in what the last one kept, for which it waits two seconds at most. It never fails: what does
// not work is told by Failed and Trouble.
func Open(o Options) *History {
	o.MaxSeries = max(cmp.Or(o.MaxSeries, DefaultSeries), 0)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	h := &History{options: o, names: newNames(o.MaxSeries)}
	if o.Path != "" {
		h.keeper = newKeeper(h)
		go h.keeper.run()
		wait := time.NewTimer(openWait)
		defer wait.Stop()
		select {
		case <-h.keeper.loaded:
		case <-wait.C:
		}
	}
	return h
}

// Limit changes MaxSeries. Those that are remembered already stay until the minute is over.
func (h *History) Limit(series int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.options.MaxSeries = max(cmp.Or(series, DefaultSeries), 0)
	h.names.most = mostNames(h.options.MaxSeries)
}

const (
	openWait  = 2 * time.Second
	closeWait = 5 * time.Second
)

// Add takes in how things are in this second: each calls yield once for each series that is not all zero, and others may
// be left out. It never waits for the disk.
func (h *History) Add(now time.Time, each func(yield func(Key, *Sample))) {
	second, ok := h.secondOf(now)
	if !ok || !h.turn(second) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.second = second
	at := int(second % slots)
	if h.now.ran>>at&1 != 0 { // the clock was set back, and this is what is so now
		for _, s := range h.now.active {
			clear(s.now.second(at, s.key.Kind.width()))
		}
	}
	h.now.ran |= 1 << at
	h.next, h.ordered = 0, h.ordered[:0]
	each(func(k Key, s *Sample) { h.put(k, s, at) })
	h.order, h.ordered = h.ordered, h.order
}

// secondOf is the second that a sample belongs to: the one after the last where that is right by a second, since who calls
// once a second may do so twice in one and not at all in the next. Not ok: the clock has been there.
func (h *History) secondOf(now time.Time) (second int64, ok bool) {
	h.mu.Lock()
	last := h.second
	h.mu.Unlock()
	passed := now.Sub(time.Unix(last, 0))
	switch {
	case now.Unix() <= 0:
		return 0, false
	case last == 0 || passed >= 2500*time.Millisecond || passed < -setBack:
		return now.Unix(), true
	case passed < 500*time.Millisecond:
		return 0, false
	}
	return last + 1, true
}

// setBack is how far a clock may go back so that it is waited for.
const setBack = time.Minute

// turn sees to it that the minute of a second is the one that runs; not ok: none does any more.
func (h *History) turn(second int64) bool {
	minute := second / slots
	h.mu.Lock()
	if h.closed || h.now != nil && h.now.minute == minute {
		defer h.mu.Unlock()
		return !h.closed
	}
	h.mu.Unlock()
	h.waitPacked() // for what was over a minute ago
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.end()
	if r := h.before; r != nil {
		h.countTurns(r.minute, minute)
		like := h.newest()
		done := make(chan struct{})
		h.packing = done
		go func() {
			defer close(done)
			p, t := r.pack(like)
			h.install(p, t, minute)
			if h.keeper != nil {
				h.keeper.wake()
			}
		}()
	}
	h.begin(minute, second%slots)
	return true
}

// waitPacked waits until the minute that was over last has been packed.
func (h *History) waitPacked() {
	h.mu.Lock()
	done := h.packing
	h.mu.Unlock()
	if done != nil {
		<-done
	}
}

// countTurns tells an hour that has turned from a clock that was set.
func (h *History) countTurns(from, to int64) {
	switch passed := to/60 - from/60; {
	case passed == 1 && to-from <= secondsKept:
		h.turns++
	case passed != 0:
		h.turns = 0
	}
}

// end makes the running minute the one before.
func (h *History) end() {
	h.before, h.now = h.now, nil
	if h.before == nil {
		return
	}
	for _, s := range h.before.active {
		s.before, s.now = s.now, nil
	}
}

// begin makes a minute run at one of its seconds, and takes up what is already known of it before: a restart or a clock that was set back
// may come to one again.
func (h *History) begin(minute, at int64) {
	h.now = &running{minute: minute, lost: make(map[id]struct{})}
	if h.before != nil {
		h.now.active = make([]*series, 0, len(h.before.active)+len(h.before.active)/16)
	}
	h.quiet, h.gaveAt = nil, 0
	for _, p := range h.packed {
		if p.minute == minute {
			h.restore(p, at)
		}
	}
	h.forgetFrom(minute)
}

// forgetFrom forgets what is remembered of a minute and those after it.
func (h *History) forgetFrom(minute int64) {
	h.packed = slices.DeleteFunc(h.packed, func(p *packed) bool { return p.minute >= minute })
	h.tallies = slices.DeleteFunc(h.tallies, func(t *tally) bool { return t.minute >= minute })
}

// newest is the last packed minute; nil: there is none.
func (h *History) newest() *packed {
	if len(h.packed) == 0 {
		return nil
	}
	return h.packed[len(h.packed)-1]
}

// install puts what was packed where it is read, and gives back what it was packed from. Now is the minute that runs.
func (h *History) install(p *packed, t *tally, now int64) {
	h.mu.Lock()
	over := h.before.active
	h.before = nil
	used := make([]raw, len(over))
	for i, s := range over {
		used[i], s.before = s.before, nil
	}
	if p.minute <= now { // else the clock was set back
		h.packed = append(slices.DeleteFunc(h.packed, func(o *packed) bool { return o.minute == p.minute || o.minute < now-secondsKept }), p)
		h.tallies = append(slices.DeleteFunc(h.tallies, func(o *tally) bool { return o.minute == t.minute }), t)
		h.sort()
		h.fit()
	}
	h.mu.Unlock()
	for _, r := range used {
		clear(r)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, r := range used {
		h.free.give(over[i].id.kind(), r)
	}
}

func (h *History) sort() {
	slices.SortFunc(h.packed, func(a, b *packed) int { return cmp.Compare(a.minute, b.minute) })
	slices.SortFunc(h.tallies, func(a, b *tally) int { return cmp.Compare(a.minute, b.minute) })
}

// fit lets the oldest go until the rest fits.
func (h *History) fit() {
	most := max(h.options.MaxSeries, fewSeries)
	held := 0
	for _, p := range h.packed {
		held += p.bytes()
	}
	for held > packedBytes*most && len(h.packed) > 1 {
		held -= h.packed[0].bytes()
		h.packed = slices.Delete(h.packed, 0, 1)
	}
	held = 0
	for _, t := range h.tallies {
		held += t.bytes()
	}
	for len(h.tallies) > 1 && (held > tallyBytes*most || len(h.tallies) > int(ByMinute/time.Minute)+slots) {
		held -= h.tallies[0].bytes()
		h.tallies = slices.Delete(h.tallies, 0, 1)
	}
}

// Close saves the running minute and lets go of the file. It waits five seconds at most for the disk.
func (h *History) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	h.mu.Unlock()
	h.waitPacked()
	h.mu.Lock()
	h.end()
	r, like := h.before, h.newest()
	h.mu.Unlock()
	if r != nil {
		p, t := r.pack(like)
		h.install(p, t, p.minute)
	}
	if h.keeper != nil {
		h.keeper.close(closeWait)
	}
}

// Flush waits until what was over before is on the disk, or has failed to get there.
func (h *History) Flush() {
	h.waitPacked()
	if h.keeper != nil {
		h.keeper.flush()
	}
}
