package gateway

import (
	"strings"
	"testing"
	"time"
)

// bounded is basic with a queue of two, of which one caller may have one, and a semantic that may be in
// flight once.
var bounded = strings.NewReplacer(
	"name = \"shared\"\nseats = 2", "name = \"shared\"\nseats = 1\nmax_waiting = 1\nmax_flow_share = 1.0",
	"rules = [ {", "rules = [ { route = \"open\", semantic = \"chat\", max_in_flight = 1, over_in_flight = \"reject\" }, {",
).Replace(basic)

func TestAFullQueueOverHTTP(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bounded, slowly(time.Second))
		running := make(chan reply, 3)
		send := func(key, path string) { go func() { running <- w.do("POST "+path, "X-API-Key: "+key, "", "body") }() }
		send("ann", "/v1/chat/x")
		time.Sleep(10 * time.Millisecond)
		send("ann", "/v1/reports/x") // waits: batch
		time.Sleep(10 * time.Millisecond)

		// No better than who waits: there is no place.
		a := w.do("POST /v1/reports/x", "X-API-Key: ann", "", "body")
		if a.status != 429 || a.code() != "queue_full" || a.header.Get("Retry-After") == "" {
			t.Errorf("%d %s", a.status, a.body)
		}
		// Better: who waits gives way, and is told so.
		send("bob", "/v1/chat/x")
		if a := <-running; a.status != 429 || a.code() != "displaced" || a.header.Get("Retry-After") == "" {
			t.Errorf("%d %s", a.status, a.body)
		}
		for range 2 {
			if a := <-running; a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		// Both had been paid on arrival: two broken promises, and they are counted.
		if n := w.metric(`tidegate_refused_within_rate_total{semantic="export"}`); n != 2 {
			t.Errorf("%v promises counted as broken, want 2", n)
		}
		w.idle()
	})
}

func TestALargeBodyTakesNoPlaceForWhatItDoesNotHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// 100 kB would not fit among what may wait; but they stay with the client until there is a seat.
		text := "[server]\nbody_buffer = \"4KiB\"\n" + changed(t, bounded, "max_waiting = 1", "max_waiting = 9\nmax_waiting_bytes = \"32KiB\"")
		w := newWorld(t, text, slowly(time.Second))
		running := make(chan reply, 2)
		for range 2 {
			go func() { running <- w.do("POST /v1/chat/x", "X-API-Key: ann", "", strings.Repeat("x", 100_000)) }()
			time.Sleep(10 * time.Millisecond)
		}
		for range 2 {
			if a := <-running; a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		w.idle()
	})
}

func TestBodiesPastTheMemoryForThemAreToldWhatIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "[server]\nbody_buffer = \"4KiB\"\nmax_body_memory = \"4KiB\"\n"+basic, slowly(time.Second))
		first := make(chan reply, 1)
		go func() { first <- w.do("POST /v1/chat/x", "X-API-Key: ann", "", strings.Repeat("x", 4000)) }()
		time.Sleep(10 * time.Millisecond)
		a := w.do("POST /v1/chat/x", "X-API-Key: bob", "", strings.Repeat("x", 4000))
		if a.status != 429 || a.code() != "queue_full" || a.member("limit") != 100. || a.member("remaining") != 100. || a.header.Get("RateLimit") == "" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if n := w.metric(`tidegate_refused_within_rate_total{semantic="chat"}`); n != 0 {
			t.Errorf("%v promises counted as broken: nothing is paid before the body is in", n)
		}
		<-first
		w.idle()
	})
}

func TestAConnectionTooManyIsARefusalLikeOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "[server]\nmax_connections = 1\n"+basic, mirror)
		open := w.client()
		if a := open.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		a := w.client().receive("GET")
		if a.status != 429 || a.code() != "queue_full" || a.header.Get("X-Request-Id") == "" || a.member("instance") != a.header.Get("X-Request-Id") {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
		_ = open.conn.Close()
		time.Sleep(time.Millisecond)
		if n := w.metric(`tidegate_refusals_total{code="queue_full",semantic=""}`); n != 1 {
			t.Errorf("%v counted, want 1", n)
		}
		if n := w.metric(`tidegate_requests_total{caller="",semantic="",outcome="refused"}`); n != 1 {
			t.Errorf("%v requests counted as refused, want 1", n)
		}
		if kept := w.snapshot().Refusals; len(kept) != 1 || kept[0].RequestID != a.header.Get("X-Request-Id") || len(w.log.lines("refused")) != 1 {
			t.Errorf("%+v", kept)
		}
		w.idle()
	})
}

func TestTooManyInFlightOverHTTP(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bounded, slowly(time.Second))
		first := make(chan reply, 1)
		go func() { first <- w.do("GET /open/x", "X-API-Key: ann") }()
		time.Sleep(10 * time.Millisecond)
		if a := w.do("GET /open/x", "X-API-Key: ann"); a.status != 429 || a.code() != "too_many_in_flight" || a.header.Get("Retry-After") == "" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := <-first; a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
		w.idle()
	})
}
