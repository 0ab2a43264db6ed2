package config

import (
	"errors"
	"reflect"
	"slices"
)

// layer is a configuration that overrides are laid over. What it changes it has a copy of, so that what
// is below stays as it was.
type layer struct {
	below *Config
	c     *Config
	v     *validator // of c
}

// Below is the configuration without overrides: what file and environment say. Its lists are as long as those of c.
func (c *Config) Below() *Config {
	if c.below == nil {
		return c
	}
	return c.below
}

// newLayer is a layer without overrides.
func newLayer(below *Config, f *finder) *layer {
	c := *below
	c.Callers, c.Pools = slices.Clone(below.Callers), slices.Clone(below.Pools)
	c.Semantics, c.Plans = slices.Clone(below.Semantics), slices.Clone(below.Plans)
	for i := range c.Plans {
		c.Plans[i].Rules = slices.Clone(below.Plans[i].Rules)
	}
	c.Overrides, c.below, c.finder = nil, below, f
	c.origin.over = map[string]string{}
	l := &layer{below: below, c: &c, v: newValidator(&c, nil)}
	l.v.layered = true
	return l
}

// put sets an override's value, whether or not it goes with the others.
func (l *layer) put(o Override, t target) error {
	if err := t.set(l.c, o.Value); err != nil {
		return err
	}
	l.c.Overrides = append(l.c.Overrides, o)
	l.c.origin.over[t.key] = o.Actor
	return nil
}

// add sets an override's value if it goes with what is there; else nothing is changed.
func (l *layer) add(o Override, t target) error {
	element := t.element(l.c)
	before := element.Interface()
	if err := t.set(l.c, o.Value); err != nil {
		return err
	}
	if why := because(l.faults(t), t.key); why != "" {
		element.Set(reflect.ValueOf(before))
		return errors.New(why)
	}
	l.c.Overrides = append(l.c.Overrides, o)
	l.c.origin.over[t.key] = o.Actor
	return nil
}

// faults are the problems that a change of the target can have made. It looks at the target and at all that
// is held against it, and at nothing else: there may be a thousand callers, and as many overrides.
func (l *layer) faults(t target) Problems {
	l.v.report = newReport(&l.c.origin)
	switch {
	case t.kind == "callers":
		caller := l.c.Callers[t.index]
		l.v.callerRefs(index("callers", t.index), caller)
		for i, p := range l.c.Plans {
			if t.field.key == "plan" && p.Name == caller.Plan {
				l.v.callerRate(index("plans", i), p)
			}
		}
		l.v.flowRates(index("callers", t.index), &l.c.Callers[t.index])
	case t.kind == "flows":
		caller := &l.c.Callers[t.index]
		l.v.flowCosts(t.key, caller, *caller.flow(t.semantic))
	case t.kind == "pools":
		key := index("pools", t.index)
		l.v.pool(key, l.c.Pools[t.index])
		l.v.poolNotBuilt(key, l.c.Pools[t.index])
	case t.kind == "server":
		l.v.server()
	case t.rule.plan >= 0:
		l.v.ruleTable(index("plans", t.rule.plan), l.c.Plans[t.rule.plan])
		l.v.allFlowRates()
	default:
		l.v.semantic(index("semantics", t.rule.rule), l.c.Semantics[t.rule.rule])
		for i, p := range l.c.Plans {
			l.v.ruleTable(index("plans", i), p)
		}
		l.v.allFlowRates()
	}
	return l.v.problems()
}

// all are the problems of the whole configuration.
func (l *layer) all() Problems {
	l.v.report = newReport(&l.c.origin)
	l.v.all()
	return l.v.problems()
}

// because says what is wrong with the value at a key: its own problem, else the first of those that it
// made elsewhere. It is "" without a problem.
func because(ps Problems, key string) string {
	if len(ps) == 0 {
		return ""
	}
	p, prefix := ps[0], ""
	for _, other := range ps {
		if other.Key == key {
			p = other
			break
		}
	}
	if p.Key != key {
		prefix = p.Name
		if p.Value != "" {
			prefix += " = " + p.Value
		}
		prefix += ": "
	}
	if p.Hint != "" {
		return prefix + p.Message + "; " + p.Hint
	}
	return prefix + p.Message
}

// named is an override and what its name means.
type named struct {
	Override
	target
}

// lay lays overrides over a configuration that is good without them. What an operator has set above what owners allow
// is set aside: it has no say in whether the others go together.
func lay(below *Config, overrides []Override) (*Config, []Aside) {
	f := newFinder(below)
	list, why := meant(f, overrides)
	for {
		for _, o := range list {
			delete(why, o.Name) // what made no room for it may have gone
		}
		c := layAll(below, f, list, overrides, why)
		kept := list[:0:0]
		for _, o := range list {
			if err := o.withinBound(below, c, o.Override); err != nil {
				why[o.Name] = err.Error()
				continue
			}
			kept = append(kept, o)
		}
		if len(kept) == len(list) {
			return c, asides(overrides, why)
		}
		list = kept
	}
}

// layAll lays what is within bounds. If they do not go together, those made first have the say, and each of the others is set
// aside only if it fits in no order.
func layAll(below *Config, f *finder, list []named, overrides []Override, why map[string]string) *Config {
	whole := newLayer(below, f)
	bad := false
	for _, o := range list {
		bad = whole.put(o.Override, o.target) != nil || bad
	}
	if !bad && len(whole.all()) == 0 {
		return whole.c
	}

	l := newLayer(below, f)
	for range 3 {
		left := list[:0:0]
		for _, o := range list {
			if err := l.add(o.Override, o.target); err != nil {
				left, why[o.Name] = append(left, o), err.Error()
				continue
			}
			delete(why, o.Name)
		}
		if len(left) == 0 || len(left) == len(list) {
			break
		}
		list = left // what came since may have made room for them
	}
	order := make(map[string]int, len(overrides))
	for i, o := range overrides {
		order[o.Name] = i
	}
	slices.SortFunc(l.c.Overrides, func(a, b Override) int { return order[a.Name] - order[b.Name] })
	return l.c
}

// meant finds what the names mean. Of two of one name the later counts.
func meant(f *finder, overrides []Override) (list []named, why map[string]string) {
	last := make(map[string]int, len(overrides))
	for i, o := range overrides {
		last[o.Name] = i
	}
	why = map[string]string{}
	for i, o := range overrides {
		if last[o.Name] != i {
			continue
		}
		t, err := f.find(o.Name)
		if err != nil {
			why[o.Name] = err.Error()
			continue
		}
		list = append(list, named{o, t})
	}
	return list, why
}

// asides lists what is not in force, in the order given.
func asides(overrides []Override, why map[string]string) []Aside {
	last := make(map[string]int, len(overrides))
	for i, o := range overrides {
		last[o.Name] = i
	}
	var list []Aside
	for i, o := range overrides {
		if last[o.Name] != i {
			list = append(list, Aside{o, "there is a later override of the same name"})
		} else if w, ok := why[o.Name]; ok {
			list = append(list, Aside{o, w})
		}
	}
	return list
}
