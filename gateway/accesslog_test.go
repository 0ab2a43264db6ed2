package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidegate/gateway/config"
)

func openAccess(t *testing.T, c config.Log) (*accessLog, *bytes.Buffer) {
	t.Helper()
	l, out := openTo(t, c)
	return newAccessLog(l.Logger, c), out
}

// send is n requests that end so, at a time after the log's start; it returns how many were wanted,
// and writes them.
func send(l *accessLog, after time.Duration, n int, o outcome) (written int) {
	for range n {
		if l.wants(o, l.start.Add(after)) {
			l.write(&accessEntry{Outcome: o})
			written++
		}
	}
	return written
}

func TestALineSaysAllOfARequest(t *testing.T) {
	l, out := openAccess(t, sampled)
	key := sha256.Sum256([]byte("s3cret"))
	l.write(&accessEntry{
		RequestID: "7f3c-000091", ClientRequestID: "theirs", Key: key,
		Caller: "acme", Semantic: "chat", Tenant: "t-1", Route: "chat", Rule: "paid/*/chat",
		Method: "POST", Path: "/v1/chat/x?apikey=s3cret", Status: 200, Outcome: outcomeServed, Band: "committed",
		Queue: 1500 * time.Microsecond, Seat: 20 * time.Millisecond, Total: 21*time.Millisecond + 999*time.Nanosecond,
		Bytes: 512, Target: "http://10.0.0.1:80", Remote: "192.0.2.7", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
	})
	l.write(&accessEntry{
		RequestID: "7f3c-000092", Method: "GET", Path: "/v1/chat", Status: 401, Outcome: outcomeRefused, Code: "caller_unknown",
	})
	l.write(&accessEntry{Outcome: outcomeUpstreamError, Status: 502, Code: "upstream_error", Reason: "connection refused"})
	l.write(&accessEntry{Outcome: outcomeInternal, Status: 500, Code: "internal"})
	if strings.Contains(out.String(), "s3cret") || strings.Contains(out.String(), hex.EncodeToString(key[:])) {
		t.Errorf("a key is in the log: %s", out)
	}
	got := lines(t, out)
	if len(got) != 4 {
		t.Fatalf("%d lines", len(got))
	}
	expectLine(t, got[0], `{"band":"committed","bytes":512,"caller":"acme","client_request_id":"theirs","event":"access",`+
		`"key":"`+hex.EncodeToString(key[:])[:8]+`","level":"info","method":"POST","outcome":"served","path":"/v1/chat/x","queue_ms":1.5,`+
		`"remote":"192.0.2.7","request_id":"7f3c-000091","route":"chat","rule":"paid/*/chat","seat_ms":20,"semantic":"chat","status":200,`+
		`"tenant":"t-1","total_ms":21,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","upstream":"http://10.0.0.1:80"}`)
	expectLine(t, got[1], `{"bytes":0,"code":"caller_unknown","event":"refused","level":"info","method":"GET","outcome":"refused",`+
		`"path":"/v1/chat","queue_ms":0,"request_id":"7f3c-000092","seat_ms":0,"status":401,"total_ms":0}`)
	expectLine(t, got[2], `{"bytes":0,"code":"upstream_error","event":"failed","level":"warn","outcome":"upstream_error","queue_ms":0,`+
		`"reason":"connection refused","seat_ms":0,"status":502,"total_ms":0}`)
	expectLine(t, got[3], `{"bytes":0,"code":"internal","event":"failed","level":"error","outcome":"internal","queue_ms":0,"seat_ms":0,"status":500,"total_ms":0}`)
}

func TestWhatAClientChoseIsCutAndStaysInItsLine(t *testing.T) {
	l, out := openAccess(t, sampled)
	l.write(&accessEntry{Path: "/" + strings.Repeat("x", 10_000), ClientRequestID: "a\"\n\x1b[2J\xff{\"event\":\"surge\"}"})
	got := lines(t, out) // each is one JSON object
	if len(got) != 1 || got[0]["event"] != "access" || len(got[0]["path"].(string)) != maxLogged {
		t.Errorf("lines %v", got)
	}
}

func TestAccessIsSampledBySecond(t *testing.T) {
	l, out := openAccess(t, sampled)
	for second, asked := range []int{10, 2, 3, 1000} {
		if got, want := send(l, time.Duration(second)*time.Second+999*time.Millisecond, asked, outcomeServed), min(asked, 3); got != want {
			t.Errorf("second %d: %d lines of %d, want %d", second, got, asked, want)
		}
	}
	l.tick(l.start.Add(time.Minute))
	for _, line := range lines(t, out) {
		if line["event"] != "access" {
			t.Errorf("a sample needs no word on what it left out: %v", line)
		}
	}
}

