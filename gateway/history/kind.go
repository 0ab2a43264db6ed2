package history

import "slices"

// Kind is what a series is of.
type Kind uint8

// Kinds of series.
const (
	Total  Kind = iota
	Pool        // Name is the pool's
	Level       // Name is the pool's, Part the level's
	Caller      // Name is the caller's, Part the semantic's; without a Part it is the sum of its semantics
	kinds
)

// MaxFields is how many numbers a sample has at most.
const MaxFields = 8

// Sample is the numbers of one second, those of Fields of its kind in that order. What is negative or no number counts as 0.
type Sample [MaxFields]float32

// Key names a series.
type Key struct {
	Kind Kind
	Name string
	Part string
}

// Places of a sample's numbers.
const (
	Rate     = iota // of Total and Caller
	Admitted        // a second
	Refused         // a second
	InFlight
	Waiting
	Expected // of Caller only
)

const (
	Seats = iota // of Pool
	InUse
	Committed
	Excess
	Surge
	Lent
	Borrowed
	PoolWaiting
)

const (
	LevelWaiting = iota // of Level
	OldestWait          // ms; by the minute its highest
	Dispatched          // a second
)

var fields = [kinds][]string{
	Total:  {"rate", "admitted_per_s", "refused_per_s", "in_flight", "waiting"},
	Pool:   {"seats", "in_use", "committed", "excess", "surge", "lent", "borrowed", "waiting"},
	Level:  {"waiting", "oldest_wait_ms", "dispatched_per_s"},
	Caller: {"rate", "admitted_per_s", "refused_per_s", "in_flight", "waiting", "expected"},
}

// Fields are the names of a kind's numbers.
func Fields(k Kind) []string { return slices.Clone(fields[k]) }

func (k Kind) width() int { return len(fields[k]) }

// highest says that a minute keeps the field's highest value, not its mean.
func (k Kind) highest(field int) bool { return k == Level && field == OldestWait }

func (k Kind) known() bool { return k < kinds }
