package upstream

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatATargetSaysReachesTheClient(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 100_000/16)
	for _, tc := range []struct {
		name, request, answer string
		status                int
		body                  string
		header                map[string][]string // want exactly these values
	}{
		{"short", simpleGet, ok("hello"), 200, "hello", nil},
		{"empty", simpleGet, ok(""), 200, "", map[string][]string{"Content-Length": {"0"}}},
		{"longer than inline", simpleGet, ok(long), 200, long, nil},
		{"chunked in one packet", simpleGet, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=1\r\n world\r\n0\r\n\r\n", 200, "hello world", map[string][]string{"Content-Length": {"11"}}},
		{"chunked with trailer", simpleGet, "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", 200, "hello", map[string][]string{"Trailer": nil}},
		{"ended by close", simpleGet, "HTTP/1.1 200 OK\r\n\r\nhello", 200, "hello", nil},
		{"HTTP/1.0 target", simpleGet, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", nil},
		{"HEAD", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", 200, "", map[string][]string{"Content-Length": {"1234"}}},
		{"HEAD chunked", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200, "", nil},
		{"204", simpleGet, "HTTP/1.1 204 No Content\r\n\r\n", 204, "", map[string][]string{"Content-Length": nil}},
		{"304", simpleGet, "HTTP/1.1 304 Not Modified\r\nEtag: \"x\"\r\n\r\n", 304, "", map[string][]string{"Etag": {`"x"`}}},
		{"interim answers", simpleGet, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + ok("hello"), 200, "hello", map[string][]string{"Link": nil}},
		{"error of its own", simpleGet, "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\nRetry-After: 3\r\n\r\nno", 503, "no", map[string][]string{"Retry-After": {"3"}}},
		{
			"headers as they are", simpleGet,
			"HTTP/1.1 200 OK\r\nServer: Peculiar/1.0 (x)\r\nDate: Tue, 01 Jan 2002 00:00:00 GMT\r\nContent-Type: text/x-odd; q=1\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nSet-Cookie: a=3\r\nContent-Length: 2\r\n\r\nhi",
			200, "hi",
			map[string][]string{
				"Server": {"Peculiar/1.0 (x)"}, "Date": {"Tue, 01 Jan 2002 00:00:00 GMT"}, "Content-Type": {"text/x-odd; q=1"},
				"Set-Cookie": {"a=1; Path=/", "b=2", "a=3"},
			},
		},
		{
			"without headers it gets none", simpleGet, ok("hi"), 200, "hi",
			map[string][]string{"Server": nil, "Date": nil, "Content-Type": nil},
		},
		{
			"hop by hop", simpleGet,
			"HTTP/1.1 200 OK\r\nConnection: close, X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: x\r\nUpgrade: h2c\r\nProxy-Authenticate: Basic\r\nAlt-Svc: h3\r\nX-Public: 2\r\nContent-Length: 2\r\n\r\nhi",
			200, "hi",
			map[string][]string{
				"Connection": nil, "X-Private": nil, "Keep-Alive": nil, "Proxy-Connection": nil, "Upgrade": nil, "Proxy-Authenticate": nil,
				"Alt-Svc": nil, "X-Public": {"2"},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{}, one(once(tc.answer)))
				c := r.client()
				c.send(tc.request)
				method, _, _ := strings.Cut(tc.request, " ")
				resp := c.answer(t, method)
				b, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != tc.status || string(b) != tc.body {
					t.Errorf("got %d with %d bytes, %v; want %d with %d bytes", resp.StatusCode, len(b), err, tc.status, len(tc.body))
				}
				for name, want := range tc.header {
					if got := resp.Header[name]; strings.Join(got, "|") != strings.Join(want, "|") {
						t.Errorf("%s: got %q, want %q", name, got, want)
					}
				}
				if resp.Proto != "HTTP/1.1" {
					t.Errorf("the answer is in %s", resp.Proto)
				}
				// The client's connection serves on, whatever the target did with its own.
				c.send(tc.request)
				again := c.answer(t, method)
				if b, err := io.ReadAll(again.Body); again.StatusCode != tc.status || err != nil || string(b) != tc.body {
					t.Errorf("second request on the same connection: %d, %d bytes, %v", again.StatusCode, len(b), err)
				}
				_ = c.Close()
				r.end()
				if seats, ends := r.told.counts(); seats != 2 || ends != 2 {
					t.Errorf("told SeatDone %d times and Finished %d times, want 2 and 2", seats, ends)
				}
				for i, res := range r.told.ends {
					if res.Outcome != Served || res.Status != tc.status || res.Target != "http://a" || res.Bytes != int64(len(tc.body)) && i == 0 {
						t.Errorf("finished as %+v", res)
					}
				}
			})
		})
	}
}

