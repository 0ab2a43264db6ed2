package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// String is the explanation for people, over several lines.
func (e *Explanation) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("caller", "%s (plan %s, pool %s)", e.Caller, e.Plan, e.Pool)
	line("route", "%s (%s -> %s)", e.Route, e.Pattern, e.Upstream)
	line("semantic", "%s: %s", e.Semantic, e.Why)
	if e.Tenant != "" {
		line("tenant", "%s", e.Tenant)
	}
	line("flow", "%s", e.Flow)
	line("rule", "%s (%s)", e.Rule, e.At)
	e.fields(&b)
	if e.CallerRate != "" {
		fmt.Fprintf(&b, "  all flows of %s together: at most %s (plan %s)\n", e.Caller, e.CallerRate, e.Plan)
	}
	if len(e.Overrode) == 0 {
		line("overrode", "nothing")
	}
	for i, o := range e.Overrode {
		name := ""
		if i == 0 {
			name = "overrode"
		}
		line(name, "%s (%s)", o.Rule, o.At)
	}
	for _, o := range e.Overrides {
		line("override", "%s", o)
	}
	for _, n := range e.Notes {
		line("note", "%s", n)
	}
	return b.String()
}

// fields writes each limit and the rule that it comes from.
func (e *Explanation) fields(b *strings.Builder) {
	rate := e.Rate + ", a sliding window"
	if e.Burst > 0 {
		rate = fmt.Sprintf("%s, a bucket of %d", e.Rate, e.Burst)
	}
	rateFrom := e.Sources.Rate
	if e.Sources.Burst != rateFrom {
		rateFrom += ", the burst from " + e.Sources.Burst
	}
	inFlight := "no limit"
	if e.MaxInFlight > 0 {
		inFlight = strconv.Itoa(e.MaxInFlight)
	}
	observe := "no"
	if e.Observe {
		observe = "yes: nothing is held back"
	}
	for _, f := range []struct{ name, value, source string }{
		{"rate", rate, rateFrom},
		{"over_rate", e.OverRate, e.Sources.OverRate},
		{"cost", strconv.FormatInt(e.Cost, 10), e.Sources.Cost},
		{"max_wait", e.MaxWait, e.Sources.MaxWait},
		{"max_in_flight", inFlight, e.Sources.MaxInFlight},
		{"over_in_flight", e.OverInFlight, e.Sources.OverInFlight},
		{"level", e.Level, e.Sources.Level},
		{"observe", observe, e.Sources.Observe},
		{"message", strconv.Quote(e.Message), e.Sources.Message},
	} {
		fmt.Fprintf(b, "  %-15s %-28s from %s\n", f.name, f.value, f.source)
	}
}
