package config

import (
	"fmt"
	"math/bits"
)

// maxRate checks how far operators may raise a rate: no less far than where it stands, and to a rate that can
// still pay each request. For a rule, semantic is the one that it is held against.
func (v *validator) maxRate(key string, most, rate Rate, burst, cost int64, semantic string) {
	whose := "the rate " + rate.String()
	if semantic != "" {
		whose += ", which the rule has for " + semantic
	}
	switch {
	case most.below(rate):
		v.add(key, most, "raise it to the rate at least; leave the key out where operators may only lower the rate",
			"less than %s", whose)
	case burst == 0 && cost > most.N:
		of := ""
		if semantic != "" {
			of = fmt.Sprintf("one %s costs %d: ", semantic, cost)
		}
		v.add(key, most, "write the same over a longer span", "%s%s", of, neverPaid(most, 0))
	}
}

// below says that a rate is lower than another, per second. The product of an amount and a span in
// nanoseconds does not always fit 64 bits.
func (r Rate) below(other Rate) bool {
	high, low := bits.Mul64(uint64(r.N), uint64(other.Per))
	otherHigh, otherLow := bits.Mul64(uint64(other.N), uint64(r.Per))
	return high < otherHigh || high == otherHigh && low < otherLow
}
