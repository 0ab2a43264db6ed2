package tally

import (
	"time"

	"tidegate/loadtest/openloop"
)

// promised are the codes that break the promise when the rate had paid the request on arrival.
var promised = map[string]bool{
	"rate_exceeded": true, "wait_too_long": true, "wait_expired": true,
	"queue_full": true, "displaced": true, "too_many_in_flight": true,
}

// WithinQuota says of each arrival whether its rate had surely paid it on arrival.
func (r *Run) WithinQuota() []bool {
	sent := make([][]time.Duration, len(r.Quotas))
	index := make([][]int, len(r.Quotas))
	for i, a := range r.Arrivals {
		if r.Results[i].Failure != openloop.Unsent {
			sent[a.Who] = append(sent[a.Who], r.Results[i].Sent)
			index[a.Who] = append(index[a.Who], i)
		}
	}
	within := make([]bool, len(r.Arrivals))
	for who, quota := range r.Quotas {
		for j, paid := range quota.surelyPaid(sent[who]) {
			within[index[who][j]] = paid
		}
	}
	return within
}

// BrokenPromises says of each arrival whether it was refused although its rate had surely paid it.
func (r *Run) BrokenPromises() []bool {
	broken := r.WithinQuota()
	for i := range broken {
		broken[i] = broken[i] && promised[r.Results[i].Code]
	}
	return broken
}

// Wronged says of each arrival whether it was not served although it was within the quota: refused for whatever
// reason, failed, timed out, or still out at the end. It needs no word of a gateway, so that it holds of anything.
func (r *Run) Wronged(within []bool) []bool {
	wronged := make([]bool, len(within))
	for i := range within {
		wronged[i] = within[i] && !served(&r.Results[i])
	}
	return wronged
}

// served says that an answer below 400 came.
func served(r *openloop.Result) bool { return r.Failure == openloop.None && r.Status < 400 }

// Count is how many of the arrivals of some senders in a phase are marked.
func (r *Run) Count(marked []bool, phase openloop.Phase, senders ...int) (n int) {
	for _, reason := range r.Reasons(marked, phase, senders...) {
		n += reason
	}
	return n
}

// Reasons counts them by what became of them: the code of an answer that is no success, "served", or why there was
// no answer.
func (r *Run) Reasons(marked []bool, phase openloop.Phase, senders ...int) map[string]int {
	of := r.among(senders)
	reasons := make(map[string]int)
	for i, a := range r.Arrivals {
		if !marked[i] || !of[a.Who] || a.At < phase.From || a.At >= phase.To {
			continue
		}
		switch result := &r.Results[i]; {
		case served(result):
			reasons["served"]++
		case result.Failure != openloop.None:
			reasons[result.Failure.String()]++
		default:
			reasons[code(result)]++
		}
	}
	return reasons
}

// among marks senders.
func (r *Run) among(senders []int) []bool {
	of := make([]bool, len(r.Quotas))
	for _, who := range senders {
		of[who] = true
	}
	return of
}
