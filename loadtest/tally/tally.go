// Package tally turns the results of a run into figures for each caller.
package tally

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
)

// Figures are what became of one caller's requests, or of those of several together.
type Figures struct {
	Offered int `json:"offered"`
	AtOnce  int `json:"served_at_once"`
	Waited  int `json:"served_after_waiting"`
	// Refused counts answers 4xx by their code, Failed answers 5xx by their code and missing answers by
	// their reason. An answer without a code counts as its status, "http_429".
	Refused map[string]int `json:"refused"`
	Failed  map[string]int `json:"failed"`
	GivenUp int            `json:"given_up"` // still out at the end of the run: hung up by the client
	// NoRetry counts refusals without a Retry-After of whole seconds, at least 1.
	NoRetry int `json:"refused_without_retry_after"`
	// Broken counts refusals of requests that their rate had surely paid on arrival.
	Broken int `json:"promise_broken"`
	// Latencies are of served requests, from the intended moment. LongestWait is the longest time in the
	// gateway's queue among them, as the gateway says.
	P50         Millis `json:"p50_ms"`
	P99         Millis `json:"p99_ms"`
	Max         Millis `json:"max_ms"`
	LongestWait Millis `json:"longest_wait_ms"`
}

// Served is the number of requests with an answer below 400.
func (f *Figures) Served() int { return f.AtOnce + f.Waited }

// RefusedTotal is the number of refusals, whatever their code.
func (f *Figures) RefusedTotal() int { return total(f.Refused) }

// FailedTotal is the number of failures, whatever their reason.
func (f *Figures) FailedTotal() int { return total(f.Failed) }

func total(counts map[string]int) (n int) {
	for v := range maps.Values(counts) {
		n += v
	}
	return n
}

// Millis is a duration that JSON shows in milliseconds.
type Millis time.Duration

// MarshalJSON writes milliseconds with three decimals.
func (m Millis) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", float64(m)/float64(time.Millisecond)), nil
}

func (m Millis) String() string {
	return fmt.Sprintf("%.1f", float64(m)/float64(time.Millisecond))
}

// Run is a finished run.
type Run struct {
	Arrivals []schedule.Arrival
	Results  []openloop.Result
	Quotas   []Quota // by Arrival.Who
}

// Figures adds up the arrivals of some senders in a phase. broken is of BrokenPromises.
func (r *Run) Figures(broken []bool, phase openloop.Phase, senders ...int) Figures {
	return r.FiguresOf(broken, []openloop.Phase{phase}, senders...)
}

// FiguresOf adds them up over several phases together.
func (r *Run) FiguresOf(broken []bool, phases []openloop.Phase, senders ...int) Figures {
	f := Figures{Refused: make(map[string]int), Failed: make(map[string]int)}
	of := r.among(senders)
	latency := hdrhistogram.New(1, (10 * time.Minute).Microseconds(), 3)
	for i, a := range r.Arrivals {
		if !of[a.Who] || !slices.ContainsFunc(phases, func(p openloop.Phase) bool { return a.At >= p.From && a.At < p.To }) {
			continue
		}
		f.add(a, &r.Results[i], latency)
		if broken[i] {
			f.Broken++
		}
	}
	f.P50 = Millis(latency.ValueAtPercentile(50)) * Millis(time.Microsecond)
	f.P99 = Millis(latency.ValueAtPercentile(99)) * Millis(time.Microsecond)
	f.Max = Millis(latency.Max()) * Millis(time.Microsecond)
	return f
}

func (f *Figures) add(a schedule.Arrival, r *openloop.Result, latency *hdrhistogram.Histogram) {
	f.Offered++
	switch {
	case r.Failure == openloop.GivenUp:
		f.GivenUp++
	case r.Failure != openloop.None:
		f.Failed[r.Failure.String()]++
	case r.Status >= 500:
		f.Failed[code(r)]++
	case r.Status >= 400:
		f.Refused[code(r)]++
		if r.RetryAfter == 0 {
			f.NoRetry++
		}
	default:
		if r.Waited {
			f.Waited++
			f.LongestWait = max(f.LongestWait, Millis(r.Wait))
		} else {
			f.AtOnce++
		}
		latency.RecordValue(min(r.Latency(a.At), 10*time.Minute).Microseconds())
	}
}

func code(r *openloop.Result) string {
	if r.Code == "" {
		return fmt.Sprintf("http_%d", r.Status)
	}
	return r.Code
}

// ServedPerSecond counts one sender's served requests by the second of the run in which their answer came.
func (r *Run) ServedPerSecond(who int, seconds int) []int {
	counts := make([]int, seconds)
	for i, a := range r.Arrivals {
		result := &r.Results[i]
		if second := int(result.Done / time.Second); a.Who == who && served(result) && second < seconds {
			counts[second]++
		}
	}
	return counts
}
