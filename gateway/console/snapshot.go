package console

import "time"

// How much of each list a snapshot shows. What is longer is cut at its end, so a source puts first
// what matters most.
const (
	MaxFlows    = 200 // the busiest
	MaxSurges   = 100 // the last
	MaxRefusals = 50  // the last
)

// Snapshot is the read model that the page and the API show: the state of the whole gateway at one
// moment. Its JSON names are a public contract. Whoever makes a Snapshot gives it away: neither it
// nor what it points to is changed afterwards.
type Snapshot struct {
	Time       time.Time     `json:"time"`
	Version    string        `json:"version"`  // of the program
	Mode       string        `json:"mode"`     // enforce | observe
	UptimeS    float64       `json:"uptime_s"` // seconds since the process started
	Pools      []PoolView    `json:"pools"`
	Levels     []LevelView   `json:"levels"`
	Flows      []FlowView    `json:"flows"`       // the busiest, at most MaxFlows
	FlowsTotal int           `json:"flows_total"` // all that are remembered, shown or not
	Surges     []SurgeView   `json:"surges"`      // newest first, at most MaxSurges
	Refusals   []RefusalView `json:"refusals"`    // newest first, at most MaxRefusals
	Promise    PromiseView   `json:"promise"`
	Observed   *ObservedView `json:"observed"` // null while every rule is enforced
	Config     ConfigView    `json:"config"`

	Totals               TotalsView    `json:"totals"`
	Targets              []TargetView  `json:"targets"`
	Troubles             []TroubleView `json:"troubles"`              // what does not work, and is done without
	RegistrationsWaiting int           `json:"registrations_waiting"` // for an owner
}

// ObservedView is what would have happened to the requests of rules that are observed, had they been
// enforced. None of it did. Counts are since the process started.
type ObservedView struct {
	Rules   []string `json:"rules"`   // the ids of the rules that observe; ["*"] while all do
	Passed  uint64   `json:"passed"`  // would have had a seat at once
	Waited  uint64   `json:"waited"`  // would have waited, and then had a seat
	Refused uint64   `json:"refused"` // would have been refused
	Gone    uint64   `json:"gone"`    // would have been waiting when their callers hung up
	// RefusedWithinRate counts those of Refused that their rate had paid on arrival: the promise would have been
	// broken, so what is promised does not fit the seats.
	RefusedWithinRate uint64 `json:"refused_within_rate"`

	ByCode map[string]uint64 `json:"by_code"` // of Refused
	Pools  []PoolView        `json:"pools"`   // as they would be
	Levels []LevelView       `json:"levels"`  // as they would be
}

// Requests is how many were observed.
func (v *ObservedView) Requests() uint64 { return v.Passed + v.Waited + v.Refused + v.Gone }

// PoolView is one pool. Committed, Excess and Surge are the seats in use by the band in which the
// work was dispatched; together they are InUse.
type PoolView struct {
	Name      string `json:"name"`
	Seats     int    `json:"seats"`  // may be below InUse for a while after a reload shrank the pool
	InUse     int    `json:"in_use"` // seats
	Committed int    `json:"committed"`
	Excess    int    `json:"excess"`
	Surge     int    `json:"surge"`
	Lent      int    `json:"lent"`     // seats of this pool that serve others now
	Borrowed  int    `json:"borrowed"` // seats of others that serve this pool now
	Waiting   int    `json:"waiting"`  // requests
}

// LevelView is one level's queue in one pool.
type LevelView struct {
	Pool           string  `json:"pool"`
	Level          string  `json:"level"`
	Waiting        int     `json:"waiting"`        // requests
	OldestWaitMS   int64   `json:"oldest_wait_ms"` // 0 when nobody waits
	MaxWaitMS      int64   `json:"max_wait_ms"`    // how long that oldest one may wait; 0 when nobody waits, or nothing ends its wait
	DispatchedPerS float64 `json:"dispatched_per_s"`
}

// States of a flow, as the detector names them.
const (
	StateLearning = "learning" // too young to be judged
	StateCalm     = "calm"
	StateRising   = "rising" // there is evidence for a surge, but not enough
	StateSurge    = "surge"
	StateCooling  = "cooling" // in a surge, and as expected again for less than detector.hold
)

// FlowView is one flow. Route and Tenant are empty where the flow does not count by them.
type FlowView struct {
	Caller     string     `json:"caller"`
	Semantic   string     `json:"semantic"`
	Route      string     `json:"route"`
	Tenant     string     `json:"tenant"`
	Pool       string     `json:"pool"`
	Level      string     `json:"level"`
	State      string     `json:"state"`       // one of the States
	Rate       float64    `json:"rate"`        // requests a second, over the detector's window
	Limit      string     `json:"limit"`       // the rule's rate as it is written in the config: "20/60s"
	Occupancy  float64    `json:"occupancy"`   // cost paid in the last D of the limit N/D, over N: 0 to 1
	InFlight   int        `json:"in_flight"`   // seats held
	Waiting    int        `json:"waiting"`     // requests
	Admitted   uint64     `json:"admitted"`    // requests, since the flow was made
	Refused    uint64     `json:"refused"`     // requests, since the flow was made
	SurgeSince *time.Time `json:"surge_since"` // null while calm

	Standing     string  `json:"standing"` // one of Standings
	Rule         string  `json:"rule"`     // the id
	AdmittedPerS float64 `json:"admitted_per_s"`
	RefusedPerS  float64 `json:"refused_per_s"`

	Observed    bool   `json:"observed"`     // its rule is observed: nothing of it is held back
	WouldWait   uint64 `json:"would_wait"`   // requests that would have waited, since the flow was made
	WouldRefuse uint64 `json:"would_refuse"` // requests that would have been refused

	// Why the detector holds it to be what State says.
	Expected       float64 `json:"expected"`        // requests a second, before what a tide may add
	Ratio          float64 `json:"ratio"`           // Rate over Expected; 0: nothing is expected yet
	Score          float64 `json:"score"`           // evidence for a surge, in nats
	Needed         float64 `json:"needed"`          // what makes it one now
	SeasonSlot     string  `json:"season_slot"`     // the hour of the week that it is judged in: "Mon 09h"; empty before the first look
	Seasonal       bool    `json:"seasonal"`        // what is usual in that hour has a part in Expected
	SeasonLearning bool    `json:"season_learning"` // the flow has not been seen in that hour often enough to go by its own weeks
}

