package pools

import "slices"

// Clone is a meter that has paid what this one has, and goes its own way from now on. Copying the value would leave
// both with one window.
func (m *Meter) Clone() Meter {
	c := *m
	c.window.ring = slices.Clone(m.window.ring)
	return c
}
