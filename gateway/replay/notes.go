package replay

import (
	"fmt"
	"slices"
	"strings"
)

// notes are what a replay had to take for granted.
func (e *Engine) notes() []Note {
	notes := []Note{}
	say := func(format string, args ...any) { notes = append(notes, Note(fmt.Sprintf(format, args...))) }
	if e.setup.Observe {
		say("the config observes (%s): what it observes is held back by nothing but the seats; enforcing would have let wait or refused as told", strings.Join(e.policy.Observing(), ", "))
	}
	if n := len(e.made); n > 0 && e.live {
		say("callers that the config lacks (%d) are refused", n)
	} else if n > 0 {
		for _, c := range e.made {
			say("callers that the config lacks (%d) have plan %s, pool %s and all semantics", n, c.Plan.Name, c.Pool)
			break
		}
	}
	var types, routes []string
	oneTenant := false
	for _, o := range e.origins {
		l := e.lanes[o.Number]
		if o.Type != l.semantic.Name && o.Type != "" {
			types = append(types, fmt.Sprintf("%q", o.Type))
		}
		if o.Route != "" && e.policy.Route(o.Route) == nil {
			routes = append(routes, fmt.Sprintf("%q", o.Route))
		}
		oneTenant = oneTenant || l.byTenant && !l.full
	}
	if list := listed(types); list != "" {
		say("type %s counts as default: it is no semantic, its route does not accept it, or its caller has not registered it", list)
	}
	if list := listed(routes); list != "" {
		say("the config has no route %s: the first that accepts the semantic is taken", list)
	}
	if oneTenant {
		say("a plan counts by tenant, and the trace names none: each of its callers counts as one tenant")
	}
	return notes
}

// listed are the first few of the names.
func listed(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	const most = 5
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
