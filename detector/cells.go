package detector

import (
	"math"
	"math/bits"
)

const (
	cellSeconds = 0.1
	ringCells   = 64 // 6.4 s
	ringSeconds = ringCells * cellSeconds
	scales      = 6 // of 2, 4, 8 .. 64 cells: the lengths of what may be the beginning of a surge
)

// scaleCells is the length of a scale in cells.
func scaleCells(k int) int { return 2 << k }

// scaleSeconds is the same in seconds.
var scaleSeconds = [scales]float64{0.2, 0.4, 0.8, 1.6, 3.2, 6.4}

// cells is the recent past of a flow: arrivals by 100 ms, and their sums over the newest 2, 4, 8 .. 64 of them.
type cells struct {
	sums     [scales]uint32
	previous [scales]uint32
	window   uint32 // sum over the newest windowN
	windowN  uint8
	newest   uint8
	valid    uint8  // how many of the newest may be judged and learned: a gap or a surge makes the older ones void
	zeros    uint32 // how many of the newest were empty
	ticks    uint32 // cells since the last gap
	ring     [ringCells]uint16
}

// back is the cell that is n older than the newest, n below ringCells.
func (r *cells) back(n int) uint32 { return uint32(r.ring[(int(r.newest)-n)&(ringCells-1)]) }

// validScales is how many scales lie within the valid cells.
func (r *cells) validScales() int { return max(0, bits.Len8(r.valid)-1) }

// mostCounted is the most that a cell counts: 655,350 arrivals a second.
const mostCounted = math.MaxUint16

// push adds a cell, of at most mostCounted, and gives the one that falls out of the ring.
func (r *cells) push(c uint32) (oldest uint32) {
	// Each scale gains the new cell and loses its oldest. Written out, it takes half of the time.
	n, ring := r.newest, &r.ring
	r.sums[0] += c - uint32(ring[(n-1)%ringCells])
	r.sums[1] += c - uint32(ring[(n-3)%ringCells])
	r.sums[2] += c - uint32(ring[(n-7)%ringCells])
	r.sums[3] += c - uint32(ring[(n-15)%ringCells])
	r.sums[4] += c - uint32(ring[(n-31)%ringCells])
	r.sums[5] += c - uint32(ring[(n-63)%ringCells])
	if r.windowN > 0 {
		r.window += c - r.back(int(r.windowN)-1)
	}
	r.newest = (r.newest + 1) & (ringCells - 1)
	oldest = uint32(r.ring[r.newest])
	r.ring[r.newest] = uint16(c)
	r.ticks++
	if c == 0 {
		r.zeros++
	} else {
		r.zeros = 0
	}
	return oldest
}

// observe sets the length of the window, 1 to ringCells.
func (r *cells) observe(n uint8) {
	r.windowN, r.window = n, 0
	for i := range int(n) {
		r.window += r.back(i)
	}
}

// clear forgets all cells: what came before is of another time.
func (r *cells) clear() { *r = cells{windowN: r.windowN} }

// largest is the fullest of the newest n cells.
func (r *cells) largest(n int) (most uint32) {
	for i := range n {
		most = max(most, r.back(i))
	}
	return most
}
