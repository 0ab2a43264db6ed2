package gateway

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidegate/gateway/config"
)

// previewNotes says what a preview does not know, and what it took instead.
func previewNotes(p *player, inForce, next *config.Config) []string {
	from, to := p.past.Bounds()
	notes := []string{
		fmt.Sprintf("Played: what came in %s. Nobody is asked how callers would have reacted: whoever is refused here does not come back.", to.Sub(from).Round(time.Second)),
		"It is known by the second: the moments within one are made up, the same ones for both.",
		"The detector begins without a past, and bodies are not known: a burst under way at the beginning, and refusals of bodies, do not show.",
		"What was refused before its caller and kind were known did not count, and would not: wrong keys, unknown paths, callers who were paused.",
	}
	if p.past.Cut() {
		notes = append(notes, fmt.Sprintf("There was more than %d requests: the oldest seconds are left out.", mostPlayed))
	}
	if p.unknown {
		notes = append(notes, "The seat time of some work is not known yet: 20 ms are taken for it.")
	}
	for i := range next.Plans {
		plan := &next.Plans[i]
		was := slices.IndexFunc(inForce.Plans, func(p config.Plan) bool { return p.Name == plan.Name })
		if plan.CountBy == "tenant" && (was < 0 || inForce.Plans[was].CountBy != "tenant") {
			notes = append(notes, fmt.Sprintf("The plan %s counts by tenant now. Who the tenants were is not known: all work of a caller is played as one tenant's.", plan.Name))
		}
		if was < 0 {
			continue
		}
		for _, route := range newlyNamed(&inForce.Plans[was], plan) {
			notes = append(notes, fmt.Sprintf("A rule of the plan %s names the route %s now. Which requests came by it was not kept: it counts for those of a kind that came by no other.", plan.Name, route))
		}
	}
	if added := addedSemantics(inForce, next); len(added) > 0 {
		notes = append(notes, fmt.Sprintf("Requests keep the kind that they were counted as: nothing has come yet as %s, and what was tagged so is played as default.", few(added)))
	}
	if observed := p.engines[len(p.engines)-1].Observing(); len(observed) > 0 {
		notes = append(notes, fmt.Sprintf("The configuration observes (%s): nothing of that is refused, or waits but for seats, here as there.", few(observed)))
	}
	return append(notes, p.lost(next)...)
}

// addedSemantics are those that only the next configuration has.
func addedSemantics(inForce, next *config.Config) (added []string) {
	for i := range next.Semantics {
		name := next.Semantics[i].Name
		if !slices.ContainsFunc(inForce.Semantics, func(s config.Semantic) bool { return s.Name == name }) {
			added = append(added, name)
		}
	}
	return added
}

// newlyNamed are the routes that rules of a plan name and did not.
func newlyNamed(was, now *config.Plan) (routes []string) {
	named := func(p *config.Plan, route string) bool {
		return slices.ContainsFunc(p.Rules, func(r config.Rule) bool { return r.Route == route })
	}
	for _, r := range now.Rules {
		if r.Route != "" && !named(was, r.Route) && !slices.Contains(routes, r.Route) {
			routes = append(routes, r.Route)
		}
	}
	return routes
}

// lost names the callers and routes of what was played that a configuration has no more.
func (p *player) lost(next *config.Config) (notes []string) {
	callers, routes := map[string]bool{}, map[string]bool{}
	for i := range next.Callers {
		callers[next.Callers[i].ID] = true
	}
	for i := range next.Routes {
		routes[next.Routes[i].Name] = true
	}
	var gone, closed []string
	for _, o := range p.origins {
		if o == nil {
			continue
		}
		if !callers[o.Caller] {
			callers[o.Caller] = true
			gone = append(gone, o.Caller)
		}
		if o.Route != "" && !routes[o.Route] {
			routes[o.Route] = true
			closed = append(closed, o.Route)
		}
	}
	if len(gone) > 0 {
		notes = append(notes, fmt.Sprintf("Not among the callers, and refused as unknown: %s.", few(gone)))
	}
	if len(closed) > 0 {
		notes = append(notes, fmt.Sprintf("There is no route any more by the name of %s. What came by it is played by another one that accepts its kind; where none matches its path it would be 404.", few(closed)))
	}
	return notes
}

// few lists names as long as a reader would still read it.
func few(names []string) string {
	const most = 5
	slices.Sort(names)
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
