package detector

// Fetch reads a little of every part of the flow that a step needs and does nothing with it. Called for some flows
// before they are stepped, it lets the processor fetch them from memory together.
func (f *Flow) Fetch() uint32 {
	const line = 64 / 4
	sum := uint32(f.last)
	for i := 0; i < ringCells; i += line {
		sum += f.cells.ring[i]
	}
	p := &f.dispersion
	sum += f.cells.sums[0] + f.cells.ticks + uint32(p.held[0].events) + uint32(p.fresh[0].events) + uint32(p.fresh[5].events)
	return sum + uint32(p.variance[1]) + uint32(f.level.short) + uint32(f.tide.perSec) + uint32(f.tide.reached[4]) + uint32(f.stale) + uint32(f.state)
}
