package gateway

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// The request's way, from outside.

func TestAServedRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		a := w.do("POST /v1/chat/x?q=1&q=2", "X-API-Key: ann", "X-Tenant-Id: t1", "X-Tidegate-Caller: root", "x-tidegate-anything: 1", "X-Max-Wait: 1s",
			"X-Request-Id: mine-1", "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Authorization: Bearer of-the-application", "", "hello")
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for _, want := range []string{
			"POST /v1/chat/x?q=1&q=2\n", "X-Tidegate-Caller: ann\n", "X-Tidegate-Semantic: chat\n", "X-Tidegate-Tenant: t1\n",
			"Authorization: Bearer of-the-application\n", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-", "\nhello", "Via: 1.1 tidegate\n",
		} {
			if !strings.Contains(a.body, want) {
				t.Errorf("the upstream was not sent %q:\n%s", want, a.body)
			}
		}
		for _, unwanted := range []string{"X-Api-Key", "X-Tenant-Id", "X-Max-Wait", "root", "Anything", "mine-1", "b7ad6b7169203331"} {
			if strings.Contains(a.body, unwanted) {
				t.Errorf("the upstream was sent %q:\n%s", unwanted, a.body)
			}
		}
		if id := a.header.Get("X-Request-Id"); id == "" || id == "mine-1" {
			t.Errorf("X-Request-Id %q, want the gateway's own", id)
		}
		if got := a.header.Get("RateLimit-Policy"); got != `"semantic/chat";q=100;w=1` {
			t.Errorf("RateLimit-Policy: %s", got)
		}
		if got := a.header.Get("RateLimit"); got != `"semantic/chat";r=99` {
			t.Errorf("RateLimit: %s", got)
		}
		line := w.log.lines("access")
		if len(line) != 1 || !strings.Contains(line[0], `"client_request_id":"mine-1"`) || !strings.Contains(line[0], `"outcome":"served"`) {
			t.Errorf("access log: %v", line)
		}
		if strings.Contains(w.log.String(), `"ann"`) != true || strings.Contains(w.log.String(), hashOf("ann")[7:20]) {
			t.Errorf("the log shows the caller, and no more than 8 digits of the key's hash:\n%s", w.log.String())
		}
		w.idle()
	})
}

func TestTheKeyMayBeABearerTokenOrAParameter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, strings.Replace(basic, "[identify]", "[identify]\nkey = [\"header:X-API-Key\", \"bearer\", \"query:apikey\"]", 1), mirror)
		for _, tc := range []struct {
			name, request string
			headers       []string
			status        int
		}{
			{"header", "GET /v1/chat/x", []string{"X-API-Key: ann"}, 200},
			{"bearer", "GET /v1/chat/x", []string{"Authorization: Bearer ann"}, 200},
			{"a bearer that is no key", "GET /v1/chat/x", []string{"Authorization: Bearer other"}, 401},
			{"parameter", "GET /v1/chat/x?a=b&apikey=ann&c=%64", nil, 200},
			{"an encoded parameter", "GET /v1/chat/x?a=b&%61pikey=ann&c=%64", nil, 200},
			{"a wrong header beside a good bearer", "GET /v1/chat/x", []string{"X-API-Key: nobody", "Authorization: Bearer ann"}, 401},
			{"both good", "GET /v1/chat/x", []string{"X-API-Key: ann", "Authorization: Bearer bob"}, 200},
			{"the key twice", "GET /v1/chat/x", []string{"X-API-Key: ann", "X-API-Key: ann"}, 400},
			{"no key", "GET /v1/chat/x", nil, 401},
		} {
			a := w.do(tc.request, tc.headers...)
			if a.status != tc.status {
				t.Errorf("%s: %d %s, want %d", tc.name, a.status, a.body, tc.status)
			}
			if a.status != 200 {
				continue
			}
			if strings.Contains(a.body, "ann") && !strings.Contains(a.body, "X-Tidegate-Caller: ann") || strings.Contains(a.body, "Bearer") || strings.Contains(a.body, "apikey") {
				t.Errorf("%s: the key went on to the upstream:\n%s", tc.name, a.body)
			}
			if strings.Contains(tc.request, "?") && !strings.HasPrefix(a.body, "GET /v1/chat/x?a=b&c=%64\n") {
				t.Errorf("%s: the rest of the query is not what was sent:\n%s", tc.name, a.body)
			}
		}
		if strings.Contains(w.log.String(), "apikey") {
			t.Error("the log shows a query")
		}
	})
}

