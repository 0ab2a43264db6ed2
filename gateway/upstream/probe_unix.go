//go:build unix

package upstream

import (
	"net"
	"syscall"
)

// probe looks at a socket without reading from it or waiting.
type probe struct {
	raw  syscall.RawConn
	look func(fd uintptr)
	open bool
}

func newProbe(nc net.Conn) *probe {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	p := &probe{raw: raw}
	var one [1]byte
	p.look = func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		// The socket does not block: nothing to read and no end is what an idle connection has.
		p.open = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR
	}
	return p
}

func (p *probe) alive() bool {
	p.open = false
	// Control and not Read: an armed read deadline of the last request may have passed, and is no sign
	// of death.
	if err := p.raw.Control(p.look); err != nil {
		return false
	}
	return p.open
}
