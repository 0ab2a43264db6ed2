package console

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deadAfter is how long what was sent may stay unacknowledged. Without a bound the system goes on sending
// for a quarter of an hour, and small events fit into its buffers for as long.
const deadAfter = 10 * time.Second

// noticeDeath has the system close a connection whose other end is not there any more. It is of use only:
// where it cannot be had the stream ends when the buffers are full.
func noticeDeath(conn net.Conn) {
	with, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := with.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds()))
	})
}
