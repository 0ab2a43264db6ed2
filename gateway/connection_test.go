package gateway

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
)

func TestHeaderTimeoutRunsToTheHeadersEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := edgeConfig()
		e := startEdge(t, c, echo(limitsOf(c)))

		// a byte every second keeps nothing open
		begun := time.Now()
		cl := e.connect()
		slow := cl.c
		go func() {
			for _, b := range []byte(usualHeader) {
				if _, err := slow.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		cl.answer().says(t, 408, "body_slow")
		if took := time.Since(begun); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("408 after %v, want 5 s", took)
		}
		cl.closed()

		// the same on a connection that was served before
		cl = e.connect().send(usualHeader)
		cl.answer().says(t, 200, "")
		time.Sleep(50 * time.Second)
		begun = time.Now()
		cl.send("GET / HTT").answer().says(t, 408, "body_slow")
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("408 after %v, want 5 s", took)
		}

		// who says nothing at all gets no answer
		begun = time.Now()
		e.connect().closed()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("closed after %v, want 5 s", took)
		}
	})
}

func TestHeaderTimeoutCutsNeitherBodyNorAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := edgeConfig()
		limits := limitsOf(c)
		limits.minRate, limits.timeout = 1, 5*time.Minute
		e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) {
			readBody(ctx, limits)
			body := append([]byte{}, ctx.Request.Body()...)
			releaseBody(ctx)
			time.Sleep(time.Minute)
			ctx.SetBodyStream(&slowReader{left: body}, -1)
		})
		cl := e.connect().send(post(60))
		go func() {
			for range 60 {
				time.Sleep(time.Second)
				io.WriteString(cl.c, "x")
			}
		}()
		cl.answer().says(t, 200, strings.Repeat("x", 60))
	})
}

// slowReader gives a byte a second.
type slowReader struct{ left []byte }

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	n := copy(p[:1], r.left)
	r.left = r.left[n:]
	return n, nil
}

func TestIdleConnectionsAreClosedAfterIdleTimeoutHoweverOftenTheyWereUsed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := edgeConfig()
		e := startEdge(t, c, echo(limitsOf(c)))
		cl := e.connect()
		for range 10 {
			time.Sleep(4 * time.Second)
			cl.send(get).answer().says(t, 200, "")
		}
		time.Sleep(74 * time.Second)
		cl.send(get).answer().says(t, 200, "")
		begun := time.Now()
		cl.closed()
		if took := time.Since(begun); took < 75*time.Second || took > 85*time.Second {
			t.Errorf("closed after %v, want 75 s to 9/8 of it", took)
		}
	})
}

func TestHeadersPastTheirLimitAreRefused(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, echo(limitsOf(c)))
	const frame = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n"
	fits := strings.Replace(frame, "X: ", "X: "+strings.Repeat("x", int(c.MaxHeaderBytes)-len(frame)), 1)
	e.connect().send(fits).answer().says(t, 200, "")
	for _, sent := range []string{
		strings.Replace(fits, "X: ", "X: x", 1),
		"GET /" + strings.Repeat("x", 10_000) + " HTTP/1.1\r\nHost: a\r\n\r\n",
		strings.Repeat("x", 10_000),
		"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X-Y: z\r\n", 5000) + "\r\n",
	} {
		cl := e.connect()
		go io.WriteString(cl.c, sent)
		a := cl.answer()
		a.says(t, 431, "headers_too_large")
		cl.closed()
	}
	e.connect().send(get).answer().says(t, 200, "")
}

func TestRefusedHeadersAreAnsweredInTheirLanguageWithAnID(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, echo(limitsOf(c)))
	a := e.connect().send("GET / HTTP/1.1\r\nHost: a\r\nACCEPT-language: zh-CN\r\nX Y: z\r\n\r\n").answer()
	a.says(t, 400, "请求有误")
	if id := a.Header.Peek("X-Request-Id"); len(id) == 0 || !strings.Contains(string(a.Body()), `"instance":"`+string(id)+`"`) {
		t.Errorf("id %q, body %s", id, a.Body())
	}
	// 431 has no detail of its own
	a = e.connect().send("GET / HTTP/1.1\r\nAccept-Language: zh\r\nX: " + strings.Repeat("x", 5000)).answer()
	a.says(t, 431, "请求头过大")
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, echo(limitsOf(c)))
	cl := e.connect().send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n" + post(3) + "abc" + postChunked + chunk("chunk") + "0\r\n\r\n" +
		"GET /4 HTTP/1.1\r\nHost: a\r\n\r\n" + "GET /5 HTTP/1.0\r\n\r\n")
	for _, want := range []string{"GET /1 ", "POST /p abc", "POST /p chunk", "GET /4 ", "GET /5 "} {
		cl.answer().says(t, 200, want)
	}
	cl.closed()
}

func TestNoServerNameOrDefaultHeadersAreAdded(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyString("x") })
	cl := e.connect().send(get)
	head, err := cl.br.Peek(len("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"))
	if err != nil || string(head) != "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx" {
		t.Errorf("%q, %v", head, err)
	}
}

