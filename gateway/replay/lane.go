package replay

import (
	"time"

	"tidegate/gateway/policy"
	"tidegate/scheduler"
)

// lane is what the requests of one origin meet.
type lane struct {
	caller   *policy.Caller
	route    *policy.Route
	semantic *policy.Semantic
	rule     *policy.Rule
	terms    scheduler.Terms
	key      scheduler.Key // without a tenant
	byTenant bool
	full     bool // the trace says the tenant
	refused  code // before any flow; 0: not
	tally    *tally
	pool     *poolTally
	service  *service
}

// service is for how long a semantic's work holds its seat.
type service struct {
	fixed time.Duration // as was told; 0: as recorded
	sum   time.Duration // recorded
	count int64
}

// longest is for how long work holds its seat at most: a year, for sums to fit.
const longest = 366 * 24 * time.Hour

// usual is for how long work holds its seat if nothing was told of it and nothing recorded.
const usual = 20 * time.Millisecond

// of is the service time of a request that held its seat for recorded when the trace was made; 0: it is not known.
// Those that had no seat then are taken for the mean of those before them that had.
func (s *service) of(recorded time.Duration) time.Duration {
	recorded = min(recorded, longest)
	switch {
	case s.fixed > 0:
		return min(s.fixed, longest)
	case recorded > 0:
		s.sum += recorded
		if s.count++; s.sum < 0 || s.sum > 1<<61 {
			s.sum, s.count = s.sum/2, s.count/2
		}
		return recorded
	case s.count > 0:
		return s.sum / time.Duration(s.count)
	}
	return usual
}

// lane finds what an origin meets, and decides it at its first request.
func (e *Engine) lane(o *Origin) *lane {
	if o.Number < len(e.lanes) && e.lanes[o.Number] != nil {
		return e.lanes[o.Number]
	}
	for o.Number >= len(e.lanes) {
		e.lanes = append(e.lanes, nil)
	}
	l := e.makeLane(o)
	e.lanes[o.Number] = l
	e.origins = append(e.origins, o)
	return l
}

func (e *Engine) makeLane(o *Origin) *lane {
	c := e.caller(o.Caller)
	r := e.routeOf(o)
	s := e.policy.SemanticFor(r, c, []byte(o.Type), e.registered)
	rule := e.policy.Choose(c, r, s)
	l := &lane{
		caller: c, route: r, semantic: s, rule: rule, terms: c.Terms(rule), key: c.Key(r, s, rule, ""),
		byTenant: c.Plan.ByTenant && !c.Anonymous || c.Anonymous && e.live, full: o.Full,
		tally: e.tallyOf(c, s), pool: e.pool(c.Pool), service: e.serviceOf(s),
	}
	switch {
	case e.live && e.policy.Caller(o.Caller) == nil:
		l.refused = callerUnknown
	case !c.Enabled:
		l.refused = callerDisabled
	}
	return l
}

// routeOf is the route by which the requests came, or one by which such requests can come.
func (e *Engine) routeOf(o *Origin) *policy.Route {
	if r := e.policy.Route(o.Route); r != nil {
		return r
	}
	if s := e.policy.Semantic(o.Type); s != nil {
		if r := e.policy.RouteFor(s); r != nil {
			return r
		}
	}
	return e.anyRoute
}

// caller is the configuration's, or is made.
func (e *Engine) caller(id string) *policy.Caller {
	if c := e.policy.Caller(id); c != nil {
		return c
	}
	if c := e.made[id]; c != nil {
		return c
	}
	c, err := e.policy.NewCaller(e.names, id, e.plan)
	if err != nil {
		panic(err) // the plan was looked at when the engine was made
	}
	e.made[id] = c
	if e.live {
		return c // it is refused
	}
	// Whether a pool has one caller, or more, says what unpaid work may do there.
	if p := &e.setup.Pools[0]; p.Callers < 2 {
		p.Callers++
		e.core.Apply(e.moment(e.now), e.setup)
	}
	return c
}

type tallyKey struct{ caller, semantic int32 }

func (e *Engine) tallyOf(c *policy.Caller, s *policy.Semantic) *tally {
	k := tallyKey{c.Index, s.Index}
	t := e.byKey[k]
	if t == nil {
		t = &tally{caller: c.ID, semantic: s.Name}
		e.byKey[k] = t
		e.tallies = append(e.tallies, t)
	}
	return t
}

func (e *Engine) pool(name string) *poolTally {
	for _, p := range e.pools {
		if p.name == name {
			return p
		}
	}
	return nil // every caller's pool is among those of the policy
}

func (e *Engine) serviceOf(s *policy.Semantic) *service {
	if e.services[s.Index] == nil {
		e.services[s.Index] = &service{}
	}
	return e.services[s.Index]
}
