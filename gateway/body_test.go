package gateway

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

func post(length int, more ...string) string {
	return fmt.Sprintf("POST /p HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n", strings.Join(more, ""), length)
}

const postChunked = "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func TestBodiesArriveWholeHoweverTheyAreCut(t *testing.T) {
	c := edgeConfig()
	limits := limitsOf(c)
	small, large := strings.Repeat("s", 5000), strings.Repeat("l", 50_000)
	for _, tc := range []struct{ name, sent, body, result string }{
		{"none", "POST /p HTTP/1.1\r\nHost: a\r\n\r\n", "", "whole"},
		{"empty", post(0), "", "whole"},
		{"small", post(3) + "abc", "abc", "whole"},
		{"more than one buffer", post(len(small)) + small, small, "whole"},
		{"large", post(len(large)) + large, large, "streams"},
		{"empty chunks", postChunked + "0\r\n\r\n", "", "whole"},
		{"chunks", postChunked + chunk("abc") + chunk("d") + "0\r\n\r\n", "abcd", "whole"},
		{"chunks with extensions and trailer", postChunked + "3;a=b\r\nabc\r\n0;x\r\nX: y\r\n\r\n", "abc", "whole"},
		{"chunks that turn out large", postChunked + chunk(large[:20_000]) + chunk(large[:30_000]) + "0\r\n\r\n", large, "streams"},
		{"exactly the buffer", post(8<<10) + large[:8<<10], large[:8<<10], "whole"},
		{"chunks, exactly the buffer", postChunked + chunk(large[:8<<10]) + "0\r\n\r\n", large[:8<<10], "whole"},
	} {
		for _, cut := range []int{1 << 20, 1000, 7} {
			t.Run(fmt.Sprintf("%s/%d", tc.name, cut), func(t *testing.T) {
				e := startEdge(t, c, echo(limits))
				cl := e.connect()
				// the next request must be found where this one's body ends
				all := tc.sent + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"
				go func() {
					for rest := all; rest != ""; {
						n := min(cut, len(rest))
						if _, err := io.WriteString(cl.c, rest[:n]); err != nil {
							return
						}
						rest = rest[n:]
					}
				}()
				a := cl.answer()
				if string(a.Body()) != "POST /p "+tc.body || string(a.Header.Peek("X-Result")) != tc.result {
					t.Fatalf("%d %s %.80q", a.StatusCode(), a.Header.Peek("X-Result"), a.Body())
				}
				cl.answer().says(t, 200, "GET /next ")
			})
		}
	}
	if held := limits.memory.held.Load(); held != 0 {
		t.Errorf("%d bytes still held", held)
	}
}

func TestBodiesPastTheirLimitAreRefused(t *testing.T) {
	c := edgeConfig()
	c.MaxBodyBytes = 10_000
	for name, sent := range map[string]string{
		"by the header alone": post(10_001),
		"in one chunk":        postChunked + chunk(strings.Repeat("x", 10_001)) + "0\r\n\r\n",
		"by a chunk's size":   postChunked + "7fffffffffff\r\n",
		"in many chunks":      postChunked + strings.Repeat(chunk(strings.Repeat("x", 999)), 11) + "0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, c, echo(limitsOf(c)))
			cl := e.connect().send(sent)
			a := cl.answer()
			a.says(t, 413, "body_too_large")
			if !a.ConnectionClose() {
				t.Error("the connection stays open")
			}
		})
	}
}

func TestBrokenChunksAreRefused(t *testing.T) {
	c := edgeConfig()
	for _, chunks := range []string{
		"x\r\n", "\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n",
		"0x3\r\nabc\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n", " 3\r\nabc\r\n", "3;a\nb\r\nabc\r\n", "fffffffffffffffff\r\n",
		"0\r\nX y\r\n\r\n", "0\r\n folded\r\n\r\n", "0\r\nX: a\nY: b\r\n\r\n", "0\r\n\n", "3\r\nabc\rX0\r\n\r\n", "3\r\nabcX\n0\r\n\r\n", "0\r\nX: a\x00\r\n\r\n",
		"3;" + strings.Repeat("e", maxChunkOverhead+1) + "\r\nabc\r\n", "0\r\n" + strings.Repeat("X: y\r\n", maxChunkOverhead/6+1) + "\r\n",
	} {
		t.Run(fmt.Sprintf("%.20q", chunks), func(t *testing.T) {
			e := startEdge(t, c, echo(limitsOf(c)))
			cl := e.connect().send(postChunked + chunks)
			a := cl.answer()
			a.says(t, 400, "bad_request")
			if !a.ConnectionClose() {
				t.Error("the connection stays open")
			}
		})
	}
}

