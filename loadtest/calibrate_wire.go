package main

import (
	"context"
	"time"

	"tidegate/loadtest/knee"
	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
)

// wire plays loads on a target.
type wire struct {
	target   *target
	conns    int
	quantile float64
	seed     uint64 // of the next load
}

// plan is what all runs have in common. Answers are waited for as long as any may take.
func (w *wire) plan(arrivals []schedule.Arrival) openloop.Plan {
	return openloop.Plan{
		Arrivals: arrivals, Requests: []openloop.Request{w.target.request}, Dial: w.target.dial,
		MaxConns: w.conns, Grace: w.target.request.Timeout + time.Second,
	}
}

// Play plays a load, each with arrivals of its own.
func (w *wire) Play(ctx context.Context, load knee.Load) (knee.Step, error) {
	arrivals, err := load.Arrivals(w.seed)
	if err != nil {
		return knee.Step{}, err
	}
	w.seed++
	guard := knee.NewGuard(load)
	plan := w.plan(arrivals)
	if load.Seats > 0 {
		plan.MaxConns, plan.Queue = load.Seats, true
	}
	start := time.Now().Add(openloop.Lead)
	plan.Stop = func(out int) bool { return guard.Stop(time.Since(start), out) }
	plan.Seen = guard.Seen
	_, results, err := openloop.Run(ctx, plan)
	return knee.Measure(load, arrivals, results, guard, w.quantile), err
}

// Ask sends one request and a second one on the same connection, so that making the connection is not taken for
// slowness. The answer is the second's, unless the first is bad already.
func (w *wire) Ask(ctx context.Context) (knee.Answer, error) {
	plan := w.plan(make([]schedule.Arrival, 2))
	plan.MaxConns, plan.Queue = 1, true
	_, results, err := openloop.Run(ctx, plan)
	if err != nil {
		return knee.Answer{}, err
	}
	for i := range results {
		if reason := knee.Reason(&results[i]); reason != "" {
			return knee.Answer{Reason: reason}, nil
		}
	}
	return knee.Answer{Latency: results[1].Done - results[1].Sent}, nil
}
