package gateway

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func watchedSockets() int {
	w := sockets()
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.watched)
}

// dropSocket takes a connection's socket out of the watch without closing it.
func dropSocket(c *clientConn) {
	c.hangup.forget()
	raw, err := c.Conn.(syscall.Conn).SyscallConn()
	if err != nil {
		panic(err)
	}
	_ = raw.Control(func(fd uintptr) { _ = sockets().control(unix.EPOLL_CTL_DEL, int(fd), nil) })
}