func TestARefusalNeedsNoByteOfTheBody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := edgeConfig()
		e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) { writeRefusal(ctx, &Refusal{Code: CodeCallerUnknown}) })
		begun := time.Now()
		cl := e.connect().send(post(10_000))
		a := cl.answer()
		a.says(t, 401, "caller_unknown")
		if took := time.Since(begun); took != 0 {
			t.Errorf("answered after %v", took)
		}
		if !a.ConnectionClose() {
			t.Error("the connection stays open")
		}
		cl.closed()

		// a body that is here already costs nothing to drop: the connection stays
		cl = e.connect().send(post(3) + "abc")
		if a = cl.answer(); a.ConnectionClose() {
			t.Error("the connection was closed")
		}
		cl.send(post(0)).answer().says(t, 401, "caller_unknown")
	})
}

func TestClientsAreToldToContinueOnlyWhenTheirBodyIsRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := edgeConfig()
		limits := limitsOf(c)
		e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) {
			if len(ctx.Request.Header.Peek("X-Refuse")) > 0 {
				writeRefusal(ctx, &Refusal{Code: CodeCallerUnknown})
				return
			}
			echo(limits)(ctx)
		})
		for _, length := range []int{3, 20_000} {
			cl := e.connect().send(post(length, "Expect: 100-continue\r\n"))
			if told, err := io.ReadAll(io.LimitReader(cl.br, 25)); string(told) != "HTTP/1.1 100 Continue\r\n\r\n" {
				t.Fatalf("told %q, %v", told, err)
			}
			cl.send(strings.Repeat("b", length)).answer().says(t, 200, "bbb")
			cl.send(post(1)+"z").answer().says(t, 200, "z") // without asking: nothing is said
		}
		cl := e.connect().send(post(3, "Expect: 100-continue\r\n", "X-Refuse: 1\r\n"))
		if begin, _ := cl.br.Peek(12); string(begin) != "HTTP/1.1 401" {
			t.Errorf("told %q first", begin)
		}
		a := cl.answer()
		a.says(t, 401, "caller_unknown")
		if !a.ConnectionClose() {
			t.Error("who knows whether the body comes: the connection cannot stay open")
		}
		// the body is here already: asking for it would be noise
		e.connect().send(post(3, "Expect: 100-continue\r\n")+"abc").answer().says(t, 200, "abc")
	})
}

func TestBodiesThatComeTooSlowlyAreGivenUp(t *testing.T) {
	for _, tc := range []struct {
		name  string
		sent  string
		piece string
		every time.Duration
		after time.Duration // when 408 comes
	}{
		// 1 KiB/s after 5 s: n bytes have 5 s + n/1024
		{"nothing at all", post(8000), "", time.Hour, 5 * time.Second},
		{"1 byte/s", post(8000), "x", time.Second, 5 * time.Second},
		{"1 byte/s in chunks", postChunked, "1\r\nx\r\n", time.Second, 5 * time.Second},
		// the k-th thousand comes at k s, and may come until 5 s + 1000(k-1)/1024
		{"1000 bytes/s, past the buffer", post(800_000), strings.Repeat("x", 1000), time.Second, 171 * time.Second},
		{"1 KiB/s, until body_timeout", post(8000), strings.Repeat("x", 10), 10 * time.Millisecond, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := edgeConfig()
				limits := limitsOf(c)
				if tc.after == 0 {
					limits.minRate, limits.timeout = 0, 3*time.Second
					tc.after = 3 * time.Second
				}
				e := startEdge(t, c, echo(limits))
				begun := time.Now()
				cl := e.connect().send(tc.sent)
				stop := make(chan struct{})
				go func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(tc.every):
						}
						if _, err := io.WriteString(cl.c, tc.piece); err != nil {
							return
						}
					}
				}()
				cl.answer().says(t, 408, "body_slow")
				close(stop)
				if took := time.Since(begun); took < tc.after || took > tc.after+tc.after/8 {
					t.Errorf("408 after %v, want %v", took, tc.after)
				}
				if held := limits.memory.held.Load(); held != 0 {
					t.Errorf("%d bytes still held", held)
				}
			})
		})
	}
}

func TestAnUpstreamThatTakesItsTimeIsNotTheClientsSlowness(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := edgeConfig()
		limits := limitsOf(c)
		total := atomic.Int64{}
		e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) {
			if result, _ := readBody(ctx, limits); result != bodyStreams {
				t.Error(result)
			}
			time.Sleep(time.Minute) // waiting for a seat
			b := make([]byte, 1000)
			for {
				n, err := ctx.Request.BodyStream().Read(b)
				total.Add(int64(n))
				if err != nil {
					break
				}
				time.Sleep(4 * time.Second)
			}
		})
		cl := e.connect()
		go io.WriteString(cl.c, post(50_000)+strings.Repeat("x", 50_000))
		cl.answer().says(t, 200, "")
		if total.Load() != 50_000 {
			t.Errorf("%d bytes read", total.Load())
		}
	})
}

