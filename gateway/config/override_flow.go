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

// allFlowRates checks what operators have set for callers alone.
func (v *validator) allFlowRates() {
	for i := range v.c.Callers {
		v.flowRates(index("callers", i), &v.c.Callers[i])
	}
}

func (v *validator) flowRates(key string, caller *Caller) {
	for _, f := range caller.Flows {
		if !f.Rate.IsZero() {
			v.flowCosts(join(key, "flows."+f.Semantic+".rate"), caller, f)
		}
	}
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
