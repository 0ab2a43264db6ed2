package openloop

import (
	"fmt"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tidegate/loadtest/schedule"
)

// The bounds past which a run says nothing. Lag is part of every latency, because latency counts from the
// intended moment; so the generator must be small beside what is judged.
//
// MaxLagP99 is held in every phase by itself, because lag in the quiet part would raise the baseline and make
// the comparison easier. On two cores shared with the gateway and its upstream a sleeping goroutine wakes up to
// 1 ms late (the runtime's poller counts in milliseconds) and waits its turn behind others for some more.
//
// MaxLag is for a machine that stands still: a stall of s seconds makes late a share s/length of a phase's
// requests. The shortest phase that is judged by its p99 lasts 8 s or more, so a stall of less than 80 ms stays
// outside its worst 1 %; one of 100 ms in a phase of 20 s is half of that.
const (
	MaxLagP99 = 5 * time.Millisecond
	MaxLag    = 100 * time.Millisecond
)

// Phase is a named span of a run, from From to just before To.
type Phase struct {
	Name     string
	From, To time.Duration
}

// Lag is how late the generator itself was over a phase.
type Lag struct {
	Phase  string
	P99    time.Duration
	Max    time.Duration
	Unsent int // arrivals that found no connection
}

// Lags measures the generator by phase. Arrivals outside all phases are not counted.
func Lags(arrivals []schedule.Arrival, results []Result, phases []Phase) []Lag {
	lags := make([]Lag, 0, len(phases))
	for _, phase := range phases {
		h := hdrhistogram.New(1, time.Minute.Microseconds(), 3)
		lag := Lag{Phase: phase.Name}
		for i, a := range arrivals {
			if a.At < phase.From || a.At >= phase.To || results[i].Failure == Skipped {
				continue
			}
			if results[i].Failure == Unsent {
				lag.Unsent++
				continue
			}
			late := max(0, results[i].Sent-a.At)
			lag.Max = max(lag.Max, late)
			h.RecordValue(min(late, time.Minute).Microseconds())
		}
		lag.P99 = time.Duration(h.ValueAtPercentile(99)) * time.Microsecond
		lags = append(lags, lag)
	}
	return lags
}

// Void says why a run tells nothing about the server, or "" when it does.
func Void(lags []Lag) string {
	var why []string
	for _, l := range lags {
		if l.P99 > MaxLagP99 {
			why = append(why, fmt.Sprintf("in phase %s 1 %% of the requests left more than %v late (at most %v)", l.Phase, l.P99, MaxLagP99))
		}
		if l.Max > MaxLag {
			why = append(why, fmt.Sprintf("in phase %s one left %v late (at most %v)", l.Phase, l.Max.Round(time.Microsecond), MaxLag))
		}
		if l.Unsent > 0 {
			why = append(why, fmt.Sprintf("in phase %s %d found no free connection and were not sent", l.Phase, l.Unsent))
		}
	}
	if why == nil {
		return ""
	}
	return "the load generator itself was late, so the figures say nothing about the gateway: " +
		strings.Join(why, "; ") + ". Run it again on a quieter machine"
}
