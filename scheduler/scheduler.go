package scheduler

import (
	"slices"
	"sync"
	"time"

	"tidegate/pools"
)

// Scheduler is a Core that may be used by many at once and in real time: this file is the one that
// blocks. One lock guards the whole core; nothing is waited for, logged or called back under it.
type Scheduler struct {
	mu    sync.Mutex
	core  *Core
	timer *time.Timer
	armed int64 // core time that timer is set to; 0: not set
}

// New makes a running scheduler.
func New(s Setup) *Scheduler {
	return &Scheduler{core: NewCore(time.Now(), s)}
}

// Apply brings the scheduler under a new setup; see Core.Apply.
func (s *Scheduler) Apply(set Setup) {
	s.mu.Lock()
	s.core.Apply(time.Now(), set)
	s.unlock()
}

// Meter finds or makes the flow of key and keeps it until Unpin; see Core.Meter.
func (s *Scheduler) Meter(now time.Time, key Key, terms Terms) *Flow {
	s.mu.Lock()
	f := s.core.Meter(now, key, terms)
	s.unlock()
	return f
}

// Unpin lets a flow go that Meter returned.
func (s *Scheduler) Unpin(f *Flow) {
	s.mu.Lock()
	s.core.Unpin(f)
	s.mu.Unlock()
}

// Full refuses an item that would find neither seat nor place; see Core.Full.
func (s *Scheduler) Full(now time.Time, it *Item) bool {
	s.mu.Lock()
	full := s.core.Full(now, it)
	s.unlock()
	return full
}

// Arrive admits an item at once, refuses it, or leaves it Waiting; then Wait must be called.
func (s *Scheduler) Arrive(now time.Time, it *Item) Verdict {
	s.mu.Lock()
	s.core.Arrive(now, it)
	if it.Verdict == Waiting {
		it.ready = make(chan struct{})
	}
	v := it.Verdict
	s.unlock()
	return v
}

// Wait waits until an item that Arrive left Waiting is decided, or until gone is closed.
func (s *Scheduler) Wait(it *Item, gone <-chan struct{}) Verdict {
	select {
	case <-it.ready:
	case <-gone:
		s.mu.Lock()
		s.core.Cancel(time.Now(), it)
		s.unlock()
		// Decided either by this or, a moment earlier, by somebody else.
		<-it.ready
	}
	return it.Verdict
}

// Release gives a granted item's seat back, unpins its flow and returns how long the seat was held. Exactly once for each granted item.
func (s *Scheduler) Release(now time.Time, it *Item) (held time.Duration) {
	s.mu.Lock()
	held = s.core.Release(it, now)
	s.core.Unpin(it.Flow)
	s.unlock()
	return held
}

// SetSurging moves a flow's unpaid work into the surge band or out of it, and says how many of the
// flow wait then.
func (s *Scheduler) SetSurging(f *Flow, surging bool) (waiting int) {
	s.mu.Lock()
	s.core.SetSurging(time.Now(), f, surging)
	waiting = f.waiting
	s.unlock()
	return waiting
}

// Drain ends all that wait with the verdict Draining.
func (s *Scheduler) Drain() {
	s.mu.Lock()
	s.core.Drain(time.Now())
	s.unlock()
}

// Tidy drops a few flows that have been idle for long.
func (s *Scheduler) Tidy() {
	s.mu.Lock()
	s.core.Tidy(time.Now(), 1000)
	s.unlock()
}

// Stats is what there is now, with up to flows of the most recently used flows.
func (s *Scheduler) Stats(flows int) *Stats {
	s.mu.Lock()
	st := s.core.Stats(time.Now(), flows)
	s.unlock()
	return st
}

// Judged is what enforcing would have made of the items whose rule observes; see Core.Judged.
func (s *Scheduler) Judged() []Judged {
	s.mu.Lock()
	j := s.core.Judged()
	s.mu.Unlock()
	return j
}

