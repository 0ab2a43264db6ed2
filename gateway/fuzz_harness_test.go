package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// wayIn is a whole gateway that is sent bytes as they are, before an upstream that keeps what it gets, byte for byte.
type wayIn struct {
	g     *Gateway
	front *fasthttputil.InmemoryListener
	log   *logBuffer

	mu  sync.Mutex
	got []string // heads of requests that reached the upstream
}

func newWayIn(f testing.TB, text string) *wayIn {
	f.Helper()
	w := &wayIn{front: fasthttputil.NewInmemoryListener(), log: &logBuffer{}}
	admin, target := fasthttputil.NewInmemoryListener(), fasthttputil.NewInmemoryListener()
	c := configOf(f, text)
	encoder := zap.NewProductionEncoderConfig()
	encoder.MessageKey = "event"
	var err error
	w.g, err = New(c, Options{
		Version: "test", NoDate: true,
		Log: zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(encoder), w.log, zap.DebugLevel)),
		Listen: func(addr string) (net.Listener, error) {
			if addr == c.Server.Listen {
				return w.front, nil
			}
			return admin, nil
		},
		Dial: func(string, time.Duration) (net.Conn, error) { return target.Dial() },
	})
	if err != nil {
		f.Fatal(err)
	}
	go func() {
		for {
			conn, err := target.Accept()
			if err != nil {
				return
			}
			go w.keep(conn)
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.g.Run(ctx) }()
	f.Cleanup(func() {
		until(f, "all requests to end", func() bool { return w.g.active.Load() == 0 })
		for _, p := range w.g.snapshot().Pools {
			if p.InUse != 0 || p.Waiting != 0 {
				f.Errorf("%+v", p)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			f.Error(err)
		}
		_ = target.Close()
	})
	return w
}

// keep is the upstream: it answers every request that has no body.
func (w *wayIn) keep(conn net.Conn) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	for {
		var head strings.Builder
		for !strings.HasSuffix(head.String(), "\r\n\r\n") {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			head.WriteString(line)
		}
		w.mu.Lock()
		w.got = append(w.got, head.String())
		w.mu.Unlock()
		answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
		if strings.HasPrefix(head.String(), "HEAD ") {
			answer = answer[:len(answer)-2]
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// send sends a request and gives the answer, what the upstream got, and what was logged.
func (w *wayIn) send(t *testing.T, request string) (a reply, got []string, logged string) {
	t.Helper()
	conn, err := w.front.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("no answer to %q: %v", request, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	// The answer is here a moment before the request is logged.
	for start := time.Now(); w.g.active.Load() != 0; runtime.Gosched() {
		if time.Since(start) > socketBound {
			t.Fatal("the request does not end")
		}
	}
	w.mu.Lock()
	got, w.got = w.got, nil
	w.mu.Unlock()
	w.log.mu.Lock()
	logged = w.log.b.String()
	w.log.b.Reset()
	w.log.mu.Unlock()
	return reply{status: resp.StatusCode, header: resp.Header, body: string(body)}, got, logged
}

// headLine is one line of a request's header.
type headLine struct{ name, value string }

// linesOf are the lines of a header, without its first; names are in lower case.
func linesOf(head string) (lines []headLine) {
	for _, line := range strings.Split(strings.TrimSuffix(head, "\r\n\r\n"), "\r\n")[1:] {
		name, value, _ := strings.Cut(line, ":")
		lines = append(lines, headLine{lower(name), strings.Trim(value, " \t")})
	}
	return lines
}

// lower folds ASCII only, as names and hosts are folded.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// first is the first value of a header, and how often it is there.
func first(lines []headLine, name string) (value string, times int) {
	for _, l := range lines {
		if l.name == name {
			if times == 0 {
				value = l.value
			}
			times++
		}
	}
	return value, times
}
