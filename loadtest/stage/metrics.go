package stage

import (
	"bytes"
	"strconv"
	"strings"
)

// Metrics are series by their name with labels, as the gateway writes them.
type Metrics map[string]float64

// ParseMetrics reads the Prometheus text format as far as counters and gauges need it: a line is a series and a
// value. Comments, time stamps and lines that are neither are passed over.
func ParseMetrics(text []byte) Metrics {
	m := make(Metrics)
	for line := range bytes.Lines(text) {
		line := strings.TrimSpace(string(line))
		if line == "" || line[0] == '#' {
			continue
		}
		end := strings.LastIndexByte(line, '}') + 1 // label values may hold spaces
		space := strings.IndexByte(line[end:], ' ')
		if space < 0 {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimSpace(line[end+space:]), " ")
		if value, err := strconv.ParseFloat(number, 64); err == nil {
			m[line[:end+space]] = value
		}
	}
	return m
}

// Since is what was added since an earlier look, by series.
func (m Metrics) Since(earlier Metrics) Metrics {
	added := make(Metrics, len(m))
	for series, value := range m {
		added[series] = value - earlier[series]
	}
	return added
}

// By adds up the series of a metric by one of their labels. Label values are taken as written.
func (m Metrics) By(name, label string) map[string]float64 {
	sums := make(map[string]float64)
	for series, value := range m {
		labels, ok := strings.CutPrefix(series, name+"{")
		if !ok {
			continue
		}
		_, rest, _ := strings.Cut("{"+labels, label+`="`)
		text, _, _ := strings.Cut(rest, `"`)
		sums[text] += value
	}
	return sums
}
