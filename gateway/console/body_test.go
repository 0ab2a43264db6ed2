package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidegate/gateway/config"
)

func TestWritesOverAConnection(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
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
			{"a POST with nothing at all", "200", []string{requestHead("POST", "/api/v1/reload")}},
			{"a POST with a length of nothing", "200", []string{requestHead("POST", "/api/v1/reload", length(0))}},
			{"a POST with chunks of nothing", "415 unsupported_media_type", []string{requestHead("POST", "/api/v1/reload", chunks), "0\r\n\r\n"}},
			{"a DELETE with nothing at all", "404 override_unknown", []string{requestHead("DELETE", "/api/v1/overrides?name=x")}},
			{"a text", "200", []string{requestHead("PUT", put, toml, match, length(5)), "a = 1"}},
			{"a text in two parts", "200", []string{requestHead("PUT", put, toml, match, length(5)), "a =", " 2"}},
			{"a text in chunks", "200", []string{requestHead("PUT", put, toml, match, chunks), chunked("a = 3")}},
			{"a text that is waited for", "200", []string{requestHead("PUT", put, toml, match, length(5), "Expect: 100-continue"), "a = 4"}},
			{"the largest text", "200", []string{requestHead("PUT", put, toml, match, length(len(large))), large}},
			{"the largest text in chunks", "200", []string{requestHead("PUT", put, toml, match, chunks), chunked(large)}},
			{"the largest text in JSON", "200", []string{requestHead("PUT", put, asJSON, match, length(len(quoted)+11)), `{"config":`, string(quoted), "}"}},
			{"a larger one", "413 body_too_large", []string{requestHead("PUT", put, toml, match, length(len(large)+1)), large, "x"}},
			{"a larger one in chunks", "413 body_too_large", []string{requestHead("PUT", put, toml, match, chunks), chunked(large + "x")}},
			{"a larger one in JSON", "413 body_too_large", []string{requestHead("PUT", put, asJSON, match, length(len(quoted)+12)), `{"config":"x`, string(quoted[1:]), "}"}},
			{"one that would never end", "413 body_too_large", []string{requestHead("PUT", put, toml, match, length(1<<40)), "x"}},
			{"a small write with much", "413 body_too_large", []string{requestHead("POST", "/api/v1/reload", asJSON, length(maxBody+1)), "{"}},
			{"broken chunks", "400 bad_request", []string{requestHead("PUT", put, toml, match, chunks), "zz\r\n"}},
		} {
			l := dial()
			go l.send(c.sent...)
			got, a := l.answer()
			if got != c.want {
				t.Errorf("%s = %s %s, want %s", c.name, got, a.Body(), c.want)
			}
		}
		if text, _ := d.control.Text(); string(text) != large {
			t.Errorf("%d bytes are in force, want %d", len(text), len(large))
		}
	})
}

// The connection is good for the next request, whatever became of one with a body.
func TestAConnectionGoesOnAfterAWrite(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		l := dial()
		for _, c := range []struct{ sent, want string }{
			{requestHead("PUT", "/api/v1/config", asTOML, "If-Match: *", "Content-Length: 5") + "a = 1", "200"},
			{requestHead("PUT", "/api/v1/config", asTOML, "Content-Length: 5") + "a = 1", "428 precondition_required"},
			{requestHead("POST", "/api/v1/reload", "Content-Type: text/plain", "Content-Length: 5") + "a = 1", "415 unsupported_media_type"},
			{requestHead("GET", "/healthz", "Content-Length: 5") + "a = 1", "200"},
			{requestHead("POST", "/nothing", asJSON, "Transfer-Encoding: chunked") + "5\r\na = 1\r\n0\r\n\r\n", "404 not_found"},
			{requestHead("GET", "/healthz"), "200"},
		} {
			if got, a := l.send(c.sent).answer(); got != c.want {
				t.Errorf("%q = %s %s, want %s", c.sent, got, a.Body(), c.want)
			}
		}
	})
}

// A stranger is turned away before his body is here: he sends none of it, and has his answer.
func TestABodyIsReadOfNobodyWhoMayNotWrite(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
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
			if got, _ := l.send(requestHead("PUT", "/api/v1/config", c.fields...)).answer(); got != c.want {
				t.Errorf("%q = %s, want %s", c.fields, got, c.want)
			}
		}
		// Of one that says how long it is, a byte is read ahead; of a form's parts too.
		for _, contentType := range []string{asTOML, "Content-Type: multipart/form-data; boundary=x"} {
			l := dial()
			sent := requestHead("PUT", "/api/v1/config", contentType, "If-Match: *", "Content-Length: 4000000") + "x"
			got, a := l.send(sent).answer()
			if got != "401 token_missing" || !a.ConnectionClose() {
				t.Errorf("%s = %s, closes %v", contentType, got, a.ConnectionClose())
			}
		}
	}, tokenOf("v", "viewer"), tokenOf("w", "owner"))
}

func TestASlowBodyIsNotWaitedForLong(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		begun := time.Now()
		l := dial().send(requestHead("PUT", "/api/v1/config", asTOML, "If-Match: *", "Transfer-Encoding: chunked"), "5\r\na =")
		if got, _ := l.answer(); got != "408 body_slow" || time.Since(begun) != bodyTimeout {
			t.Errorf("%s after %v", got, time.Since(begun))
		}
	})
}

// Whoever waits for memory has all his time for his body when there is some.
func TestBodiesWaitForMemoryAndLoseNoTime(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		put := requestHead("PUT", "/api/v1/config", asTOML, "If-Match: *", "Transfer-Encoding: chunked")
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
		}
		if got, _ := late.answer(); got != "200" {
			t.Errorf("late: %s", got)
		}
	})
}

// While configs come slowly, and more of them wait, an override is made at once.
func TestSlowConfigsHoldUpNoSmallWrite(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		put := requestHead("PUT", "/api/v1/config", asTOML, "If-Match: *", "Transfer-Encoding: chunked")
		var slow []*line
		for range 2 * maxBodies / config.MaxFile {
			slow = append(slow, dial().send(put, "5\r\na ="))
		}
		synctest.Wait()
		begun := time.Now()
		body := `{"reason":"in time"}`
		sent := requestHead("POST", "/api/v1/reload", "Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(body))) + body
		if got, _ := dial().send(sent).answer(); got != "200" || time.Since(begun) != 0 {
			t.Errorf("%s after %v", got, time.Since(begun))
		}
		for _, l := range slow {
			if got, _ := l.answer(); got != "408 body_slow" {
				t.Errorf("slow: %s", got)
			}
		}
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