func TestAClientThatLeavesInTheMiddleOfItsBodyIsGone(t *testing.T) {
	for name, sent := range map[string]string{
		"whole": post(5000) + "abc", "streamed": post(50_000) + "abc", "chunked": postChunked + chunk("abc"), "inside a chunk": postChunked + "5\r\nab",
	} {
		t.Run(name, func(t *testing.T) {
			c := edgeConfig()
			limits := limitsOf(c)
			results := make(chan bodyResult, 1)
			e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) {
				result, _ := readBody(ctx, limits)
				defer releaseBody(ctx)
				if result == bodyStreams {
					_, err := io.Copy(io.Discard, ctx.Request.BodyStream())
					if err == nil {
						t.Error("a cut body reads as a whole one")
					}
					result = bodyFailure(ctx)
				}
				results <- result
			})
			cl := e.connect().send(sent)
			cl.c.Close()
			if got := <-results; got != bodyGone {
				t.Errorf("result %v, want gone", got)
			}
		})
	}
}

func TestARefusedClientThatIsStillSendingIsNotCutOff(t *testing.T) {
	c := edgeConfig()
	e := startSocketEdge(t, c, func(ctx *fasthttp.RequestCtx) { writeRefusal(ctx, &Refusal{Code: CodeBodyTooLarge}) })
	cl := e.connect().send(post(200_000))
	for range 10 { // on its way before and after the answer is written
		cl.send(strings.Repeat("x", 20_000))
		time.Sleep(2 * time.Millisecond)
	}
	cl.answer().says(t, 413, "body_too_large")
}

func TestAnUnreadBodyIsDrainedIfItIsLittle(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("answered") })
	for _, sent := range []string{
		post(20_000) + strings.Repeat("x", 20_000),
		postChunked + chunk(strings.Repeat("x", 20_000)) + "0\r\n\r\n",
	} {
		cl := e.connect()
		go io.WriteString(cl.c, sent+sent)
		cl.answer().says(t, 200, "answered")
		cl.answer().says(t, 200, "answered")
	}
	cl := e.connect().send(post(drainBytes + 5000))
	cl.answer().says(t, 200, "answered")
	cl.closed()
}

func TestAReadOfABodyCanBeInterrupted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := edgeConfig()
		limits := limitsOf(c)
		e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) {
			readBody(ctx, limits)
			begun := time.Now()
			go func() {
				time.Sleep(time.Second)
				_ = ctx.Conn().SetReadDeadline(time.Unix(1, 0))
			}()
			for _, took := range []time.Duration{time.Second, time.Second} { // it stays interrupted
				_, err := io.Copy(io.Discard, ctx.Request.BodyStream())
				if ne, ok := err.(net.Error); !ok || !ne.Timeout() || time.Since(begun) != took {
					t.Errorf("error %v after %v, want a timeout after %v", err, time.Since(begun), took)
				}
			}
			ctx.Response.SetConnectionClose()
		})
		cl := e.connect().send(post(50_000) + "x")
		cl.answer().says(t, 200, "")
	})
}

func FuzzChunksInPiecesReadAsWhole(f *testing.F) {
	f.Add([]byte("3\r\nabc\r\n0\r\n\r\n"), uint8(1))
	f.Add([]byte("3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nX: y\r\n\r\nrest"), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		read := func(step int) (body []byte, used int, event chunkEvent) {
			var r chunkReader
			data := int64(0)
			for used < len(b) {
				piece := b[used:min(used+step, len(b))]
				for len(piece) > 0 {
					if data > 0 {
						n := min(data, int64(len(piece)))
						body, piece, used, data = append(body, piece[:n]...), piece[n:], used+int(n), data-n
						continue
					}
					n, e := r.parse(piece)
					used, piece = used+n, piece[n:]
					switch event = e; e {
					case chunksEnd, chunksBroken:
						return body, used, e
					case chunkBegins:
						data = r.size
					}
				}
			}
			return body, used, event
		}
		wholeBody, wholeUsed, wholeEvent := read(1 << 30)
		body, used, event := read(int(step)%16 + 1)
		ended := wholeEvent == chunksEnd || wholeEvent == chunksBroken
		if string(body) != string(wholeBody) || used != wholeUsed || ended && event != wholeEvent {
			t.Fatalf("whole: %q %d %d; pieces: %q %d %d", wholeBody, wholeUsed, wholeEvent, body, used, event)
		}
	})
}
