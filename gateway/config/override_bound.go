package config

import "fmt"

// RoleOperator is the role of those whose overrides are bounded: they raise a rate no further than its max_rate.
const RoleOperator = "operator"

// BoundError says that an operator wants more than the owner lets him give.
type BoundError struct {
	Rule string // that sets the bound
	Most Rate
	Set  bool // the file has a max_rate; false: the rate itself is the bound
}

func (e *BoundError) Error() string {
	if e.Set {
		return fmt.Sprintf("an operator may raise it to %s, the max_rate of %s; more is an owner's to give", e.Most.Text, e.Rule)
	}
	return fmt.Sprintf("an operator may set at most %s, the rate of %s in the file: it has no max_rate, with which owners say how far it may be raised", e.Most.Text, e.Rule)
}

// withinBound holds an operator's override against what owners have set. Values that are no rates are left to those
// who read them.
func (t target) withinBound(below *Config, o Override) error {
	if o.Role != RoleOperator {
		return nil
	}
	var rate Rate
	switch t.field.key {
	case "rate":
		if rate.UnmarshalText([]byte(o.Value)) != nil {
			return nil
		}
	case "burst":
		return t.burstWithinBound(below, o)
	default:
		return nil
	}
	for _, r := range t.bounds(below) {
		if r.most.below(rate) {
			return &BoundError{Rule: r.id, Most: r.most, Set: r.most != r.rate}
		}
	}
	return nil
}

// bounds are the rules that a rate is set for.
func (t target) bounds(below *Config) []ruleMet {
	switch {
	case t.kind == "flows":
		return below.rulesMet(&below.Callers[t.index], t.semantic)
	case t.kind != "rules":
		return nil
	case t.rule.plan < 0:
		return []ruleMet{below.ownRule(below.Semantics[t.rule.rule].Name)}
	}
	plan := &below.Plans[t.rule.plan]
	r := &plan.Rules[t.rule.rule]
	if r.Semantic != "" || r.Rate != nil {
		return []ruleMet{r.met(plan.Name, below.ownRule(r.Semantic))}
	}
	var all []ruleMet
	for _, s := range below.Semantics {
		if s.Name != "default" {
			all = append(all, r.met(plan.Name, below.ownRule(s.Name)))
		}
	}
	return all
}

// burstWithinBound lets operators lower a burst, and raise it no further than the file has it: a burst is paid at once.
func (t target) burstWithinBound(below *Config, o Override) error {
	value, err := fromText(o.Value, t.field.typ)
	if err != nil {
		return nil
	}
	var burst int64
	if _, err := fmt.Sscan(fmt.Sprint(value), &burst); err != nil {
		return nil
	}
	most := int64(0)
	if element, ok := t.element(below).Addr().Interface().(*Rule); ok {
		if element.Burst != nil {
			most = *element.Burst
		} else if element.Rate == nil {
			for _, s := range below.Semantics {
				if s.Name == element.Semantic || element.Semantic == "" {
					most = max(most, s.Burst)
				}
			}
		}
	} else if t.rule.plan < 0 {
		most = below.Semantics[t.rule.rule].Burst
	}
	if burst > most {
		return &BoundError{Rule: o.Name, Most: Rate{Text: fmt.Sprintf("a burst of %d", most)}}
	}
	return nil
}
