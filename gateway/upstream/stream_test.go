package upstream

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	events  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// says answers the first request with parts, one every pause, then keeps the connection.
func says(pause time.Duration, parts ...string) targetFunc {
	return func(_ int, c net.Conn, br *bufio.Reader) {
		readRequest(br)
		for i, p := range parts {
			if i > 0 {
				time.Sleep(pause)
			}
			if _, err := io.WriteString(c, p); err != nil {
				return
			}
		}
		readRequest(br)
	}
}

func TestEventsArePassedOnAsTheyCome(t *testing.T) {
	for _, head := range []string{
		events, chunked,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 27\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
	} {
		bubble(t, func(t *testing.T) {
			part := func(s string) string { return s }
			end := ""
			if strings.Contains(head, "chunked") {
				part, end = chunk, "0\r\n\r\n"
			}
			// The last part and the end come apart, so that the end is not what flushes it.
			r := newRig(t, Options{}, one(once2(time.Second, head, part("data: 1\n\n"), part("data: 2\n\n"), part("data: 3\n\n"), end)))
			start := time.Now()
			c := r.client()
			c.send(simpleGet)
			resp := c.answer(t, "GET")
			if at := time.Since(start); at != 0 {
				t.Errorf("the header came after %v, before any event it is due at once", at)
			}
			for i := 1; i <= 3; i++ {
				b := make([]byte, 9)
				if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != fmt.Sprintf("data: %d\n\n", i) {
					t.Fatalf("event %d: %q, %v", i, b, err)
				}
				if at, want := time.Since(start), time.Duration(i)*time.Second; at != want {
					t.Errorf("event %d came after %v, want %v", i, at, want)
				}
			}
			if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
				t.Errorf("at the end: %q, %v", rest, err)
			}
			r.end()
			seat, end2 := r.told.only(t)
			if seat.Outcome != Served || end2.Outcome != Served || end2.Bytes != 27 || seat.Bytes != 27 {
				t.Errorf("told %+v and %+v", seat, end2)
			}
		})
	}
}

// once2 says parts and then closes.
func once2(pause time.Duration, parts ...string) targetFunc {
	return func(_ int, c net.Conn, br *bufio.Reader) {
		readRequest(br)
		for i, p := range parts {
			if i > 0 {
				time.Sleep(pause)
			}
			_, _ = io.WriteString(c, p)
		}
	}
}

func TestASeatIsHeldToTheLastByteOfAStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{}, one(says(time.Second, events, chunk("1"), chunk("2"), chunk("3"), chunk("4"), chunk("5"), chunk("6"), chunk("7"), chunk("8"), chunk("9"), "0\r\n\r\n")))
		c := r.client()
		c.send(simpleGet)
		go func() { _, _ = io.Copy(io.Discard, c.br) }()
		for i := range 10 {
			time.Sleep(999 * time.Millisecond)
			if seats, _ := r.told.counts(); seats != 0 || r.up.Targets()[0].InFlight != 1 {
				t.Errorf("after %d s the seat is free and %d in flight", i, r.up.Targets()[0].InFlight)
			}
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if seats, ends := r.told.counts(); seats != 1 || ends != 1 || r.up.Targets()[0].InFlight != 0 {
			t.Errorf("after 10 s: SeatDone %d, Finished %d, in flight %d", seats, ends, r.up.Targets()[0].InFlight)
		}
		_ = c.Close()
		r.end()
	})
}

