package gateway

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// edgeListener wraps accepted connections, bounds their number, and outlives the shortages that a
// busy machine has: a server that stops accepting because descriptors ran out for a moment stays stopped.
type edgeListener struct {
	net.Listener
	edge *edge
}

// Accept returns the next connection, or the listener's error when it was closed.
func (l *edgeListener) Accept() (net.Conn, error) {
	pause := time.Duration(0)
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			if !passing(err) {
				return nil, err
			}
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			time.Sleep(pause)
			continue
		}
		pause = 0
		if l.edge.open.Add(1) > l.edge.limits.Load().maxConnections {
			l.edge.turnAway(inner)
			l.edge.connClosed()
			continue
		}
		return &clientConn{Conn: inner, edge: l.edge, peer: peerAddress(inner)}, nil
	}
}

// passing says that accepting may work again in a moment.
func passing(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return isTimeout(err)
}

// turnAway answers a connection too many without having read its request. It never blocks for long: the
// answer fits the empty send buffer of a new connection.
func (e *edge) turnAway(c net.Conn) {
	id := string(e.ids.append(nil))
	r := Refusal{
		Code: CodeQueueFull, RequestID: id,
		Detail: "The gateway has as many connections open as it may. Close idle ones, and come back after Retry-After.",
	}
	body := r.appendProblem(nil, english, true)
	answer := append([]byte("HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Type: "+problemType+
		"\r\nContent-Language: en\r\nRetry-After: 1\r\n"+headerRequestID+": "+id+"\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"), body...)
	_ = c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	_, _ = c.Write(answer)
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // so that the answer is not lost when unread bytes reset the connection
	}
	_ = c.Close()
	if e.turnedAway != nil {
		e.turnedAway(id, peerAddress(c))
	}
}

func peerAddress(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
