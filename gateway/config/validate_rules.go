package config

import (
	"fmt"
	"slices"
)

// defaultSemantic is what everything is that is not registered.
const defaultSemantic = "default"

// levels checks the business's list of priorities.
func (v *validator) levels() {
	if len(v.c.Levels) == 0 {
		v.add("levels", nil, `write [[levels]] and name = "standard"`, "at least one level is needed")
	}
	seen := v.unique("level")
	sum := 0.0
	for i, l := range v.c.Levels {
		key := index("levels", i)
		v.named(key+".name", l.Name, seen)
		if l.MinShare < 0 || l.MinShare > 1 {
			v.add(key+".min_share", l.MinShare, "0.05 is a twentieth", "a share is from 0 to 1")
			continue
		}
		sum += l.MinShare
		// 0.1 + 0.2 + 0.7 is a little more than 1 in binary fractions.
		if sum > 1+1e-9 {
			v.add(key+".min_share", l.MinShare, "", "the levels up to this one are promised %.4g of the seat time; together it is at most 1", sum)
			sum = 0
		}
	}
}

// pools checks the isolated capacities.
func (v *validator) pools() {
	if len(v.c.Pools) == 0 {
		v.add("pools", nil, `write [[pools]], name = "shared" and seats = 64`, "at least one pool is needed")
	}
	seen := v.unique("pool")
	for i, p := range v.c.Pools {
		key := index("pools", i)
		v.named(key+".name", p.Name, seen)
		v.pool(key, p)
	}
}

func (v *validator) pool(key string, p Pool) {
	v.share(key+".excess_ceiling", p.ExcessCeiling)
	v.share(key+".surge_ceiling", p.SurgeCeiling)
	v.share(key+".long_ceiling", p.LongCeiling)
	v.share(key+".max_flow_share", p.MaxFlowShare)
	within(v, key+".max_waiting", p.MaxWaiting, 0, maxCount)
	within(v, key+".max_waiting_bytes", p.MaxWaitingBytes, 0, 1<<50)
}

// semantics checks the registered kinds of work.
func (v *validator) semantics() {
	seen := v.unique("semantic")
	for i, s := range v.c.Semantics {
		key := index("semantics", i)
		v.named(key+".name", s.Name, seen)
		v.semantic(key, s)
	}
	if !v.semanticNames.has[defaultSemantic] {
		v.add("semantics", nil, `write [[semantics]], name = "default", a level and a tight rate`,
			`the semantic "default" is missing: it is what everything is that is not registered`)
	}
}

func (v *validator) semantic(key string, s Semantic) {
	if v.required(key+".level", s.Level, oneOf(v.levelNames.list)) {
		v.ref(key+".level", s.Level, "level", v.levelNames)
	}
	if s.Rate.IsZero() {
		v.add(key+".rate", nil, `e.g. "200/s"`, "must be given: it is what each flow of the semantic is promised")
	}
	v.ruleFields(key, s.Rate, s.Burst, s.Cost, s.MaxInFlight, s.OverInFlight, s.OverRate, s.Message)
	if limit, ok := payable(s.Rate, s.Burst); ok && s.Cost > limit {
		v.add(key+".cost", s.Cost, "", "%s", neverPaid(s.Rate, s.Burst))
	}
	if !v.layered && !s.MaxRate.IsZero() && !s.Rate.IsZero() {
		v.maxRate(key+".max_rate", s.MaxRate, s.Rate, s.Burst, s.Cost, "")
	}
}

// ruleFields checks the fields that semantics and rules share.
func (v *validator) ruleFields(key string, rate Rate, burst, cost int64, inFlight int, overInFlight, overRate, message string) {
	within(v, key+".burst", burst, 0, maxProduct)
	if !fits(burst, rate.Per) {
		v.add(key+".burst", burst, "", "too large for the rate's span: burst x span may be at most 4e9 seconds")
	}
	within(v, key+".cost", cost, 1, maxProduct)
	within(v, key+".max_in_flight", inFlight, 0, maxCount)
	v.oneOf(key+".over_in_flight", overInFlight, "queue", "reject")
	v.oneOf(key+".over_rate", overRate, "queue", "pace", "reject")
	v.text(key+".message", message, 1000)
}

// payable is the largest cost that a rate can ever pay at once: what its window or its bucket holds. Not
// ok: there is no rate, and that is another problem.
func payable(rate Rate, burst int64) (limit int64, ok bool) {
	if burst > 0 {
		return burst, !rate.IsZero()
	}
	return rate.N, !rate.IsZero()
}

func neverPaid(rate Rate, burst int64) string {
	if burst > 0 {
		return fmt.Sprintf("more than the burst of %d, so that it could never be paid", burst)
	}
	return fmt.Sprintf("more than the rate %s holds, so that it could never be paid", rate)
}

// plans checks the tiers and their rules.
func (v *validator) plans() {
	if len(v.c.Plans) == 0 {
		v.add("plans", nil, `write [[plans]] and name = "free"`, "at least one plan is needed")
	}
	seen := v.unique("plan")
	for i, p := range v.c.Plans {
		key := index("plans", i)
		v.named(key+".name", p.Name, seen)
		v.oneOf(key+".count_by", p.CountBy, "caller", "tenant")
		if p.CountBy == "tenant" && len(v.c.Identify.Tenant) == 0 {
			v.add(key+".count_by", p.CountBy, `set identify.tenant, e.g. ["header:X-Tenant-Id"]`, "no place is given where requests carry their tenant")
		}
		v.oneOf(key+".registration", p.Registration, "auto", "approve", "off")
		within(v, key+".weight", p.Weight, 0.001, 100_000)
		v.ruleTable(key, p)
	}
}