func TestASlowReaderOfAShortAnswerHoldsNoSeat(t *testing.T) {
	body := strings.Repeat("x", 250_000) // the in-memory pipe takes four blocks without anyone reading
	for _, tc := range []struct{ name, answer string }{
		{"by length", ok(body)},
		{"by chunks", chunked + chunk(body[:100_000]) + chunk(body[100_000:]) + "0\r\n\r\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{}, one(once(tc.answer)))
				c := r.client()
				c.send(simpleGet)
				resp := c.answer(t, "GET")
				// A byte every 0.1 ms on average: 25 s for the whole.
				got, buf := 0, make([]byte, 2000)
				for {
					n, err := resp.Body.Read(buf)
					got += n
					if err != nil {
						break
					}
					time.Sleep(200 * time.Millisecond)
				}
				if got != len(body) {
					t.Errorf("got %d bytes", got)
				}
				_ = c.Close()
				r.end()
				r.told.only(t)
				if at := r.told.seatAt[0]; at != 0 {
					t.Errorf("the seat was free after %v, want at once", at)
				}
				if at := r.told.endAt[0]; at < 10*time.Second {
					t.Errorf("finished after %v, long before the reader was done", at)
				}
			})
		})
	}
}

func TestAStalledReaderIsEnded(t *testing.T) {
	long := strings.Repeat("x", 4_000_000)
	for _, tc := range []struct {
		name, answer string
		seatAtOnce   bool
	}{
		{"of a held answer", ok(long[:200_000]), true},
		{"of a long one", ok(long), false},
		{"of an endless one", chunked + chunk(long), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{WriteStall: 5 * time.Second}, one(once(tc.answer)))
				c := r.client()
				c.send(simpleGet)
				time.Sleep(time.Minute) // and reads nothing
				seats, ends := r.told.counts()
				if seats != 1 || ends != 1 {
					t.Fatalf("after a minute: SeatDone %d, Finished %d", seats, ends)
				}
				if at := r.told.endAt[0]; at != 5*time.Second {
					t.Errorf("ended after %v, want the write stall timeout", at)
				}
				if tc.seatAtOnce != (r.told.seatAt[0] == 0) {
					t.Errorf("the seat was free after %v", r.told.seatAt[0])
				}
				if _, end := r.told.only(t); end.Outcome != Gone {
					t.Errorf("finished as %v, want gone", end.Outcome)
				}
				_ = c.Close()
				r.end()
			})
		})
	}
}

func TestASlowReaderThatGoesOnIsNotEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		body := strings.Repeat("x", 1_000_000)
		r := newRig(t, Options{WriteStall: 5 * time.Second}, one(once(ok(body))))
		c := r.client()
		c.send(simpleGet)
		resp := c.answer(t, "GET")
		got, buf := 0, make([]byte, 20_000)
		for {
			n, err := io.ReadFull(resp.Body, buf)
			got += n
			if err != nil {
				break
			}
			time.Sleep(2 * time.Second) // 100 s for the whole, twenty times the timeout
		}
		if got != len(body) {
			t.Errorf("got %d bytes of %d", got, len(body))
		}
		_ = c.Close()
		r.end()
		if seat, end := r.told.only(t); seat.Outcome != Served || end.Outcome != Served {
			t.Errorf("told %v and %v", seat.Outcome, end.Outcome)
		}
	})
}

func TestAClientThatLeavesAStreamClosesTheConnectionToTheTarget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var closed time.Duration
		start := time.Now()
		r := newRig(t, Options{}, one(func(_ int, c net.Conn, br *bufio.Reader) {
			readRequest(br)
			_, _ = io.WriteString(c, events)
			for {
				if _, err := io.WriteString(c, chunk("tick\n")); err != nil {
					closed = time.Since(start)
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}))
		c := r.client()
		c.send(simpleGet)
		c.answer(t, "GET")
		time.Sleep(time.Second)
		_ = c.Close()
		time.Sleep(time.Second)
		synctest.Wait()
		seat, end := r.told.only(t)
		if seat.Outcome != Gone || end.Outcome != Gone {
			t.Errorf("told %v and %v, want gone", seat.Outcome, end.Outcome)
		}
		if closed == 0 || closed > 1500*time.Millisecond {
			t.Errorf("the target saw the end after %v", closed)
		}
		r.end()
		if !r.up.Targets()[0].Healthy || len(r.failed) != 0 {
			t.Error("it was counted as the target's fault")
		}
	})
}

