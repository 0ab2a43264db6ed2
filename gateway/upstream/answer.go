package upstream

import (
	"bufio"
	"bytes"
	"io"

	"github.com/valyala/fasthttp"
)

// inlineMax is the longest answer that is given to the server as a whole. It fits the send buffer of
// any socket, so a slow reader does not hold up the server's write.
const inlineMax = 16 << 10

// answerHopByHop end at this hop in an answer. Transfer-Encoding is not among them: fasthttp writes
// the one that fits the body.
var answerHopByHop = [][]byte{
	[]byte("Keep-Alive"), []byte("Proxy-Connection"), []byte("Trailer"), []byte("Upgrade"), []byte("Proxy-Authenticate"),
	[]byte("Alt-Svc"),
}

var (
	hConnection = []byte("Connection") // as fasthttp normalises it
	eventStream = []byte("text/event-stream")
	http11      = []byte("HTTP/1.1")
)

// answer takes an answer whose head was read on c.
func (k *call) answer(c *conn) (Result, bool) {
	resp := &k.ctx.Response
	h := &resp.Header
	keep := !c.partial && !h.ConnectionClose()
	length, status := h.ContentLength(), resp.StatusCode()
	scrubAnswer(h)
	if c.partial && k.stream != nil {
		h.SetConnectionClose() // the rest of the body is still coming in
	}
	res := Result{Status: status, Target: k.t.url}
	events := bytes.HasPrefix(h.ContentType(), eventStream)

	switch {
	case k.ctx.IsHead() || status == fasthttp.StatusNoContent || status == fasthttp.StatusNotModified:
		// Bodies that should not be here are a common fault, and what they say may be a caller's own words:
		// nobody may be given them for an answer.
		c.unsure = true
		if length == -1 {
			h.Del(fasthttp.HeaderTransferEncoding)
		}
		return k.inline(c, keep, res)
	case length == 0:
		return k.inline(c, keep, res)
	case length > 0 && length <= inlineMax && !events:
		if err := resp.ReadBody(c.br, 0); err != nil {
			return k.broken(c, err)
		}
		return k.inline(c, keep, res)
	case length == -1:
		here, _ := c.br.Peek(c.br.Buffered())
		if size, ok := wholeChunks(here, nil); ok {
			wholeChunks(here, resp.AppendBody)
			_, _ = c.br.Discard(size)
			return k.inline(c, keep, res)
		}
	}

	s := newStream(k, c, keep, length, res)
	size := max(length, -1)
	switch {
	case length > 0 && length <= k.f.opts.AnswerBuffer && !events, length < 0 && !k.http11:
		if err := s.hold(); err != nil {
			s.discard()
			return k.broken(c, err)
		}
		size = s.held
	case events:
		size = -1 // each piece is flushed only in chunks
		fallthrough
	default:
		resp.ImmediateHeaderFlush = c.br.Buffered() == 0
		go s.pump()
	}
	resp.SetBodyStream(s, size)
	return res, true
}

// inline ends an exchange whose answer is whole.
func (k *call) inline(c *conn, keep bool, res Result) (Result, bool) {
	res.Bytes = int64(len(k.ctx.Response.Body()))
	k.t.leave(c, keep)
	k.x.SeatDone(res)
	k.x.Finished(res)
	return res, true
}

// broken ends an exchange whose answer broke off before any of it was passed on.
func (k *call) broken(c *conn, err error) (Result, bool) {
	res := c.verdict(err)
	res.Status = k.ctx.Response.StatusCode()
	k.t.leave(c, false)
	k.t.works(false)
	k.f.failed(k.t, res.Reason)
	return k.fail(res), false
}

// leave ends a request at t. A connection on which more came than the answer is not kept: what the
// next request would be given is not its answer.
func (t *target) leave(c *conn, keep bool) {
	if keep && c.br.Buffered() == 0 {
		t.put(c)
	} else {
		c.close()
	}
	t.inFlight.Add(-1)
}

func scrubAnswer(h *fasthttp.ResponseHeader) {
	if len(h.PeekCanonical(hConnection)) > 0 {
		for _, v := range h.PeekAll("Connection") {
			dropNamed(v, h.DelBytes)
		}
		h.DelBytes(hConnection)
	}
	h.ResetConnectionClose()
	for _, name := range answerHopByHop {
		if len(h.PeekCanonical(name)) > 0 {
			h.DelBytes(name)
		}
	}
	if !h.IsHTTP11() {
		h.SetProtocol(http11)
	}
	h.SetNoDefaultContentType(true)
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

// blank takes out what a target's answer left in resp. Reset would also take out what the server has
// set: that no default headers are to be written. Reading an empty header does not.
func blank(resp *fasthttp.Response) {
	resp.ResetBody()
	_ = resp.Header.Read(bufio.NewReaderSize(nothing{}, 16))
	resp.ImmediateHeaderFlush = false
}