// SurgeView is one surge of a caller's semantic.
type SurgeView struct {
	Caller   string     `json:"caller"`
	Semantic string     `json:"semantic"`
	Start    time.Time  `json:"start"`
	End      *time.Time `json:"end"`      // null while it is on
	Baseline float64    `json:"baseline"` // requests a second that were expected when it began
	Peak     float64    `json:"peak"`     // the highest requests a second seen during it

	// Why it was held to be one, when it began.
	Observed       float64 `json:"observed"`        // requests a second
	Ratio          float64 `json:"ratio"`           // Observed over Baseline; 0: nothing was expected
	Score          float64 `json:"score"`           // evidence, in nats
	Needed         float64 `json:"needed"`          // what made it one
	SeasonSlot     string  `json:"season_slot"`     // the hour of the week: "Mon 09h"
	Seasonal       bool    `json:"seasonal"`        // what is usual in that hour had a part in Baseline
	SeasonLearning bool    `json:"season_learning"` // the flow had not been seen in that hour often enough to go by its own weeks
}

// RefusalView is one refused request.
type RefusalView struct {
	Time         time.Time `json:"time"`
	RequestID    string    `json:"request_id"`
	Caller       string    `json:"caller"` // empty when it was not known yet
	Semantic     string    `json:"semantic"`
	Rule         string    `json:"rule"` // the rule's id, empty when none was chosen yet
	Code         string    `json:"code"`
	RetryAfterMS int64     `json:"retry_after_ms"` // 0: not worth trying again
	WaitedMS     int64     `json:"waited_ms"`      // from when it was ready to be admitted
	Observed     bool      `json:"observed"`       // it was not refused: its rule is observed, and would have refused it

	// What it was decided by, where admission decided.
	Route      string `json:"route"`
	Tenant     string `json:"tenant"`
	RuleAt     string `json:"rule_at"` // where the rule stands
	Version    int    `json:"version"` // of the configuration
	Band       string `json:"band"`    // committed, excess or surge
	WithinRate bool   `json:"within_rate"`
	Place      int    `json:"place"`       // in its flow, itself included; 0: was not queued
	EstimateMS int64  `json:"estimate_ms"` // of its wait; -1: unknown
	MaxWaitMS  int64  `json:"max_wait_ms"`
	Limit      int64  `json:"limit"`     // cost that the rate pays in its span, or the depth of its bucket
	Remaining  int64  `json:"remaining"` // of it, just after
	ResetMS    int64  `json:"reset_ms"`  // until the rate had the cost of one request
	Pool       string `json:"pool"`
	Seats      int    `json:"seats"`
	InUse      int    `json:"in_use"`  // seats of the pool, just then
	Waiting    int    `json:"waiting"` // requests in the pool, just then
}

// PromiseView says whether what was promised was kept.
type PromiseView struct {
	RefusedWithinRate uint64   `json:"refused_within_rate"` // requests that their rate had paid, and yet were not served
	Availability      *float64 `json:"availability"`        // over five minutes, 0 to 1; null while nothing was asked for

	// The same over other spans.
	Availability1m  *float64 `json:"availability_1m"`
	Availability5m  *float64 `json:"availability_5m"`
	Availability60m *float64 `json:"availability_60m"`
}

// ConfigView is the configuration in force, and what is wrong with the newest one if it is another.
type ConfigView struct {
	Version  int       `json:"version"` // counts loads, the first is 1
	Hash     string    `json:"hash"`
	LoadedAt time.Time `json:"loaded_at"`
	Error    string    `json:"error"` // why the file as it is now was not taken, empty when it was
}

// complete is s as it is encoded: no list longer than promised, and none of them null, so that a
// reader needs no case for "nothing".
func (s Snapshot) complete() *Snapshot {
	s.Pools = head(s.Pools, len(s.Pools))
	s.Levels = head(s.Levels, len(s.Levels))
	s.Flows = head(s.Flows, MaxFlows)
	s.Surges = head(s.Surges, MaxSurges)
	s.Refusals = head(s.Refusals, MaxRefusals)
	s.Targets = head(s.Targets, len(s.Targets))
	s.Troubles = head(s.Troubles, len(s.Troubles))
	if s.Observed != nil {
		o := *s.Observed
		o.Rules = head(o.Rules, len(o.Rules))
		o.Pools = head(o.Pools, len(o.Pools))
		o.Levels = head(o.Levels, len(o.Levels))
		if o.ByCode == nil {
			o.ByCode = map[string]uint64{}
		}
		s.Observed = &o
	}
	return &s
}

func head[T any](list []T, n int) []T {
	if list == nil {
		return []T{}
	}
	return list[:min(n, len(list))]
}
