package console

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"
)

const (
	streamEvery = time.Second
	maxStreams  = 200
	// streamStall is how long one event may take to leave. Whoever reads more slowly is let go: the page
	// comes back by itself, and nobody else waits for it.
	streamStall = 5 * time.Second
)

// streams hands one snapshot a second to all who look. Each is encoded once, however many there are, and
// while nobody looks nothing runs. Safe for concurrent use.
type streams struct {
	frame func(now time.Time) []byte // an event, as it goes to everybody
	stays func(visitor) bool

	mu    sync.Mutex
	open  map[*stream]struct{}
	stop  chan struct{} // of the goroutine that runs while somebody looks
	last  []byte        // the newest event; immutable
	made  time.Time     // when it was
	ended bool          // no more of them
}

// stream is one who looks. It is the body of its answer, and written by its connection's own goroutine.
type stream struct {
	of       *streams
	who      visitor
	deadline func(time.Time) error
	next     chan []byte   // the newest event, if it was not written yet
	over     chan struct{} // closed by whoever takes the stream out of open
}

// enter lets somebody look, who finds the newest event waiting. Not ok: there are too many, or there will
// be no more.
func (s *streams) enter(who visitor, deadline func(time.Time) error) (st *stream, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.open) >= maxStreams {
		return nil, false
	}
	st = &stream{of: s, who: who, deadline: deadline, next: make(chan []byte, 1), over: make(chan struct{})}
	if now := time.Now(); s.last == nil || now.Sub(s.made) >= streamEvery {
		s.last, s.made = s.frame(now), now
	}
	st.next <- s.last
	if s.open == nil {
		s.open = map[*stream]struct{}{}
	}
	s.open[st] = struct{}{}
	if s.stop == nil {
		s.stop = make(chan struct{})
		go s.run(s.stop)
	}
	return st, true
}

func (s *streams) run(stop chan struct{}) {
	ticker := time.NewTicker(streamEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-ticker.C:
			s.endWithout(s.stays)
			made := s.frame(now)
			s.mu.Lock()
			if s.stop != stop { // everybody has left meanwhile
				s.mu.Unlock()
				return
			}
			s.last, s.made = made, now
			for st := range s.open {
				st.offer(made)
			}
			s.mu.Unlock()
		}
	}
}

// offer replaces an event that has not been written yet: only the newest is worth anything. It is called
// under the lock of streams, so nobody else puts one in.
func (st *stream) offer(event []byte) {
	select {
	case <-st.next:
	default:
	}
	st.next <- event
}

// endWithout ends the streams of those who may not look any more.
func (s *streams) endWithout(stays func(visitor) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.open {
		if !stays(st.who) {
			s.endLocked(st)
		}
	}
}

// end ends all streams, and lets nobody in any more.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for st := range s.open {
		s.endLocked(st)
	}
}

func (s *streams) endLocked(st *stream) {
	if _, open := s.open[st]; !open {
		return
	}
	delete(s.open, st)
	close(st.over)
	if len(s.open) == 0 {
		close(s.stop)
		s.stop, s.last = nil, nil
	}
}

// WriteTo writes event after event until the stream is ended, or its reader has left or is too slow.
func (st *stream) WriteTo(w io.Writer) (n int64, err error) {
	defer st.Close()
	for {
		select {
		case <-st.over:
			return n, nil
		case event := <-st.next:
			if err := st.deadline(time.Now().Add(streamStall)); err != nil {
				return n, err
			}
			wrote, err := w.Write(event)
			n += int64(wrote)
			if err != nil {
				return n, err
			}
		}
	}
}

// SupportsBodyWriteTo has the server call WriteTo, which sends an event as one chunk and at once.
func (*stream) SupportsBodyWriteTo() bool { return true }

var errNotRead = errors.New("a stream is written, and not read")

// Read is never called, and there because the server asks for a reader.
func (*stream) Read([]byte) (int, error) { return 0, errNotRead }

// Close ends the stream; also one of which nothing was written.
func (st *stream) Close() error {
	st.of.mu.Lock()
	defer st.of.mu.Unlock()
	st.of.endLocked(st)
	return nil
}

// event is the snapshot as an event. Where there is none a comment takes its place, which keeps the
// connection and shows a reader that somebody is there.
func (c *Console) event(now time.Time) (event []byte) {
	defer func() {
		if fault := recover(); fault != nil {
			c.options.Log.Error("console_failed", zap.String("path", streamPath), zap.Any("panic", fault))
			event = []byte(": the snapshot could not be made\n\n")
		}
	}()
	_, encoded, err := c.cache.current()
	switch {
	case errors.Is(err, errNoSnapshot):
		return []byte(": there is no snapshot yet\n\n")
	case err != nil:
		panic(err)
	}
	event = make([]byte, 0, len(encoded)+64)
	event = append(event, "id: "...)
	event = strconv.AppendInt(event, now.UnixMilli(), 10)
	event = append(event, "\nevent: snapshot\nretry: 1000\ndata: "...)
	event = append(event, encoded...) // ends a line, and has no other end of line in it
	return append(event, '\n')
}

const streamPath = "/api/v1/stream"

// stream answers with one snapshot a second, as server-sent events. Each is whole, so nothing has to be
// made up for whoever comes back: what its Last-Event-ID says does not matter.
func (c *Console) stream(ctx *fasthttp.RequestCtx, who visitor) error {
	if _, err := readParams(ctx); err != nil {
		return err
	}
	if !ctx.Request.Header.IsHTTP11() {
		return badRequest("A stream needs HTTP/1.1; of a proxy in between too (nginx: proxy_http_version 1.1).")
	}
	h := &ctx.Response.Header
	h.SetContentType("text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	if ctx.IsHead() {
		return nil
	}
	st, ok := c.streams.enter(who, ctx.SetWriteDeadline)
	if !ok {
		h.Set("Retry-After", "5")
		return newProblem(503, "too_many_streams", "Too many look at once", fmt.Sprintf("At most %d streams are open at one time.", maxStreams))
	}
	noticeDeath(ctx.Conn())
	ctx.Response.ImmediateHeaderFlush = true
	ctx.Response.SetBodyStream(st, -1)
	return nil
}