func TestEachRefusalHasItsCode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		long := strings.Repeat("x", 10<<10)
		for _, tc := range []struct {
			name, request string
			headers       []string
			status        int
			code          string
		}{
			{"no route", "GET /v2/none", []string{"X-API-Key: ann"}, 404, "route_unknown"},
			{"no route and no key", "GET /v2/none", nil, 404, "route_unknown"},
			{"wrong key", "GET /v1/chat/x", []string{"X-API-Key: nobody"}, 401, "caller_unknown"},
			{"disabled", "GET /v1/chat/x", []string{"X-API-Key: off"}, 403, "caller_disabled"},
			{"tenant missing", "GET /v1/chat/x", []string{"X-API-Key: shop"}, 400, "tenant_missing"},
			{"tenant malformed", "GET /v1/chat/x", []string{"X-API-Key: shop", "X-Tenant-Id: a b"}, 400, "bad_request"},
			{"tenant too long", "GET /v1/chat/x", []string{"X-API-Key: shop", "X-Tenant-Id: " + long[:129]}, 400, "bad_request"},
			{"tenant", "GET /v1/chat/x", []string{"X-API-Key: shop", "X-Tenant-Id: t.1:A_-"}, 200, ""},
			{"X-Max-Wait nonsense", "GET /v1/chat/x", []string{"X-API-Key: ann", "X-Max-Wait: soon"}, 400, "bad_request"},
			{"X-Max-Wait empty", "GET /v1/chat/x", []string{"X-API-Key: ann", "X-Max-Wait:"}, 400, "bad_request"},
			{"X-Max-Wait negative", "GET /v1/chat/x", []string{"X-API-Key: ann", "X-Max-Wait: -1s"}, 400, "bad_request"},
			{"X-Max-Wait twice", "GET /v1/chat/x", []string{"X-API-Key: ann", "X-Max-Wait: 1s", "X-Max-Wait: 2s"}, 400, "bad_request"},
			{"a tag of 10 kB", "GET /v1/mixed/x", []string{"X-API-Key: ann", "X-Semantic: " + long}, 200, ""},
			{"an encoded slash", "GET /v1/chat/..%2f..%2fadmin", []string{"X-API-Key: ann"}, 400, "bad_request"},
			{"headers too large", "GET /v1/chat/x", []string{"X-API-Key: ann", "X-A: " + long, "X-B: " + long}, 431, "headers_too_large"},
			{"body too large", "POST /v1/chat/x", []string{"X-API-Key: ann", "Content-Length: 900000000", "Connection: x"}, 413, "body_too_large"},
			{"length beside encoding", "POST /v1/chat/x", []string{"X-API-Key: ann", "Content-Length: 5", "Transfer-Encoding: chunked"}, 400, "bad_request"},
			{"two hosts", "GET /v1/chat/x", []string{"X-API-Key: ann", "Host: other"}, 400, "bad_request"},
			{"after all of them", "GET /v1/chat/x", []string{"X-API-Key: ann"}, 200, ""},
		} {
			a := w.do(tc.request, tc.headers...)
			if a.status != tc.status || a.code() != tc.code {
				t.Errorf("%s: %d %q, want %d %q\n%s", tc.name, a.status, a.code(), tc.status, tc.code, a.body)
			}
			if tc.code != "" {
				if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
					t.Errorf("%s: %s", tc.name, ct)
				}
				if a.member("instance") != a.header.Get("X-Request-Id") {
					t.Errorf("%s: instance %v, X-Request-Id %v", tc.name, a.member("instance"), a.header.Get("X-Request-Id"))
				}
			}
		}
		w.idle()
		for _, line := range w.log.lines("refused") {
			var entry struct {
				Total float64 `json:"total_ms"`
			}
			if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Total > 60_000 {
				t.Errorf("%v: a refusal that took %v ms: %s", err, entry.Total, line)
			}
		}
		if n := w.calls.Load(); n != 3 {
			t.Errorf("the upstream was called %d times, want 3: a refusal costs no seat", n)
		}
	})
}

