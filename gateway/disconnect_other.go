//go:build !linux

package gateway

import "net"

// watchSocket says that sockets cannot be watched here: the connection is watched by reading ahead.
func watchSocket(net.Conn, *hangup) uint64 { return 0 }

func unwatchSocket(uint64) {}
