package policy

import "tidegate/gateway/config"

func (k *compiler) planList() {
	for i, plan := range k.c.Plans {
		at := k.at("plans[%d]", i)
		if k.plans[plan.Name] != nil {
			k.problem(at, "name = %q is taken by another plan", plan.Name)
		}
		if plan.CountBy != "caller" && plan.CountBy != "tenant" {
			k.problem(at, `count_by = %q: must be "caller" or "tenant"`, plan.CountBy)
		}
		if !(plan.Weight > 0) { // also NaN
			k.problem(at, "weight = %v: must be above 0", plan.Weight)
		}
		p := &Plan{Name: plan.Name, ByTenant: plan.CountBy == "tenant", Weight: plan.Weight, Registration: plan.Registration}
		if plan.CallerRate.N > 0 {
			limit := limitOf(plan.CallerRate, 0)
			if err := limit.Valid(); err != nil {
				k.problem(at, "caller_rate = %q: %w", plan.CallerRate.Text, err)
			}
			p.CallerRate, p.callerRateText = &limit, rateText(plan.CallerRate)
		}
		k.plans[plan.Name] = p
		k.p.plans = append(k.p.plans, p)
		if before := len(k.problems); k.p.fallback != nil {
			table := k.ruleTable(i, plan)
			if len(k.problems) == before {
				k.rows(p, table)
			}
		}
	}
}

func (k *compiler) ruleTable(i int, plan config.Plan) *ruleTable {
	t := &ruleTable{plan: plan.Name, rules: make(map[ruleName]ruleEntry, len(plan.Rules))}
	for j, rule := range plan.Rules {
		name := ruleName{rule.Route, rule.Semantic}
		id, at := ruleID(plan.Name, name), k.at("plans[%d].rules[%d]", i, j)
		if other, ok := t.rules[name]; ok {
			k.problem(at, "rule %s is there already (%s); make one of the two", id, other.at)
		}
		if rule.Route != "" && k.p.byName[rule.Route] == nil {
			k.problem(at, "rule %s: route = %q is none of [[routes]]; leave it out for any", id, rule.Route)
		}
		if rule.Semantic != "" && k.p.byTag[rule.Semantic] == nil {
			k.problem(at, "rule %s: semantic = %q is none of [[semantics]]; leave it out for any", id, rule.Semantic)
		}
		if rule.Level != nil && !k.hasLevel(*rule.Level) {
			k.problem(at, "rule %s: level = %q is none of [[levels]]", id, *rule.Level)
		}
		if rule.Burst != nil && rule.Rate == nil && !rule.Apart {
			k.problem(at, "rule %s: burst = %d without a rate: the two are one field; give the rate too", id, *rule.Burst)
		}
		k.checkWords(at, rule.OverRate, rule.OverInFlight)
		t.rules[name] = ruleEntry{Rule: rule, at: at, file: k.c.Below().Plans[i].Rules[j]}
	}
	return t
}

// rows makes the plan's table. Only what a request can meet is checked, once: a rule for any semantic may be too small
// for the cost of one that never comes under it.
func (k *compiler) rows(p *Plan, t *ruleTable) {
	base := k.row(t, "", nil)
	named := make(map[string]bool)
	for name := range t.rules {
		named[name.route] = true
	}
	checked := make(map[*Rule]bool)
	p.rows = make([][]*Rule, len(k.p.routes))
	for i, route := range k.p.routes {
		row := base
		if named[route.Name] {
			row = k.row(t, route.Name, base)
		}
		p.rows[i] = row
		for _, s := range k.p.semantics {
			rule := row[s.position]
			if s != k.p.fallback && !route.accepts.has(s.position) {
				continue
			}
			if rule.Observe {
				k.observed[rule.ID] = true
			}
			if checked[rule] || rule == s.Rule {
				continue
			}
			checked[rule] = true
			if err := rule.check(); err != nil && s.Rule.check() == nil {
				k.problem(rule.At, "rule %s for %s: %w", rule.ID, s.Name, err)
			}
		}
	}
}

// row has the rule of each semantic for a route, and takes it from base where no rule names the route.
func (k *compiler) row(t *ruleTable, route string, base []*Rule) []*Rule {
	row := make([]*Rule, len(k.p.semantics))
	for _, s := range k.p.semantics {
		rule := t.candidates(route, s, k.version)[0]
		if base != nil && !rule.NamesRoute {
			rule = base[s.position]
		}
		row[s.position] = rule
	}
	return row
}