// A target that is silent does not keep a client that has left: the pump is in a read then.
func TestAClientThatLeavesWhileTheTargetIsSilent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{WriteStall: 5 * time.Second}, one(func(_ int, c net.Conn, br *bufio.Reader) {
			readRequest(br)
			_, _ = io.WriteString(c, chunked+chunk(strings.Repeat("x", 100_000)))
			readRequest(br)
		}))
		c := r.client()
		c.send(simpleGet)
		synctest.Wait()
		_ = c.Close()
		synctest.Wait()
		if seats, ends := r.told.counts(); seats != 1 || ends != 1 {
			t.Errorf("SeatDone %d, Finished %d; want both once at once", seats, ends)
		}
		r.end()
	})
}

func TestABrokenStreamLooksBrokenToTheClient(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for _, tc := range []struct {
		name   string
		target targetFunc
		reason Reason
	}{
		{"closed among chunks", once2(time.Second, chunked, chunk("hello")), ReasonReset},
		{"closed in a chunk", once2(time.Second, chunked, "a\r\nhello"), ReasonReset},
		{"a malformed chunk", once2(time.Second, chunked, chunk("hello"), "nonsense\r\n"), ReasonProtocol},
		{"a chunk without its end", once2(time.Second, chunked, "5\r\nhello0\r\n\r\n"), ReasonProtocol},
		{"closed before its length", once2(time.Second, "HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n", long), ReasonReset},
		{"a stall", says(time.Hour, chunked+chunk("hello"), "x"), ReasonStall},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{}, one(tc.target))
				c := r.client()
				c.send(simpleGet)
				resp := c.answer(t, "GET")
				b, err := io.ReadAll(resp.Body)
				if err == nil {
					t.Errorf("the client took %d bytes for a whole answer", len(b))
				}
				r.end()
				seat, end := r.told.only(t)
				want := UpstreamError
				if tc.reason == ReasonStall {
					want = UpstreamTimeout
				}
				for _, res := range []Result{seat, end} {
					if res.Outcome != want || res.Reason != tc.reason || res.Status != 200 || res.Err == nil {
						t.Errorf("told %+v, want %v %v", res, want, tc.reason)
					}
				}
				if len(r.failed) != 1 || r.failed[0] != tc.reason {
					t.Errorf("counted %v", r.failed)
				}
			})
		})
	}
}

// The read-ahead is bounded: a client that does not read stops the target.
func TestReadAheadIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		taken := 0
		r := newRig(t, Options{AnswerBuffer: 64 << 10, WriteStall: time.Hour}, one(func(_ int, c net.Conn, br *bufio.Reader) {
			readRequest(br)
			_, _ = io.WriteString(c, chunked)
			for {
				if _, err := io.WriteString(c, chunk(strings.Repeat("x", 4096))); err != nil {
					return
				}
				taken += 4096
			}
		}))
		c := r.client()
		c.send(simpleGet)
		time.Sleep(time.Minute)
		synctest.Wait()
		// Beside the buffer: what the two in-memory pipes hold (4 writes each), a block and the head's buffer.
		if most := 64<<10 + blockSize*6 + headBuffer + 4*5000; taken > most {
			t.Errorf("the target could send %d bytes to a client that reads nothing, want at most %d", taken, most)
		}
		_ = c.Close()
		r.end()
		r.told.only(t)
	})
}

func TestAnHTTP10ClientGetsALength(t *testing.T) {
	for _, tc := range []struct {
		name, body, want string
	}{
		{"what fits is held", strings.Repeat("x", 50_000), strings.Repeat("x", 50_000)},
		{"what does not is an error", strings.Repeat("x", 500_000), "upstream_error protocol"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{}, one(once2(time.Second, chunked, chunk(tc.body), "0\r\n\r\n")))
				resp, body, err := r.get("GET / HTTP/1.0\r\n\r\n")
				if err != nil || body != tc.want || len(resp.TransferEncoding) > 0 {
					t.Errorf("got %d bytes in %q, %v", len(body), resp.TransferEncoding, err)
				}
				r.end()
				r.told.only(t)
			})
		})
	}
}
