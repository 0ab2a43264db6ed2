package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/VictoriaMetrics/metrics"

	"tidegate/gateway/record"
)

func exposition(t *telemetry) string {
	var text bytes.Buffer
	t.WriteMetrics(&text)
	return text.String()
}

// value is a series' value as it is written, or "" where there is no such series.
func value(text, series string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func expectValues(t *testing.T, text string, want map[string]string) {
	t.Helper()
	for series, v := range want {
		if got := value(text, series); got != v {
			t.Errorf("%s = %q, want %q", series, got, v)
		}
	}
}

func idle() gaugeStats {
	return gaugeStats{
		Pools:   []poolGauges{{Name: "shared", Seats: 64}, {Name: "vip", Seats: 32}},
		Queues:  []queueGauges{{Pool: "shared", Level: "realtime"}, {Pool: "shared", Level: "batch"}, {Pool: "vip", Level: "realtime"}},
		Targets: []targetGauges{{Upstream: "api", Target: "builtin:sample", Healthy: true}},
	}
}

// everything is a telemetry in which each metric has something to show.
func everything() *telemetry {
	t := newTelemetry("v0.1.0", 10, func() gaugeStats {
		s, share := idle(), 0.9995
		s.Failing = []failingGauge{{"audit", true}, {"versions", false}}
		s.Record, s.WouldWait, s.Availability = &record.Stats{}, s.Queues, [3]*float64{nil, nil, &share}
		return s
	})
	t.loaded(true, time.Unix(1_800_000_000, 0))
	f := t.flow("acme", "chat")
	f.done(outcomeServed, 20*time.Millisecond)
	f.refused("queue_full")
	f.surged()
	f.observed(observedWaited)
	t.waits("shared", "realtime").Update(.2)
	t.upstream("api").failed("connect")
	t.estimateMissed(time.Second, 2*time.Second)
	return t
}

func TestRequestsAreCountedByOutcome(t *testing.T) {
	tel := newTelemetry("v0.1.0", 10, idle)
	a, b := tel.flow("acme", "chat"), tel.flow("blue", "chat")
	expectValues(t, exposition(tel), map[string]string{
		`tidegate_requests_total{caller="acme",semantic="chat",outcome="served"}`:  "0",
		`tidegate_requests_total{caller="acme",semantic="chat",outcome="refused"}`: "", // not before there is one
		`tidegate_surges_total{caller="acme",semantic="chat"}`:                     "0",
		`tidegate_refused_within_rate_total{semantic="chat"}`:                      "0",
	})
	for range 3 {
		a.done(outcomeServed, 20*time.Millisecond)
	}
	a.done(outcomeRefused, time.Second)
	a.refused("rate_exceeded")
	b.refused("rate_exceeded")
	b.refused("queue_full")
	a.brokePromise()
	b.done(outcomeUpstreamTimeout, 30*time.Second)
	b.done(outcomeGone, 30*time.Second)
	a.surged()
	expectValues(t, exposition(tel), map[string]string{
		`tidegate_requests_total{caller="acme",semantic="chat",outcome="served"}`:           "3",
		`tidegate_requests_total{caller="acme",semantic="chat",outcome="refused"}`:          "1",
		`tidegate_requests_total{caller="blue",semantic="chat",outcome="upstream_timeout"}`: "1",
		`tidegate_requests_total{caller="blue",semantic="chat",outcome="gone"}`:             "1",
		`tidegate_refusals_total{code="rate_exceeded",semantic="chat"}`:                     "2",
		`tidegate_refusals_total{code="queue_full",semantic="chat"}`:                        "1",
		`tidegate_refused_within_rate_total{semantic="chat"}`:                               "1",
		`tidegate_surges_total{caller="acme",semantic="chat"}`:                              "1",
		// What the gateway itself refused, or nobody waited for, is not in the upstream's times.
		`tidegate_request_duration_seconds_count{semantic="chat"}`:             "4",
		`tidegate_request_duration_seconds_bucket{semantic="chat",le="0.025"}`: "3",
		`tidegate_request_duration_seconds_bucket{semantic="chat",le="30"}`:    "4",
		`tidegate_request_duration_seconds_bucket{semantic="chat",le="+Inf"}`:  "4",
	})
}

func TestEveryOutcomeHasAName(t *testing.T) {
	var names []string
	for o := range outcome(outcomes) {
		names = append(names, o.String())
	}
	if got := strings.Join(names, " "); got != "served refused gone body_error upstream_error upstream_timeout internal" {
		t.Error(got)
	}
}

func TestSeriesByCallerAreBounded(t *testing.T) {
	tel := newTelemetry("v0.1.0", 2, idle)
	tel.flow("first", "chat")
	tel.flow("second", "chat")
	for i := range 1000 {
		tel.flow(fmt.Sprint("late", i), "chat").done(outcomeServed, 0)
	}
	tel.flow("first", "export").done(outcomeServed, 0) // who is in stays in
	tel.flow("", "").done(outcomeRefused, 0)           // nobody takes no place
	if a, b := tel.flow("late1", "chat"), tel.flow("late2", "chat"); a != b {
		t.Error("two late callers have series of their own")
	}
	if a, b := tel.flow("first", "chat"), tel.flow("first", "chat"); a != b {
		t.Error("one flow has two series")
	}
	text := exposition(tel)
	expectValues(t, text, map[string]string{
		`tidegate_requests_total{caller="other",semantic="chat",outcome="served"}`:   "1000",
		`tidegate_requests_total{caller="first",semantic="export",outcome="served"}`: "1",
		`tidegate_requests_total{caller="",semantic="",outcome="refused"}`:           "1",
	})
	if strings.Contains(text, `"late`) {
		t.Error("a late caller is shown")
	}
	if strings.Contains(text, `tidegate_surges_total{caller=""`) {
		t.Error("nobody may surge")
	}

	tel.limitCallers(3)
	tel.flow("late1", "chat").done(outcomeServed, 0)
	tel.limitCallers(0)
	tel.flow("late1", "chat").done(outcomeServed, 0)
	tel.flow("late2", "chat").done(outcomeServed, 0)
	expectValues(t, exposition(tel), map[string]string{
		`tidegate_requests_total{caller="late1",semantic="chat",outcome="served"}`: "2",
		`tidegate_requests_total{caller="other",semantic="chat",outcome="served"}`: "1001",
	})
}

func TestReloadsAreShown(t *testing.T) {
	tel := newTelemetry("v0.1.0", 10, idle)
	show := func(ok, failed, last, at string) {
		t.Helper()
		expectValues(t, exposition(tel), map[string]string{
			`tidegate_config_reloads_total{result="success"}`:       ok,
			`tidegate_config_reloads_total{result="failure"}`:       failed,
			`tidegate_config_last_reload_successful`:                last,
			`tidegate_config_last_reload_success_timestamp_seconds`: at,
		})
	}
	show("0", "0", "0", "0")
	tel.loaded(true, time.Unix(1_800_000_000, 0))
	show("1", "0", "1", "1800000000")
	tel.loaded(false, time.Unix(1_800_000_060, 0))
	show("1", "1", "0", "1800000000")
	tel.loaded(true, time.Unix(1_800_000_120, 0))
	show("2", "1", "1", "1800000120")
}

func TestWaitsAndUpstreamErrorsAreResolvedOnce(t *testing.T) {
	tel := newTelemetry("v0.1.0", 10, idle)
	waits, up := tel.waits("shared", "batch"), tel.upstream("api")
	if tel.waits("shared", "batch") != waits || tel.upstream("api") != up {
		t.Error("two series for one queue or upstream")
	}
	tel.waits("shared", "batch").Update(.3)
	tel.upstream("api").failed("connect")
	tel.upstream("api").failed("connect")
	tel.upstream("api").failed("timeout")
	tel.estimateMissed(3*time.Second, time.Second)
	tel.estimateMissed(time.Second, 3*time.Second)
	expectValues(t, exposition(tel), map[string]string{
		`tidegate_queue_wait_seconds_bucket{pool="shared",level="batch",le="0.25"}`: "0",
		`tidegate_queue_wait_seconds_bucket{pool="shared",level="batch",le="0.5"}`:  "1",
		`tidegate_upstream_errors_total{upstream="api",reason="connect"}`:           "2",
		`tidegate_upstream_errors_total{upstream="api",reason="timeout"}`:           "1",
		`tidegate_wait_estimate_error_seconds_sum`:                                  "4",
		`tidegate_wait_estimate_error_seconds_count`:                                "2",
	})
}

func TestConcurrentFirstsAreNotLost(t *testing.T) {
	tel := newTelemetry("v0.1.0", 1000, idle)
	codes := []string{"rate_exceeded", "queue_full", "wait_too_long", "wait_expired", "displaced"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 500 {
				f := tel.flow(fmt.Sprint("c", i%50), "chat")
				f.done(outcome(i%outcomes), time.Millisecond)
				f.refused(codes[i%len(codes)])
				if i%100 == 0 {
					exposition(tel)
				}
			}
		})
	}
	all.Wait()
	text := exposition(tel)
	for _, code := range codes {
		expectValues(t, text, map[string]string{`tidegate_refusals_total{code="` + code + `",semantic="chat"}`: "800"})
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	tel := newTelemetry("v0.1.0", 10, idle)
	f, u, w := tel.flow("acme", "chat"), tel.upstream("api"), tel.waits("shared", "batch")
	count := func() {
		f.done(outcomeServed, 20*time.Millisecond)
		f.done(outcomeRefused, 0)
		f.refused("queue_full")
		f.refused("rate_exceeded")
		f.brokePromise()
		f.surged()
		u.failed("connect")
		w.Update(.1)
		tel.estimateMissed(time.Second, time.Minute)
	}
	count() // the firsts are made
	if n := testing.AllocsPerRun(100, count); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { tel.flow("acme", "chat") }); n != 0 {
		t.Errorf("%v allocations to find a flow's series", n)
	}
}

