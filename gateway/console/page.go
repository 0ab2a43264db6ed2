package console

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
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
