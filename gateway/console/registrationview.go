package console

import (
	"time"

	"tidegate/gateway/config"
)

// Statuses of a registration.
const (
	RegistrationActive  = "active"
	RegistrationWaiting = "waiting" // for an owner, or for the configuration to have the semantic
	RegistrationRefused = "refused" // by an owner
	RegistrationOff     = "off"     // its caller's plan does not let callers register any more
)

// RegistrationView is a semantic that a caller has registered with its own key.
type RegistrationView struct {
	Caller       string     `json:"caller"`
	Semantic     string     `json:"semantic"`
	Description  string     `json:"description"`   // what it is, in the caller's words
	ExpectedRate string     `json:"expected_rate"` // in the caller's words: "20/s"
	Status       string     `json:"status"`
	Configured   bool       `json:"configured"` // the configuration has a semantic of this name
	Level        string     `json:"level"`      // of that semantic, for this caller's plan; empty: not configured
	Asked        time.Time  `json:"asked"`
	Decided      *time.Time `json:"decided"` // null: by nobody yet
	By           string     `json:"by"`      // who decided; "plan" where the plan says auto
	Reason       string     `json:"reason"`
}

// AuditEntry is one thing that somebody did or tried to do.
type AuditEntry struct {
	ID      uint64    `json:"id"` // counts entries; without gaps
	Time    time.Time `json:"time"`
	Actor   string    `json:"actor"`   // the token's name, "loopback", "file", "tidegate", or "caller:ID"
	Role    string    `json:"role"`    // viewer | operator | owner; empty where none is needed
	From    string    `json:"from"`    // address
	Action  string    `json:"action"`  // login, logout, locked_out, config_put, config_rollback, reload, override_set, override_drop, override_ended, registration_asked, ...
	Subject string    `json:"subject"` // what it was done to: an override's name, a caller, a version
	Reason  string    `json:"reason"`
	Outcome string    `json:"outcome"` // done | refused
	Code    string    `json:"code"`    // of the refusal
	Version int       `json:"version"` // of the configuration afterwards; 0: has nothing to do with it
	Diff    string    `json:"diff"`    // what changed, hashes of keys cut short
}

// AuditQuery asks for entries, newest first.
type AuditQuery struct {
	Actor, Action string // empty: any
	Query         string // part of subject or reason
	Before        uint64 // only entries with a lower ID; 0: all
	Limit         int    // from 1 to MaxPage
}

// AlertView is one alert, sent or to be sent to the webhook.
type AlertView struct {
	ID       string     `json:"id"`
	Time     time.Time  `json:"time"`
	Kind     string     `json:"kind"`    // surge | starvation | vip_refused | reload_failed | upstream_down | state_failed | test
	Subject  string     `json:"subject"` // "spider-77/export", "shared/realtime", "api http://..."
	Resolved bool       `json:"resolved"`
	Text     string     `json:"text"`   // one sentence
	Status   string     `json:"status"` // sent | pending | failed | held (by the rate limit) | off (no webhook)
	Attempts int        `json:"attempts"`
	SentAt   *time.Time `json:"sent_at"`
	Error    string     `json:"error"` // of the last attempt; never has the URL
}

// AlertsView is what was told of late.
type AlertsView struct {
	Webhook bool        `json:"webhook"` // one is configured
	Alerts  []AlertView `json:"alerts"`  // newest first, at most 100
}

// CheckView says what a configuration would be.
type CheckView struct {
	OK            bool           `json:"ok"`
	Problems      []ProblemView  `json:"problems"`
	Diff          string         `json:"diff"` // unified, against the file in force
	RestartNeeded []string       `json:"restart_needed"`
	Asides        []OverrideView `json:"asides"` // overrides that would be set aside, and why
}

// ProblemView is one fault of a configuration: a config.Problem, with the same fields in the same order.
type ProblemView struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1; 0: stands nowhere
	Column  int    `json:"column"` // from 1, in bytes; 0: no column
	Key     string `json:"key"`
	Name    string `json:"name"` // the key as its owner knows it
	Value   string `json:"value"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Problems are faults as they are shown; never nil.
func Problems(list []config.Problem) []ProblemView {
	views := make([]ProblemView, len(list))
	for i, of := range list {
		views[i] = ProblemView(of)
	}
	return views
}

// PreviewView is the traffic of the last minutes played once under the configuration in force and once under another.
type PreviewView struct {
	CheckView
	From     time.Time     `json:"from"` // of the traffic played
	To       time.Time     `json:"to"`
	Requests int64         `json:"requests"`
	Rows     []PreviewRow  `json:"rows"` // those that change most first, at most 100
	Same     int           `json:"same"` // rows that do not change, and are not shown
	Pools    []PreviewPool `json:"pools"`
	Notes    []string      `json:"notes"`
}

// PreviewRow is one caller's semantic.
type PreviewRow struct {
	Caller   string         `json:"caller"`
	Semantic string         `json:"semantic"` // under the new configuration
	Before   PreviewOutcome `json:"before"`
	After    PreviewOutcome `json:"after"`
}

// PreviewOutcome is what became of its requests.
type PreviewOutcome struct {
	Offered   int64   `json:"offered"`
	Passed    int64   `json:"passed"` // at once
	Waited    int64   `json:"waited"` // and served
	Refused   int64   `json:"refused"`
	WaitP99MS float64 `json:"wait_p99_ms"`
}

// PreviewPool is the most seats of a pool in use.
type PreviewPool struct {
	Name        string `json:"name"`
	SeatsBefore int    `json:"seats_before"`
	PeakBefore  int    `json:"peak_before"`
	SeatsAfter  int    `json:"seats_after"`
	PeakAfter   int    `json:"peak_after"`
}
