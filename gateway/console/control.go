package console

import (
	"time"

	"tidegate/gateway/config"
)

// Control is what operators can change. All methods are safe for concurrent use; changes happen one
// after another. An error is a *Failure where the caller can do something about it, and anything else
// is a fault of ours.
type Control interface {
	// Text is the config file in force, as its owner wrote it, with its entity tag: a strong one, in its
	// double quotes. The text is never changed.
	Text() (text []byte, etag string)
	// Version is a version that is kept, and its entity tag; a *Failure with CodeVersionUnknown.
	Version(number int) (v config.Version, etag string, err error)
	// Versions are those that are kept, newest first. The first is in force.
	Versions() []config.Version

	// Put makes text the config file and brings it into force. ifMatch is the request's If-Match, and
	// must match the entity tag of what is in force, as MatchTag says. The text is given away.
	Put(c Change, ifMatch string, text []byte) (*Changed, error)
	// Rollback brings the file's text of a kept version back. An empty ifMatch asks for no match.
	Rollback(c Change, ifMatch string, number int) (*Changed, error)
	// Reload reads the config file now.
	Reload(c Change) (*Changed, error)

	// Overrides are those that are kept, in the order in which they were made.
	Overrides() []OverrideView
	// SetOverride makes an override, or replaces the one of its name.
	SetOverride(c Change, o config.Override) (*Changed, error)
	// DropOverride ends an override.
	DropOverride(c Change, name string) (*Changed, error)
}

// Change is who wants a change, from where and why.
type Change struct {
	Actor  string // the token's name; "loopback" where none is needed
	Role   string // viewer | operator | owner
	From   string // address
	Reason string // may be empty
}

// Changed says what a change came to.
type Changed struct {
	Version       int      `json:"version"` // in force now
	Hash          string   `json:"hash"`
	ETag          string   `json:"etag"`           // of the text in force now, as Text gives it
	Changed       bool     `json:"changed"`        // false: all was as wanted already
	RestartNeeded []string `json:"restart_needed"` // keys that are taken and do not act before a restart
	Notes         []string `json:"notes"`          // what else an operator should know
}

// Codes of failures.
const (
	CodePrecondition    = "precondition_failed" // 412: what is in force is not what the request was made for
	CodeConfigInvalid   = "config_invalid"      // 422, with problems
	CodeNotWritten      = "config_not_written"  // 409: the file could not be written; nothing has changed
	CodeVersionUnknown  = "version_unknown"     // 404
	CodeOverrideUnknown = "override_unknown"    // 404
	CodeOverrideInvalid = "override_invalid"    // 422
	CodeStateNotWritten = "state_not_written"   // 507: state.dir could not be written; nothing has changed

	CodePreviewBusy         = "preview_busy"         // 429: another one is being played
	CodeNothingToPlay       = "nothing_to_play"      // 422: no traffic is known yet
	CodeRegistrationUnknown = "registration_unknown" // 404
	CodeSemanticUnknown     = "semantic_unknown"     // 422: the configuration has no such semantic
	CodeNoWebhook           = "no_webhook"           // 422: none is configured
	CodeAlertBusy           = "alert_busy"           // 429: a test was sent a moment ago
	CodeRateBound           = "rate_above_max"       // 403: an operator may not raise a rate so far
)

// Failure is a change that was not made. Nothing has changed then.
type Failure struct {
	Code     string
	Detail   string           // for whoever asked
	Problems []config.Problem // with CodeConfigInvalid
	ETag     string           // of what is in force, with CodePrecondition
}

func (f *Failure) Error() string { return f.Code + ": " + f.Detail }

// OverrideView is one override, and whether it acts.
type OverrideView struct {
	config.Override
	Aside string `json:"aside"` // why it does not act; empty when it does
}

// ExplainQuery asks for the rule that a request would meet. The route is given by its name, or by
// path with method and host.
type ExplainQuery struct {
	Caller, Route, Method, Host, Path, Semantic, Tenant string
}

// FlowsQuery asks for flows.
type FlowsQuery struct {
	Query string // part of caller, semantic, route, tenant, pool or level; case does not matter
	State string // one of the States, or "waiting", "refused", "observed"; empty: any
	// Standing is one of Standings; empty: any.
	Standing string
	Sort     string // one of FlowSorts; empty: busiest
	// Cursor is the Next of the page before; empty: the first page.
	Cursor string
	Limit  int // flows a page, from 1 to MaxPage
}

// FlowSorts are the orders of a list of flows; each but caller is descending.
var FlowSorts = []string{"busiest", "rate", "occupancy", "waiting", "in_flight", "refused", "admitted", "attention", "caller"}

// MaxPage is the largest page of a list, in entries.
const MaxPage = 1000

// FlowsPage is a part of a list of flows as they are now. Nothing is kept between two pages: a flow whose
// place in the order has changed meanwhile may be on both or on neither. The order by caller never changes.
type FlowsPage struct {
	Time  time.Time  `json:"time"`  // of this page
	Total int        `json:"total"` // flows that fit the query
	Flows []FlowView `json:"flows"`
	Next  string     `json:"next"` // cursor of the next page, empty on the last
}

// RefusalsQuery asks for refusals that are kept, newest first.
type RefusalsQuery struct {
	Caller, RequestID, Code string // empty: any
	Limit                   int    // from 1 to MaxPage
}

// QueueView is who waits.
type QueueView struct {
	Time    time.Time     `json:"time"`
	Total   int           `json:"total"` // that wait, shown or not
	Waiting []WaitingView `json:"waiting"`
	Flows   []QueueByFlow `json:"flows"` // all flows that have something waiting, those with most first
	Levels  []LevelView   `json:"levels"`
}

// WaitingView is one request that waits. They stand in the order of bands and levels, and within one of
// arrival; who is next among equals is the fair queue's choice.
type WaitingView struct {
	RequestID  string `json:"request_id"`
	Caller     string `json:"caller"`
	Semantic   string `json:"semantic"`
	Route      string `json:"route"`
	Tenant     string `json:"tenant"`
	Pool       string `json:"pool"`
	Level      string `json:"level"`
	Band       string `json:"band"`
	WaitedMS   int64  `json:"waited_ms"`
	MaxWaitMS  int64  `json:"max_wait_ms"`
	EstimateMS int64  `json:"estimate_ms"` // of the whole wait, made on arrival; -1: unknown
	Place      int    `json:"place"`       // in its flow on arrival
	Bytes      int64  `json:"bytes"`
}

// QueueByFlow is what one flow has waiting.
type QueueByFlow struct {
	Caller       string `json:"caller"`
	Semantic     string `json:"semantic"`
	Route        string `json:"route"`
	Tenant       string `json:"tenant"`
	Pool         string `json:"pool"`
	Level        string `json:"level"`
	Waiting      int    `json:"waiting"`
	Unpaid       int    `json:"unpaid"` // of them
	OldestWaitMS int64  `json:"oldest_wait_ms"`
}
