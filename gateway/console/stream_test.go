package console

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// sse is one event as a browser understands the bytes (WHATWG HTML, 9.2.6).
type sse struct{ id, event, data, retry, comment string }

// events reads server-sent events.
type events struct{ r *bufio.Reader }

func (e events) next() (got sse, err error) {
	for {
		text, err := e.r.ReadString('\n')
		if err != nil {
			return got, err
		}
		text = strings.TrimSuffix(text, "\n")
		if text == "" {
			return got, nil
		}
		name, value, _ := strings.Cut(text, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			got.comment += value
		case "id":
			got.id = value
		case "event":
			got.event = value
		case "data":
			got.data += value
		case "retry":
			got.retry = value
		default:
			return got, fmt.Errorf("field %q", name)
		}
	}
}

// watch opens a stream on a line.
func (l *line) watch(t *testing.T, fields ...string) events {
	t.Helper()
	l.send(requestHead("GET", streamPath, fields...))
	head := ""
	for !strings.HasSuffix(head, "\r\n\r\n") {
		text, err := l.r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", head, err)
		}
		head += text
	}
	if !strings.HasPrefix(head, "HTTP/1.1 200 ") || !strings.Contains(head, "Content-Type: text/event-stream\r\n") || !strings.Contains(head, "Cache-Control: no-store\r\n") {
		t.Fatalf("%q", head)
	}
	return events{bufio.NewReader(httputil.NewChunkedReader(l.r))}
}

func TestAStreamTellsASnapshotEachSecond(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		d.snapshot = busy()
		began := time.Now()
		for _, last := range []string{"", "Last-Event-ID: 1700000000000", "Last-Event-ID: nonsense"} { // who comes back gets all, too
			l := dial()
			e := l.watch(t, last)
			start, before := time.Now(), ""
			for i := range 60 { // longer than WriteTimeout
				got, err := e.next()
				if err != nil {
					t.Fatal(err)
				}
				var s Snapshot
				if err := json.Unmarshal([]byte(got.data), &s); err != nil || s.FlowsTotal != 23 || got.event != "snapshot" || got.retry != "1000" {
					t.Fatalf("%+v: %v", got, err)
				}
				if got.id <= before {
					t.Errorf("%q comes after %q", got.id, before)
				}
				before = got.id
				if since := time.Since(start); since > time.Duration(i)*time.Second {
					t.Errorf("event %d came after %v", i, since)
				}
			}
			l.Close()
		}
		time.Sleep(3 * time.Second)
		if seconds := int(time.Since(began) / time.Second); d.times() > seconds+1 {
			t.Errorf("asked %d times in %d s", d.times(), seconds)
		}
		idle(t, d)
	})
}

// under does something while no snapshot is being made.
func (d *desk) under(do func()) {
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	do()
}

// times is how often a snapshot was asked for.
func (d *desk) times() (n int) {
	d.under(func() { n = d.asked })
	return n
}

// idle checks that nothing runs for streams, and that nobody is asked for a snapshot.
func idle(t *testing.T, d *desk) {
	t.Helper()
	synctest.Wait()
	d.streams.mu.Lock()
	open, stop := len(d.streams.open), d.streams.stop
	d.streams.mu.Unlock()
	if open != 0 || stop != nil {
		t.Errorf("%d streams are open while nobody looks", open)
	}
	asked := d.times()
	time.Sleep(10 * time.Second)
	if now := d.times(); now != asked {
		t.Errorf("asked %d times while nobody looks", now-asked)
	}
}

func TestFiftyStreamsShareOneEncoding(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		const readers, seconds = 50, 5
		var got atomic.Int64
		d.snapshot = busy()
		lines := make([]*line, readers)
		began := time.Now()
		for i := range lines {
			lines[i] = dial()
			e := lines[i].watch(t)
			time.Sleep(15 * time.Millisecond) // who comes later begins with what the others have
			go func() {
				for {
					if _, err := e.next(); err != nil {
						return
					}
					got.Add(1)
				}
			}()
		}
		time.Sleep(time.Until(began.Add(seconds*time.Second + time.Second/2)))
		if n := got.Load(); n != readers*(seconds+1) {
			t.Errorf("%d events, want %d", n, readers*(seconds+1))
		}
		if d.times() != seconds+1 {
			t.Errorf("asked for %d snapshots, want %d", d.times(), seconds+1)
		}
		for _, l := range lines {
			l.Close()
		}
		time.Sleep(2 * time.Second)
		idle(t, d)
	})
}

func TestStreamsAreBounded(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		lines := make([]*line, maxStreams)
		for i := range lines {
			lines[i] = dial()
			lines[i].watch(t)
		}
		l := dial()
		if got, a := l.send(requestHead("GET", streamPath)).answer(); got != "503 too_many_streams" || string(a.Header.Peek("Retry-After")) != "5" {
			t.Errorf("one too many: %s", got)
		}
		if got, _ := l.send(requestHead("GET", "/api/v1/snapshot")).answer(); got != "200" {
			t.Errorf("the rest of the API: %s", got)
		}
		lines[0].Close()
		time.Sleep(2 * time.Second)
		l.watch(t)
		for _, l := range append(lines, l) {
			l.Close()
		}
		time.Sleep(2 * time.Second)
	})
}

// Who does not read is let go, and nobody else waits for him.
func TestASlowReaderIsLetGo(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		d.snapshot = busy()
		d.snapshot.Refusals = make([]RefusalView, MaxRefusals)
		slow, quick := dial(), dial()
		slow.watch(t) // and reads no more
		e := quick.watch(t)
		began := time.Now()
		for i := range 60 {
			if _, err := e.next(); err != nil {
				t.Fatal(err)
			}
			if late := time.Since(began) - time.Duration(i)*time.Second; late > 0 {
				t.Errorf("event %d is %v late", i, late)
			}
		}
		d.streams.mu.Lock()
		open := len(d.streams.open)
		d.streams.mu.Unlock()
		if open != 1 {
			t.Errorf("%d streams are open, want that of who reads", open)
		}
		quick.Close()
		slow.Close()
		time.Sleep(2 * time.Second)
		idle(t, d)
	})
}

// stalled is a writer that is stuck until its deadline.
type stalled struct {
	deadline time.Time
	writes   int
}

func (s *stalled) Write([]byte) (int, error) {
	s.writes++
	time.Sleep(time.Until(s.deadline))
	return 0, errors.New("i/o timeout")
}

func TestAWriteThatStallsEndsItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("127.0.0.1:8081")
		var w stalled
		st, ok := d.streams.enter(visitor{}, func(at time.Time) error { w.deadline = at; return nil })
		if !ok {
			t.Fatal("not let in")
		}
		began := time.Now()
		if _, err := st.WriteTo(&w); err == nil || time.Since(began) != streamStall || w.writes != 1 {
			t.Errorf("%v after %v and %d writes", err, time.Since(began), w.writes)
		}
		idle(t, d)
		if _, err := st.Read(nil); err == nil {
			t.Error("a stream can be read")
		}
		st.Close() // twice is once
	})
}

// Over a real socket, with the client that most programs use.
func TestAStreamOverTheNetwork(t *testing.T) {
	d := newDesk("127.0.0.1:0", tokenOf("s3cret", "viewer"))
	d.snapshot = busy()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- d.Serve(ln) }()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+ln.Addr().String()+streamPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer s3cret")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	e := events{bufio.NewReader(resp.Body)}
	if got, err := e.next(); err != nil || got.event != "snapshot" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := d.Shutdown(); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if _, err := e.next(); err != io.EOF {
		t.Errorf("the stream: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}
