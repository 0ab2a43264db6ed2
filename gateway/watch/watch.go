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
	}
}

// Flow is one flow's part. The zero value is a flow that nothing has come of yet.
type Flow struct {
	offered atomic.Uint64 // requests that arrived, whatever became of them
	stepped atomic.Bool   // some Flows has it

	// Of who steps it.
	seen  uint64 // offered at its last step
	State detector.Flow
}

// Count counts an arrival: one atomic add and one atomic load. Came says that nobody steps the flow, and that it has to be
// handed to Flows.Come now. Safe for concurrent use.
func (f *Flow) Count() (came bool) {
	f.offered.Add(1)
	return !f.stepped.Load() && f.stepped.CompareAndSwap(false, true)
}

// Step tells the detector what arrived since the last step, and says whether to step the flow again before something
// arrives: one that has been quiet for long costs nothing.
func (f *Flow) Step(c *detector.Config, now time.Time) (verdict detector.Verdict, again bool) {
	offered := f.offered.Load()
	arrivals := int64(offered - f.seen)
	f.seen = offered
	if c != nil {
		verdict = f.State.Step(c, now, arrivals)
	} else if f.State.Surging() {
		verdict, f.State = detector.SurgeEnded, detector.NewFlow(now)
	}
	if arrivals > 0 || !f.State.Quiet(now) {
		return verdict, true
	}
	f.stepped.Store(false)
	// An arrival between the two loads finds the flow unwatched and brings it back itself.
	return verdict, f.offered.Load() != offered && f.stepped.CompareAndSwap(false, true)
}

// begin is before a flow's first step after it has come.
func (f *Flow) begin(now time.Time) {
	if f.seen == 0 {
		f.State = detector.NewFlow(now.Add(-Every))
	}
}

// Watched is what has a Flow.
type Watched interface {
	comparable
	Watch() *Flow
}

// Flows are the flows with traffic. The zero value has none.
type Flows[W Watched] struct {
	mu   sync.Mutex
	come []W // since the last step

	flows []W // of who steps them
}

// Come takes in a flow whose Count has said so. Safe for concurrent use.
func (s *Flows[W]) Come(w W) {
	s.mu.Lock()
	s.come = append(s.come, w)
	s.mu.Unlock()
}

// Len is how many flows the last step has left to step again. It is for who calls Step.
func (s *Flows[W]) Len() int { return len(s.flows) }

// Step steps every flow once, and tells say of each what came of it. It is to be called each Every, by one goroutine.
func (s *Flows[W]) Step(c *detector.Config, now time.Time, say func(W, detector.Verdict)) {
	s.mu.Lock()
	come := s.come
	s.come = nil
	s.mu.Unlock()
	for _, w := range come {
		w.Watch().begin(now)
		s.flows = append(s.flows, w)
	}
	kept := s.flows[:0]
	for _, w := range s.flows {
		verdict, again := w.Watch().Step(c, now)
		say(w, verdict)
		if again {
			kept = append(kept, w)
		}
	}
	clear(s.flows[len(kept):])
	s.flows = kept
}
