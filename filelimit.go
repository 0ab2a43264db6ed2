package main

import (
	"fmt"
	"io"
	"math"
	"syscall"

	"tidegate/gateway/config"
)

// raiseFileLimit raises the soft limit of open files to the hard one. A request can hold two, its
// client's and its upstream's: where they do not fit, what fits is the bound, and that is said. It returns
// how many connections fit, 0 if that is not known; a later configuration is held to it as well.
func raiseFileLimit(c *config.Config, warn io.Writer) (fits int) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Fprintf(warn, "tidegate: cannot read the limit of open files: %v\n", err)
		return 0
	}
	if limit.Cur < limit.Max {
		limit.Cur = limit.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			fmt.Fprintf(warn, "tidegate: cannot raise the limit of open files: %v\n", err)
			_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
		}
	}
	fits = max(int(min(limit.Cur/2, math.MaxInt32)), 1)
	if fits < c.Server.MaxConnections {
		fmt.Fprintf(warn, "tidegate: server.max_connections = %d needs %d open files, and the limit is %d: at most %d connections are taken; raise the limit (ulimit -n, LimitNOFILE)\n",
			c.Server.MaxConnections, 2*c.Server.MaxConnections, limit.Cur, fits)
	}
	return fits
}
