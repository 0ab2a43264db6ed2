package console

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"tidegate/gateway/config"
)

// serve has the console answer on a listener in memory until the test ends, and answers how to reach it.
func (d *desk) serve(t *testing.T) (dial func() *line) {
	t.Helper()
	ln := fasthttputil.NewInmemoryListener()
	served := make(chan error, 1)
	go func() { served <- d.Serve(ln) }()
	t.Cleanup(func() {
		if err := d.Shutdown(); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return func() *line {
		conn, err := ln.Dial()
		if err != nil {
			panic(err)
		}
		return &line{Conn: conn, r: bufio.NewReader(conn)}
	}
}

// state is what is free and how many wait.
func (m *bodyMemory) state() (free, waiting int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.free, len(m.waiting)
}

// idle checks that all memory of bodies was given back.
func (m *bodyMemory) idle(t *testing.T) {
	t.Helper()
	if free, waiting := m.state(); free != maxBodies || waiting != 0 {
		t.Errorf("%d bytes of bodies are still held, %d wait", maxBodies-free, waiting)
	}
}

// line is a client's connection.
type line struct {
	net.Conn
	r *bufio.Reader
}

func (l *line) send(parts ...string) *line {
	for _, p := range parts {
		if _, err := io.WriteString(l, p); err != nil {
			break // the other end has heard enough; what it says is read all the same
		}
	}
	return l
}

// answer is the status and the code of the next answer, and its header and body.
func (l *line) answer() (status string, a *fasthttp.Response) {
	a = &fasthttp.Response{}
	if err := a.Read(l.r); err != nil {
		return "no answer: " + err.Error(), a
	}
	status = fmt.Sprint(a.StatusCode())
	var p problem
	if json.Unmarshal(a.Body(), &p) == nil && p.Code != "" {
		status += " " + p.Code
	}
	return status, a
}

func head1(method, path string, fields ...string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(append(fields, "", ""), "\r\n")
}

func TestWritesOverAConnection(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	dial := d.serve(t)
	large := strings.Repeat("# a comment of thirty-two bytes\n", config.MaxFile/32)
	quoted, err := json.Marshal(large)
	if err != nil {
		t.Fatal(err)
	}
	chunked := func(body string) string {
		return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	length := func(n int) string { return fmt.Sprint("Content-Length: ", n) }
	const put, toml, match, chunks = "/api/v1/config", "Content-Type: application/toml", "If-Match: *", "Transfer-Encoding: chunked"
	for _, c := range []struct {
		name, want string
		sent       []string
	}{
		{"a POST with nothing at all", "200", []string{head1("POST", "/api/v1/reload")}},
		{"a POST with a length of nothing", "200", []string{head1("POST", "/api/v1/reload", length(0))}},
		{"a POST with chunks of nothing", "415 unsupported_media_type", []string{head1("POST", "/api/v1/reload", chunks), "0\r\n\r\n"}},
		{"a DELETE with nothing at all", "404 override_unknown", []string{head1("DELETE", "/api/v1/overrides?name=x")}},
		{"a text", "200", []string{head1("PUT", put, toml, match, length(5)), "a = 1"}},
		{"a text in two parts", "200", []string{head1("PUT", put, toml, match, length(5)), "a =", " 2"}},
		{"a text in chunks", "200", []string{head1("PUT", put, toml, match, chunks), chunked("a = 3")}},
		{"a text that is waited for", "200", []string{head1("PUT", put, toml, match, length(5), "Expect: 100-continue"), "a = 4"}},
		{"the largest text", "200", []string{head1("PUT", put, toml, match, length(len(large))), large}},
		{"the largest text in chunks", "200", []string{head1("PUT", put, toml, match, chunks), chunked(large)}},
		{"the largest text in JSON", "200", []string{head1("PUT", put, asJSON, match, length(len(quoted)+11)), `{"config":`, string(quoted), "}"}},
		{"a larger one", "413 body_too_large", []string{head1("PUT", put, toml, match, length(len(large)+1)), large, "x"}},
		{"a larger one in chunks", "413 body_too_large", []string{head1("PUT", put, toml, match, chunks), chunked(large + "x")}},
		{"a larger one in JSON", "413 body_too_large", []string{head1("PUT", put, asJSON, match, length(len(quoted)+12)), `{"config":"x`, string(quoted[1:]), "}"}},
		{"one that would never end", "413 body_too_large", []string{head1("PUT", put, toml, match, length(1<<40)), "x"}},
		{"a small write with much", "413 body_too_large", []string{head1("POST", "/api/v1/reload", asJSON, length(maxBody+1)), "{"}},
		{"broken chunks", "400 bad_request", []string{head1("PUT", put, toml, match, chunks), "zz\r\n"}},
	} {
		l := dial()
		go l.send(c.sent...)
		got, a := l.answer()
		if got != c.want {
			t.Errorf("%s = %s %s, want %s", c.name, got, a.Body(), c.want)
		}
		l.Close()
	}
	if text, _ := d.control.Text(); string(text) != large {
		t.Errorf("%d bytes are in force, want %d", len(text), len(large))
	}
}

// The connection is good for the next request, whatever became of one with a body.
func TestAConnectionGoesOnAfterAWrite(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	l := d.serve(t)()
	defer l.Close()
	for _, c := range []struct{ sent, want string }{
		{head1("PUT", "/api/v1/config", asTOML, "If-Match: *", "Content-Length: 5") + "a = 1", "200"},
		{head1("PUT", "/api/v1/config", asTOML, "Content-Length: 5") + "a = 1", "428 precondition_required"},
		{head1("POST", "/api/v1/reload", "Content-Type: text/plain", "Content-Length: 5") + "a = 1", "415 unsupported_media_type"},
		{head1("GET", "/healthz", "Content-Length: 5") + "a = 1", "200"},
		{head1("POST", "/nothing", asJSON, "Transfer-Encoding: chunked") + "5\r\na = 1\r\n0\r\n\r\n", "404 not_found"},
		{head1("GET", "/healthz"), "200"},
	} {
		if got, a := l.send(c.sent).answer(); got != c.want {
			t.Errorf("%q = %s %s, want %s", c.sent, got, a.Body(), c.want)
		}
	}
}

// A stranger is turned away before his body is here: he sends none of it, and has his answer.
func TestABodyIsReadOfNobodyWhoMayNotWrite(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("v", "viewer"), tokenOf("w", "owner"))
	dial := d.serve(t)
	const chunks = "Transfer-Encoding: chunked"
	for _, c := range []struct {
		want   string
		fields []string
	}{
		{"401 token_missing", []string{asTOML, "If-Match: *", chunks}},
		{"401 token_unknown", []string{asTOML, "If-Match: *", chunks, "Authorization: Bearer x"}},
		{"403 role_insufficient", []string{asTOML, "If-Match: *", chunks, "Authorization: Bearer v"}},
		{"403 cross_site", []string{asTOML, "If-Match: *", chunks, "Authorization: Bearer w", "Origin: http://evil.example"}},
		{"415 unsupported_media_type", []string{"Content-Type: multipart/form-data; boundary=x", chunks, "Authorization: Bearer w"}},
		{"428 precondition_required", []string{asTOML, chunks, "Authorization: Bearer w"}},
		{"412 precondition_failed", []string{asTOML, "If-Match: ", chunks, "Authorization: Bearer w"}},
	} {
		l := dial()
		if got, _ := l.send(head1("PUT", "/api/v1/config", c.fields...)).answer(); got != c.want {
			t.Errorf("%q = %s, want %s", c.fields, got, c.want)
		}
		l.Close()
	}
	// Of one that says how long it is, a byte is read ahead; of a form's parts too.
	for _, contentType := range []string{asTOML, "Content-Type: multipart/form-data; boundary=x"} {
		l := dial()
		sent := head1("PUT", "/api/v1/config", contentType, "If-Match: *", "Content-Length: 4000000") + "x"
		got, a := l.send(sent).answer()
		if got != "401 token_missing" || !a.ConnectionClose() {
			t.Errorf("%s = %s, closes %v", contentType, got, a.ConnectionClose())
		}
		l.Close()
	}
}

func TestASlowBodyIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("127.0.0.1:8081")
		ln := fasthttputil.NewInmemoryListener()
		go d.Serve(ln)
		conn, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		l := (&line{Conn: conn, r: bufio.NewReader(conn)}).send(head1("PUT", "/api/v1/config", asTOML, "If-Match: *", "Transfer-Encoding: chunked"), "5\r\na =")
		if got, _ := l.answer(); got != "408 body_slow" || time.Since(begun) != bodyTimeout {
			t.Errorf("%s after %v", got, time.Since(begun))
		}
		l.Close()
		synctest.Wait()
		d.bodies.idle(t)
		if err := d.Shutdown(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) // the library's workers end
	})
}

