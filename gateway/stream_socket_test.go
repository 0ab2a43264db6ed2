package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// pieces is an upstream whose answer to /v1/chat/stream comes in the pieces that a test sends, each in a packet
// of its own.
type pieces struct {
	next   chan string
	length int        // of the whole answer; -1: it comes in chunks
	ended  chan error // what ended its writing: nil, or that nobody reads any more
}

func newPieces(length int) *pieces {
	return &pieces{next: make(chan string), length: length, ended: make(chan error, 1)}
}

const breakOff = "\x00" // the upstream closes its connection in the middle of the answer

func (p *pieces) handle(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/v1/chat/stream" {
		ctx.SetBodyString("done")
		return
	}
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(c net.Conn) { p.ended <- p.write(c) })
}

func (p *pieces) write(c net.Conn) error {
	head, last := "Transfer-Encoding: chunked", "0\r\n\r\n"
	framed := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
	if p.length >= 0 {
		head, last = fmt.Sprintf("Content-Length: %d", p.length), ""
		framed = func(s string) string { return s }
	}
	if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head+"\r\n\r\n"); err != nil {
		return err
	}
	for s := range p.next {
		if s == breakOff {
			return nil
		}
		if _, err := io.WriteString(c, framed(s)); err != nil {
			return err
		}
	}
	_, err := io.WriteString(c, last)
	return err
}

// A handler has returned before the first byte of a streamed answer is written, so whoever has read one knows
// that no handler holds the seat.
func TestAStreamOfSocketsIsInFlightUntilItsLastByteOrItsEnd(t *testing.T) {
	const steps = 5
	const tick = "data: tick\n\n"
	large := strings.Repeat("x", 64<<10) // of an answer of known length, less is not passed on at once
	for _, tc := range []struct {
		name   string
		piece  string
		length int
		end    func(t *testing.T, p *pieces, c *visitor, body *bufio.Reader)
		as     outcome
	}{
		{"the upstream ends it", tick, -1, func(t *testing.T, p *pieces, _ *visitor, body *bufio.Reader) {
			close(p.next)
			if rest, err := io.ReadAll(body); len(rest) > 0 || err != nil {
				t.Errorf("after the last byte: %q, %v", rest, err)
			}
		}, outcomeServed},
		{"its length was said, and is reached", large, (steps + 1) * len(large), func(t *testing.T, p *pieces, _ *visitor, body *bufio.Reader) {
			p.next <- large
			close(p.next)
			if rest, err := io.ReadAll(body); len(rest) != len(large)+4<<10 || err != nil {
				t.Errorf("the rest is %d bytes, %v", len(rest), err)
			}
		}, outcomeServed},
		{"the upstream breaks off", tick, -1, func(t *testing.T, p *pieces, _ *visitor, body *bufio.Reader) {
			p.next <- breakOff
			if rest, err := io.ReadAll(body); len(rest) > 0 || err == nil {
				t.Errorf("half an answer reads as a whole one: %q more", rest)
			}
		}, outcomeUpstreamError},
		{"the client closes", tick, -1, func(t *testing.T, p *pieces, c *visitor, _ *bufio.Reader) {
			_ = c.conn.Close()
			p.untilNobodyReads(t, tick)
		}, outcomeGone},
		{"the client resets", tick, -1, func(t *testing.T, p *pieces, c *visitor, _ *bufio.Reader) {
			if err := c.conn.(*net.TCPConn).SetLinger(0); err != nil {
				t.Error(err)
			}
			_ = c.conn.Close()
			p.untilNobodyReads(t, tick)
		}, outcomeGone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPieces(tc.length)
			w := newSocketWorld(t, basic, p.handle)
			c := w.client()
			defer c.conn.Close()
			c.send("GET /v1/chat/stream", "X-API-Key: vip", "Accept: text/event-stream")
			p.next <- tc.piece
			resp, err := http.ReadResponse(c.br, nil)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%v %v", resp, err)
			}
			body := bufio.NewReader(resp.Body)
			n := len(tc.piece) // of the first, where the last bytes of what was sent may come with what follows
			if tc.length >= 0 {
				n -= 4 << 10
			}
			for i := range steps {
				if i > 0 {
					p.next <- tc.piece
					n = len(tc.piece)
				}
				got := make([]byte, n)
				if _, err := io.ReadFull(body, got); err != nil || string(got) != tc.piece[:n] {
					t.Fatalf("piece %d: %q, %v", i, got, err)
				}
				if n := w.inUse("vip"); n != 1 {
					t.Errorf("piece %d: %d in use, want 1", i, n)
				}
				// The only seat of the pool: nobody else can have it.
				if a := w.do("GET /v1/chat/x", "X-API-Key: vip", "X-Max-Wait: 0"); a.code() != "wait_too_long" {
					t.Errorf("piece %d: %d %s, though the seat is taken", i, a.status, a.body)
				}
			}
			if n := w.g.active.Load(); n != 1 {
				t.Errorf("%d requests are under way", n)
			}
			tc.end(t, p, c, body)
			w.idle()
			if n := w.ends(tc.as); n != 1 {
				t.Errorf("%d ended as %s, want 1; all: %s", n, tc.as, w.log.lines("access"))
			}
			if a := w.do("GET /v1/chat/x", "X-API-Key: vip"); a.status != 200 || a.header.Get("Server-Timing") != "" {
				t.Errorf("afterwards: %d %s, waited %q", a.status, a.body, a.header.Get("Server-Timing"))
			}
			w.idle()
		})
	}
}

