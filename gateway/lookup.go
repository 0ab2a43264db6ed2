package gateway

import (
	"strings"

	"tidegate/gateway/console"
	"tidegate/gateway/policy"
)

// explain says which rule a request would meet now, overrides included.
func (g *Gateway) explain(q console.ExplainQuery) (any, error) {
	return g.explained(g.live.Load().policy, policy.Query{
		Caller: q.Caller, Route: q.Route, Method: q.Method, Host: q.Host, Path: q.Path, Semantic: q.Semantic, Tenant: q.Tenant,
	})
}

// explained is explain for one policy.
func (g *Gateway) explained(p *policy.Policy, q policy.Query) (*policy.Explanation, error) {
	return p.Explain(q, g.registry)
}

// semanticOf is the semantic that a caller's request with this tag has on a route.
func (g *Gateway) semanticOf(p *policy.Policy, r *policy.Route, c *policy.Caller, tag string) *policy.Semantic {
	return p.SemanticFor(r, c, []byte(tag), g.registry)
}

// lookUpRefusals finds refusals that are kept, newest first.
func (g *Gateway) lookUpRefusals(q console.RefusalsQuery) []console.RefusalView {
	return g.refusals.find(q.Limit, func(v *console.RefusalView) bool {
		return (q.Caller == "" || v.Caller == q.Caller) && (q.RequestID == "" || v.RequestID == q.RequestID) &&
			(q.Code == "" || v.Code == q.Code)
	})
}

// flowFilter says whether a flow fits a query.
func flowFilter(q console.FlowsQuery) func(v *console.FlowView) bool {
	part := strings.ToLower(q.Query)
	return func(v *console.FlowView) bool {
		switch q.State {
		case "":
		case "waiting":
			if v.Waiting == 0 {
				return false
			}
		case "refused":
			if v.Refused == 0 {
				return false
			}
		case "observed":
			if !v.Observed {
				return false
			}
		case console.StateSurge: // until it has ended
			if v.State != console.StateSurge && v.State != console.StateCooling {
				return false
			}
		default:
			if v.State != q.State {
				return false
			}
		}
		if q.Standing != "" && v.Standing != q.Standing {
			return false
		}
		if part == "" {
			return true
		}
		for _, text := range []string{v.Caller, v.Semantic, v.Route, v.Tenant, v.Pool, v.Level} {
			if strings.Contains(strings.ToLower(text), part) {
				return true
			}
		}
		return false
	}
}