// ruleTable checks what a plan's callers are promised.
func (v *validator) ruleTable(key string, p Plan) {
	ids := map[string]string{}
	for j, r := range p.Rules {
		v.rule(index(key+".rules", j), r, p, ids)
	}
	v.callerRate(key, p)
}

// rule checks one rule by itself, and merged with each semantic that it can apply to.
func (v *validator) rule(key string, r Rule, p Plan, ids map[string]string) {
	v.ruleRef(key+".route", r.Route, "route", v.routeNames)
	v.ruleRef(key+".semantic", r.Semantic, "semantic", v.semanticNames)
	if r.Level != nil {
		if *r.Level == "" {
			v.add(key+".level", "", "leave the key out for the semantic's own", "the name of a level is needed")
		}
		v.ref(key+".level", *r.Level, "level", v.levelNames)
	}
	if r.Rate != nil && r.Rate.IsZero() {
		v.add(key+".rate", "", "leave the key out for the semantic's own", "a rate is needed")
	}
	if r.Burst != nil && r.Rate == nil && !r.Apart {
		v.add(key+".burst", *r.Burst, "write the rate here too", "rate and burst are one field: a burst without its rate means nothing")
	}
	v.ruleFields(key, value(r.Rate, Rate{}), value(r.Burst, 0), value(r.Cost, 1), value(r.MaxInFlight, 0),
		value(r.OverInFlight, "queue"), value(r.OverRate, "queue"), value(r.Message, ""))

	for i, s := range v.c.Semantics {
		if !v.c.chosen(p, r, s.Name) || v.known(index("semantics", i)+".cost") {
			continue
		}
		rate, burst, cost := r.payment(s)
		if r.Apart && !fits(burst, rate.Per) {
			v.add(key+".burst", burst, "", "too large for the span of %s (%s): burst x span may be at most 4e9 seconds", rate, s.Name)
		}
		limit, ok := payable(rate, burst)
		if !v.layered && ok && r.MaxRate != nil && !r.MaxRate.IsZero() {
			v.maxRate(key+".max_rate", *r.MaxRate, rate, burst, cost, s.Name)
		}
		if !ok || cost <= limit {
			continue
		}
		message := neverPaid(rate, burst)
		if r.Cost != nil {
			v.add(key+".cost", cost, "", "for %s: %s", s.Name, message)
		} else {
			v.add(key+".rate", rate, "give the rule a cost, or a larger rate", "one %s costs %d: %s", s.Name, cost, message)
		}
	}

	id := p.Name + "/" + orAny(r.Route) + "/" + orAny(r.Semantic)
	if first, ok := ids[id]; ok {
		v.add(key, nil, "put them into one", "the plan has a rule %s already, at %s", id, v.at(first))
	}
	ids[id] = key
}

// ruleRef checks what a rule is for; a star is a likely way to say "any".
func (v *validator) ruleRef(key, name, what string, known nameSet) {
	if name == "*" {
		v.add(key, name, "leave the key out", "any %s is meant by not naming one", what)
		return
	}
	v.ref(key, name, what, known)
}

// appliesTo says whether a rule can be chosen for a semantic. For "default" only rules that name it count.
func (r Rule) appliesTo(semantic string) bool {
	return r.Semantic == semantic || r.Semantic == "" && semantic != defaultSemantic
}

// chosen says whether a rule of a plan is ever the one that counts for a semantic. A rule for any semantic
// is not, where the plan has one for the same route that names it, or where the route does not accept it.
func (c *Config) chosen(p Plan, r Rule, semantic string) bool {
	if r.Semantic != "" || semantic == defaultSemantic {
		return r.Semantic == semantic
	}
	for _, other := range p.Rules {
		if other.Route == r.Route && other.Semantic == semantic {
			return false
		}
	}
	for _, route := range c.Routes {
		if route.Name == r.Route {
			return slices.Contains(route.Semantics, semantic)
		}
	}
	return true
}

// payment is rate, burst and cost of a rule as it applies to a semantic.
func (r Rule) payment(s Semantic) (rate Rate, burst, cost int64) {
	rate, burst, cost = s.Rate, s.Burst, value(r.Cost, s.Cost)
	switch {
	case r.Apart:
		rate, burst = value(r.Rate, s.Rate), value(r.Burst, s.Burst)
	case r.Rate != nil:
		rate, burst = *r.Rate, value(r.Burst, 0)
	}
	return rate, burst, cost
}

// callerRate checks that a plan's caller_rate can pay for each request that its callers may send.
func (v *validator) callerRate(key string, p Plan) {
	if p.CallerRate.IsZero() {
		return
	}
	for _, s := range v.c.Semantics {
		if s.Name != defaultSemantic && !v.registered(p.Name, s.Name) {
			continue
		}
		most, where := s.Cost, s.Name
		for _, r := range p.Rules {
			if r.appliesTo(s.Name) && value(r.Cost, 0) > most {
				most, where = *r.Cost, s.Name+" by the rule "+p.Name+"/"+orAny(r.Route)+"/"+orAny(r.Semantic)
			}
		}
		if most > p.CallerRate.N {
			v.add(key+".caller_rate", p.CallerRate, "", "one %s costs %d, more than it ever holds", where, most)
		}
	}
}

// registered says whether any caller of a plan may send a semantic.
func (v *validator) registered(plan, semantic string) bool {
	return slices.ContainsFunc(v.c.Callers, func(c Caller) bool {
		return c.Plan == plan && slices.Contains(c.Semantics, semantic)
	})
}

// value is what a pointer holds, or else the other.
func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func orAny(name string) string {
	if name == "" {
		return "*"
	}
	return name
}