func TestMultipartBodiesPassUnparsed(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, echo(limitsOf(c)))
	cl := e.connect().send(post(9, "Content-Type: multipart/form-data; boundary=x\r\n") + "no parts!")
	cl.answer().says(t, 200, "POST /p no parts!")
}

func TestConnectionsPastTheirLimitAreToldSo(t *testing.T) {
	c := edgeConfig()
	c.MaxConnections = 3
	e := startSocketEdge(t, c, echo(limitsOf(c)))
	var open []*client
	for range 3 {
		cl := e.connect().send(get)
		cl.answer().says(t, 200, "")
		open = append(open, cl)
	}
	cl := e.connect()
	a := cl.answer()
	a.says(t, 429, "queue_full")
	if string(a.Header.Peek("Retry-After")) != "1" {
		t.Error("no Retry-After")
	}
	cl.closed()
	open[0].c.Close()
	for range 200 {
		if e.edge.connections() < 3 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	e.connect().send(get).answer().says(t, 200, "")
}

// shortListener fails with what a machine short of descriptors says, then accepts.
type shortListener struct {
	mu     sync.Mutex
	errors []error
	conns  chan net.Conn
}

func (l *shortListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.errors) > 0 {
		err := l.errors[0]
		l.errors = l.errors[1:]
		return nil, err
	}
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *shortListener) Close() error   { return nil }
func (l *shortListener) Addr() net.Addr { return &net.TCPAddr{} }

func TestAcceptingGoesOnAfterAShortage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		shortage := func(e error) error { return &net.OpError{Op: "accept", Err: e} }
		inner := &shortListener{conns: make(chan net.Conn, 1), errors: []error{
			shortage(syscall.EMFILE), shortage(syscall.EMFILE), shortage(syscall.ENFILE), shortage(syscall.ECONNABORTED), shortage(syscall.ENOMEM),
		}}
		e := newEdge(edgeConfig(), newRequestIDs(), quiet{}, func(*fasthttp.RequestCtx) {}, writeRefusal)
		l := &edgeListener{Listener: inner, edge: e}
		a, b := net.Pipe()
		inner.conns <- a
		begun := time.Now()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != (5+10+20+40+80)*time.Millisecond {
			t.Errorf("accepted after %v", took)
		}
		c.Close()
		b.Close()
		if n := e.connections(); n != 0 {
			t.Errorf("%d open", n)
		}
		close(inner.conns)
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
}

func TestAReaderThatStallsIsCutAndASlowOneIsNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// a pipe without any buffer: what is not read is not written
		inner := &shortListener{conns: make(chan net.Conn)}
		answer := bytes.Repeat([]byte("x"), 1<<20)
		e := newEdge(edgeConfig(), newRequestIDs(), quiet{}, func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyRaw(answer) }, writeRefusal)
		e.server.NoDefaultDate = true
		go e.serve(inner)
		defer close(inner.conns)
		dial := func() net.Conn {
			a, b := net.Pipe()
			inner.conns <- a
			io.WriteString(b, get)
			return b
		}
		// 64 KiB every 20 s: longer than the stall in all, never between two writes
		slow := dial()
		for buf, got := make([]byte, 64<<10), 0; got < len(answer); {
			time.Sleep(20 * time.Second)
			n, err := io.ReadFull(slow, buf)
			if got += n; err != nil && got < len(answer) {
				t.Fatalf("after %d bytes: %v", got, err)
			}
		}
		slow.Close()
		synctest.Wait()

		defer dial().Close()
		time.Sleep(29 * time.Second)
		if n := e.connections(); n != 1 {
			t.Errorf("%d connections open before the stall is over", n)
		}
		time.Sleep(10 * time.Second)
		if n := e.connections(); n != 0 {
			t.Errorf("%d connections open after it", n)
		}
	})
}

func TestLimitsChangeWhileRunning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := edgeConfig()
		e := startEdge(t, c, echo(limitsOf(c)))
		cl := e.connect().send(usualHeader)
		cl.answer().says(t, 200, "")
		synctest.Wait() // until the server waits under the old limits
		small := *c
		small.MaxHeaderBytes = 100
		e.edge.apply(&small)
		cl.send(usualHeader)
		cl.answer().says(t, 200, "")
		cl.send(usualHeader).answer().says(t, 431, "headers_too_large")
	})
}

func TestHijackedConnectionsPassBytesAsTheyAre(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) {
		ctx.Conn().(*clientConn).passThrough()
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(conn net.Conn) {
			b := make([]byte, 12)
			if _, err := io.ReadFull(conn, b); err == nil {
				conn.Write(b)
			}
		})
	})
	cl := e.connect().send(get + "early\n")
	cl.send("late \n")
	got := make([]byte, 12)
	_ = cl.c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadFull(cl.br, got); err != nil || string(got) != "early\nlate \n" {
		t.Errorf("%q, %v", got, err)
	}
}

// From its first byte to its answer a usual request costs the edge no memory.
func TestAUsualRequestIsServedWithoutAllocation(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) {})
	cl := e.connect()
	header, answer := []byte(usualHeader), make([]byte, 256)
	_ = cl.c.SetReadDeadline(time.Time{})
	if n := testing.AllocsPerRun(300, func() {
		cl.c.Write(header)
		cl.c.Read(answer)
	}); n > 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
}
