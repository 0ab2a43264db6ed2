//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package config

import "io"

// LockState takes nothing: two processes in one directory write over one another's versions and overrides.
func LockState(string) (io.Closer, error) { return io.NopCloser(nil), nil }
