package config

import (
	"fmt"
	"strings"
)

// FlowRate is the rate that an operator has given to one caller's flows of one semantic, whichever rule they meet. It
// stands above the plan's rules, for this caller alone, and takes their burst's place too.
type FlowRate struct {
	Semantic string `toml:"-"`
	Rate     Rate   `toml:"rate"`
}

// findFlow takes "acme/chat" apart, which names a caller and a semantic. Neither has a slash in it.
func (f *finder) findFlow(id string) (caller int, semantic string, err error) {
	at := strings.LastIndexByte(id, '/')
	if at < 0 {
		return 0, "", fmt.Errorf("no such override: a flow is named CALLER/SEMANTIC, as in flows.acme/chat.rate")
	}
	who, semantic := id[:at], id[at+1:]
	caller, ok := f.callers[who]
	if !ok {
		return 0, "", errMissing(fmt.Sprintf("the file has no caller %q", who))
	}
	if _, ok := f.rules["semantic/"+semantic]; !ok {
		return 0, "", errMissing(fmt.Sprintf("the file has no semantic %q", semantic))
	}
	return caller, semantic, nil
}

// flow is the element of a caller for a semantic, made at need. The list of c alone is changed.
func (c *Caller) flow(semantic string) *FlowRate {
	for i := range c.Flows {
		if c.Flows[i].Semantic == semantic {
			return &c.Flows[i]
		}
	}
	c.Flows = append(c.Flows[:len(c.Flows):len(c.Flows)], FlowRate{Semantic: semantic})
	return &c.Flows[len(c.Flows)-1]
}

// planOf is a caller's plan: the first where it names none.
func (c *Config) planOf(caller *Caller) *Plan {
	for i := range c.Plans {
		if c.Plans[i].Name == caller.Plan || caller.Plan == "" {
			return &c.Plans[i]
		}
	}
	return nil
}

// flowCosts holds a flow's rate against the cost of what it has to pay for.
func (v *validator) flowCosts(key string, caller *Caller, f FlowRate) {
	for _, r := range v.c.rulesMet(caller, f.Semantic) {
		if r.cost > f.Rate.N {
			v.add(key, f.Rate, "write the same over a longer span", "one %s costs %d: %s", f.Semantic, r.cost, neverPaid(f.Rate, 0))
			return
		}
	}
}

// ruleMet is what one rule says of a semantic.
type ruleMet struct {
	id   string
	cost int64
	rate Rate // in force without overrides
	most Rate // as far as an operator may raise it
}

// rulesMet are the rules that a caller's requests of a semantic may meet: for each route that rules name, and for the
// others, the most specific one.
func (c *Config) rulesMet(caller *Caller, semantic string) []ruleMet {
	own := c.ownRule(semantic)
	plan := c.planOf(caller)
	if plan == nil {
		return []ruleMet{own}
	}
	best := map[string]*Rule{} // by route
	for i := range plan.Rules {
		r := &plan.Rules[i]
		if r.Semantic != semantic && (r.Semantic != "" || semantic == "default") {
			continue
		}
		if have := best[r.Route]; have == nil || have.Semantic == "" {
			best[r.Route] = r
		}
	}
	met := make([]ruleMet, 0, len(best)+1)
	for _, route := range sortedKeys(best) {
		met = append(met, best[route].met(plan.Name, own))
	}
	if best[""] == nil {
		met = append(met, own)
	}
	return met
}

// ownRule is a semantic's own.
func (c *Config) ownRule(semantic string) ruleMet {
	for i := range c.Semantics {
		if s := &c.Semantics[i]; s.Name == semantic {
			return ruleMet{id: "semantic/" + semantic, cost: s.Cost, rate: s.Rate, most: either(s.MaxRate, s.Rate)}
		}
	}
	return ruleMet{}
}

// met completes a rule from the semantic's own.
func (r *Rule) met(plan string, own ruleMet) ruleMet {
	m := own
	m.id = plan + "/" + orAny(r.Route) + "/" + orAny(r.Semantic)
	if r.Cost != nil {
		m.cost = *r.Cost
	}
	if r.Rate != nil {
		m.rate, m.most = *r.Rate, *r.Rate
	}
	if r.MaxRate != nil && !r.MaxRate.IsZero() {
		m.most = *r.MaxRate
	}
	return m
}

func either(r, other Rate) Rate {
	if r.IsZero() {
		return other
	}
	return r
}
