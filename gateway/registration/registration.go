package registration

import (
	"time"
)

// Bounds of what is kept.
const (
	MaxPerCaller = 64
	MaxAll       = 20_000
)

// AskAgain is how long after a refusal the same may be asked again.
const AskAgain = 24 * time.Hour

// Reserved is the semantic of all work that is not registered; nobody registers it.
const Reserved = "default"

// Registration is one semantic of one caller. It is immutable: a change makes another one.
type Registration struct {
	Caller   string    `json:"caller"`
	Semantic string    `json:"semantic"`
	Words              // the caller's own
	Asked    time.Time `json:"asked"` // of late; later than a refusal: it was asked again

	Decision Decision  `json:"decision,omitempty"`
	Decided  time.Time `json:"decided,omitzero"`
	By       string    `json:"by,omitempty"` // who decided
	Reason   string    `json:"reason,omitempty"`
}

// Words are what a caller says of the work. Nothing is decided by them.
type Words struct {
	Description  string `json:"description"`
	ExpectedRate string `json:"expected_rate"` // "20/s"; "": not said
}

// Decision is an owner's word.
type Decision string

const (
	Undecided Decision = ""
	Approved  Decision = "approved"
	Refused   Decision = "refused"
)

// What a plan says of the registrations of its callers.
const (
	PlanOff     = "off"     // none is taken, and none acts
	PlanApprove = "approve" // each waits for an owner
	PlanAuto    = "auto"    // each acts as soon as the configuration has the semantic
)

// Terms are what the configuration in force says of one caller and semantic.
type Terms struct {
	Plan             string // one of the Plans; "": the configuration has no such caller
	Given            bool   // the configuration itself registers the caller for it
	Caller, Semantic int32  // their indexes, by which requests know them; 0: the configuration has none of the name
}

// Configured says that the configuration has a semantic of the name.
func (t Terms) Configured() bool { return t.Semantic != 0 }

// Status is what a registration is worth.
type Status uint8

const (
	Active  Status = iota // requests of the caller have the semantic
	Waiting               // for an owner, or for the configuration to have the semantic
	Denied                // an owner has refused it
	Off                   // the plan takes no registrations now
)

// String is the status as it is shown: active, waiting, refused or off.
func (s Status) String() string { return [...]string{"active", "waiting", "refused", "off"}[s] }

// Status is what the registration is worth under the given terms.
func (r *Registration) Status(t Terms) Status {
	switch {
	case t.Plan != PlanAuto && t.Plan != PlanApprove:
		return Off
	case r.Decision == Refused && !r.again():
		return Denied
	case !t.Configured() || r.waitsForOwner(t):
		return Waiting
	}
	return Active
}

// waitsForOwner says that nothing but an owner's word can make it active, as soon as the configuration has the
// semantic. What an owner has refused once is no more for the plan alone to decide.
func (r *Registration) waitsForOwner(t Terms) bool {
	return r.Decision == Refused && r.again() || r.Decision == Undecided && t.Plan != PlanAuto
}

// again says that it was asked once more after it had been refused.
func (r *Registration) again() bool { return r.Asked.After(r.Decided) }

// MayAskAgain is the moment from which a refused registration may be asked again.
func (r *Registration) MayAskAgain() time.Time { return r.Decided.Add(AskAgain) }

// View is a registration and what it is worth now.
type View struct {
	*Registration
	Terms  Terms
	Status Status
}

// WaitsForOwner says that it waits, and that only an owner's word is missing or, where the configuration does not
// have the semantic, will be.
func (v *View) WaitsForOwner() bool { return v.Status == Waiting && v.waitsForOwner(v.Terms) }

// ByPlan says that it acts because the plan lets all of its callers' registrations act, and nobody has decided.
func (v *View) ByPlan() bool { return v.Status == Active && v.Decision == Undecided }

// ValidName says that a semantic can have the name: 1 to 64 of a-z, 0-9, '.', '_' and '-'.
func ValidName(name string) bool {
	if len(name) < 1 || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
