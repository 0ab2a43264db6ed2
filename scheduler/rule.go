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
	Cost           int64 // at least 1, at most Limit.N (window) or Limit.Burst (bucket)
	OverRate       OverRate
	MaxWait        time.Duration // at least 0
	MaxInFlight    int           // 0: no limit
	RejectInFlight bool          // at MaxInFlight refuse at arrival instead of waiting
	Level          string        // a level of the Setup
}