// The library panics at a series that it cannot parse, so no name may ever make one.
func FuzzSeries(f *testing.F) {
	for _, s := range []string{"acme", "", `a"b`, `a\`, `a\"`, "a\nb", "a,b=}{", "\xff\xfe", "客户", "\x00", `\\"`} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		name := series("tidegate_requests_total", "caller", a, "semantic", b)
		if err := metrics.ValidateMetric(name); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if !utf8.ValidString(name) || strings.ContainsAny(name, "\n") {
			t.Fatalf("%q is not a line of text", name)
		}
		if a != b && utf8.ValidString(a) && utf8.ValidString(b) && escapeLabel(a) == escapeLabel(b) {
			t.Fatalf("%q and %q have one series", a, b)
		}
	})
}

func BenchmarkDone(b *testing.B) {
	f := newTelemetry("v0.1.0", 10, idle).flow("acme", "chat")
	b.ReportAllocs()
	for b.Loop() {
		f.done(outcomeServed, 20*time.Millisecond)
	}
}

func BenchmarkDoneParallel(b *testing.B) {
	f := newTelemetry("v0.1.0", 10, idle).flow("acme", "chat")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f.done(outcomeServed, 20*time.Millisecond)
		}
	})
}

func BenchmarkRefused(b *testing.B) {
	f := newTelemetry("v0.1.0", 10, idle).flow("acme", "chat")
	b.ReportAllocs()
	for b.Loop() {
		f.refused("rate_exceeded")
	}
}
