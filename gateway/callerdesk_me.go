package gateway

import (
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
	"tidegate/gateway/policy"
	"tidegate/gateway/registration"
)

// deskMe is what a caller is told of itself, and of nobody else.
type deskMe struct {
	Time       time.Time     `json:"time"`
	Caller     string        `json:"caller"`
	Name       string        `json:"name"`
	Plan       string        `json:"plan"`
	CallerRate string        `json:"caller_rate"` // what all its work together may be paid; "": no bound
	Semantics  []deskUse     `json:"semantics"`
	Refusals   []deskRefusal `json:"refusals"` // newest first
	OffPeak    *deskOffPeak  `json:"off_peak"` // null: not known
}

// deskOffPeak is when it is quiet: hours and minutes of the platform's day.
type deskOffPeak struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// deskUse is a caller's quota for one semantic, and its use of it; where a rule names a route, on that route. Counts
// and what is held are at most about a second old.
type deskUse struct {
	Semantic  string  `json:"semantic"`
	Route     string  `json:"route"` // "": all that no rule names
	Level     string  `json:"level"`
	Status    string  `json:"status"`
	Off       bool    `json:"off"` // the registration does not act: such work is counted as default
	Rule      string  `json:"rule"`
	Rate      string  `json:"rate"`
	Remaining int64   `json:"remaining"` // of the fullest flow, where tenants have their own
	ResetMS   int64   `json:"reset_ms"`  // until there is enough for one request; 0: now
	Occupancy float64 `json:"occupancy"` // 0 to 1, of the fullest flow
	InFlight  int     `json:"in_flight"`
	Waiting   int     `json:"waiting"`
	MaxWaitMS int64   `json:"max_wait_ms"`
	Admitted  uint64  `json:"admitted"` // since the gateway began to count the flows that there are
	Refused   uint64  `json:"refused"`
	Flows     int     `json:"flows"` // tenants, where the plan counts by them
}

func (x *exchange) answerMe() bool {
	c, p := x.caller, x.live.policy
	me := deskMe{Time: x.start.UTC(), Caller: c.ID, Name: c.Name, Plan: c.Plan.Name, Semantics: []deskUse{}, Refusals: []deskRefusal{}}
	if c.Plan.CallerRate != nil {
		me.CallerRate = config.Rate{N: c.Plan.CallerRate.N, Per: c.Plan.CallerRate.Per}.String()
	}
	if own := x.g.desk.refusals.of(x.g, x.start, c.ID); own != nil {
		me.Refusals = own
	}
	if o := x.live.offPeak(); o != nil {
		me.OffPeak = &deskOffPeak{string(appendClock(nil, o.From)), string(appendClock(nil, o.To))}
	}
	var flows []flowCensus
	if of := x.g.census.Load().of(c); of != nil {
		flows = of.flows
	}
	registered := map[string]registration.Status{}
	for _, v := range x.g.desk.registrations.Of(c.ID) {
		registered[v.Semantic] = v.Status
	}
	for _, s := range p.Semantics() {
		status, asked := registered[s.Name]
		if c.Registered(s) {
			status, asked = registration.Active, true
		}
		if !asked {
			continue
		}
		for _, rule := range deskRules(p, c, s) {
			me.Semantics = append(me.Semantics, x.useOf(s, status, &rule, flows))
		}
	}
	return x.answerJSON(fasthttp.StatusOK, me)
}

func (x *exchange) useOf(s *policy.Semantic, status registration.Status, rule *deskRule, flows []flowCensus) deskUse {
	u := deskUse{
		Semantic: s.Name, Route: rule.route(), Level: rule.Level, Status: status.String(), Off: status != registration.Active,
		Rule: rule.ID, Rate: rule.RateText, Remaining: rule.Limit.Depth(), MaxWaitMS: rule.MaxWait.Milliseconds(),
	}
	var fullest *flowCensus
	for i := range flows {
		f := &flows[i]
		if f.d.semantic != s.Name || f.d.route != u.Route {
			continue
		}
		u.Flows++
		u.InFlight += f.inFlight
		u.Waiting += f.waiting
		u.Admitted += f.d.admitted.Load()
		u.Refused += f.d.refused.Load()
		if fullest == nil || f.occupancy > fullest.occupancy {
			fullest = f
		}
	}
	if fullest != nil {
		q := x.g.scheduler.Quota(time.Now(), fullest.d.flow)
		u.Remaining, u.Occupancy = q.Remaining, round(1-float64(q.Remaining)/float64(max(q.Limit, 1)))
		if q.Reset > 0 {
			u.ResetMS = wholeMillis(q.Reset)
		}
	}
	return u
}
