package upstream

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// slowGrace is how long a body may be slower than the least rate: connections start slowly.
const slowGrace = 5 * time.Second

// sendStream sends a body that is still coming in, and reads the head of the answer.
//
// A target may answer before it has read the body: with an error, and then nobody needs the rest; or
// because it works on the body as it comes, and then the rest must still be sent. So somebody listens
// meanwhile, and stops the sending for an answer of 300 and above.
func (k *call) sendStream(c *conn) error {
	c.readBy.Store(int64(far)) // the answer is due only once the body was sent
	w := wires.Get().(*wire)
	w.build(k.ctx, k.size, k.head, k.t.authority)
	_, err := c.Write(w.head)
	w.release()
	if err != nil {
		return k.lastWord(c, err)
	}
	e := &ear{c: c, ctx: k.ctx, heard: make(chan error, 1)}
	go e.listen()

	src := source{
		r: k.stream, ctx: k.ctx, e: e, started: now(),
		stall: k.f.opts.BodyStall, rate: k.f.opts.MinBodyRate,
	}
	err = pour(c, &src, k.size)
	switch {
	case err == nil && e.state.CompareAndSwap(pouring, sent):
		c.awaitBy(now().after(k.f.timeout))
		return <-e.heard
	case errors.Is(err, errBodySlow), errors.Is(err, errBodyEnd):
		c.interrupt()
		<-e.heard
		return err
	case err == nil || errors.Is(err, errHalted):
		c.partial = true
		return <-e.heard
	}
	// The target takes no more. Perhaps it has said why.
	c.partial = true
	c.awaitBy(now().after(min(lastWord, k.f.timeout)))
	if <-e.heard != nil {
		c.readErr = nil
		return err
	}
	return nil
}

// States of an ear.
const (
	pouring int32 = iota
	sent          // the whole body was sent first
	stopped       // the answer came first
)

// ear waits for the answer while the body is sent by another goroutine.
type ear struct {
	c     *conn
	ctx   *fasthttp.RequestCtx
	state atomic.Int32
	heard chan error // the one result of reading the answer's head
}

func (e *ear) listen() {
	err := readHead(e.c, &e.ctx.Response)
	if err != nil || e.ctx.Response.StatusCode() >= 300 {
		if e.state.CompareAndSwap(pouring, stopped) {
			e.c.halt()
			_ = e.ctx.SetReadDeadline(time.Unix(1, 0)) // a source may be waiting for the client
		}
	}
	e.heard <- err
}

// source is a client's request body with the bounds on how slowly it may come.
type source struct {
	r       io.Reader
	ctx     *fasthttp.RequestCtx
	e       *ear
	started instant
	n       int64
	stall   time.Duration
	rate    int64
}

func (s *source) Read(p []byte) (int, error) {
	by := now().after(s.stall)
	if s.rate > 0 {
		due := max(slowGrace, time.Duration(float64(s.n)/float64(s.rate)*float64(time.Second)))
		by = min(by, s.started.after(due))
	}
	_ = s.ctx.SetReadDeadline(by.wall())
	if s.e.state.Load() == stopped { // after arming: the ear's own deadline may have been overwritten
		return 0, errHalted
	}
	n, err := s.r.Read(p)
	s.n += int64(n)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case s.e.state.Load() == stopped:
		return n, errHalted
	case isTimeout(err):
		return n, fmt.Errorf("%w: %d bytes in %v", errBodySlow, s.n, time.Duration(now()-s.started).Round(time.Millisecond))
	}
	return n, fmt.Errorf("%w: %w", errBodyEnd, err)
}

// pour sends what src gives: size bytes, or chunks if size is below 0.
func pour(c *conn, src *source, size int) error {
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	if size < 0 {
		return pourChunks(c, src, b.room[:])
	}
	for left := int64(size); left > 0; {
		n, err := src.Read(b.room[:min(left, blockSize)])
		if n > 0 {
			left -= int64(n)
			c.writeBy = now().after(c.stall)
			if _, err := c.Write(b.room[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF && left > 0 {
			return fmt.Errorf("%w: %d of %d bytes are missing", errBodyEnd, left, size)
		}
		if err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}

// pourChunks sends each piece as a chunk of its own, in one write.
func pourChunks(c *conn, src *source, room []byte) error {
	const before, after = 8, 2 // room for the size in hex and CRLF, and for CRLF
	for {
		n, err := src.Read(room[before : len(room)-after])
		c.writeBy = now().after(c.stall)
		if n > 0 {
			var digits [before]byte
			head := append(strconv.AppendInt(digits[:0], int64(n), 16), '\r', '\n')
			from := before - len(head)
			copy(room[from:], head)
			copy(room[before+n:], "\r\n")
			if _, err := c.Write(room[from : before+n+after]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			_, err = c.Write([]byte("0\r\n\r\n"))
			return err
		}
		if err != nil {
			return err
		}
	}
}
