// Package alert tells a person, through a webhook, when something needs one.
//
// What is told are conditions: each has a kind and a subject, begins, and is over some time. Begin and End may be called as
// often as they are true; what is said is said once. A condition that comes and goes is told again after a while at the
// earliest, and all together are bounded by the hour, with one more alert that says how many were held back. Whoever says that
// something has begun waits for nobody: a goroutine of its own signs, sends, and tries again for about an hour.
package alert

import (
	"crypto/rand"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// Kinds of alerts.
const (
	Surge        = "surge"         // a flow has burst
	Starvation   = "starvation"    // what was promised waits nearly as long as it may
	VIPRefused   = "vip_refused"   // a caller of an important pool is refused
	ReloadFailed = "reload_failed" // the config file as it is now is not in force
	UpstreamDown = "upstream_down" // a target does not work
	StateFailed  = "state_failed"  // something cannot be kept on the disk
	Held         = "held"          // there were more alerts than are told in an hour
	Test         = "test"          // an operator has tried the webhook
)

// Statuses of an alert.
const (
	StatusSent    = "sent"
	StatusPending = "pending"
	StatusFailed  = "failed"
	StatusHeld    = "held" // the same was told a moment ago, or too many were
	StatusOff     = "off"  // there is no webhook, or it wants no alerts of this kind
)

// Event is a condition.
type Event struct {
	Kind, Subject string
	Text          string         // one sentence
	Facts         map[string]any // its numbers, as they encode to JSON; never changed afterwards
}

// View is one alert as it is shown.
type View struct {
	ID       string
	Time     time.Time
	Kind     string
	Subject  string
	Resolved bool
	Text     string
	Status   string
	Attempts int
	SentAt   *time.Time
	Error    string // of the last attempt; never has the URL
}

type key struct{ kind, subject string }

// entry is one alert on its way.
type entry struct {
	View
	facts map[string]any
	since time.Time // when the condition began

	body  []byte
	first time.Time // attempt
	next  time.Time // attempt, not before
	under bool      // being sent
}

func (e *entry) key() key { return key{e.Kind, e.Subject} }

// newEntry makes an alert of a condition that began at since.
func newEntry(now time.Time, e Event, since time.Time, resolved bool) *entry {
	return &entry{
		View: View{
			ID: "alert_" + rand.Text(), Time: now.Round(0), Kind: head(e.Kind, mostSubject), Subject: head(e.Subject, mostSubject),
			Resolved: resolved, Text: head(e.Text, mostText),
		},
		facts: e.Facts, since: since.Round(0),
	}
}

// payload is what is sent. Its names are a public contract.
type payload struct {
	Type      string    `json:"type"` // "tidegate.alert"
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

type data struct {
	ID       string         `json:"id"`
	Kind     string         `json:"kind"`
	Subject  string         `json:"subject"`
	Resolved bool           `json:"resolved"`
	Text     string         `json:"text"`
	Since    time.Time      `json:"since"`
	Facts    map[string]any `json:"facts"`
	Gateway  Source         `json:"gateway"`
}

// Source says which gateway an alert comes from.
type Source struct {
	Host    string `json:"host"`
	Version string `json:"version"`
}

// encode makes the body.
func (e *entry) encode(from Source) {
	p := payload{Type: "tidegate.alert", Timestamp: e.Time.UTC(), Data: data{
		ID: e.ID, Kind: e.Kind, Subject: e.Subject, Resolved: e.Resolved, Text: e.Text, Since: e.since.UTC(), Facts: e.facts, Gateway: from,
	}}
	if p.Data.Facts == nil {
		p.Data.Facts = map[string]any{}
	}
	var err error
	if e.body, err = json.Marshal(p); err != nil {
		p.Data.Facts = map[string]any{} // a number that JSON has no word for: the sentence says it, too
		e.body, _ = json.Marshal(p)
	}
}

// What a text may have, in bytes.
const (
	mostSubject = 512
	mostText    = 1 << 10
)

func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len("...")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}
