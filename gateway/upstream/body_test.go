package upstream

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// sink keeps the request it was sent, and answers ok.
func sink(got *string, length *int64) targetFunc {
	return func(_ int, c net.Conn, br *bufio.Reader) {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		*got, *length = string(b), req.ContentLength
		_, _ = io.WriteString(c, ok("done"))
	}
}

func TestRequestBodies(t *testing.T) {
	big := strings.Repeat("0123456789", 300_000)
	for _, tc := range []struct {
		name, head string
		parts      []string
		want       string
		length     int64 // -1: in chunks
	}{
		{"small", "Content-Length: 5\r\n", []string{"hello"}, "hello", 5},
		{"empty", "Content-Length: 0\r\n", nil, "", 0},
		{"none", "", nil, "", 0},
		{"length written oddly", "Content-Length: 0005\r\n", []string{"hello"}, "hello", 5},
		{"longer than a block", "Content-Length: 50000\r\n", []string{big[:50_000]}, big[:50_000], 50_000},
		{"streamed by length", "Content-Length: 3000000\r\n", []string{big[:10], big[10:100_000], big[100_000:]}, big, 3_000_000},
		{"streamed by chunks", "Transfer-Encoding: chunked\r\n", []string{chunk("hello"), chunk(big[:90_000]), "0\r\n\r\n"}, "hello" + big[:90_000], -1},
		{"chunks without any", "Transfer-Encoding: chunked\r\n", []string{"0\r\n\r\n"}, "", -1},
		{"chunks with a trailer", "Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n", []string{chunk("hello"), "0\r\nX-Sum: 1\r\n\r\n"}, "hello", -1},
		{"expecting 100", "Expect: 100-continue\r\nContent-Length: 5\r\n", []string{"hello"}, "hello", 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var got string
				var length int64
				r := newRig(t, Options{}, one(sink(&got, &length)))
				c := r.client()
				go func() {
					c.send("POST / HTTP/1.1\r\nHost: h\r\n" + tc.head + "\r\n")
					for _, p := range tc.parts {
						time.Sleep(time.Second)
						for len(p) > 0 {
							n := min(len(p), 8192)
							c.send(p[:n])
							p = p[n:]
						}
					}
				}()
				resp := c.answer(t, "POST")
				if resp.StatusCode == 100 {
					resp = c.answer(t, "POST")
				}
				body, _ := io.ReadAll(resp.Body)
				if string(body) != "done" || got != tc.want || length != tc.length {
					t.Errorf("answer %q; the target got %d bytes, length %d; want %d, length %d", body, len(got), length, len(tc.want), tc.length)
				}
				_ = c.Close()
				r.end()
				r.told.only(t)
			})
		})
	}
}

func TestAnAnswerBeforeTheWholeBody(t *testing.T) {
	const upload = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n"
	// The client has sent a tenth and says no more until it has read the answer.
	for _, tc := range []struct {
		name   string
		target targetFunc
		want   string
	}{
		{"an error stops the upload", func(_ int, c net.Conn, br *bufio.Reader) {
			_, _ = http.ReadRequest(br)
			_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
			time.Sleep(time.Hour)
		}, "big"},
		{"an error and a close", func(_ int, c net.Conn, br *bufio.Reader) {
			_, _ = http.ReadRequest(br)
			_, _ = io.WriteString(c, "HTTP/1.1 401 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
		}, "no"},
		{"a close without an answer", func(_ int, _ net.Conn, br *bufio.Reader) {
			_, _ = http.ReadRequest(br)
		}, "upstream_error reset"},
		{"garbage", func(_ int, c net.Conn, br *bufio.Reader) {
			_, _ = http.ReadRequest(br)
			_, _ = io.WriteString(c, "what?\r\n\r\n")
			time.Sleep(time.Hour)
		}, "upstream_error protocol"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{}, one(tc.target))
				start := time.Now()
				c := r.client()
				c.send(upload + strings.Repeat("x", 8192))
				resp := c.answer(t, "POST")
				b, _ := io.ReadAll(resp.Body)
				if string(b) != tc.want || time.Since(start) > 2*time.Second {
					t.Errorf("got %d %q after %v, want %q at once", resp.StatusCode, b, time.Since(start), tc.want)
				}
				if _, err := c.br.ReadByte(); err != io.EOF {
					t.Errorf("the client's connection stays open with an unread body: %v", err)
				}
				r.end()
				r.told.only(t)
			})
		})
	}
}