// Whoever waits for memory has all his time for his body when there is some.
func TestBodiesWaitForMemoryAndLoseNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("127.0.0.1:8081")
		ln := fasthttputil.NewInmemoryListener()
		go d.Serve(ln)
		dial := func() *line {
			conn, err := ln.Dial()
			if err != nil {
				t.Fatal(err)
			}
			return &line{Conn: conn, r: bufio.NewReader(conn)}
		}
		put := head1("PUT", "/api/v1/config", asTOML, "If-Match: *", "Transfer-Encoding: chunked")
		fits := maxBodies / (2 * config.MaxFile)
		var slow []*line
		for range fits {
			slow = append(slow, dial().send(put, "5\r\na ="))
		}
		synctest.Wait()
		late := dial().send(put, "5\r\na = 1\r\n0\r\n\r\n")
		time.Sleep(bodyTimeout - time.Second)
		if free, waiting := d.bodies.state(); free >= 2*config.MaxFile || waiting != 1 {
			t.Fatalf("%d bytes are free, %d wait", free, waiting)
		}
		for _, l := range slow {
			if got, _ := l.answer(); got != "408 body_slow" {
				t.Errorf("slow: %s", got)
			}
			l.Close()
		}
		if got, _ := late.answer(); got != "200" {
			t.Errorf("late: %s", got)
		}
		late.Close()
		synctest.Wait()
		d.bodies.idle(t)
		if err := d.Shutdown(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
}

func TestMemoryIsGivenInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := bodyMemory{free: 10}
		var mu sync.Mutex
		var order []int
		m.take(10)
		next := 0
		take := func(n int) {
			i := next
			next++
			go func() {
				m.take(n)
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
			}()
			synctest.Wait()
		}
		give := func(n, free int, want ...int) {
			t.Helper()
			m.give(n)
			synctest.Wait()
			slices.Sort(order) // those who are let in together are in no order
			if now, _ := m.state(); now != free || !slices.Equal(order, want) {
				t.Errorf("%v have memory, %d is free; want %v, %d", order, now, want, free)
			}
		}
		for _, n := range []int{8, 1, 1, 3} {
			take(n)
		}
		give(7, 7) // not enough for the first, so nobody goes before it
		take(1)    // nor does a newcomer
		give(3, 0, 0, 1, 2)
		give(8, 4, 0, 1, 2, 3, 4)
	})
}

// A thousand clients write at once, round after round: one of each round wins, everybody is answered,
// and what is held meanwhile stays within its bound.
func TestOfAThousandWritesAtOnceExactlyOneWins(t *testing.T) {
	const clients, rounds = 1000, 5
	d := newDesk("127.0.0.1:8081")
	dial := d.serve(t)
	lines := make([]*line, clients)
	for i := range lines {
		lines[i] = dial()
		defer lines[i].Close()
	}
	for round := range rounds {
		_, tag := d.control.Text()
		filler := strings.Repeat("#", 100)
		if round == rounds-1 {
			filler = strings.Repeat("#", 100_000) // more than there is memory for at once
		}
		statuses := make([]string, clients)
		tags := make([]string, clients)
		var all sync.WaitGroup
		start := make(chan struct{})
		for i, l := range lines {
			all.Go(func() {
				text := fmt.Sprintf("round = %d\nclient = %d\n%s", round, i, filler)
				sent := head1("PUT", "/api/v1/config", asTOML, "If-Match: "+tag, fmt.Sprint("Content-Length: ", len(text)))
				<-start
				go l.send(sent, text)
				status, a := l.answer()
				statuses[i], tags[i] = status, string(a.Header.Peek("ETag"))
			})
		}
		close(start)
		all.Wait()
		text, now := d.control.Text()
		won := 0
		for i, status := range statuses {
			switch {
			case status == "200":
				won++
				if want := fmt.Sprintf("round = %d\nclient = %d\n", round, i); !strings.HasPrefix(string(text), want) {
					t.Errorf("round %d: client %d was told that it won, and another's text is in force", round, i)
				}
			case status != "412 precondition_failed":
				t.Fatalf("round %d: client %d was answered %s", round, i, status)
			}
			if tags[i] != now {
				t.Errorf("round %d: client %d was told %s (%s), in force is %s", round, i, tags[i], status, now)
			}
		}
		if won != 1 || len(d.control.Versions()) != round+2 {
			t.Fatalf("round %d: %d won, %d versions", round, won, len(d.control.Versions()))
		}
	}
	if n := d.server.GetRejectedConnectionsCount(); n != 0 {
		t.Errorf("%d connections were refused", n)
	}
	d.bodies.idle(t)
}