// Quota is what is left of the flow's rate; see Core.Quota.
func (s *Scheduler) Quota(now time.Time, f *Flow) Quota {
	s.mu.Lock()
	q := s.core.Quota(now, f)
	s.unlock()
	return q
}

// FlowStats appends to into those of flows that are still there, in their order. The lock is never held for more than a
// hundred or so.
func (s *Scheduler) FlowStats(flows []*Flow, into []FlowStats) []FlowStats {
	for part := range slices.Chunk(flows, flowChunk) {
		s.mu.Lock()
		into = s.core.FlowStats(time.Now(), part, into)
		s.unlock()
	}
	return into
}

// EachFlow shows every flow to visit, which is called outside the lock; the lock is never held for more than a hundred or so
// flows. A flow that is there all the time is met once, one that is made or dropped meanwhile once or not at all.
func (s *Scheduler) EachFlow(visit func(FlowStats)) { walk(s, s.core.FlowsFrom, visit) }

// walk visits all that from hands out, chunk by chunk. from is called under the lock, visit outside it.
func walk[T any](s *Scheduler, from func(now time.Time, i int, into []T) ([]T, int), visit func(T)) {
	part := make([]T, 0, chunk)
	for i, more := 0, true; more; more = i > 0 {
		s.mu.Lock()
		part, i = from(time.Now(), i, part[:0])
		s.unlock()
		for _, x := range part {
			visit(x)
		}
	}
}

// Restore gives the scheduler what an earlier one had paid; see Core.Restore.
func (s *Scheduler) Restore(flows []SavedFlow, callers []SavedCaller, ago time.Duration) (kept int) {
	s.mu.Lock()
	kept = s.core.Restore(time.Now(), flows, callers, ago)
	s.unlock()
	return kept
}

// SaveMeters tells what the flows and callers whose rate pays over atLeast or longer have paid, those from before a restart
// included that have not come again since. flow and caller are called outside the lock, which is never held for more than
// 1,000 of them. One that comes while this goes on may be told twice: the later holds. The ages are those of the moment
// each was looked at, so give Restore a pause that begins when this has returned: a little too short, and nothing is given back.
func (s *Scheduler) SaveMeters(atLeast time.Duration, flow func(SavedFlow), caller func(SavedCaller)) {
	walk(s, func(now time.Time, i int, into []unmetMeter) ([]unmetMeter, int) {
		return s.core.unmetMeters(now, i, atLeast, into)
	}, func(u unmetMeter) {
		m := pools.RestoreMeter(u.saved, s.core.moment(u.at))
		switch saved, some := m.Save(time.Now()); {
		case !some:
		case u.key.Semantic == noSemantic:
			caller(SavedCaller{u.key.Caller, saved})
		default:
			flow(SavedFlow{u.key, saved})
		}
	})
	walk(s, func(now time.Time, i int, into []SavedFlow) ([]SavedFlow, int) {
		return s.core.flowMeters(now, i, atLeast, into)
	}, flow)
	walk(s, func(now time.Time, i int, into []SavedCaller) ([]SavedCaller, int) {
		return s.core.callerMeters(now, i, atLeast, into)
	}, caller)
}

// unlock wakes those who were decided, sets the timer for what falls due next, and unlocks. Each
// item that waited has a channel of its own, so that waking never blocks.
func (s *Scheduler) unlock() {
	for _, it := range s.core.Decided() {
		close(it.ready)
	}
	// A timer that fires too early finds nothing to do and is set anew, so it is never put off.
	if at := s.core.due(); at != 0 && (s.armed == 0 || at < s.armed) {
		s.armed = at
		in := time.Until(s.core.moment(at))
		if s.timer == nil {
			s.timer = time.AfterFunc(in, s.fire)
		} else {
			s.timer.Reset(in)
		}
	}
	s.mu.Unlock()
}

func (s *Scheduler) fire() {
	s.mu.Lock()
	s.armed = 0
	s.core.Advance(time.Now())
	s.unlock()
}
