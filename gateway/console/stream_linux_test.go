package console

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// noting is a listener that remembers whom it let in.
type noting struct {
	net.Listener
	accepted chan net.Conn
}

func (n noting) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err == nil {
		n.accepted <- conn
	}
	return conn, err
}

// A stream whose reader's machine is gone is ended by the system, as it was asked to.
func TestADeadConnectionIsNoticed(t *testing.T) {
	d := newDesk("127.0.0.1:0")
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := noting{inner, make(chan net.Conn, 1)}
	served := make(chan error, 1)
	go func() { served <- d.Serve(ln) }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l := newLine(conn)
	if _, err := l.watch(t).next(); err != nil {
		t.Fatal(err)
	}
	raw, err := (<-ln.accepted).(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		if err != nil || got != int(deadAfter.Milliseconds()) {
			t.Errorf("TCP_USER_TIMEOUT is %d ms, %v", got, err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := d.Shutdown(); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}
