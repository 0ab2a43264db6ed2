package policy

import "fmt"

// NewCaller makes a caller whom the configuration lacks, as a trace may name one: of the plan ("": the first of the
// file), in the first pool, enabled, and with every semantic registered. It is no part of the Policy, but may be handed
// to its methods like one that is. The names must be those that the Policy was compiled with.
func (p *Policy) NewCaller(names *Names, id, plan string) (*Caller, error) {
	pl, err := p.plan(plan)
	if err != nil {
		return nil, fmt.Errorf("cannot make caller %q: %w", id, err)
	}
	c := &Caller{
		ID: id, Name: id, Index: names.Callers.Index(id), Plan: pl, Pool: p.poolList[0].Name, Enabled: true,
		registers: makeSemanticSet(len(p.semantics)),
	}
	for _, s := range p.semantics {
		c.registers.add(s.position)
	}
	return c, nil
}

func (p *Policy) plan(name string) (*Plan, error) {
	for _, pl := range p.plans {
		if name == "" || pl.Name == name {
			return pl, nil
		}
	}
	if name == "" {
		return nil, fmt.Errorf("there are no [[plans]]; add one")
	}
	return nil, fmt.Errorf("plan %q is none of [[plans]]", name)
}

// HasPlan says whether there is a plan of this name, or any for "".
func (p *Policy) HasPlan(name string) bool {
	_, err := p.plan(name)
	return err == nil
}

// RouteOf returns a route by which the requests of a flow can come: the one of the name, if the flow is told apart by its
// route, and else ("") the first that accepts the semantic and on which no rule names the route. It is nil where no request
// of such a flow can come.
func (p *Policy) RouteOf(c *Caller, s *Semantic, route string) *Route {
	for _, r := range p.routes {
		if s != p.fallback && !r.accepts.has(s.position) {
			continue
		}
		if named := p.Choose(c, r, s).NamesRoute; route == "" && !named || named && r.Name == route {
			return r
		}
	}
	return nil
}

// RouteFor returns a route by which a request of the semantic can come: the first of the file that accepts it. For
// "default", which no route has to accept, it is the first that implies no other semantic, or else the first of all. It
// is nil where no request of the semantic can come.
func (p *Policy) RouteFor(s *Semantic) *Route {
	for _, r := range p.routes {
		if r.accepts.has(s.position) {
			return r
		}
	}
	if s != p.fallback || len(p.routes) == 0 {
		return nil
	}
	for _, r := range p.routes {
		if r.implied == nil {
			return r
		}
	}
	return p.routes[0]
}

// RequestOverhead is what a waiting request is taken to hold besides its body, in bytes: its header and buffers.
const RequestOverhead = 8 << 10
