package upstream

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// blockSize is how much of a body is read and written at a time.
const blockSize = 32 << 10

// block is a piece of a body: room[from:to] is filled and not yet written.
type block struct {
	from, to int
	room     [blockSize]byte
}

var blocks = sync.Pool{New: func() any { return new(block) }}

var errClosed = errors.New("the answer's stream is closed")

// stream is the body of an answer that is longer than inline. The server reads it, in WriteTo, while
// the rest may still be coming in.
//
// Two goroutines share it: pump, which belongs to the target's side and owns the connection, and the
// server's, which is in WriteTo and then CloseWithError. A block is filled by the one and written by
// the other without the lock: the lock guards the bounds, from and to, and they use different parts.
type stream struct {
	f          *fleet
	ctx        *fasthttp.RequestCtx
	x          Exchange
	t          *target
	c          *conn
	body       body
	keep       bool // the connection may serve another request when the body has ended
	limit      int
	writeStall time.Duration

	mu      sync.Mutex
	changed sync.Cond
	queue   []*block
	held    int    // bytes in queue
	err     error  // why nothing more comes: io.EOF after the last byte
	closed  bool   // the server wants no more
	ended   bool   // SeatDone has been told
	fault   Result // of the upstream, if it broke off
	res     Result

	// The server's goroutine only.
	written int64
	drained bool // everything was written, to the end
	done    bool
}

func newStream(k *call, c *conn, keep bool, length int, res Result) *stream {
	s := &stream{
		f: k.f, ctx: k.ctx, x: k.x, t: k.t, c: c, keep: keep, res: res,
		limit: k.f.opts.AnswerBuffer, writeStall: k.f.opts.WriteStall,
		body: body{br: c.br},
	}
	s.changed.L = &s.mu
	switch {
	case length >= 0:
		s.body.left = int64(length)
	case length == -1:
		s.body.kind = byChunks
	default:
		s.body.kind = byClose
	}
	return s
}

// hold reads the whole body, in the caller's goroutine, and tells SeatDone. On an error nothing has
// been told and the connection is still the caller's.
func (s *stream) hold() error {
	for {
		p := s.room()
		if len(p) == 0 {
			return errTooLong
		}
		n, err := s.body.Read(p)
		s.filled(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	s.err = io.EOF
	s.t.leave(s.c, s.keep)
	s.res.Bytes = int64(s.held)
	s.x.SeatDone(s.res)
	s.ended = true
	return nil
}

// discard gives the blocks back.
func (s *stream) discard() {
	for _, b := range s.queue {
		b.release()
	}
	s.queue, s.held = nil, 0
}

func (b *block) release() {
	b.from, b.to = 0, 0
	blocks.Put(b)
}

// pump reads the body until it ends or the server wants no more, and tells SeatDone.
func (s *stream) pump() {
	var n int64
	var err error
	for err == nil {
		p := s.await()
		if p == nil {
			err = errClosed
			break
		}
		var got int
		got, err = s.body.Read(p)
		n += int64(got)
		s.mu.Lock()
		s.filled(got)
		s.changed.Broadcast()
		s.mu.Unlock()
	}

	res := s.res
	s.mu.Lock()
	s.err = err
	closed := s.closed
	if err != io.EOF && !closed {
		s.fault = s.c.verdict(err)
		s.fault.Status, s.fault.Target = res.Status, res.Target
		res = s.fault
	} else if err != io.EOF {
		res.Outcome, res.Err = Gone, errClosed
	}
	s.mu.Unlock()

	s.t.leave(s.c, s.keep && err == io.EOF && !closed)
	if res.Outcome == UpstreamError || res.Outcome == UpstreamTimeout {
		s.t.works(false)
		s.f.failed(s.t, res.Reason)
	}
	res.Bytes = n
	s.x.SeatDone(res)

	s.mu.Lock()
	s.ended = true
	s.changed.Broadcast()
	s.mu.Unlock()
}

// await gives room to read into, once there is some, or nil when the server wants no more.
func (s *stream) await() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held >= s.limit && !s.closed {
		s.changed.Wait()
	}
	if s.closed {
		return nil
	}
	return s.room()
}

// room gives the free part of the last block, within the limit. In hold it is used without the lock:
// nobody else knows the stream yet.
func (s *stream) room() []byte {
	free := min(blockSize, s.limit-s.held)
	if free <= 0 {
		return nil
	}
	if n := len(s.queue); n == 0 || s.queue[n-1].to == blockSize {
		s.queue = append(s.queue, blocks.Get().(*block))
	}
	b := s.queue[len(s.queue)-1]
	return b.room[b.to:min(blockSize, b.to+free)]
}

// filled takes n more bytes into the last block.
func (s *stream) filled(n int) {
	if n > 0 {
		s.queue[len(s.queue)-1].to += n
		s.held += n
	}
}

// next gives what can be written now, and waits if there is nothing yet. The error is io.EOF after
// the last byte.
func (s *stream) next() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held == 0 {
		if s.err == io.EOF {
			s.drained = true
			return nil, io.EOF
		}
		if s.err != nil || s.closed {
			return nil, io.ErrUnexpectedEOF
		}
		s.changed.Wait()
	}
	b := s.queue[0]
	return b.room[b.from:b.to], nil
}

// taken says that n bytes of what next gave are written.
func (s *stream) taken(n int) {
	s.mu.Lock()
	b := s.queue[0]
	b.from += n
	s.held -= n
	if b.from == blockSize {
		s.queue = append(s.queue[:0], s.queue[1:]...)
		b.release()
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	s.written += int64(n)
}

// WriteTo writes the body as it comes. Between two writes at most the write stall may pass; there is
// no bound on the whole. An error of the target becomes an error here, so that the server does not
// end the answer as if it were whole.
func (s *stream) WriteTo(w io.Writer) (int64, error) {
	for {
		p, err := s.next()
		if err == io.EOF {
			return s.written, nil
		}
		if err != nil {
			return s.written, err
		}
		_ = s.ctx.SetWriteDeadline(time.Now().Add(s.writeStall))
		n, err := w.Write(p)
		s.taken(n)
		if err != nil {
			return s.written, err
		}
	}
}

// SupportsBodyWriteTo tells fasthttp that WriteTo gives the same bytes as Read.
func (s *stream) SupportsBodyWriteTo() bool { return true }

// Read is for readers other than the server.
func (s *stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	q, err := s.next()
	if err != nil {
		return 0, err
	}
	n := copy(p, q)
	s.taken(n)
	return n, nil
}

// CloseWithError is called by the server when it has written the body, or will not: err is what
// ended the writing. If the target is still at work its connection is closed, and it is waited for,
// which is short. Then the exchange is finished.
func (s *stream) CloseWithError(err error) error {
	if s.done {
		return nil
	}
	s.done = true

	s.mu.Lock()
	s.closed = true
	working := s.err == nil
	s.changed.Broadcast()
	s.mu.Unlock()
	if working {
		s.c.interrupt()
	}
	s.mu.Lock()
	for !s.ended {
		s.changed.Wait()
	}
	res := s.res
	switch {
	case s.fault.Outcome != Served:
		res = s.fault
	case err != nil || !s.drained:
		res.Outcome, res.Err = Gone, err
	}
	s.mu.Unlock()
	s.discard()
	res.Bytes = s.written
	s.x.Finished(res)
	return nil
}
