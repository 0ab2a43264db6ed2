package config

import "slices"

// ruleMet is what one rule says of a semantic.
type ruleMet struct {
	id    string
	cost  int64
	rate  Rate
	burst int64
	most  Rate // as far as an operator may raise the rate
	set   bool // most is a max_rate; false: it is the rate itself
}

// depth is how much may be paid at once.
func (m ruleMet) depth() int64 {
	if m.burst > 0 {
		return m.burst
	}
	return m.rate.N
}

// ownRule is a semantic's own.
func ownRule(s *Semantic) ruleMet {
	m := ruleMet{id: "semantic/" + s.Name, cost: s.Cost, rate: s.Rate, burst: s.Burst, most: s.Rate}
	if !s.MaxRate.IsZero() {
		m.most, m.set = s.MaxRate, true
	}
	return m
}

// met is a plan's rule, completed from a semantic.
func (r *Rule) met(plan string, s *Semantic) ruleMet {
	m := ownRule(s)
	m.id = plan + "/" + orAny(r.Route) + "/" + orAny(r.Semantic)
	m.rate, m.burst, m.cost = r.payment(*s)
	if r.Rate != nil && !r.Apart || r.MaxRate != nil {
		m.most, m.set = m.rate, false
	}
	if r.MaxRate != nil && !r.MaxRate.IsZero() {
		m.most, m.set = *r.MaxRate, true
	}
	return m
}

// rulesMet are the rules that a caller's requests of a semantic may meet, each once: on each route that accepts it the
// most specific one of the caller's plan, or the semantic's own.
func (c *Config) rulesMet(caller *Caller, semantic string) []ruleMet {
	at := slices.IndexFunc(c.Semantics, func(s Semantic) bool { return s.Name == semantic })
	if at < 0 {
		return nil
	}
	s := &c.Semantics[at]
	plan := c.planOf(caller)
	if plan == nil {
		return []ruleMet{ownRule(s)}
	}
	type name struct{ route, semantic string }
	rules := make(map[name]*Rule, len(plan.Rules))
	for i := range plan.Rules {
		if r := &plan.Rules[i]; r.appliesTo(semantic) {
			rules[name{r.Route, r.Semantic}] = r
		}
	}
	var met []*Rule // nil among them: the semantic's own
	add := func(route string) {
		var best *Rule
		for _, n := range []name{{route, semantic}, {route, ""}, {"", semantic}, {"", ""}} {
			if best = rules[n]; best != nil {
				break
			}
		}
		if !slices.Contains(met, best) {
			met = append(met, best)
		}
	}
	for i := range c.Routes {
		if r := &c.Routes[i]; semantic == defaultSemantic || slices.Contains(r.Semantics, semantic) {
			add(r.Name)
		}
	}
	if met == nil { // no route accepts it yet
		add("")
	}
	list := make([]ruleMet, len(met))
	for i, r := range met {
		if list[i] = ownRule(s); r != nil {
			list[i] = r.met(plan.Name, s)
		}
	}
	return list
}
