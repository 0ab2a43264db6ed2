package main

import (
	"fmt"
	"io"
	"syscall"

	"tidegate/gateway/config"
)

// raiseFileLimit raises the soft limit of open files to the hard one. A request can hold two, its
// client's and its upstream's: where they do not fit, what fits is the bound, and that is said.
func raiseFileLimit(c *config.Config, warn io.Writer) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Fprintf(warn, "tidegate: cannot read the limit of open files: %v\n", err)
		return
	}
	if limit.Cur < limit.Max {
		limit.Cur = limit.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			fmt.Fprintf(warn, "tidegate: cannot raise the limit of open files: %v\n", err)
			_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
		}
	}
	if fits := int(limit.Cur / 2); limit.Cur < uint64(2*c.Server.MaxConnections) {
		fmt.Fprintf(warn, "tidegate: server.max_connections = %d needs %d open files, and the limit is %d: at most %d connections are taken; raise the limit (ulimit -n, LimitNOFILE)\n",
			c.Server.MaxConnections, 2*c.Server.MaxConnections, limit.Cur, fits)
		c.Server.MaxConnections = max(fits, 1)
	}
}