func TestAConnectionIsUsedAgain(t *testing.T) {
	for _, tc := range []struct {
		name, answer string
		dials        int
	}{
		{"by length", ok("hello"), 1},
		{"by chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 1},
		{"held", ok(strings.Repeat("x", 100_000)), 1},
		{"streamed", ok(strings.Repeat("x", 1_000_000)), 1},
		{"not after Connection: close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", 3},
		{"not when more came than the answer", ok("hello") + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{}, one(always(tc.answer)))
				for range 3 {
					if resp, _, err := r.get(simpleGet); err != nil || resp.StatusCode != 200 {
						t.Fatalf("got %v, %v", resp, err)
					}
				}
				r.end()
				if r.dials["a"] != tc.dials {
					t.Errorf("%d connections for three requests, want %d", r.dials["a"], tc.dials)
				}
			})
		})
	}
}

func TestAnIdleConnectionIsClosedAfterAWhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		closed := time.Duration(0)
		start := time.Now()
		r := newRig(t, Options{}, one(func(_ int, c net.Conn, br *bufio.Reader) {
			always(ok("hello"))(0, c, br)
			closed = time.Since(start)
		}))
		if _, _, err := r.get(simpleGet); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if closed < idleTime || closed > 2*idleTime {
			t.Errorf("closed after %v, want between %v and %v", closed, idleTime, 2*idleTime)
		}
		r.end()
	})
}

func TestWhichFailuresAreTriedAgain(t *testing.T) {
	post := "POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"
	// fails serves the requests of the first connection, up to the given one, and then breaks as said.
	fails := func(after int, how func(c net.Conn, br *bufio.Reader)) targetFunc {
		return func(n int, c net.Conn, br *bufio.Reader) {
			if n > 0 {
				always(ok("second"))(n, c, br)
				return
			}
			for range after {
				readRequest(br)
				_, _ = io.WriteString(c, ok("first"))
			}
			how(c, br)
		}
	}
	readAndClose := func(_ net.Conn, br *bufio.Reader) { readRequest(br) }
	halfAnswer := func(c net.Conn, br *bufio.Reader) {
		readRequest(br)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Le")
	}
	silence := func(_ net.Conn, br *bufio.Reader) {
		readRequest(br)
		time.Sleep(time.Minute)
	}
	for _, tc := range []struct {
		name    string
		target  targetFunc
		request string
		first   int // requests sent before
		want    string
	}{
		{"GET on a kept connection that is closed instead of answering", fails(1, readAndClose), simpleGet, 1, "second"},
		{"GET on a new connection that is closed instead of answering", fails(0, readAndClose), simpleGet, 0, "second"},
		{"POST that was sent and not answered", fails(0, readAndClose), post, 0, "upstream_error reset"},
		{"GET after a byte of an answer", fails(0, halfAnswer), simpleGet, 0, "upstream_error reset"},
		{"GET that timed out", fails(0, silence), simpleGet, 0, "upstream_timeout timeout"},
		{"POST on a kept connection that was dead before", fails(1, func(net.Conn, *bufio.Reader) {}), post, 1, "second"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{}, one(tc.target))
				for range tc.first {
					if _, body, err := r.get(simpleGet); err != nil || body != "first" {
						t.Fatalf("got %q, %v", body, err)
					}
				}
				time.Sleep(time.Second)
				_, body, err := r.get(tc.request)
				if err != nil || body != tc.want {
					t.Errorf("got %q, %v; want %q", body, err, tc.want)
				}
				r.end()
				if seats, ends := r.told.counts(); seats != tc.first+1 || ends != tc.first+1 {
					t.Errorf("told SeatDone %d times and Finished %d times, want %d", seats, ends, tc.first+1)
				}
			})
		})
	}
}

func TestATargetIsAskedOnlyAsOftenAsRetriesSay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := 0
		r := newRig(t, Options{}, one(func(_ int, _ net.Conn, br *bufio.Reader) {
			readRequest(br)
			asked++
		}))
		if _, body, _ := r.get(simpleGet); body != "upstream_error reset" {
			t.Errorf("got %q", body)
		}
		r.end()
		if asked != 2 {
			t.Errorf("asked %d times, want the first and one retry", asked)
		}
	})
}

func TestARefusedConnectionGoesToTheNextTarget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{}, map[string]targetFunc{"a": nil, "b": nil, "c": always(ok("from c"))})
		for range 3 {
			if _, body, _ := r.get("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"); body != "from c" {
				t.Errorf("got %q", body)
			}
		}
		states := r.up.Targets()
		if states[0].Healthy || states[1].Healthy || !states[2].Healthy {
			t.Errorf("targets are %+v, want only c healthy", states)
		}
		r.end()
	})
}

func TestNoTargetTakesAConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{}, map[string]targetFunc{"a": nil, "b": nil})
		if _, body, _ := r.get(simpleGet); body != "no_upstream dial" {
			t.Errorf("got %q", body)
		}
		r.end()
		seat, end := r.told.only(t)
		if seat.Outcome != NoUpstream || end.Outcome != NoUpstream || end.Err == nil {
			t.Errorf("told %+v and %+v", seat, end)
		}
		if len(r.failed) != 2 {
			t.Errorf("counted %v, want each attempt", r.failed)
		}
	})
}

