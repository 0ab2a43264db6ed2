package gateway

import (
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketWatcher asks the kernel, by one epoll instance of its own, which of the watched sockets were
// closed by their peers. The only event asked for is the peer's end of writing (errors and resets
// come unasked), so arriving bytes wake nobody, and an end behind unread bytes is seen as well.
//
// A socket stays registered until it is closed, when the kernel drops it. Tickets are never used twice:
// an event that was already under way when its socket was closed, and its number perhaps given
// to another, finds no ticket and is ignored.
type socketWatcher struct {
	epoll syscall.RawConn
	file  *os.File // keeps the descriptor open

	mu      sync.Mutex
	last    uint64
	watched map[uint64]*hangup
}

var sockets = sync.OnceValue(newSocketWatcher)

// newSocketWatcher returns nil if the kernel has no epoll instance to give.
func newSocketWatcher() *socketWatcher {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	// An epoll descriptor can itself be polled: the goroutine parks as for any socket, and takes no thread.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil
	}
	w := &socketWatcher{file: os.NewFile(uintptr(fd), "hangups"), watched: map[uint64]*hangup{}}
	if w.epoll, err = w.file.SyscallConn(); err != nil {
		w.file.Close()
		return nil
	}
	go w.run()
	return w
}

func (w *socketWatcher) run() {
	var events [128]unix.EpollEvent
	_ = w.epoll.Read(func(fd uintptr) bool {
		for {
			n, err := unix.EpollWait(int(fd), events[:], 0)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 {
				return false // wait for readiness
			}
			for _, e := range events[:n] {
				w.report(uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32)
			}
		}
	})
}

func (w *socketWatcher) report(ticket uint64) {
	w.mu.Lock()
	h := w.watched[ticket]
	delete(w.watched, ticket)
	w.mu.Unlock()
	if h != nil {
		h.report()
	}
}

// watchSocket registers the socket of c and returns its ticket; 0 if it has no socket that can be watched.
func watchSocket(c net.Conn, h *hangup) uint64 {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0
	}
	w := sockets()
	if w == nil {
		return 0
	}
	w.mu.Lock()
	w.last++
	ticket := w.last
	w.watched[ticket] = h
	w.mu.Unlock()

	event := unix.EpollEvent{
		Events: unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     int32(uint32(ticket)),
		Pad:    int32(uint32(ticket >> 32)),
	}
	failed := error(nil)
	if err := raw.Control(func(fd uintptr) {
		failed = w.control(unix.EPOLL_CTL_ADD, int(fd), &event)
	}); err != nil || failed != nil {
		unwatchSocket(ticket)
		return 0
	}
	return ticket
}

func (w *socketWatcher) control(op, fd int, event *unix.EpollEvent) error {
	var result error
	if err := w.epoll.Control(func(epoll uintptr) {
		result = unix.EpollCtl(int(epoll), op, fd, event)
	}); err != nil {
		return err
	}
	return result
}

func unwatchSocket(ticket uint64) {
	w := sockets()
	w.mu.Lock()
	delete(w.watched, ticket)
	w.mu.Unlock()
}
