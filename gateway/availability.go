package gateway

import (
	"sync"
	"sync/atomic"
)

// availability is the share of the requests within their rate that were served, over the last minute,
// five minutes and hour. Within its rate is what the rate had paid on arrival: for this the gateway has
// given its word, so a refusal, a failure of the upstream and one of ours all count against it alike.
// What the caller ended himself counts neither way: a hang-up, a broken body, a wait that he cut short.
//
// A request costs one atomic add. Once a second the counts move into a ring of seconds. Safe for
// concurrent use.
type availability struct {
	kept, broken atomic.Uint64 // since the last tick

	mu    sync.Mutex
	ring  [availabilityHour]kept
	next  int
	spans [len(availabilitySpans)]kept // sums of the last seconds of each span
}

type kept struct{ kept, broken uint64 }

const availabilityHour = 3600

// availabilitySpans are in seconds, availabilityNames as metrics and logs call them.
var (
	availabilitySpans = [...]int{60, 300, availabilityHour}
	availabilityNames = [...]string{"1m", "5m", "60m"}
)

// settled counts the end of a request that its rate had paid on arrival.
func (a *availability) settled(o outcome) {
	switch o {
	case outcomeServed:
		a.kept.Add(1)
	case outcomeRefused, outcomeUpstreamError, outcomeUpstreamTimeout, outcomeInternal:
		a.broken.Add(1)
	}
}

// tick ends a second.
func (a *availability) tick() {
	now := kept{a.kept.Swap(0), a.broken.Swap(0)}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, span := range availabilitySpans {
		old := a.ring[(a.next-span+availabilityHour)%availabilityHour]
		a.spans[i].kept += now.kept - old.kept
		a.spans[i].broken += now.broken - old.broken
	}
	a.ring[a.next] = now
	a.next = (a.next + 1) % availabilityHour
}

// share is what was kept over each span, from 0 to 1; nil where nothing was asked for.
func (a *availability) share() (shares [len(availabilitySpans)]*float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, s := range a.spans {
		if asked := s.kept + s.broken; asked > 0 {
			share := float64(s.kept) / float64(asked)
			shares[i] = &share
		}
	}
	return shares
}

// lastMinute is what was kept and broken in it.
func (a *availability) lastMinute() (served, broken uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spans[0].kept, a.spans[0].broken
}
