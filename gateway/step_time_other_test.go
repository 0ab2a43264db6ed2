//go:build !linux

package gateway

import "time"

var began = time.Now()

// threadTime is the time that passes: what a thread has spent is not known here.
func threadTime() time.Duration { return time.Since(began) }
