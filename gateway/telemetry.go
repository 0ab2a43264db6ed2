package gateway

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidegate/gateway/alert"
)

// otherCaller stands for all callers past metrics.max_callers.
const otherCaller = "other"

// secondsBuckets are the upper bounds of all histograms, in seconds. They reach from a request of an
// idle gateway to the longest waits of batch work, in steps of about 2.5, which bounds what a
// quantile read from them is wrong by.
var secondsBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1200}

// telemetry holds all series that count. A request reaches them through pointers that were resolved
// when its flow was made; nothing on its way is looked up by a built name. What is a state rather than
// a count (seats, queues, targets) is asked for when the metrics are read, see WriteMetrics.
//
// Safe for concurrent use.
type telemetry struct {
	set   *metrics.Set
	stats func() gaugeStats

	reloadsOK, reloadsFailed     *metrics.Counter
	reloadSuccessful, reloadedAt *metrics.Gauge
	estimateErrors               *metrics.PrometheusHistogram
	alerts                       [len(alertResults)]*metrics.Counter

	mu         sync.Mutex
	maxCallers int
	callers    map[string]struct{} // who has series of his own; nobody is ever put out
	flows      map[flowName]*flowSeries
	semantics  map[string]*semanticSeries
	upstreams  map[string]*upstreamSeries
}

type flowName struct{ caller, semantic string }

// newTelemetry makes the series that are there from the start. At most maxCallers callers get series
// of their own. stats is called at each reading of the metrics, by any goroutine.
func newTelemetry(version string, maxCallers int, stats func() gaugeStats) *telemetry {
	// Types belong to a metric for whoever reads it; the library writes them only on demand, and for
	// the whole process.
	metrics.ExposeMetadata(true)
	set := metrics.NewSet()
	t := &telemetry{
		set:              set,
		stats:            stats,
		reloadsOK:        set.NewCounter(series("tidegate_config_reloads_total", "result", "success")),
		reloadsFailed:    set.NewCounter(series("tidegate_config_reloads_total", "result", "failure")),
		reloadSuccessful: set.NewGauge("tidegate_config_last_reload_successful", nil),
		reloadedAt:       set.NewGauge("tidegate_config_last_reload_success_timestamp_seconds", nil),
		estimateErrors:   set.NewPrometheusHistogramExt("tidegate_wait_estimate_error_seconds", secondsBuckets),
		maxCallers:       maxCallers,
		callers:          make(map[string]struct{}),
		flows:            make(map[flowName]*flowSeries),
		semantics:        make(map[string]*semanticSeries),
		upstreams:        make(map[string]*upstreamSeries),
	}
	for i, result := range alertResults {
		t.alerts[i] = set.NewCounter(series("tidegate_alerts_total", "result", result))
	}
	set.NewGauge(series("tidegate_build_info", "version", version, "goversion", runtime.Version()), nil).Set(1)
	return t
}

// limitCallers changes the bound on callers with series of their own. Who has them keeps them.
func (t *telemetry) limitCallers(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.maxCallers = n
}

// loaded counts one load of the configuration, also the first.
func (t *telemetry) loaded(ok bool, now time.Time) {
	if !ok {
		t.reloadsFailed.Inc()
		t.reloadSuccessful.Set(0)
		return
	}
	t.reloadsOK.Inc()
	t.reloadSuccessful.Set(1)
	t.reloadedAt.Set(float64(now.UnixMilli()) / 1000)
}

// alertResults are what can become of an alert. Of those that are for nobody nothing is counted.
var alertResults = [...]string{alert.StatusSent, alert.StatusFailed, alert.StatusHeld}

// alerted counts what has become of an alert.
func (t *telemetry) alerted(status string) {
	if i := slices.Index(alertResults[:], status); i >= 0 {
		t.alerts[i].Inc()
	}
}

// estimateMissed records by how much a wait differed from its estimate, either way.
func (t *telemetry) estimateMissed(estimate, waited time.Duration) {
	t.estimateErrors.Update((waited - estimate).Abs().Seconds())
}

// waits is the histogram of the waits in one level's queue of one pool, in seconds. Resolve it once
// for each queue.
func (t *telemetry) waits(pool, level string) *metrics.PrometheusHistogram {
	return t.set.GetOrCreatePrometheusHistogramExt(series("tidegate_queue_wait_seconds", "pool", pool, "level", level), secondsBuckets)
}

// flow is the series of a caller's semantic, the same for all of its routes and tenants. Resolve it
// once for each flow. Both are empty for requests of nobody; those take no caller's place.
func (t *telemetry) flow(caller, semantic string) *flowSeries {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, in := t.callers[caller]; !in && caller != "" {
		if len(t.callers) < t.maxCallers {
			t.callers[strings.Clone(caller)] = struct{}{}
		} else {
			caller = otherCaller
		}
	}
	if f := t.flows[flowName{caller, semantic}]; f != nil {
		return f
	}
	name := flowName{strings.Clone(caller), strings.Clone(semantic)}
	f := &flowSeries{semanticSeries: t.semantic(name.semantic), set: t.set, name: name}
	f.wouldBe.counter = func(verdict string) *metrics.Counter {
		return t.set.GetOrCreateCounter(series("tidegate_observed_total", "caller", name.caller, "semantic", name.semantic, "verdict", verdict))
	}
	// There from the start, so that the first one is seen as an increase.
	f.counter(outcomeServed)
	if name.caller != "" {
		f.surges = t.set.GetOrCreateCounter(series("tidegate_surges_total", "caller", name.caller, "semantic", name.semantic))
	}
	t.flows[name] = f
	return f
}

