package gateway

import (
	"bytes"
	"fmt"
	"io"

	"github.com/VictoriaMetrics/metrics"

	"tidegate/gateway/record"
)

// gaugeStats is the state that the metrics show, taken when they are read. What is not in it is not
// shown: the gauges of a pool that a reload removed end with it.
type gaugeStats struct {
	Pools       []poolGauges
	Queues      []queueGauges
	QueueBytes  int64         // held by all that wait, in all pools
	SurgeActive int           // flows that surge now
	Flows       int           // flows remembered
	Record      *record.Stats // nil: nothing is recorded
	Overrides   int
	Observing   bool          // some rule is observed
	WouldWait   []queueGauges // as it would be, while anything is observed
	// Availability is over availabilitySpans, from 0 to 1; nil: nothing was asked for.
	Availability  [len(availabilitySpans)]*float64
	Targets       []targetGauges
	Failing       []failingGauge
	AuditWaiting  int    // entries that the disk has not taken yet
	AuditLost     uint64 // that it never will
	AlertsWaiting int
	GaveWay       uint64 // series of the history that had to
}

type failingGauge struct {
	What    string
	Failing bool
}

type poolGauges struct {
	Name               string
	Seats, InUse, Lent int
}

type queueGauges struct {
	Pool, Level string
	Waiting     int     // requests
	Pressed     float64 // see scheduler.Pressed
}

type targetGauges struct {
	Upstream, Target string
	Healthy          bool
}

// help says what each metric counts. A name that is missing here is a fault, found by a test.
var help = map[string]string{
	"tidegate_alerts_pending":                               "Alerts that the webhook has not taken yet.",
	"tidegate_alerts_total":                                 "Alerts by what became of them: sent, failed, or held back because the same or too many were sent before.",
	"tidegate_audit_lost_total":                             "Entries of the audit trail that are in the log only: too many waited for the disk.",
	"tidegate_audit_pending":                                "Entries of the audit trail that are in memory and the log, and that the disk has not taken yet.",
	"tidegate_state_failing":                                "1 for what cannot be kept or told at present; the gateway runs on without.",
	"tidegate_availability":                                 "Share of the requests within their rate that were served, over a sliding window.",
	"tidegate_build_info":                                   "Always 1; the labels say what runs.",
	"tidegate_config_last_reload_success_timestamp_seconds": "When a configuration was last taken, in seconds since 1970.",
	"tidegate_config_last_reload_successful":                "1 when the config file as it is now was taken, 0 when the gateway runs on with the one before.",
	"tidegate_config_reloads_total":                         "Loads of the configuration, the first included, by result.",
	"tidegate_flows":                                        "Flows that are remembered.",
	"tidegate_history_gave_way_total":                       "Pairs of caller and semantic whose last minute is unknown to the history, as limits.history_series had no room for them.",
	"tidegate_observed_queue_depth":                         "Requests that would wait, by pool and level, if what is observed were enforced.",
	"tidegate_observed_total":                               "What would have become of requests whose rule is observed: passed, waited, gone, or a refusal's code. None of it happened.",
	"tidegate_observing":                                    "1 while some rule is observed instead of enforced.",
	"tidegate_overrides":                                    "Values that operators have set above the config file.",
	"tidegate_record_bytes":                                 "Size of all files of the trace.",
	"tidegate_record_dropped_total":                         "Requests that are missing in the trace: the disk was slow, full or gone.",
	"tidegate_record_entries_total":                         "Requests that are in the trace.",
	"tidegate_pool_seats":                                   "Seats of a pool.",
	"tidegate_pool_seats_in_use":                            "Seats of a pool that are taken, from dispatch to the last byte from the upstream.",
	"tidegate_pool_seats_lent":                              "Seats of a pool that serve other pools.",
	"tidegate_queue_bytes":                                  "Bytes held by requests that wait.",
	"tidegate_queue_depth":                                  "Requests that wait, by pool and level.",
	"tidegate_queue_pressed_ratio":                          "How much of its longest wait the paid work has waited that is nearest to its end, by pool and level: near 1, a promise is about to be broken.",
	"tidegate_queue_wait_seconds":                           "How long requests waited that had to.",
	"tidegate_refusals_total":                               "Refusals by code; none is left out.",
	"tidegate_refused_within_rate_total":                    "Requests that their rate had paid on arrival and that were refused, expired or displaced: broken promises.",
	"tidegate_request_duration_seconds":                     "From a request's first byte to the last of its answer, where the upstream was asked.",
	"tidegate_requests_total":                               "Requests by how they ended. Callers past metrics.max_callers are counted as other.",
	"tidegate_surge_active":                                 "Flows that surge now.",
	"tidegate_surges_total":                                 "Surges that began.",
	"tidegate_upstream_errors_total":                        "What went wrong with an upstream, by reason.",
	"tidegate_upstream_healthy":                             "1 for a target that is sent requests.",
	"tidegate_wait_estimate_error_seconds":                  "By how much waits differed from what was estimated for them, either way.",
}

