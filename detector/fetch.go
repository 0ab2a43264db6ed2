package detector

// Fetch reads a little of every part of the flow that a step needs and makes nothing of it. Called for some flows before
// they are stepped, it lets the processor fetch them from memory together.
func (f *Flow) Fetch() uint32 {
	c, p := &f.cells, &f.dispersion
	return uint32(f.last) + uint32(f.excursion.phase) + f.bounds[0] + uint32(f.level.seconds) +
		uint32(c.ring[0]) + uint32(c.ring[ringCells/2]) + c.sums[0] + c.ticks + uint32(p.fresh[0].events) + uint32(f.hour.seen)
}
