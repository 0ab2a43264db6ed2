package history

import (
	"math"
	"math/bits"
)

// number is a value from 0 to 4e9 in 16 bits, greater the greater it is: up to 2 in steps of 1/1024, above that with 12
// significant bits.
type number uint16

const (
	unknown number = math.MaxUint16
	largest        = unknown - 1

	perUnit  = 1024                 // steps in 1
	linear   = 2048                 // numbers below are so many steps
	exponent = (127 + 11 - 1) << 11 // what the bits of a float32 of 2048 steps have more than their number
)

func numberOf(v float32) number {
	v *= perUnit
	switch {
	case !(v > 0): // NaN as well
		return 0
	case v < linear-0.5:
		return number(v + 0.5)
	case v >= 1<<42:
		return largest
	}
	// The bits of a float are greater the greater it is, and rounding up may well carry into its exponent.
	return min(number((math.Float32bits(v)+1<<11)>>12-exponent), largest)
}

// float is the value; NaN for unknown.
func (n number) float() float64 {
	switch {
	case n == unknown:
		return math.NaN()
	case n < linear:
		return float64(n) / perUnit
	}
	return float64(math.Float32frombits((uint32(n)+exponent)<<12)) / perUnit
}

// coarse is a number of 8 significant bits next to it: blocks of such numbers are smaller.
func (n number) coarse() number {
	drop := 4
	if n < linear {
		drop = bits.Len16(uint16(n)) - 8
	}
	if n == unknown || drop <= 0 {
		return n
	}
	half := number(1) << (drop - 1)
	if n > largest-half {
		return largest &^ (half<<1 - 1)
	}
	return (n + half) &^ (half<<1 - 1)
}
