package console

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pageView is what the page's template sees.
type pageView struct {
	*Snapshot
	Gateway   string
	Paused    bool // does not refresh itself
	Overrides []OverrideView
}

// Quiet says that the gateway has seen no traffic yet, so that the page can say what to do first.
func (v pageView) Quiet() bool { return v.FlowsTotal == 0 && len(v.Flows) == 0 && len(v.Refusals) == 0 }

// Surging is the number of surges that are on.
func (v pageView) Surging() int {
	n := 0
	for _, s := range v.Surges {
		if s.End == nil {
			n++
		}
	}
	return n
}

// Available are the shares of what was promised that was served, over each span in which anything was
// asked for.
func (v pageView) Available() []available {
	var list []available
	five := v.Promise.Availability5m
	if five == nil {
		five = v.Promise.Availability
	}
	for _, of := range []struct {
		over  string
		share *float64
	}{{"1 min", v.Promise.Availability1m}, {"5 min", five}, {"60 min", v.Promise.Availability60m}} {
		if of.share != nil {
			list = append(list, available{Over: of.over, Share: formatAvailability(*of.share), Low: *of.share < 1})
		}
	}
	return list
}

type available struct {
	Over, Share string
	Low         bool // below all
}

// Overridden are the overrides, their times in the page's time zone.
func (v pageView) Overridden() []OverrideView {
	list := slices.Clone(v.Overrides)
	for i := range list {
		list[i].Made = list[i].Made.In(v.Time.Location())
		if end := list[i].Until; end != nil {
			here := end.In(v.Time.Location())
			list[i].Until = &here
		}
	}
	return list
}

// ObservedOf says which rules are observed.
func (v pageView) ObservedOf() string {
	rules := v.Observed.Rules
	if len(rules) == 1 && rules[0] == "*" {
		return "All rules are observed"
	}
	return "Observed: " + strings.Join(rules, ", ")
}

// WouldPool is a pool as it would be, all zero where nothing is known of it.
func (v pageView) WouldPool(name string) *PoolView {
	for i := range v.Observed.Pools {
		if v.Observed.Pools[i].Name == name {
			return &v.Observed.Pools[i]
		}
	}
	return &PoolView{Name: name}
}

// WouldWait is how many would be waiting in a level.
func (v pageView) WouldWait(pool, level string) int {
	for _, l := range v.Observed.Levels {
		if l.Pool == pool && l.Level == level {
			return l.Waiting
		}
	}
	return 0
}

var pageFuncs = template.FuncMap{
	"rate":    formatRate,
	"percent": func(share float64) string { return strconv.Itoa(int(math.Round(share*100))) + " %" },
	"ms":      func(ms int64) string { return formatSpan(time.Duration(ms) * time.Millisecond) },
	"seconds": func(s float64) string { return formatSpan(time.Duration(s * float64(time.Second))) },
	"clock":   func(t time.Time) string { return t.Format("15:04:05") },
	"day":     func(t time.Time) string { return t.Format("2006-01-02 15:04:05") },
	"machine": func(t time.Time) string { return t.Format(time.RFC3339) },
	"short":   func(s string) string { return s[:min(12, len(s))] },
	"dash": func(s string) string {
		if s == "" {
			return "–"
		}
		return s
	},
}

// formatAvailability rounds down, so that nothing but all is "100 %".
func formatAvailability(share float64) string {
	hundredths := math.Floor(share*10_000 + 1e-6) // of a percent; the rest is what 0.9995 lacks in binary
	if share < 1 {
		hundredths = min(hundredths, 9999)
	}
	return strconv.FormatFloat(hundredths/100, 'f', -1, 64) + " %"
}

// formatRate shows a rate with no more digits than one can use.
func formatRate(perSecond float64) string {
	if perSecond >= 100 || perSecond == math.Trunc(perSecond) {
		return strconv.FormatFloat(perSecond, 'f', 0, 64)
	}
	return strconv.FormatFloat(perSecond, 'f', 1, 64)
}

// formatSpan shows a time by its two largest units: "180 ms", "2.5 s", "3 min 20 s", "2 d 4 h".
func formatSpan(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return formatRate(math.Floor(d.Seconds()*10)/10) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}