func FuzzJSONBodies(f *testing.F) {
	for _, s := range []string{
		`{"config":"a = 1","reason":"x"}`, `{"name":"a","value":1.5,"until":null,"for":"1m"}`, `{"version":1}`, `{}`, ``, ` `, `null`, `[]`, `{"name":"a","name":"b"}`,
		`{"Name":"a"}`, "{\"name\":\"\xff\"}", `{"name":"\ud800"}`, `{"name":{"name":"a"}}`, `{"name":`, `{"name":"a"}x`, `{"version":1e2}`, `{"version":-1}`, "\ufeff{}", `{"na\u006de":"a"}`,
	} {
		f.Add([]byte(s))
	}
	allowed := []string{"config", "reason", "name", "value", "until", "for", "version"}
	d := newDesk("127.0.0.1:8081")
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := parseObject(body, allowed...)
		var want map[string]json.RawMessage
		standard := json.Unmarshal(body, &want)
		if blank := strings.Trim(string(body), " \t\r\n") == ""; blank {
			standard, want = nil, nil
		}
		if err == nil {
			if standard != nil {
				t.Fatalf("%q is taken, and is no JSON: %v", body, standard)
			}
			given := 0
			for name, value := range want {
				if string(value) != "null" {
					given++
					if string(got[name]) != string(value) {
						t.Fatalf("%q: %s is %q, want %q", body, name, got[name], value)
					}
				}
			}
			if given != len(got) {
				t.Fatalf("%q has %d members, %d were read", body, given, len(got))
			}
			for _, name := range allowed {
				got.text(name)
				got.plain(name)
				if n, err := got.number(name, 1); err == nil && n < 1 {
					t.Fatalf("%q: %s is %d", body, name, n)
				}
			}
			if end, err := got.end(t0); err == nil && end != nil && !end.After(t0) {
				t.Fatalf("%q ends %v, before it began", body, end)
			}
		}
		for _, r := range []request{
			write("PUT", "/api/v1/config", asJSON, string(body), "If-Match: \"never\""),
			write("POST", "/api/v1/config/rollback", asJSON, string(body), "If-Match: \"never\""),
			write("POST", "/api/v1/overrides", asJSON, string(body)),
			write("POST", "/api/v1/reload", asJSON, string(body)),
		} {
			d.control.overrides = nil
			if got := d.ask(r).StatusCode(); got != 200 && got != 400 && got != 412 {
				t.Fatalf("%s %s with %q = %d", r.method, r.path, body, got)
			}
		}
	})
}
