package gateway

import (
	"syscall"
	"time"
)

// threadTime is the processor time that the calling thread has spent.
func threadTime() time.Duration {
	const thread = 1
	var u syscall.Rusage
	if syscall.Getrusage(thread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
