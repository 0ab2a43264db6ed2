package gateway

import "sync/atomic"

// gate lets a bounded number pass in each second, and counts the rest. It is one word: the second
// above, how many asked in it below, 32 bits each; so a new second needs no lock, and no request waits
// for another. Who asks for a second that is over is counted in the present one.
//
// The zero value is ready. Safe for concurrent use.
type gate struct{ state atomic.Uint64 }

// pass says whether the asker is among the first bound in its second. The first of a new second
// also learns how many were kept out since it was last told.
func (g *gate) pass(bound, second int64) (ok bool, missed int64) {
	for {
		old := g.state.Load()
		if second <= int64(old>>32) {
			return int64(uint32(g.state.Add(1))) <= bound, 0
		}
		if g.state.CompareAndSwap(old, uint64(second)<<32|1) {
			return bound > 0, over(old, bound)
		}
	}
}

// settle tells how many were kept out in a second that is over, once.
func (g *gate) settle(bound, second int64) (missed int64) {
	old := g.state.Load()
	if second <= int64(old>>32) || !g.state.CompareAndSwap(old, uint64(second)<<32) {
		return 0
	}
	return over(old, bound)
}

func over(state uint64, bound int64) int64 { return max(0, int64(uint32(state))-bound) }
