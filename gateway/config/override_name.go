package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// What an override may set. Its name is a kind, whose it is, and a field: "callers.acme.pool". A field is
// called as in the file.
var overridable = map[string][]string{
	"callers": {"pool", "plan", "enabled"},
	"pools":   {"seats", "excess_ceiling", "surge_ceiling", "long_ceiling"},
	"rules": {
		"rate", "burst", "cost", "max_wait", "max_in_flight", "over_rate", "over_in_flight", "level", "observe",
	},
	"flows":  {"rate"},
	"server": {"mode"},
}

const overrideForms = "an override is named callers.ID.FIELD, flows.CALLER/SEMANTIC.rate, pools.NAME.FIELD, rules.RULE.FIELD (the rule as explain shows it) or server.mode"

// SplitOverride takes the name of an override apart: "rules.free/*/chat.rate" is the kind "rules", the id
// "free/*/chat" and the field "rate". Ids may have dots. The id of "server.mode" is empty.
func SplitOverride(name string) (kind, id, field string) {
	kind, rest, _ := strings.Cut(name, ".")
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		return kind, rest[:i], rest[i+1:]
	}
	return kind, "", rest
}

// finder knows whose the names of overrides are in one configuration. It is not changed once it is made.
type finder struct {
	callers, pools map[string]int
	rules          map[string]rulePlace
}

// rulePlace is where a rule stands. A semantic's own has plan -1, and the semantic's position as rule.
type rulePlace struct{ plan, rule int }

func newFinder(c *Config) *finder {
	f := &finder{
		callers: make(map[string]int, len(c.Callers)),
		pools:   make(map[string]int, len(c.Pools)),
		rules:   map[string]rulePlace{},
	}
	for i := range c.Callers {
		f.callers[c.Callers[i].ID] = i
	}
	for i := range c.Pools {
		f.pools[c.Pools[i].Name] = i
	}
	for i := range c.Semantics {
		f.rules["semantic/"+c.Semantics[i].Name] = rulePlace{-1, i}
	}
	for i := range c.Plans {
		for j, r := range c.Plans[i].Rules {
			f.rules[c.Plans[i].Name+"/"+orAny(r.Route)+"/"+orAny(r.Semantic)] = rulePlace{i, j}
		}
	}
	return f
}

// target is what the name of an override means.
type target struct {
	kind     string
	index    int       // of callers or pools; of flows the caller's
	semantic string    // of flows
	rule     rulePlace // of rules
	key      string    // "callers[3].pool"
	field    field
}

// find says what a name means, or what is wrong with it.
func (f *finder) find(name string) (target, error) {
	kind, id, fieldName := SplitOverride(name)
	allowed, ok := overridable[kind]
	switch {
	case !ok || kind == "server" && id != "" || kind != "server" && id == "":
		return target{}, fmt.Errorf("no such override: %s", overrideForms)
	case !slices.Contains(allowed, fieldName):
		return target{}, fmt.Errorf("an override of %s sets %s; everything else is changed in the file", kind, strings.Join(allowed, ", "))
	}
	t, table := target{kind: kind}, ""
	switch kind {
	case "callers":
		t.index, ok = f.callers[id]
		table = index("callers", t.index)
	case "flows":
		var err error
		if t.index, t.semantic, err = f.findFlow(id); err != nil {
			return target{}, err
		}
		ok, table = true, join(index("callers", t.index), "flows."+t.semantic)
	case "pools":
		t.index, ok = f.pools[id]
		table = index("pools", t.index)
	case "rules":
		t.rule, ok = f.rules[id]
		table = index("semantics", t.rule.rule)
		if t.rule.plan >= 0 {
			table = index(index("plans", t.rule.plan)+".rules", t.rule.rule)
		}
	case "server":
		table = "server"
	}
	if !ok {
		return target{}, errMissing(fmt.Sprintf("the file has no %s %q", strings.TrimSuffix(kind, "s"), id))
	}
	t.key = join(table, fieldName)
	t.field, _ = fieldOf(t.typ(), fieldName)
	return t, nil
}

// semantics are the names of those that the file has.
func (f *finder) semantics() []string {
	var list []string
	for _, rule := range sortedKeys(f.rules) {
		if name, ok := strings.CutPrefix(rule, "semantic/"); ok && f.rules[rule].plan < 0 {
			list = append(list, name)
		}
	}
	return list
}

// errMissing says that the configuration has none of that id.
type errMissing string

func (e errMissing) Error() string { return string(e) }

// hint helps with an id that the configuration does not have; "" if nothing is near. It is not asked when
// many overrides are laid over a file: each looks at all ids.
func (f *finder) hint(name string) string {
	kind, id, _ := SplitOverride(name)
	switch kind {
	case "callers":
		return didYouMean(id, sortedKeys(f.callers))
	case "flows":
		at := max(strings.LastIndexByte(id, '/'), 0)
		if _, ok := f.callers[id[:at]]; !ok {
			return didYouMean(id[:at], sortedKeys(f.callers))
		}
		return didYouMean(id[at+1:], f.semantics())
	case "pools":
		return didYouMean(id, sortedKeys(f.pools))
	case "rules":
		return cmp.Or(didYouMean(id, sortedKeys(f.rules)), "explain shows which rule a request meets; a new one is written into the file")
	}
	return ""
}

func sortedKeys[T any](m map[string]T) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

func (t target) typ() reflect.Type {
	switch {
	case t.kind == "callers":
		return reflect.TypeFor[Caller]()
	case t.kind == "flows":
		return reflect.TypeFor[FlowRate]()
	case t.kind == "pools":
		return reflect.TypeFor[Pool]()
	case t.kind == "server":
		return reflect.TypeFor[Server]()
	case t.rule.plan < 0:
		return reflect.TypeFor[Semantic]()
	}
	return reflect.TypeFor[Rule]()
}