// WriteMetrics writes all series in the Prometheus text format: those that count, those of the
// present state, and those of the process.
func (t *telemetry) WriteMetrics(w io.Writer) {
	var text bytes.Buffer
	t.set.WritePrometheus(&text)
	writeGauges(&text, t.stats())
	metrics.WriteProcessMetrics(&text)
	metrics.WriteFDMetrics(&text)
	writeHelped(w, text.Bytes())
}

func writeGauges(w io.Writer, s gaugeStats) {
	gauge(w, "tidegate_alerts_pending", s.AlertsWaiting)
	counter(w, "tidegate_audit_lost_total", s.AuditLost)
	gauge(w, "tidegate_audit_pending", s.AuditWaiting)
	writeAvailability(w, s.Availability)
	gauge(w, "tidegate_flows", s.Flows)
	counter(w, "tidegate_history_gave_way_total", s.GaveWay)
	gauge(w, "tidegate_overrides", s.Overrides)
	if r := s.Record; r != nil {
		gauge(w, "tidegate_record_bytes", r.Bytes)
		counter(w, "tidegate_record_entries_total", r.Written)
		counter(w, "tidegate_record_dropped_total", r.Dropped)
	}
	gauge(w, "tidegate_observing", number(s.Observing))
	gauges(w, "tidegate_observed_queue_depth", s.WouldWait, queueSeries, func(q queueGauges) int { return q.Waiting })
	gauges(w, "tidegate_pool_seats", s.Pools, poolSeries, func(p poolGauges) int { return p.Seats })
	gauges(w, "tidegate_pool_seats_in_use", s.Pools, poolSeries, func(p poolGauges) int { return p.InUse })
	gauges(w, "tidegate_pool_seats_lent", s.Pools, poolSeries, func(p poolGauges) int { return p.Lent })
	gauge(w, "tidegate_queue_bytes", s.QueueBytes)
	gauges(w, "tidegate_queue_depth", s.Queues, queueSeries, func(q queueGauges) int { return q.Waiting })
	gauges(w, "tidegate_state_failing", s.Failing, func(metric string, f failingGauge) string {
		return series(metric, "what", f.What)
	}, func(f failingGauge) int { return number(f.Failing) })
	writePressed(w, s.Queues)
	gauge(w, "tidegate_surge_active", s.SurgeActive)
	gauges(w, "tidegate_upstream_healthy", s.Targets, func(metric string, t targetGauges) string {
		return series(metric, "upstream", t.Upstream, "target", t.Target)
	}, func(t targetGauges) int { return number(t.Healthy) })
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// writeAvailability leaves out the spans in which nothing was asked for: no number is true of them.
func writeAvailability(w io.Writer, shares [len(availabilitySpans)]*float64) {
	const metric = "tidegate_availability"
	if shares[len(shares)-1] == nil {
		return // the longest span holds the others
	}
	metrics.WriteMetadataIfNeeded(w, metric, "gauge")
	for i, s := range shares {
		if s != nil {
			fmt.Fprintf(w, "%s %g\n", series(metric, "window", availabilityNames[i]), *s)
		}
	}
}

func writePressed(w io.Writer, queues []queueGauges) {
	const metric = "tidegate_queue_pressed_ratio"
	if len(queues) == 0 {
		return
	}
	metrics.WriteMetadataIfNeeded(w, metric, "gauge")
	for _, q := range queues {
		fmt.Fprintf(w, "%s %.4g\n", queueSeries(metric, q), q.Pressed)
	}
}

func queueSeries(metric string, q queueGauges) string {
	return series(metric, "pool", q.Pool, "level", q.Level)
}

func poolSeries(metric string, p poolGauges) string { return series(metric, "pool", p.Name) }

func gauge[N int | int64](w io.Writer, metric string, value N) {
	metrics.WriteMetadataIfNeeded(w, metric, "gauge")
	fmt.Fprintf(w, "%s %d\n", metric, value)
}

func counter(w io.Writer, metric string, value uint64) {
	metrics.WriteMetadataIfNeeded(w, metric, "counter")
	fmt.Fprintf(w, "%s %d\n", metric, value)
}

// gauges writes one metric of all things at once: the format wants the series of a metric together.
func gauges[T any](w io.Writer, metric string, things []T, name func(metric string, thing T) string, value func(T) int) {
	if len(things) == 0 {
		return
	}
	metrics.WriteMetadataIfNeeded(w, metric, "gauge")
	for _, thing := range things {
		fmt.Fprintf(w, "%s %d\n", name(metric, thing), value(thing))
	}
}

// writeHelped writes the text with our help in the empty lines that the library leaves for it.
func writeHelped(w io.Writer, text []byte) {
	var out bytes.Buffer
	out.Grow(len(text) + 4096)
	for line := range bytes.Lines(text) {
		if metric, ok := bytes.CutPrefix(line, []byte("# HELP ")); ok {
			if h := help[string(bytes.TrimSpace(metric))]; h != "" {
				out.Write(bytes.TrimSpace(line))
				out.WriteByte(' ')
				out.WriteString(h)
				out.WriteByte('\n')
				continue
			}
		}
		out.Write(line)
	}
	// An error is the reader's hanging up.
	_, _ = w.Write(out.Bytes())
}
