package config

import "fmt"

// RoleOperator is the role of those whose overrides are bounded: they raise a rate no further than its max_rate.
const RoleOperator = "operator"

// BoundError says that an operator wants more than the owner lets him give. It names the rule, what is allowed and by what.
type BoundError struct{ text string }

func (e *BoundError) Error() string { return e.text + "; more is an owner's to give" }

func tooMuch(format string, args ...any) error { return &BoundError{fmt.Sprintf(format, args...)} }

// withinBound holds an operator's override against what owners have set. The rules are those of below, without
// overrides; the plan of a caller is the one that it has in c, with them. Values that cannot be read are left to those who
// read them.
func (t target) withinBound(below, c *Config, o Override) error {
	if o.Role != RoleOperator {
		return nil
	}
	var (
		rate  Rate
		count int64
	)
	switch t.field.key {
	case "rate":
		if rate.UnmarshalText([]byte(o.Value)) != nil {
			return nil
		}
	case "burst", "cost":
		v, err := fromText(o.Value, t.field.typ)
		if count, _ = v.(int64); err != nil {
			return nil
		}
	default:
		return nil
	}
	for _, m := range t.concerned(below, c) {
		var err error
		switch t.field.key {
		case "rate":
			err = m.bounds(rate)
		case "burst":
			err = m.boundsBurst(count)
		case "cost":
			if count < m.cost {
				err = tooMuch("an operator may not lower the cost below %d, which %s has in the file: its rate would pay for more", m.cost, m.id)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bounds holds a rate against the bound. A window lets its whole amount come at once, so that the same rate over a longer
// span is more.
func (m ruleMet) bounds(rate Rate) error {
	switch most := max(m.depth(), m.most.N); {
	case m.most.below(rate) && m.set:
		return tooMuch("an operator may raise it to %s, the max_rate of %s", m.most, m.id)
	case m.most.below(rate):
		return tooMuch("an operator may set at most %s, the rate of %s in the file, which has no max_rate to raise it to", m.most, m.id)
	case rate.N > most:
		return tooMuch("%s lets %d come at once, and by %s it is at most %d; write the same over a shorter span", rate, rate.N, m.id, most)
	}
	return nil
}

// boundsBurst lets operators lower a burst, which is paid at once.
func (m ruleMet) boundsBurst(burst int64) error {
	switch {
	case burst > m.burst && m.burst == 0:
		return tooMuch("an operator may not give %s a burst: in the file it has none", m.id)
	case burst > m.burst:
		return tooMuch("an operator may set a burst of at most %d, which %s has in the file", m.burst, m.id)
	}
	return nil
}

// concerned are the rules, without overrides, that the target is a value of: more than one where rules complete
// one another.
func (t target) concerned(below, c *Config) (list []ruleMet) {
	switch {
	case t.kind == "flows":
		return below.rulesMet(&c.Callers[t.index], t.semantic)
	case t.kind != "rules":
		return nil
	case t.rule.plan >= 0:
		p := &below.Plans[t.rule.plan]
		r := &p.Rules[t.rule.rule]
		for i := range below.Semantics {
			if s := &below.Semantics[i]; below.chosen(*p, *r, s.Name) {
				list = append(list, r.met(p.Name, s))
			}
		}
		return list
	}
	s := &below.Semantics[t.rule.rule]
	list = append(list, ownRule(s))
	for i := range below.Plans {
		p := &below.Plans[i]
		for j := range p.Rules {
			if r := &p.Rules[j]; r.takes(t.field.key) && below.chosen(*p, *r, s.Name) {
				list = append(list, r.met(p.Name, s))
			}
		}
	}
	return list
}

// takes says that a rule takes a field from the semantic.
func (r *Rule) takes(key string) bool {
	if key == "cost" {
		return r.Cost == nil
	}
	return r.Rate == nil
}