func TestRefusalsAndErrorsAreBoundedEachForItself(t *testing.T) {
	for _, access := range []string{"off", "sampled", "all"} {
		c := sampled
		c.Access = access
		l, out := openAccess(t, c)
		if got := send(l, 0, 1000, outcomeRefused); got != noticesPerSecond {
			t.Errorf("%s: %d refusals written", access, got)
		}
		if got := send(l, 0, 1000, outcomeUpstreamError); got != noticesPerSecond {
			t.Errorf("%s: %d errors written", access, got)
		}
		want := map[string]int{"off": 0, "sampled": 3, "all": 1000}[access]
		if got := send(l, 0, 1000, outcomeServed); got != want {
			t.Errorf("%s: %d served written, want %d", access, got, want)
		}
		l.tick(l.start.Add(999 * time.Millisecond)) // opens no gate before its second is over
		if got := send(l, 0, 10, outcomeRefused); got != 0 {
			t.Errorf("%s: %d more refusals written", access, got)
		}
		lines(t, out)

		// The next refusal, a second later, tells how many were left out; of the errors nobody has
		// asked again, so the tick does.
		send(l, 1500*time.Millisecond, 1, outcomeRefused)
		got := lines(t, out)
		if len(got) != 2 {
			t.Fatalf("%s: %v", access, got)
		}
		expectLine(t, got[0], `{"count":960,"event":"suppressed","level":"info","of":"refused"}`)
		l.tick(l.start.Add(1600 * time.Millisecond))
		got = lines(t, out)
		if len(got) != 1 {
			t.Fatalf("%s: %v", access, got)
		}
		expectLine(t, got[0], `{"count":950,"event":"suppressed","level":"warn","of":"failed"}`)

		l.tick(l.start.Add(time.Hour))
		l.tick(l.start.Add(2 * time.Hour))
		if got := lines(t, out); len(got) != 0 {
			t.Errorf("%s: told twice: %v", access, got)
		}
	}
}

func TestAccessFollowsTheConfig(t *testing.T) {
	l, _ := openAccess(t, sampled)
	c := sampled
	for second, step := range []struct {
		access string
		sample int
		want   int
	}{{"sampled", 7, 7}, {"off", 7, 0}, {"all", 7, 100}, {"sampled", 0, 0}, {"sampled", 2, 2}} {
		c.Access, c.AccessSamplePerSecond = step.access, step.sample
		l.apply(c)
		if got := send(l, time.Duration(second)*time.Second, 100, outcomeGone); got != step.want {
			t.Errorf("%+v: %d lines", step, got)
		}
	}
}

func TestTheLevelHidesRequestsToo(t *testing.T) {
	c := sampled
	c.Level = "error"
	l, out := openAccess(t, c)
	for o := range outcome(outcomes) {
		if got := l.wants(o, l.start); got != (o == outcomeInternal) {
			t.Errorf("%v is wanted: %v", o, got)
		}
	}
	send(l, 0, 1000, outcomeRefused)
	l.tick(l.start.Add(time.Minute))
	if out.Len() != 0 {
		t.Errorf("lines: %s", out)
	}
}

func TestAskingAllocatesNothing(t *testing.T) {
	l, _ := openAccess(t, sampled)
	send(l, 0, 1000, outcomeServed)
	send(l, 0, 1000, outcomeRefused)
	if n := testing.AllocsPerRun(100, func() {
		l.wants(outcomeServed, l.start)
		l.wants(outcomeRefused, l.start)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAGateLetsNoMoreThanItsBoundThroughUnderARace(t *testing.T) {
	const seconds, each, bound = 50, 200, 17
	var g gate
	var passed, missed atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for second := int64(1); second <= seconds; second++ {
				for range each {
					ok, m := g.pass(bound, second)
					missed.Add(m)
					if ok {
						passed.Add(1)
					}
				}
			}
		})
	}
	all.Wait()
	missed.Add(g.settle(bound, seconds+1))
	if n := passed.Load(); n > bound*seconds {
		t.Errorf("%d passed in %d seconds", n, seconds)
	}
	if n := passed.Load() + missed.Load(); n != 4*seconds*each {
		t.Errorf("passed and kept out are %d together, want %d", n, 4*seconds*each)
	}
}

func TestAGateCountsALateAskerInThePresent(t *testing.T) {
	var g gate
	for i, step := range []struct {
		second int64
		ok     bool
		missed int64
	}{{5, true, 0}, {4, true, 0}, {5, false, 0}, {3, false, 0}, {6, true, 2}, {9, true, 0}} {
		if ok, missed := g.pass(2, step.second); ok != step.ok || missed != step.missed {
			t.Errorf("step %d: %v, %d missed", i, ok, missed)
		}
	}
	var shut gate
	if ok, _ := shut.pass(0, 1); ok {
		t.Error("a gate with no room lets one through")
	}
}

func BenchmarkWantsUnsampled(b *testing.B) {
	for _, o := range []outcome{outcomeServed, outcomeRefused} {
		b.Run(fmt.Sprint(o), func(b *testing.B) {
			l, err := newLogs(sampled)
			if err != nil {
				b.Fatal(err)
			}
			a := newAccessLog(l.Logger, sampled)
			for range 1000 {
				a.wants(o, a.start)
			}
			b.ReportAllocs()
			for b.Loop() {
				a.wants(o, a.start)
			}
		})
	}
}
