//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package record

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the file for this process, or fails at once.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