// A target that works on the body as it comes answers while it reads.
func TestAnAnswerThatFlowsWithTheBody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{}, one(func(_ int, c net.Conn, br *bufio.Reader) {
			req, _ := http.ReadRequest(br)
			_, _ = io.WriteString(c, chunked)
			n, _ := io.Copy(io.Discard, req.Body)
			_, _ = io.WriteString(c, chunk(fmt.Sprint(n))+"0\r\n\r\n")
		}))
		c := r.client()
		go func() {
			c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n")
			for range 100 {
				c.send(strings.Repeat("x", 10_000))
				time.Sleep(100 * time.Millisecond)
			}
		}()
		resp := c.answer(t, "POST")
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "1000000" {
			t.Errorf("got %q, %v", b, err)
		}
		_ = c.Close()
		r.end()
		r.told.only(t)
	})
}

func TestABodyThatStops(t *testing.T) {
	const upload = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n"
	drain := func(_ int, _ net.Conn, br *bufio.Reader) { _, _ = io.Copy(io.Discard, br) }
	for _, tc := range []struct {
		name   string
		opts   Options
		client func(c *client)
		reason Reason
		at     time.Duration
	}{
		{"stands still", Options{BodyStall: 10 * time.Second}, func(*client) { time.Sleep(time.Hour) }, ReasonBodySlow, 10 * time.Second},
		{"too slow on average", Options{BodyStall: 10 * time.Second, MinBodyRate: 1000}, func(c *client) {
			for range 3600 {
				c.send(strings.Repeat("x", 500))
				time.Sleep(time.Second)
			}
		}, ReasonBodySlow, 16 * time.Second}, // 8692 bytes in the first second, then 500 a second
		{"broken off", Options{}, func(c *client) { time.Sleep(time.Second); _ = c.Close() }, ReasonBodyBroken, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, tc.opts, one(drain))
				c := r.client()
				c.send(upload + strings.Repeat("x", 8192))
				go func() { tc.client(c) }()
				time.Sleep(time.Minute)
				seats, ends := r.told.counts()
				if seats != 1 || ends != 1 {
					t.Fatalf("SeatDone %d, Finished %d", seats, ends)
				}
				seat, _ := r.told.only(t)
				if seat.Outcome != BodyError || seat.Reason != tc.reason {
					t.Errorf("told %v %v (%v), want body_error %v", seat.Outcome, seat.Reason, seat.Err, tc.reason)
				}
				if at := r.told.seatAt[0]; at < tc.at || at > tc.at+2*time.Second {
					t.Errorf("the seat was free after %v, want %v", at, tc.at)
				}
				if !r.up.Targets()[0].Healthy || len(r.failed) > 0 {
					t.Error("it was counted as the target's fault")
				}
				_ = c.Close()
				r.end()
			})
		})
	}
}

func TestATargetThatTakesNoMoreOfABody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{}, one(func(_ int, _ net.Conn, br *bufio.Reader) {
			_, _ = http.ReadRequest(br)
			time.Sleep(time.Hour)
		}))
		c := r.client()
		go func() {
			c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n")
			for range 1000 {
				c.send(strings.Repeat("x", 10_000))
			}
		}()
		start := time.Now()
		resp := c.answer(t, "POST")
		b, _ := io.ReadAll(resp.Body)
		// The stall timeout, and the second in which it might still have said why.
		if string(b) != "upstream_timeout stall" || time.Since(start) < 20*time.Second || time.Since(start) > 22*time.Second {
			t.Errorf("got %q after %v", b, time.Since(start))
		}
		_ = c.Close()
		r.end()
		r.told.only(t)
	})
}
