package gateway

import (
	"slices"
	"strings"

	"tidegate/gateway/policy"
)

// deskRule is a rule that a caller's work of one semantic meets, and where.
type deskRule struct {
	*policy.Rule
	routes []string // in the order of the file; none: no route accepts the semantic
}

// anything is what a caller would have registered if it had registered everything.
type anything struct{}

func (anything) Has(_, _ int32) bool { return true }

// deskRules are the rules that a caller meets with a semantic, supposing it is registered. There is at least one: the
// semantic's own where no route accepts it.
func deskRules(p *policy.Policy, c *policy.Caller, s *policy.Semantic) []deskRule {
	var rules []deskRule
	for _, r := range p.Routes() {
		if p.SemanticFor(r, c, []byte(s.Name), anything{}) != s {
			continue
		}
		rule := p.Choose(c, r, s)
		at := slices.IndexFunc(rules, func(d deskRule) bool { return d.Rule == rule })
		if at < 0 {
			at = len(rules)
			rules = append(rules, deskRule{Rule: rule})
		}
		rules[at].routes = append(rules[at].routes, r.Name)
	}
	if len(rules) == 0 {
		return []deskRule{{Rule: s.Rule}}
	}
	// The one for most of it first: what names no route.
	slices.SortStableFunc(rules, func(a, b deskRule) int {
		switch {
		case a.NamesRoute == b.NamesRoute:
			return 0
		case b.NamesRoute:
			return -1
		}
		return 1
	})
	return rules
}

// route is the one that the rule's flow counts by; "": it counts by none.
func (d *deskRule) route() string {
	if d.NamesRoute {
		return strings.Join(d.routes, " ")
	}
	return ""
}