func TestBytesThatAreNoHTTP(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		for _, raw := range []string{"\x16\x03\x01\x02\x00\x01\x00", "hello\r\n\r\n", "GET /v1/chat/x HTTP/1.1\nHost: a\n\n", "GET / HTTP/9.9\r\n\r\n"} {
			c := w.client()
			_, _ = io.WriteString(c.conn, raw)
			a := c.receive("GET")
			if a.err != nil || a.status != 400 {
				t.Errorf("%q: %d %v", raw, a.status, a.err)
			}
			c.conn.Close()
		}
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 {
			t.Errorf("afterwards: %d", a.status)
		}
		w.idle()
	})
}

func TestTheRulesOwnWordsAndWhatIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		for range 3 {
			if a := w.do("GET /v1/reports/x", "X-API-Key: ann"); a.status != 200 {
				t.Fatalf("%d", a.status)
			}
		}
		a := w.do("GET /v1/reports/x", "X-API-Key: ann")
		if a.status != 429 || a.code() != "rate_exceeded" || a.member("detail") != "Exports are three a second." {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for name, want := range map[string]any{"caller": "ann", "semantic": "export", "rule": "plain/*/export", "limit": 3.0, "remaining": 0.0, "retryable": true} {
			if got := a.member(name); got != want {
				t.Errorf("%s = %v, want %v", name, got, want)
			}
		}
		// The rate has its cost in a second, and the caller's own spread adds up to a fifth.
		if ms := a.member("retry_after_ms").(float64); ms < 990 || ms > 1200 {
			t.Errorf("retry_after_ms %v", ms)
		}
		if s := a.header.Get("Retry-After"); s != "1" && s != "2" {
			t.Errorf("Retry-After %s", s)
		}
		zh := w.do("GET /v1/reports/x", "X-API-Key: ann", "Accept-Language: zh-CN,zh;q=0.9,en;q=0.8")
		if zh.member("title") != "超出速率" || zh.header.Get("Content-Language") != "zh" {
			t.Errorf("%v %v", zh.member("title"), zh.header.Get("Content-Language"))
		}
		time.Sleep(1200 * time.Millisecond)
		if a := w.do("GET /v1/reports/x", "X-API-Key: ann"); a.status != 200 {
			t.Errorf("who comes back when told is served: %d %s", a.status, a.body)
		}
		if n := w.metric(`tidegate_refusals_total{code="rate_exceeded",semantic="export"}`); n != 2 {
			t.Errorf("%v refusals counted", n)
		}
		if n := w.metric(`tidegate_refused_within_rate_total{semantic="export"}`); n != 0 {
			t.Errorf("%v promises counted as broken", n)
		}
	})
}

func TestWaitingAndServerTiming(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, slowly(100*time.Millisecond))
		answers := w.gather(4, "GET /v1/chat/x", "X-API-Key: ann")
		waited := 0
		for _, a := range answers {
			if a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if timing := a.header.Get("Server-Timing"); timing != "" {
				waited++
				if timing != "queue;dur=100.0" {
					t.Errorf("Server-Timing: %s", timing)
				}
			}
		}
		if waited != 2 {
			t.Errorf("%d waited, want 2 of 4 at two seats", waited)
		}
		if n := w.metric(`tidegate_queue_wait_seconds_count{pool="shared",level="realtime"}`); n != 2 {
			t.Errorf("%v waits counted", n)
		}
		w.idle()
	})
}

func TestAShorterWaitThanTheRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, slowly(time.Second))
		go w.gather(2, "GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(10 * time.Millisecond)
		a := w.do("GET /v1/chat/x", "X-API-Key: ann", "X-Max-Wait: 0")
		if a.status != 429 || a.code() != "wait_too_long" || a.took > time.Millisecond {
			t.Errorf("0 means do not wait: %d %s after %v", a.status, a.code(), a.took)
		}
		a = w.do("GET /v1/chat/x", "X-API-Key: bob", "X-Max-Wait: 300ms")
		if a.status != 429 || a.code() != "wait_expired" || a.took != 300*time.Millisecond {
			t.Errorf("%d %s after %v", a.status, a.code(), a.took)
		}
		a = w.do("GET /v1/chat/x", "X-API-Key: bob", "X-Max-Wait: 1h")
		if a.status != 200 {
			t.Errorf("a longer one than the rule's changes nothing: %d", a.status)
		}
		time.Sleep(time.Second)
		if n := w.g.breaches.Load(); n != 0 {
			t.Errorf("%d promises broken: both were cut by their own X-Max-Wait", n)
		}
		w.idle()
	})
}

func TestPoolsDoNotWaitForEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, slowly(time.Second))
		go w.gather(20, "GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(10 * time.Millisecond)
		if a := w.do("GET /v1/chat/x", "X-API-Key: vip"); a.status != 200 || a.header.Get("Server-Timing") != "" {
			t.Errorf("the vip: %d, %s", a.status, a.header.Get("Server-Timing"))
		}
		time.Sleep(20 * time.Second)
		w.idle()
	})
}

func TestACallerWhoHangsUpWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, slowly(time.Second))
		go w.gather(2, "GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(10 * time.Millisecond)
		c := w.client()
		c.send("GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(10 * time.Millisecond)
		if s := w.snapshot(); s.Pools[0].Waiting != 1 {
			t.Fatalf("%d wait", s.Pools[0].Waiting)
		}
		c.conn.Close()
		time.Sleep(250 * time.Millisecond)
		if s := w.snapshot(); s.Pools[0].Waiting != 0 {
			t.Errorf("%d wait 250 ms after the hang-up", s.Pools[0].Waiting)
		}
		time.Sleep(2 * time.Second)
		if n := w.calls.Load(); n != 2 {
			t.Errorf("the upstream was called %d times, want 2", n)
		}
		if n := w.metric(`tidegate_requests_total{caller="ann",semantic="chat",outcome="gone"}`); n != 1 {
			t.Errorf("%v counted as gone", n)
		}
		if n := w.metric(`tidegate_requests_total{caller="ann",semantic="chat",outcome="refused"}`); n != 0 {
			t.Errorf("%v counted as refused", n)
		}
		w.idle()
	})
}

func TestASlowBodyTakesNoSeat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		drip := func(key string) (a reply, took time.Duration) {
			c := w.client()
			defer c.conn.Close()
			start := time.Now()
			_, _ = io.WriteString(c.conn, "POST /v1/chat/x HTTP/1.1\r\nHost: a\r\nX-API-Key: "+key+"\r\nContent-Length: 10000\r\n\r\n")
			go func() {
				for range 10000 {
					if _, err := c.conn.Write([]byte("x")); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
			a = c.receive("POST")
			return a, time.Since(start)
		}
		a, took := drip("ann")
		if a.status != 408 || a.code() != "body_slow" || took > 7*time.Second {
			t.Errorf("%d %s after %v", a.status, a.code(), took)
		}
		if used := w.g.scheduler.Stats(10).Pools[0].Dispatched; used != 0 {
			t.Errorf("%d seats were taken", used)
		}
		a, took = drip("nobody")
		if a.status != 401 || took > time.Second {
			t.Errorf("without a key: %d after %v; want 401 before the body is read", a.status, took)
		}
		w.idle()
	})
}
