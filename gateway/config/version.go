package config

import "time"

// Override is one value that an operator has set above the file and the environment. It is named by
// what it belongs to, so that it outlives changes of the file.
type Override struct {
	Name   string     `json:"name"`  // "callers.acme.pool", "rules.free/*/chat.rate"
	Value  string     `json:"value"` // as it would stand in the file, without quotes
	Actor  string     `json:"actor"`
	Role   string     `json:"role"` // of the actor, when it was made: an operator's is bounded
	Reason string     `json:"reason"`
	Made   time.Time  `json:"made"`
	Until  *time.Time `json:"until"` // null: until it is taken back
}

// Ended says that its time is over: an end is a moment of the calendar.
func (o Override) Ended(now time.Time) bool { return o.Until != nil && !o.Until.After(now) }

// Aside is an override that does not fit a configuration and is not in force, and why.
type Aside struct {
	Override Override
	Why      string
}

// Version is one configuration that was live.
type Version struct {
	Number    int        `json:"version"`
	Time      time.Time  `json:"time"`   // when it came into force
	Actor     string     `json:"actor"`  // who brought it
	From      string     `json:"from"`   // the address that it came from; empty for the file
	Source    string     `json:"source"` // start | file | signal | api | rollback | override | override_ended
	Reason    string     `json:"reason"`
	Hash      string     `json:"hash"` // of the text
	Diff      string     `json:"diff"` // against the version before
	Text      string     `json:"text"` // of the config file
	Overrides []Override `json:"overrides"`
}
