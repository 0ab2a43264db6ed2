// Package watch steps the detectors of all flows that have traffic, in the order in which their traffic began. The
// running gateway and a replay step their flows with it, each by its own clock, so a replay finds what the gateway would.
package watch

import (
	"sync"
	"sync/atomic"
	"time"

	"tidegate/detector"
	"tidegate/gateway/config"
)

// Every is how often flows are stepped.
const Every = 100 * time.Millisecond

// Config is what the detector is told of a configuration; nil: it is off.
func Config(d *config.Detector) *detector.Config {
	if !d.Enabled {
		return nil
	}
	return &detector.Config{
		Window: d.Window.Duration, Ratio: d.Ratio, Rise: d.Rise.Duration, MinRate: d.MinRate.PerSecond(),
		Learn: d.Learn.Duration, Hold: d.Hold.Duration,
		Season: d.Season != "off",
	}
}

// Flow is one flow's part. The zero value is a flow that nothing has come of yet.
type Flow struct {
	offered atomic.Uint64 // requests that arrived, whatever became of them
	stepped atomic.Bool   // some Flows has it

	// Of who steps it; others read it by Flows.Look.
	seen  uint64 // offered at its last step
	State detector.Flow
}

// Count counts an arrival: one atomic add and one atomic load. Came says that nobody steps the flow, and that it has to be
// handed to Flows.Come now. Safe for concurrent use.
func (f *Flow) Count() (came bool) {
	f.offered.Add(1)
	return !f.stepped.Load() && f.stepped.CompareAndSwap(false, true)
}

// Offered is how many requests have arrived, whatever became of them. Safe for concurrent use.
func (f *Flow) Offered() uint64 { return f.offered.Load() }

// Still says that nobody steps the flow, as nothing has come for long: what Look shows stays as it is. Safe for concurrent
// use.
func (f *Flow) Still() bool { return !f.stepped.Load() }

// step tells the detector what arrived since the last step, and says whether to step the flow again before something
// arrives: one that has been quiet for long costs nothing.
func (f *Flow) step(c *detector.Config, now time.Time) (verdict detector.Verdict, again bool) {
	offered := f.offered.Load()
	arrivals := int64(offered - f.seen)
	f.seen = offered
	if c != nil {
		verdict = f.State.Step(c, now, arrivals)
	} else if f.State.Surging() {
		verdict = detector.SurgeEnded
		f.begin(now, f.State.Season())
	}
	if arrivals > 0 || !f.State.Quiet(now) {
		return verdict, true
	}
	f.stepped.Store(false)
	// An arrival between the two loads finds the flow unwatched and brings it back itself.
	return verdict, f.offered.Load() != offered && f.stepped.CompareAndSwap(false, true)
}

// begin makes the flow one of which nothing is known but its season.
func (f *Flow) begin(now time.Time, season *detector.Season) {
	fresh := detector.NewFlow(now)
	*fresh.Season() = *season
	f.State = fresh
}

// Watched is what has a Flow.
type Watched interface {
	comparable
	Watch() *Flow
}

// Flows are the flows with traffic. The zero value has none. One goroutine calls Step, Sweep and Len.
type Flows[W Watched] struct {
	// Recall, if it is set, is asked at a flow's first step for what an earlier run has known of it.
	Recall func(W, *detector.Season)
	// Left, if it is set, is told of each flow that is no longer stepped, as nothing has come for long. It may come back.
	Left func(W)

	mu   sync.Mutex
	come []W // since the last step

	// What readers see of a flow is its state itself: so showing it costs a step nothing, and the lock is taken once for
	// some hundred flows. Only who steps writes, and so reads without it.
	state    sync.Mutex
	flows    []stepped[W]
	found    []found[W]
	swept    int
	fetched  uint32
	recalled detector.Season
}

type stepped[W Watched] struct {
	w W
	f *Flow // w's
}

// found is what one flow's step has brought.
type found[W Watched] struct {
	flow    W
	verdict detector.Verdict
	left    bool
}

const (
	// atOnce is how many flows are stepped before readers have their turn: some 20 microseconds.
	atOnce = 128
	// fetchedAtOnce is how many flows are fetched from memory together: a step waits for it longer than it computes, and
	// so it waits once for all of them.
	fetchedAtOnce = 16
)

// Come takes in a flow whose Count has said so. Safe for concurrent use.
func (s *Flows[W]) Come(w W) {
	s.mu.Lock()
	s.come = append(s.come, w)
	s.mu.Unlock()
}

// Len is how many flows the last step has left to step again.
func (s *Flows[W]) Len() int { return len(s.flows) }

// Step steps every flow once, and tells say of each whose surge began or ended. It is to be called each Every.
func (s *Flows[W]) Step(c *detector.Config, now time.Time, say func(W, detector.Verdict)) {
	s.takeIn(now)
	kept := s.flows[:0]
	for i := 0; i < len(s.flows); i += atOnce {
		s.state.Lock()
		some := s.flows[i:min(i+atOnce, len(s.flows))]
		for j, w := range some {
			if j%fetchedAtOnce == 0 {
				for _, near := range some[j:min(j+fetchedAtOnce, len(some))] {
					s.fetched += near.f.State.Fetch()
				}
			}
			verdict, again := w.f.step(c, now)
			if again {
				kept = append(kept, w)
			}
			if !again || verdict != detector.None {
				s.found = append(s.found, found[W]{w.w, verdict, !again})
			}
		}
		s.state.Unlock()
		s.tell(say)
	}
	clear(s.flows[len(kept):])
	s.flows = kept
}

// takeIn begins with the flows that have come since the last step.
func (s *Flows[W]) takeIn(now time.Time) {
	s.mu.Lock()
	come := s.come
	s.come = nil
	s.mu.Unlock()
	for _, w := range come {
		f := w.Watch()
		if f.seen == 0 {
			s.recalled = detector.Season{}
			if s.Recall != nil {
				s.Recall(w, &s.recalled)
			}
			s.state.Lock()
			f.begin(now.Add(-Every), &s.recalled)
			s.state.Unlock()
		}
		s.flows = append(s.flows, stepped[W]{w, f})
	}
}

// tell passes on what was found.
func (s *Flows[W]) tell(say func(W, detector.Verdict)) {
	for _, f := range s.found {
		if f.verdict != detector.None {
			say(f.flow, f.verdict)
		}
		if f.left && s.Left != nil {
			s.Left(f.flow)
		}
	}
	clear(s.found)
	s.found = s.found[:0]
}

// Sweep shows visit the next n of the flows that are stepped, in turn, to read or write what the steps leave alone. It
// holds what readers wait for.
func (s *Flows[W]) Sweep(n int, visit func(W, *detector.Flow)) {
	s.state.Lock()
	defer s.state.Unlock()
	for range min(n, len(s.flows)) {
		if s.swept++; s.swept >= len(s.flows) {
			s.swept = 0
		}
		visit(s.flows[s.swept].w, &s.flows[s.swept].f.State)
	}
}

// Look shows look a flow's state as the last step has left it, unless there was none yet. Safe for concurrent use; look
// is to be short, as steps wait for it.
func (s *Flows[W]) Look(w W, look func(*detector.Flow)) {
	s.state.Lock()
	defer s.state.Unlock()
	if f := w.Watch(); f.seen > 0 {
		look(&f.State)
	}
}