func TestWhatIsNoAnswerIsAnError(t *testing.T) {
	for _, tc := range []struct{ name, answer, want string }{
		{"no HTTP", "220 mail.example.org ESMTP\r\n\r\n", "upstream_error protocol"},
		{"binary", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "upstream_error protocol"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi", "upstream_error protocol"},
		{"a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhi", "upstream_error protocol"},
		{"an upgrade nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "upstream_error protocol"},
		{"a header without end", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 40_000) + "\r\n\r\n", "upstream_error protocol"},
		{"half a header", "HTTP/1.1 200 OK\r\nX: y", "upstream_error reset"},
		{"half a short body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "upstream_error reset"},
		{"half a held body", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf", "upstream_error reset"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{}, one(once(tc.answer)))
				resp, body, err := r.get(simpleGet)
				if err != nil || resp.StatusCode != 599 || body != tc.want {
					t.Errorf("got %d %q, %v; want %q", resp.StatusCode, body, err, tc.want)
				}
				if r.up.Targets()[0].Healthy {
					t.Error("the target counts as healthy")
				}
				r.end()
				seat, end := r.told.only(t)
				if seat.Outcome != UpstreamError || end.Outcome != UpstreamError {
					t.Errorf("told %v and %v", seat.Outcome, end.Outcome)
				}
			})
		})
	}
}

func TestTimeouts(t *testing.T) {
	say := func(after time.Duration, parts ...string) targetFunc {
		return func(_ int, c net.Conn, br *bufio.Reader) {
			readRequest(br)
			for _, p := range parts {
				time.Sleep(after)
				if _, err := io.WriteString(c, p); err != nil {
					return
				}
			}
			time.Sleep(time.Hour)
		}
	}
	for _, tc := range []struct {
		name   string
		target targetFunc
		want   string
		at     time.Duration
	}{
		{"no byte within the timeout", say(time.Hour, "x"), "upstream_timeout timeout", 30 * time.Second},
		{"the first byte just in time", say(29*time.Second, ok("hello")), "hello", 29 * time.Second},
		{"a stall in the header", say(time.Second, "HTTP/1.1 200 OK\r\n"), "upstream_timeout stall", 21 * time.Second},
		{"a stall in a short body", say(time.Second, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), "upstream_timeout stall", 21 * time.Second},
		// The timeout is not a total: this takes 95 s, and each pause is below the stall timeout.
		{"slow but never still", say(19*time.Second, "HTTP/1.1 200 OK\r\n", "Content-Length: 3\r\n\r\n", "a", "b", "c"), "abc", 95 * time.Second},
		// An interim answer is a sign of life and no beginning of the answer.
		{"interim, then silence", say(25*time.Second, "HTTP/1.1 102 Processing\r\n\r\n"), "upstream_timeout stall", 30 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{}, one(tc.target))
				start := time.Now()
				_, body, err := r.get(simpleGet)
				if err != nil || body != tc.want {
					t.Errorf("got %q, %v; want %q", body, err, tc.want)
				}
				if took := time.Since(start); took != tc.at {
					t.Errorf("took %v, want %v", took, tc.at)
				}
				r.end()
				r.told.only(t)
			})
		})
	}
}

// Deadlines are not moved with each request; an old one must not end a later request.
func TestAKeptConnectionHasTheWholeTimeoutForEachRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		pause := time.Duration(0)
		r := newRig(t, Options{}, one(func(_ int, c net.Conn, br *bufio.Reader) {
			for {
				if req, _ := readRequest(br); req == nil {
					return
				}
				time.Sleep(pause)
				_, _ = io.WriteString(c, ok("hello"))
			}
		}))
		for _, p := range []time.Duration{0, 12 * time.Second, 12 * time.Second, 29 * time.Second, time.Second, 29 * time.Second} {
			pause = p
			if _, body, err := r.get(simpleGet); err != nil || body != "hello" {
				t.Fatalf("after a pause of %v: got %q, %v", p, body, err)
			}
			time.Sleep(8 * time.Second)
		}
		if r.dials["a"] != 1 {
			t.Errorf("%d connections", r.dials["a"])
		}
		start := time.Now()
		pause = time.Hour
		if _, body, _ := r.get(simpleGet); body != "upstream_timeout timeout" || time.Since(start) != 30*time.Second {
			t.Errorf("got %q after %v", body, time.Since(start))
		}
		r.end()
	})
}

func TestConnectIsNotForwarded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{}, one(always(ok("tunnel"))))
		if _, body, _ := r.get("CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n"); !strings.HasPrefix(body, "upstream_error") {
			t.Errorf("got %q", body)
		}
		r.end()
		if r.dials["a"] != 0 {
			t.Error("the target was asked")
		}
	})
}