// semantic is called with the lock held.
func (t *telemetry) semantic(name string) *semanticSeries {
	s := t.semantics[name]
	if s == nil {
		s = &semanticSeries{
			durations: t.set.NewPrometheusHistogramExt(series("tidegate_request_duration_seconds", "semantic", name), secondsBuckets),
			breaches:  t.set.NewCounter(series("tidegate_refused_within_rate_total", "semantic", name)),
			refusals: family{counter: func(code string) *metrics.Counter {
				return t.set.GetOrCreateCounter(series("tidegate_refusals_total", "code", code, "semantic", name))
			}},
		}
		t.semantics[name] = s
	}
	return s
}

// upstream is the series of one upstream. Resolve it once for each upstream.
func (t *telemetry) upstream(name string) *upstreamSeries {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.upstreams[name]
	if u == nil {
		u = &upstreamSeries{errors: family{counter: func(reason string) *metrics.Counter {
			return t.set.GetOrCreateCounter(series("tidegate_upstream_errors_total", "upstream", name, "reason", reason))
		}}}
		t.upstreams[name] = u
	}
	return u
}

// flowSeries counts what becomes of the requests of one caller and semantic.
type flowSeries struct {
	*semanticSeries
	set      *metrics.Set
	name     flowName
	outcomes [outcomes]atomic.Pointer[metrics.Counter] // made at the first of its kind: most flows have one or two
	surges   *metrics.Counter                          // nil for nobody, who has no flow to surge
	wouldBe  family                                    // of what is observed, by verdict
}

// done counts a request's end. took is from its first byte to the last of its answer; it is recorded
// where the upstream was asked. Refusals are fast, and would hide in the same histogram that what is
// served is slow.
func (f *flowSeries) done(o outcome, took time.Duration) {
	f.counter(o).Inc()
	switch o {
	case outcomeServed, outcomeUpstreamError, outcomeUpstreamTimeout:
		f.durations.Update(took.Seconds())
	}
}

// observed counts what would have become of a request whose rule is observed.
func (f *flowSeries) observed(verdict string) { f.wouldBe.of(verdict).Inc() }

// surged counts the beginning of a surge.
func (f *flowSeries) surged() {
	if f.surges != nil {
		f.surges.Inc()
	}
}

func (f *flowSeries) counter(o outcome) *metrics.Counter {
	if c := f.outcomes[o].Load(); c != nil {
		return c
	}
	// Whoever comes at the same time gets the same counter from the set.
	c := f.set.GetOrCreateCounter(series("tidegate_requests_total", "caller", f.name.caller, "semantic", f.name.semantic, "outcome", o.String()))
	f.outcomes[o].Store(c)
	return c
}

// semanticSeries is what is not counted by caller.
type semanticSeries struct {
	durations *metrics.PrometheusHistogram
	breaches  *metrics.Counter
	refusals  family
}

// refused counts a refusal by its code; its outcome is counted by done.
func (s *semanticSeries) refused(code string) { s.refusals.of(code).Inc() }

// brokePromise counts a request that its rate had paid on arrival, and that was refused, expired or
// displaced all the same.
func (s *semanticSeries) brokePromise() { s.breaches.Inc() }

// upstreamSeries counts what goes wrong behind the gateway.
type upstreamSeries struct{ errors family }

// failed counts a failure by its reason, one of a few constant words.
func (u *upstreamSeries) failed(reason string) { u.errors.of(reason).Inc() }

// family is a few counters that differ in one label's value. A counter is made when its value is
// first seen; later it is found without a lock and without an allocation. Values must be constants of
// ours, never what a client sent.
type family struct {
	counter func(value string) *metrics.Counter // the same counter for the same value
	known   atomic.Pointer[map[string]*metrics.Counter]
}

func (f *family) of(value string) *metrics.Counter {
	for {
		old := f.known.Load()
		if old != nil {
			if c := (*old)[value]; c != nil {
				return c
			}
		}
		next := map[string]*metrics.Counter{value: f.counter(value)}
		if old != nil {
			maps.Copy(next, *old)
		}
		if f.known.CompareAndSwap(old, &next) {
			return next[value]
		}
	}
}

// series is a metric with its labels, name and value in turn.
func series(metric string, labels ...string) string {
	var b strings.Builder
	b.WriteString(metric)
	for i := 0; i+1 < len(labels); i += 2 {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(labels[i])
		b.WriteString(`="`)
		b.WriteString(escapeLabel(labels[i+1]))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// escapeLabel makes any text a label's value: one that breaks the format would cost the reader all
// metrics, and the library panics at it.
func escapeLabel(value string) string {
	return labelEscaper.Replace(strings.ToValidUTF8(value, "\uFFFD"))
}
