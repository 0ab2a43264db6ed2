package gateway

import (
	"cmp"
	"slices"

	"tidegate/gateway/console"
)

// callersPage is a part of the list of callers, as the last census has found them.
func (g *Gateway) callersPage(q console.CallersQuery) console.CallersPage {
	c := g.census.Load()
	f := c.find(q)
	from := min(max(q.Offset, 0), len(f.places))
	part := f.places[from:min(from+max(q.Limit, 0), len(f.places))]
	page := console.CallersPage{Time: c.at, Total: len(f.places), Standings: f.standings, Callers: make([]console.CallerView, len(part))}
	for i, place := range part {
		page.Callers[i] = *c.viewOf(&c.callers[place])
	}
	return page
}

// viewOf is the caller's view, made once for all who show it. It is not to be changed.
func (c *census) viewOf(of *callerCensus) *console.CallerView {
	if v := of.view.Load(); v != nil {
		return v
	}
	v := &console.CallerView{
		Standing: of.standing.String(), Rate: round(c.perSecond(of.arrived)),
		AdmittedPerS: round(c.perSecond(of.admitted)), RefusedPerS: round(c.perSecond(of.refused)),
		InFlight: of.inFlight, Waiting: of.waiting, FlowsTotal: len(of.flows),
		Semantics: c.uses(of.flows), Recent: of.recent.upTo(c.seq),
	}
	v.ID, v.Name, v.Plan, v.Pool, v.Enabled = of.caller.ID, of.caller.Name, of.caller.Plan.Name, of.caller.Pool, of.caller.Enabled
	of.view.CompareAndSwap(nil, v)
	return v
}

// use is one semantic of a caller while its flows are added up.
type use struct {
	console.SemanticUse
	standing         stance
	arrived, refused uint64
}

// uses is what a caller makes of each semantic: tenants, addresses and routes together.
func (c *census) uses(flows []flowCensus) []console.SemanticUse {
	var found []use
	for i := range flows {
		f := &flows[i]
		at := slices.IndexFunc(found, func(u use) bool { return u.Semantic == f.d.semantic })
		if at < 0 {
			at = len(found)
			found = append(found, use{SemanticUse: console.SemanticUse{Semantic: f.d.semantic, Occupancy: -1}, standing: standingCalm})
		}
		found[at].add(f)
	}
	slices.SortFunc(found, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.standing, b.standing), cmp.Compare(b.arrived, a.arrived), cmp.Compare(a.Semantic, b.Semantic))
	})
	views := make([]console.SemanticUse, len(found))
	for i := range found {
		u := &found[i]
		u.Standing = u.standing.String()
		u.Rate, u.RefusedPerS, u.Expected = round(c.perSecond(u.arrived)), round(c.perSecond(u.refused)), round(u.Expected)
		views[i] = u.SemanticUse
	}
	return views
}

func (u *use) add(f *flowCensus) {
	u.standing = min(u.standing, f.standing)
	u.arrived += f.arrived
	u.refused += f.refused
	u.Expected += f.expected
	u.InFlight += f.inFlight
	u.Waiting += f.waiting
	u.Flows++
	if f.occupancy > u.Occupancy {
		u.Occupancy, u.Level = f.occupancy, f.level
		if f.rule != nil {
			u.Limit = f.rule.RateText
		}
	}
	if f.since != nil && (u.SurgeSince == nil || f.since.Before(*u.SurgeSince)) {
		u.SurgeSince = f.since
	}
}
