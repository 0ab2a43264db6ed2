package gateway

import (
	"sync"
	"time"

	"tidegate/gateway/console"
)

// deskRefusalsShown is how many of a caller's last refusals it is shown.
const deskRefusalsShown = 20

// deskRefusal is a refusal as its caller sees it: what was said, and the numbers of its own flow that decided. What
// the pool had is everybody's, and not here.
type deskRefusal struct {
	Time         time.Time `json:"time"`
	RequestID    string    `json:"request_id"`
	Code         string    `json:"code"`
	Semantic     string    `json:"semantic"`
	Rule         string    `json:"rule"`
	Tenant       string    `json:"tenant"`
	Limit        int64     `json:"limit"`
	Remaining    int64     `json:"remaining"`
	ResetMS      int64     `json:"reset_ms"`
	WaitedMS     int64     `json:"waited_ms"`
	MaxWaitMS    int64     `json:"max_wait_ms"`
	EstimateMS   int64     `json:"estimate_ms"` // -1: unknown
	Place        int       `json:"place"`       // in the own queue, itself included; 0: was not queued
	WithinRate   bool      `json:"within_rate"`
	RetryAfterMS int64     `json:"retry_after_ms"` // 0: not worth trying again
}

// deskRefusals are the last refusals by caller, sorted out of all that are kept at most once a second, however many
// callers look.
type deskRefusals struct {
	mu sync.Mutex
	at time.Time
	by map[string][]deskRefusal
}

// of are a caller's, newest first, as they were at most a second ago. They are not to be changed.
func (d *deskRefusals) of(g *Gateway, now time.Time, caller string) []deskRefusal {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by == nil || now.Sub(d.at) >= time.Second {
		by := map[string][]deskRefusal{}
		g.refusals.find(1, func(v *console.RefusalView) bool {
			if own := by[v.Caller]; v.Caller != "" && !v.Observed && len(own) < deskRefusalsShown {
				by[v.Caller] = append(own, refusalFor(v))
			}
			return false
		})
		d.by, d.at = by, now
	}
	return d.by[caller]
}

func refusalFor(v *console.RefusalView) deskRefusal {
	r := deskRefusal{
		Time: v.Time.UTC(), RequestID: v.RequestID, Code: v.Code, Semantic: v.Semantic, Rule: v.Rule, Tenant: v.Tenant,
		Limit: v.Limit, Remaining: v.Remaining, WaitedMS: v.WaitedMS, MaxWaitMS: v.MaxWaitMS, EstimateMS: v.EstimateMS,
		Place: v.Place, WithinRate: v.WithinRate, RetryAfterMS: v.RetryAfterMS,
	}
	if v.Limit > 0 {
		r.ResetMS = v.ResetMS
	}
	return r
}
