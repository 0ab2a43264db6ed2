package gateway

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var updateMetrics = flag.Bool("update-metrics", false, "write testdata/metrics.txt anew")

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
		wait_estimate_error_seconds:histogram build_info{version,goversion}:gauge
		availability{window}:gauge observed_total{caller,semantic,verdict}:counter observed_queue_depth{pool,level}:gauge
		observing:gauge overrides:gauge record_bytes:gauge record_entries_total:counter record_dropped_total:counter
		state_failing{what}:gauge alerts_total{result}:counter alerts_pending:gauge audit_pending:gauge audit_lost_total:counter history_gave_way_total:counter queue_pressed_ratio{pool,level}:gauge`) {
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
	if seen != 19 {
		t.Errorf("%d series looked at, want 19", seen)
	}
}

func TestGaugesEndWithWhatTheyMeasure(t *testing.T) {
	stats := gaugeStats{
		Pools:       []poolGauges{{"shared", 64, 60, 3}, {"vip", 32, 1, 0}},
		Queues:      []queueGauges{{"shared", "batch", 7, 0.85}, {"vip", "batch", 2, 0}},
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
		`tidegate_queue_pressed_ratio{pool="shared",level="batch"}`:             "0.85",
		`tidegate_queue_pressed_ratio{pool="vip",level="batch"}`:                "0",
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
