package console

import "time"

// Standings say how a caller or one of its flows stands, those that need attention most first.
const (
	StandingSurging   = "surging"   // the detector holds a flow to have burst
	StandingThrottled = "throttled" // something was refused within the last ten seconds
	StandingWaiting   = "waiting"   // something waits now
	StandingExcess    = "excess"    // more comes than the rate pays, and is served all the same
	StandingPaused    = "paused"    // the caller is not enabled, whatever of its work is still there
	StandingCalm      = "calm"
)

// Standings are all of them, in the order of a list sorted by attention.
var Standings = []string{StandingSurging, StandingThrottled, StandingWaiting, StandingExcess, StandingPaused, StandingCalm}

// CallersQuery asks for callers, those without traffic included.
type CallersQuery struct {
	Query    string // part of the caller's id or name, or of a semantic's name; case does not matter
	Pool     string // empty: any
	Plan     string // empty: any
	Level    string // of one of its flows; empty: any
	Standing string // one of Standings; empty: any
	Sort     string // one of CallerSorts; empty: attention
	Offset   int    // callers to pass over, from 0
	Limit    int    // callers a page, from 1 to MaxPage
}

// CallerSorts are the orders of a list of callers; each but caller is descending.
var CallerSorts = []string{"attention", "rate", "occupancy", "waiting", "in_flight", "refused", "caller"}

// CallersPage is a part of a list of callers, as they were at most a second ago.
type CallersPage struct {
	Time      time.Time      `json:"time"`
	Total     int            `json:"total"`     // callers that fit the query
	Standings map[string]int `json:"standings"` // how many of those that fit the rest of the query stand how; each of Standings is there
	Callers   []CallerView   `json:"callers"`
}

// CallerView is one caller. Rates are requests a second over the last second.
type CallerView struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Plan         string        `json:"plan"`
	Pool         string        `json:"pool"`
	Enabled      bool          `json:"enabled"`
	Standing     string        `json:"standing"` // the first in order of its flows'
	Rate         float64       `json:"rate"`     // offered
	AdmittedPerS float64       `json:"admitted_per_s"`
	RefusedPerS  float64       `json:"refused_per_s"`
	InFlight     int           `json:"in_flight"` // seats held
	Waiting      int           `json:"waiting"`
	FlowsTotal   int           `json:"flows_total"`
	Semantics    []SemanticUse `json:"semantics"` // those with traffic, by attention, then rate
	Recent       []float64     `json:"recent"`    // Rate of the last 60 seconds, oldest first; shorter while less is known
}

// SemanticUse is what a caller makes of one semantic, all tenants and routes together.
type SemanticUse struct {
	Semantic    string     `json:"semantic"`
	Level       string     `json:"level"`
	Standing    string     `json:"standing"`
	Rate        float64    `json:"rate"`
	Expected    float64    `json:"expected"`
	RefusedPerS float64    `json:"refused_per_s"`
	Limit       string     `json:"limit"`     // as written: "20/60s"; of the fullest flow
	Occupancy   float64    `json:"occupancy"` // of the fullest flow, 0 to 1
	InFlight    int        `json:"in_flight"`
	Waiting     int        `json:"waiting"`
	Flows       int        `json:"flows"`
	SurgeSince  *time.Time `json:"surge_since"`
}

// CallerDetail is all that is known of one caller.
type CallerDetail struct {
	Time          time.Time          `json:"time"`
	Caller        CallerView         `json:"caller"`
	Flows         []FlowView         `json:"flows"`    // the busiest, at most MaxFlows
	Rules         []CallerRule       `json:"rules"`    // what it may meet, for each route and semantic
	Surges        []SurgeView        `json:"surges"`   // of late, newest first
	Refusals      []RefusalView      `json:"refusals"` // newest first, at most MaxRefusals
	Overrides     []OverrideView     `json:"overrides"`
	Registrations []RegistrationView `json:"registrations"`
}

// CallerRule is the rule that a caller's requests on a route meet, by their semantic.
type CallerRule struct {
	Route      string   `json:"route"`
	Semantic   string   `json:"semantic"`
	Registered bool     `json:"registered"` // by the caller; false only for default
	Rule       string   `json:"rule"`       // the id
	At         string   `json:"at"`         // where it stands: "config.toml:120"
	Rate       string   `json:"rate"`
	MaxRate    string   `json:"max_rate"` // as far as an operator may raise it; empty: no further than the file's rate
	FileRate   string   `json:"file_rate"`
	MaxWaitMS  int64    `json:"max_wait_ms"`
	OverRate   string   `json:"over_rate"`
	Level      string   `json:"level"`
	Overrides  []string `json:"overrides"` // names of those that have a part in it
}

// TotalsView is the whole gateway in a few figures; rates are over the last second.
type TotalsView struct {
	RequestsPerS float64 `json:"requests_per_s"` // offered
	AdmittedPerS float64 `json:"admitted_per_s"`
	RefusedPerS  float64 `json:"refused_per_s"`
	Waiting      int     `json:"waiting"`
	InFlight     int     `json:"in_flight"`
	Surging      int     `json:"surging"` // flows
}

// TargetView is one address of an upstream.
type TargetView struct {
	Upstream string `json:"upstream"`
	Target   string `json:"target"`
	Healthy  bool   `json:"healthy"`
}

// TroubleView is something that the gateway cannot do, and runs on without.
type TroubleView struct {
	What   string    `json:"what"`  // history | windows | seasons | versions | audit | registrations | record | webhook
	Error  string    `json:"error"` // the last one
	Since  time.Time `json:"since"`
	Remedy string    `json:"remedy"`
}
