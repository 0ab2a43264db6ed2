package gateway

import (
	"slices"
	"strings"
	"time"

	"tidegate/detector"
	"tidegate/gateway/config"
	"tidegate/gateway/console"
	"tidegate/gateway/policy"
)

// callerDetail is all that is known of a caller; not ok: the configuration has none of that id. Its sums are of the last
// census, everything else is of this moment.
func (g *Gateway) callerDetail(id string) (d console.CallerDetail, ok bool) {
	l := g.live.Load()
	caller := l.policy.Caller(id)
	if caller == nil {
		return d, false
	}
	c := g.census.Load()
	of := c.of(caller)
	if of == nil {
		of = &callerCensus{caller: caller, standing: standingOf(caller)} // it has come since
	}
	d = console.CallerDetail{
		Time: time.Now(), Caller: *c.viewOf(of),
		Flows:         g.busiest(c.busiest(of.flows, console.MaxFlows), nil),
		Surges:        g.watched.surgesOf(id),
		Refusals:      g.lookUpRefusals(console.RefusalsQuery{Caller: id, Limit: console.MaxRefusals}),
		Registrations: []console.RegistrationView{},
	}
	v := &d.Caller
	v.ID, v.Name, v.Plan, v.Pool, v.Enabled = caller.ID, caller.Name, caller.Plan.Name, caller.Pool, caller.Enabled
	touching := make(map[string]bool)
	d.Rules = g.rulesOf(l.policy, caller, touching)
	d.Overrides = overridesOf(control{g}.Overrides(), caller, touching)
	if g.registrationsOf != nil {
		if own := g.registrationsOf(id); own != nil {
			d.Registrations = own
		}
	}
	return d, true
}

// rulesOf are the rules that a caller's requests may meet: on each route by each semantic that holds there, and by default. The
// names of the overrides that have a part in them are added to touching.
func (g *Gateway) rulesOf(p *policy.Policy, c *policy.Caller, touching map[string]bool) []console.CallerRule {
	rules := []console.CallerRule{}
	semantics := p.Semantics()
	for _, r := range p.Routes() {
		for _, s := range semantics {
			if g.semanticOf(p, r, c, s.Name) != s {
				continue
			}
			e, err := g.explained(p, policy.Query{Caller: c.ID, Route: r.Name, Semantic: s.Name})
			if err != nil {
				continue // it cannot be: both are of this policy
			}
			rule := p.Choose(c, r, s)
			v := console.CallerRule{
				Route: r.Name, Semantic: s.Name, Registered: s.Name != policy.DefaultSemantic,
				Rule: rule.ID, At: rule.At, Rate: rule.RateText, MaxRate: rule.MaxRateText, FileRate: rule.FileRateText,
				MaxWaitMS: rule.MaxWait.Milliseconds(), OverRate: e.OverRate, Level: rule.Level, Overrides: []string{},
			}
			for _, o := range e.Overrides {
				touching[o.Name] = true
				v.Overrides = append(v.Overrides, o.Name)
			}
			rules = append(rules, v)
		}
	}
	return rules
}

// overridesOf are the overrides that have a part in a caller's rules, and those that name the caller though they are set aside.
func overridesOf(all []console.OverrideView, c *policy.Caller, touching map[string]bool) []console.OverrideView {
	return slices.DeleteFunc(all, func(o console.OverrideView) bool {
		kind, id, _ := config.SplitOverride(o.Name)
		own := kind == "callers" && id == c.ID || kind == "flows" && strings.HasPrefix(id, c.ID+"/")
		return !own && !touching[o.Name]
	})
}

// surgesOf are a caller's surges of late, newest first.
func (w *watched) surgesOf(caller string) []console.SurgeView {
	w.mu.Lock()
	defer w.mu.Unlock()
	for d, i := range w.on {
		if d.caller == caller {
			w.flows.Look(d, func(f *detector.Flow) { w.surges[i].Peak = max(w.surges[i].Peak, round(f.Peak())) })
		}
	}
	found := []console.SurgeView{}
	for _, s := range slices.Backward(w.surges) {
		if s.Caller == caller && len(found) < console.MaxSurges {
			found = append(found, s)
		}
	}
	return found
}
