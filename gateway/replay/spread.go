package replay

import (
	"fmt"
	"hash/fnv"
	"math"
)

// Spread says where in its bin a counted arrival is put.
type Spread uint8

const (
	Random Spread = iota // independent moments, each equally likely
	Even                 // at equal distances
)

// ParseSpread reads "random" or "even".
func ParseSpread(s string) (Spread, error) {
	switch s {
	case "random":
		return Random, nil
	case "even":
		return Even, nil
	}
	return 0, fmt.Errorf(`spread %q: must be "random" or "even"`, s)
}

// bin is the arrivals of one origin in one bin of a counted trace, given out in order without being held: the moments of
// n independent uniform arrivals, sorted, are made one from the other. With k of them left in what is left of the
// bin, the first of these leaves a share of it that is distributed as the k-th root of a uniform number.
type bin struct {
	origin *Origin
	left   int64 // arrivals not yet given out
	end    int64 // ns
	width  float64
	share  float64 // of the bin behind the last arrival; random only
	step   float64 // ns; even only
	random uint64
	at     int64 // the next arrival, where left > 0
}

// newBin has its random numbers from the seed, the caller and the bin alone: what else a trace holds changes nothing.
func newBin(o *Origin, from, width, n int64, spread Spread, seed uint64) bin {
	b := bin{origin: o, left: n, end: from + width, width: float64(width)}
	if n <= 0 {
		return b
	}
	if spread == Even {
		b.step = b.width / float64(n)
		b.at = from + int64(b.step/2)
		return b
	}
	b.share = 1
	b.random = seed ^ uint64(from)*0x9e3779b97f4a7c15
	b.random = b.bits()
	b.draw()
	return b
}

// next goes on to the next arrival, and says whether there is one.
func (b *bin) next() bool {
	if b.left--; b.left <= 0 {
		return false
	}
	if b.step > 0 {
		b.at = b.end - int64(math.Ceil((float64(b.left)-0.5)*b.step))
		return true
	}
	b.draw()
	return true
}

func (b *bin) draw() {
	u := (float64(b.bits()>>12) + 0.5) / (1 << 52) // inside of 0 and 1
	if b.left == 1 {
		b.share *= u
	} else {
		b.share *= math.Exp(math.Log(u) / float64(b.left))
	}
	b.at = b.end - 1 - int64(b.share*b.width)
	if from := b.end - int64(b.width); b.at < from {
		b.at = from
	}
}

// bits is splitmix64 (Steele, Lea and Flood, 2014).
func (b *bin) bits() uint64 {
	b.random += 0x9e3779b97f4a7c15
	z := b.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// seedOf is the seed of one caller's bins.
func seedOf(seed uint64, caller string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(caller))
	return h.Sum64() ^ seed*0xd1342543de82ef95
}
