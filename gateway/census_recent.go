package gateway

import (
	"math"
	"sync/atomic"
)

const (
	recentSeconds = 60
	// recentSlots is a power of two above recentSeconds: whoever reads what a census shows has the seconds between to do so
	// before its oldest value is written over.
	recentSlots = 64
	// steadiness is what of a caller's steady rate the newest second makes up.
	steadiness = 0.2
)

// recentRates are a caller's rates at the last censuses, by the census's number. One goroutine writes; safe to be read by
// others.
type recentRates struct {
	rates  [recentSlots]atomic.Uint32 // bits of float32, requests a second
	quiet  int                        // seconds without any, of who writes
	steady float64                    // of who writes
}

func (r *recentRates) add(seq uint64, rate float64) {
	r.rates[seq%recentSlots].Store(math.Float32bits(float32(rate)))
	r.steady += (rate - r.steady) * steadiness
	if r.quiet++; rate > 0 {
		r.quiet = 0
	}
}

// upTo is the rates up to the census of number seq, oldest first: of a minute, or since the first census. nil has had
// nothing.
func (r *recentRates) upTo(seq uint64) []float64 {
	n := min(seq, recentSeconds)
	rates := make([]float64, n)
	if r == nil {
		return rates
	}
	for i := range rates {
		rates[i] = round(float64(math.Float32frombits(r.rates[(seq-n+1+uint64(i))%recentSlots].Load())))
	}
	return rates
}
