package policy

import (
	"slices"

	"tidegate/gateway/config"
)

// apart is the plan as one caller has it: a copy in which the flows that operators have given a rate of their own have
// it under every rule, and the plan itself where there are none. The rules keep their ids: what is set is a value, not
// another rule.
func (k *compiler) apart(p *Plan, c config.Caller) *Plan {
	flows := slices.DeleteFunc(slices.Clone(c.Flows), func(f config.FlowRate) bool {
		return f.Rate.IsZero() || k.p.byTag[f.Semantic] == nil
	})
	if len(flows) == 0 || len(p.rows) == 0 {
		return p
	}
	own := *p
	own.rows = make([][]*Rule, len(p.rows))
	copies := make(map[**Rule][]*Rule) // by a row's first rule: rows that are one stay one
	made := make(map[*Rule]*Rule)      // and so do rules
	for i, row := range p.rows {
		if own.rows[i] = copies[&row[0]]; own.rows[i] == nil {
			own.rows[i] = withRates(row, flows, k.p.byTag, made, c.ID)
			copies[&row[0]] = own.rows[i]
		}
	}
	k.checkApart(&own, flows, c.ID)
	return &own
}

// withRates is a copy of a row with the flows' rates.
func withRates(row []*Rule, flows []config.FlowRate, semantics map[string]*Semantic, made map[*Rule]*Rule, caller string) []*Rule {
	row = slices.Clone(row)
	for _, f := range flows {
		rule := &row[semantics[f.Semantic].position]
		if made[*rule] == nil {
			made[*rule] = (*rule).withRate(f, caller)
		}
		*rule = made[*rule]
	}
	return row
}

// withRate is the rule with a flow's own rate.
func (r *Rule) withRate(f config.FlowRate, caller string) *Rule {
	own := *r
	own.Limit = limitOf(f.Rate, 0)
	own.RateText = rateText(f.Rate)
	own.Sources.Rate = "flows." + caller + "/" + f.Semantic
	own.Sources.Burst = own.Sources.Rate
	return &own
}

// checkApart holds the rates against what they have to pay, where a request can meet them.
func (k *compiler) checkApart(p *Plan, flows []config.FlowRate, caller string) {
	for _, f := range flows {
		s := k.p.byTag[f.Semantic]
		checked := make(map[*Rule]bool)
		for i, route := range k.p.routes {
			rule := p.rows[i][s.position]
			if checked[rule] || s != k.p.fallback && !route.accepts.has(s.position) {
				continue
			}
			checked[rule] = true
			if err := rule.check(); err != nil {
				k.problem(rule.At, "rule %s for %s of caller %s: %w", rule.ID, s.Name, caller, err)
			}
		}
	}
}
