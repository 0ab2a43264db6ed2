//go:build !linux

package stage

// GoFirst does nothing on this system.
func GoFirst() {}

// GoAlong does nothing on this system.
func GoAlong() {}
