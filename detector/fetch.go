package detector

// Fetch reads a little of every part of the flow that a step needs and makes nothing of it. Called for some flows before
// they are stepped, it lets the processor fetch them from memory together.
func (f *Flow) Fetch() uint32 {
	c := &f.cells
	return uint32(f.last) + f.bounds[0] + uint32(f.hour.seen) + uint32(f.excursion.phase) + c.sums[0] +
		uint32(c.ring[0]) + uint32(c.ring[ringCells/2]) + uint32(f.score) + uint32(f.dispersion.fresh[scales-1].events)
}
