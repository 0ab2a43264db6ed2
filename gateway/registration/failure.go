package registration

import (
	"fmt"
	"time"
)

// Failure is why something was not done. Nothing has changed then.
type Failure struct {
	Why   Why
	Until time.Time // with RefusedLately: from then on it may be asked again
}

// Why is one reason.
type Why uint8

const (
	PlanIsOff       Why = iota // the caller's plan takes no registrations
	IsReserved                 // the semantic is the one that nobody registers
	NoName                     // no semantic can have the name
	IsGiven                    // the configuration itself registers the caller for it
	RefusedLately              // an owner has refused it
	CallerIsFull               // MaxPerCaller
	AllIsFull                  // MaxAll
	IsUnknown                  // there is no such registration
	SemanticUnknown            // the configuration has no such semantic
)

// Error says it in English.
func (f *Failure) Error() string {
	switch f.Why {
	case PlanIsOff:
		return "the caller's plan takes no registrations"
	case IsReserved:
		return "the semantic " + Reserved + " is everybody's and cannot be registered"
	case NoName:
		return "a semantic's name is 1 to 64 of a-z, 0-9, '.', '_' and '-'"
	case IsGiven:
		return "the configuration registers the caller for this semantic"
	case RefusedLately:
		return "it was refused; it may be asked again from " + f.Until.UTC().Format(time.RFC3339)
	case CallerIsFull:
		return fmt.Sprintf("the caller has %d registrations, and may have no more", MaxPerCaller)
	case AllIsFull:
		return fmt.Sprintf("there are %d registrations, and no more are kept", MaxAll)
	case SemanticUnknown:
		return "the configuration has no such semantic; add it there first"
	}
	return "there is no such registration"
}
