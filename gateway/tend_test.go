package gateway

import (
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
)

func TestAnOverrideEndsByItselfWhenItsTimeIsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		end := time.Now().Add(30 * time.Second)
		if _, err := (control{w.g}).SetOverride(ops, config.Override{Name: "callers.ann.enabled", Value: "false", Until: &end}); err != nil {
			t.Fatal(err)
		}
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 403 {
			t.Errorf("paused: %d", a.status)
		}
		time.Sleep(28 * time.Second)
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 403 {
			t.Errorf("before the end: %d", a.status)
		}
		time.Sleep(4 * time.Second)
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 {
			t.Errorf("after the end: %d", a.status)
		}
	})
}

func TestARunningGatewaySaysWhoWaitsAndWhetherPromisesAreKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, changed(t, basic, `max_wait = "2s"`, `max_wait = "20s"`), slowly(5*time.Second))
		answers := make(chan reply, 3)
		for range 3 {
			go func() { answers <- w.do("GET /v1/chat/x", "X-API-Key: ann") }()
		}
		for range 3 {
			if a := <-answers; a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		time.Sleep(2 * time.Second)
		lines := w.log.lines("queue")
		if len(lines) != 2 || !strings.Contains(lines[0], `"waiting":1`) || !strings.Contains(lines[1], `"waiting":0`) {
			t.Errorf("of the queue the log says %v", lines)
		}
		if n := w.metric(`tidegate_availability{window="1m"}`); n != 1 {
			t.Errorf("availability %v, want 1", n)
		}
		if of := w.snapshot().Promise; of.Availability1m == nil || *of.Availability1m != 1 || of.Availability60m == nil {
			t.Errorf("%+v", of)
		}
		time.Sleep(time.Minute)
		if lines := w.log.lines("avail"); len(lines) != 1 || !strings.Contains(lines[0], `"60m":"100.000%"`) {
			t.Errorf("of availability the log says %v", lines)
		}
		if of := w.snapshot().Promise; of.Availability1m != nil || of.Availability60m == nil {
			t.Errorf("a minute later: %+v", of)
		}
	})
}
