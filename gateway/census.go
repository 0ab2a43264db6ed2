package gateway

import (
	"sync/atomic"
	"time"

	"tidegate/detector"
	"tidegate/gateway/console"
	"tidegate/gateway/policy"
)

// census is a picture of all flows and callers, taken once a second for everybody who wants one: lists of callers, history,
// alerts, what is kept of recent arrivals. Nothing of it is changed once it is there, but what it remembers of answers that it
// has given. Safe for concurrent use.
type census struct {
	at      time.Time
	span    time.Duration // since the one before: what was counted is of that long; 0: this is the first
	seq     uint64        // counts censuses, the first is 1
	live    *live         // the configuration that it was taken under
	flows   []flowCensus  // those of one caller side by side, in the order of callers; those of callers that have gone last
	callers []callerCensus
	roster  *roster

	arrived, admitted, refused uint64 // of all flows, those that have gone out of the configuration and what was refused before it had one included

	totals  console.TotalsView
	pools   []console.PoolView
	levels  []console.LevelView
	targets []console.TargetView

	orders callerOrders
}

// flowCensus is one flow. Counts are of the census's span.
type flowCensus struct {
	d           *flowData
	rule        *policy.Rule // of its last request; nil: that is on its way
	pool, level string
	since       *time.Time // its surge's; nil: there is none

	arrived, admitted, refused uint64
	all                        counted // since the flow was made

	rate, expected            float64 // requests a second, by the detector
	occupancy                 float64 // 0 to 1
	seatTime                  time.Duration
	inFlight, waiting, unpaid int // unpaid: of those that wait
	refusedAt, unpaidAt       moment

	caller   int32 // its place in callers; -1: the configuration has it no more
	state    detector.State
	standing stance
	still    bool // the detector does not step it, as nothing comes
}

// counted is what a flow has counted since it was made.
type counted struct{ arrived, admitted, refused, unpaid uint64 }

// callerCensus is one caller of the configuration, with traffic or without. Counts are of the census's span.
type callerCensus struct {
	caller                     *policy.Caller
	flows                      []flowCensus
	standing                   stance
	arrived, admitted, refused uint64
	inFlight, waiting          int
	occupancy                  float64      // of its fullest flow, 0 to 1
	recent                     *recentRates // nil: nothing has come for a minute
	steady                     float64      // requests a second, smoothed over some seconds
	met                        int          // flows, while they are not side by side yet

	view atomic.Pointer[console.CallerView] // made for whoever asks first
}

// perSecond is a count of the census's span as a rate.
func (c *census) perSecond(n uint64) float64 {
	if c.span <= 0 {
		return 0
	}
	return float64(n) / c.span.Seconds()
}

// of is the caller's part; nil: it was not in the configuration yet.
func (c *census) of(caller *policy.Caller) *callerCensus {
	if place := c.roster.placeOf(caller.Index); place >= 0 {
		return &c.callers[place]
	}
	return nil
}
