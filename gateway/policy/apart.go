package policy

import (
	"slices"

	"tidegate/gateway/config"
)

// apart is the plan as one caller has it: a copy in which the flows that operators have given a rate of their own have
// it under every rule, and the plan itself where there are none. The rules keep their ids: what is set is a value, not
// another rule.
func (k *compiler) apart(p *Plan, c config.Caller) *Plan {
	own := *p
	copied := false
	for _, f := range c.Flows {
		s := k.p.byTag[f.Semantic]
		if s == nil || f.Rate.IsZero() {
			continue
		}
		if !copied {
			copied = true
			own.rows = make([][]*Rule, len(p.rows))
			for i := range p.rows {
				own.rows[i] = slices.Clone(p.rows[i])
			}
		}
		made := map[*Rule]*Rule{} // what is one rule stays one
		for _, row := range own.rows {
			rule := row[s.position]
			if made[rule] == nil {
				made[rule] = rule.at(f)
			}
			row[s.position] = made[rule]
			if err := made[rule].check(); err != nil {
				k.problem(rule.At, "rule %s for %s of caller %s: %w", rule.ID, s.Name, c.ID, err)
			}
		}
	}
	if !copied {
		return p
	}
	return &own
}

// at is the rule with a flow's own rate.
func (r *Rule) at(f config.FlowRate) *Rule {
	own := *r
	own.Limit = limitOf(f.Rate, 0)
	own.RateText = rateText(f.Rate)
	own.Sources.Rate, own.Sources.Burst = flowSource, flowSource
	return &own
}

// flowSource is the source of a rate that is set for one caller's flow.
const flowSource = "flows"