// untilNobodyReads sends pieces until the gateway has closed the connection.
func (p *pieces) untilNobodyReads(t *testing.T, piece string) {
	for bound := time.After(socketBound); ; {
		select {
		case p.next <- piece:
		case err := <-p.ended:
			if err == nil {
				t.Error("the stream came to its end")
			}
			return
		case <-bound:
			t.Fatal("the gateway reads on for a client that has left")
		}
	}
}

// endless is an upstream that never runs out, at /v1/chat/endless; elsewhere it answers at once.
type endless struct{ sent atomic.Int64 }

func (e *endless) handle(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/v1/chat/endless" {
		ctx.SetBodyString("done")
		return
	}
	block := bytes.Repeat([]byte("x"), 16<<10)
	ctx.SetBodyStream(readerOf(func(b []byte) (int, error) {
		n := copy(b, block)
		e.sent.Add(int64(n))
		return n, nil
	}), -1)
}

type readerOf func([]byte) (int, error)

func (r readerOf) Read(b []byte) (int, error) { return r(b) }

// stall begins to read an answer without end, and then does not go on.
func (w *socketWorld) stall(key string) *visitor {
	w.t.Helper()
	c := w.client()
	c.takeLittle()
	c.send("GET /v1/chat/endless", "X-API-Key: "+key)
	if _, err := c.br.Peek(1000); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// takeLittle has the system hold little of what the client does not read, hurry much.
func (c *visitor) takeLittle() { c.room(4 << 10) }
func (c *visitor) hurry()      { c.room(4 << 20) }

func (c *visitor) room(bytes int) {
	if err := c.conn.(*net.TCPConn).SetReadBuffer(bytes); err != nil {
		c.w.t.Error(err)
	}
}

func TestAReaderThatStallsIsEndedAndCostsNobodyElseAWait(t *testing.T) {
	up := &endless{}
	w := newSocketWorld(t, "[server]\nwrite_stall_timeout = \"600ms\"\nanswer_buffer = \"32KiB\"\n"+changed(t, basic,
		`rate = "100/s"`, `rate = "1000000/s"`, `max_wait = "2s"`, `max_wait = "30s"`, "seats = 2", "seats = 2\nlong_ceiling = 1.0"), up.handle)
	one := w.stall("ann")
	defer one.conn.Close()

	// While it stalls, the other seat and the other pool serve without a wait.
	served := 0
	for w.inUse("shared") > 0 {
		for _, key := range []string{"bob", "vip"} {
			a := w.do("GET /v1/chat/x", "X-API-Key: "+key)
			if a.status != 200 || a.header.Get("Server-Timing") != "" {
				t.Fatalf("%s beside a reader that stalls: %d, waited %q", key, a.status, a.header.Get("Server-Timing"))
			}
			served++
		}
		if served > 1_000_000 {
			t.Fatal("it is never ended")
		}
	}
	t.Logf("%d were served meanwhile", served)
	if n := w.ends(outcomeGone); n > 1 {
		t.Errorf("%d gone", n)
	}
	w.idle()
	if n := w.ends(outcomeGone); n != 1 {
		t.Errorf("%d gone, want the one that stalled", n)
	}
	until(t, "its connection to be closed", func() bool { return w.g.edge.connections() == 0 })

	// Both seats stall: who waits for one gets it as soon as one of them is ended, and the other pool is not
	// touched.
	before := w.ends(outcomeGone)
	stalled := []*visitor{w.stall("ann"), w.stall("ann")}
	defer stalled[0].conn.Close()
	defer stalled[1].conn.Close()
	answers := make(chan reply, 3)
	for range 3 {
		go func() { answers <- w.do("GET /v1/chat/x", "X-API-Key: bob") }()
	}
	until(t, "three to wait", func() bool { return w.snapshot().Pools[0].Waiting == 3 || w.ends(outcomeGone) > before })
	if a := w.do("GET /v1/chat/x", "X-API-Key: vip"); a.status != 200 || a.header.Get("Server-Timing") != "" {
		t.Errorf("the other pool: %d, waited %q", a.status, a.header.Get("Server-Timing"))
	}
	for range 3 {
		if a := <-answers; a.status != 200 {
			t.Errorf("who waited: %d %s", a.status, a.body)
		}
	}
	w.idle()
	if n := w.ends(outcomeGone); n != before+2 {
		t.Errorf("%d gone, want %d", n, before+2)
	}
	// The upstream was held back as well: what the gateway holds of an answer is bounded.
	if n := up.sent.Load(); n > 100<<20 {
		t.Errorf("%d bytes were taken from the upstream for readers that did not read", n)
	}
}

func TestASlowReaderOfAnAnswerThatIsHeldCostsNoSeat(t *testing.T) {
	const length = 12 << 20 // more than what the system's own buffers take
	w := newSocketWorld(t, "[server]\nanswer_buffer = \"16MiB\"\n"+basic, func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) != "/v1/chat/large" {
			return
		}
		ctx.SetBody(bytes.Repeat([]byte("x"), length))
	})
	c := w.client()
	defer c.conn.Close()
	c.takeLittle()
	c.send("GET /v1/chat/large", "X-API-Key: vip")
	if _, err := c.br.Peek(1); err != nil {
		t.Fatal(err)
	}
	// The first byte is there, so the answer is held whole; the reader has hardly begun.
	until(t, "the seat to come back", func() bool { return w.inUse("vip") == 0 })
	if n := w.g.active.Load(); n != 1 {
		t.Fatalf("%d requests under way: the reader was not slow, and this shows nothing", n)
	}
	for range 3 {
		if a := w.do("GET /v1/chat/x", "X-API-Key: vip", "X-Max-Wait: 0"); a.status != 200 {
			t.Errorf("the seat is free: %d %s", a.status, a.body)
		}
	}
	c.hurry()
	a := c.receive("GET")
	if a.status != 200 || len(a.body) != length || a.err != nil {
		t.Errorf("%d, %d bytes, %v", a.status, len(a.body), a.err)
	}
	w.idle()
	if n := w.ends(outcomeServed); n != 4 {
		t.Errorf("%d served, want 4", n)
	}
}

// Answers without a body have no stream whose end would free the seat.
func TestAnswersWithoutABodyFreeTheirSeatOverSockets(t *testing.T) {
	w := newSocketWorld(t, basic, func(ctx *fasthttp.RequestCtx) {
		var status int
		if _, err := fmt.Sscanf(string(ctx.Path()), "/v1/chat/%d", &status); err != nil {
			t.Error(err)
		}
		ctx.SetStatusCode(status)
		if status == 200 {
			ctx.SetBodyString("done")
		}
	})
	c := w.client()
	defer c.conn.Close()
	for range 3 {
		for _, request := range []string{"HEAD /v1/chat/200", "GET /v1/chat/204", "GET /v1/chat/304", "GET /v1/chat/200", "HEAD /v1/chat/404"} {
			if a := c.do(request, "X-API-Key: vip", "X-Max-Wait: 0"); a.err != nil || !strings.Contains(request, fmt.Sprint(a.status)) {
				t.Errorf("%s: %d %s %v", request, a.status, a.body, a.err)
			}
		}
	}
	w.idle()
	if n := w.ends(outcomeServed); n != 15 {
		t.Errorf("%d served, want 15", n)
	}
}
