package gateway

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/VictoriaMetrics/metrics"
)

var updateMetrics = flag.Bool("update-metrics", false, "write testdata/metrics.txt anew")

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
	t := newTelemetry("v0.1.0", 10, idle)
	t.loaded(true, time.Unix(1_800_000_000, 0))
	f := t.flow("acme", "chat")
	f.done(outcomeServed, 20*time.Millisecond)
	f.refused("queue_full")
	f.surged()
	t.waits("shared", "realtime").Update(.2)
	t.upstream("api").failed("connect")
	t.estimateMissed(time.Second, 2*time.Second)
	return t
}

func TestMetricsNamesAndTypesAreTheContract(t *testing.T) {
	// The words of the contract, apart from the code that makes them.
	want := map[string]string{}
	for line := range strings.FieldsSeq(`
		requests_total{caller,semantic,outcome}:counter refusals_total{code,semantic}:counter
		request_duration_seconds{semantic}:histogram queue_wait_seconds{pool,level}:histogram
		queue_depth{pool,level}:gauge queue_bytes:gauge pool_seats{pool}:gauge pool_seats_in_use{pool}:gauge
		pool_seats_lent{pool}:gauge surges_total{caller,semantic}:counter surge_active:gauge
		upstream_errors_total{upstream,reason}:counter upstream_healthy{upstream,target}:gauge
		config_last_reload_successful:gauge config_last_reload_success_timestamp_seconds:gauge
		config_reloads_total{result}:counter flows:gauge refused_within_rate_total{semantic}:counter
		wait_estimate_error_seconds:histogram build_info{version,goversion}:gauge`) {
		name, kind, _ := strings.Cut(line, ":")
		want["tidegate_"+name] = kind
	}
	got := map[string]string{}
	kinds := map[string]string{}
	closed := map[string]bool{} // metrics whose lines are over
	var current string
	for line := range strings.Lines(exposition(everything())) {
		line = strings.TrimSuffix(line, "\n")
		if fields := strings.Fields(line); fields[0] == "#" {
			if fields[1] == "TYPE" {
				kinds[fields[2]] = fields[3]
			}
			if fields[1] == "HELP" && strings.HasPrefix(fields[2], "tidegate_") && len(fields) < 4 {
				t.Errorf("%s has no help", fields[2])
			}
			continue
		}
		if !strings.HasPrefix(line, "tidegate_") {
			continue
		}
		name, rest, labelled := strings.Cut(line[:strings.LastIndexByte(line, ' ')], "{")
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base := strings.TrimSuffix(name, suffix); kinds[base] == "histogram" {
				name = base
			}
		}
		if name != current {
			if closed[name] {
				t.Errorf("the lines of %s are not together", name)
			}
			closed[current], current = true, name
		}
		kind, ok := kinds[name]
		if !ok {
			t.Errorf("no type before %q", line)
		}
		var labels []string
		if labelled {
			for _, pair := range strings.Split(strings.TrimSuffix(rest, "}"), ",") {
				if label, _, _ := strings.Cut(pair, "="); label != "le" {
					labels = append(labels, label)
				}
			}
		}
		if len(labels) > 0 {
			name += "{" + strings.Join(labels, ",") + "}"
		}
		got[name] = kind
	}
	for name, kind := range want {
		if got[name] != kind {
			t.Errorf("%s is %q, want %q", name, got[name], kind)
		}
	}
	for name := range got {
		if want[name] == "" {
			t.Errorf("%s is not in the contract", name)
		}
	}
}

func TestExpositionIsAsWritten(t *testing.T) {
	var ours []string
	for line := range strings.Lines(exposition(everything())) {
		if strings.Contains(line, "tidegate_") && !strings.HasPrefix(line, "tidegate_build_info") {
			ours = append(ours, line)
		}
	}
	got := strings.Join(ours, "")
	const path = "testdata/metrics.txt"
	if *updateMetrics {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update-metrics writes it anew):\n%s", path, got)
	}
}

func TestTheProcessIsShownToo(t *testing.T) {
	text := exposition(everything())
	for _, series := range []string{"go_goroutines", "process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total"} {
		if value(text, series) == "" {
			t.Errorf("no %s", series)
		}
	}
}

func TestAllGaugesAreZeroWhenIdle(t *testing.T) {
	text := exposition(newTelemetry("v0.1.0", 10, idle))
	// What is there without any work: capacity and health.
	standing := []string{"tidegate_pool_seats", "tidegate_upstream_healthy", "tidegate_build_info"}
	gauges := map[string]bool{}
	seen := 0
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if fields[0] == "#" {
			gauges[fields[2]] = fields[len(fields)-1] == "gauge" // the type comes after the help
			continue
		}
		name, _, _ := strings.Cut(fields[0], "{")
		if !strings.HasPrefix(name, "tidegate_") || !gauges[name] || slices.Contains(standing, name) {
			continue
		}
		seen++
		if fields[len(fields)-1] != "0" {
			t.Errorf("idle, and yet %s", line)
		}
	}
	if seen != 12 {
		t.Errorf("%d series looked at, want 12", seen)
	}
}

func TestGaugesEndWithWhatTheyMeasure(t *testing.T) {
	stats := gaugeStats{
		Pools:       []poolGauges{{"shared", 64, 60, 3}, {"vip", 32, 1, 0}},
		Queues:      []queueGauges{{"shared", "batch", 7}, {"vip", "batch", 2}},
		QueueBytes:  5_000_000_000,
		SurgeActive: 1,
		Flows:       9,
		Targets:     []targetGauges{{"api", "http://10.0.0.1:80", true}, {"api", "http://10.0.0.2:80", false}},
	}
	tel := newTelemetry("v0.1.0", 10, func() gaugeStats { return stats })
	expectValues(t, exposition(tel), map[string]string{
		`tidegate_pool_seats{pool="shared"}`:                                    "64",
		`tidegate_pool_seats_in_use{pool="shared"}`:                             "60",
		`tidegate_pool_seats_lent{pool="shared"}`:                               "3",
		`tidegate_queue_depth{pool="shared",level="batch"}`:                     "7",
		`tidegate_queue_depth{pool="vip",level="batch"}`:                        "2",
		`tidegate_queue_bytes`:                                                  "5000000000",
		`tidegate_surge_active`:                                                 "1",
		`tidegate_flows`:                                                        "9",
		`tidegate_upstream_healthy{upstream="api",target="http://10.0.0.1:80"}`: "1",
		`tidegate_upstream_healthy{upstream="api",target="http://10.0.0.2:80"}`: "0",
	})
	stats = gaugeStats{Pools: stats.Pools[:1]}
	text := exposition(tel)
	for _, gone := range []string{`pool="vip"`, `tidegate_queue_depth`, `tidegate_upstream_healthy`} {
		if strings.Contains(text, gone) {
			t.Errorf("%s is still shown", gone)
		}
	}
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
	if tel.waits("shared", "batch") != tel.waits("shared", "batch") || tel.upstream("api") != tel.upstream("api") {
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
