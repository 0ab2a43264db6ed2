package scheduler

import (
	"time"

	"tidegate/pools"
)

// OverRate says what becomes of work that its flow's rate has not covered.
type OverRate uint8

const (
	OverQueue  OverRate = iota // may use idle seats, and waits for them
	OverPace                   // waits until paid
	OverReject                 // is refused at once
)

// Rule is the limits under which one request is admitted. It is immutable: a waiting request ends
// under the rule that took it in, so a new configuration makes new rules.
type Rule struct {
	Limit          pools.Limit
	Cost           int64 // at least 1, at most Limit.Depth()
	OverRate       OverRate
	MaxWait        time.Duration // at least 0
	MaxInFlight    int           // 0: no limit
	RejectInFlight bool          // at MaxInFlight refuse at arrival instead of waiting
	Level          string        // a level of the Setup
	Observe        bool          // decided and counted, but nothing is held back
}

// Terms is what a policy says of one flow. Version grows with each policy, so that an arrival that
// was judged by an older policy cannot undo a newer one.
type Terms struct {
	Version    uint64
	Rule       *Rule
	Pool       string       // a pool of the Setup
	Weight     float64      // the caller's share among callers, above 0
	CallerRate *pools.Limit // what all flows of the caller may be paid together; nil: no bound
}

// Key names a flow. Caller, Semantic and Route are indexes that never come to mean something else;
// Route is NoRoute where the rule names none. Tenant is the caller's own word, or a client address
// where a caller is counted by address; it is empty otherwise.
type Key struct {
	Caller, Semantic, Route int32
	Tenant                  string
}

// NoRoute is the route of a flow whose rule names none.
const NoRoute int32 = -1

// LevelSetup is one business priority.
type LevelSetup struct {
	Name     string
	MinShare float64 // of the pool's seat time while committed work of the level waits, from 0 to 1
}

// PoolSetup is one pool's capacity and bounds.
type PoolSetup struct {
	Name            string
	Seats           int     // at least 1
	ExcessCeiling   float64 // of the seats, above 0 up to 1
	SurgeCeiling    float64
	LongCeiling     float64
	MaxWaiting      int
	MaxWaitingBytes int64
	MaxFlowShare    float64 // of either bound, for one caller
	Callers         int     // configured callers; a pool with one has no excess and no surge ceiling
}

// Setup is everything of a policy that belongs to no single flow.
type Setup struct {
	Levels     []LevelSetup // first is highest
	Pools      []PoolSetup
	MaxFlows   int
	MaxTenants int  // for one caller
	Observe    bool // some rule observes
}

// Band is how an item stands to its flow's rate.
type Band uint8

const (
	Committed Band = iota // paid
	Excess                // unpaid
	Surge                 // unpaid, of a surging flow
	bands
)

func (b Band) String() string { return [...]string{"committed", "excess", "surge", ""}[min(b, bands)] }

// Verdict is what admission said of an item.
type Verdict uint8

const (
	Waiting         Verdict = iota // not decided yet
	Granted                        // has a seat
	RateExceeded                   // unpaid, and the rule refuses unpaid work
	WaitTooLong                    // the expected wait exceeds the longest
	WaitExpired                    // waited as long as it may
	QueueFull                      // no place to wait
	Displaced                      // gave its place to an arrival of higher rank
	TooManyInFlight                // the flow has as many as it may, and the rule refuses more
	Gone                           // the caller hung up
	Draining                       // the gateway is shutting down
)

func (v Verdict) String() string {
	return [...]string{
		"waiting", "granted", "rate_exceeded", "wait_too_long", "wait_expired", "queue_full",
		"displaced", "too_many_in_flight", "gone", "draining",
	}[v]
}
