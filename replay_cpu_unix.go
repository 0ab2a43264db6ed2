//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is how long the process has had a core, all its threads together; 0: it is not known.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
