package policy

import (
	"slices"

	"tidegate/gateway/config"
	"tidegate/pools"
	"tidegate/scheduler"
)

// DefaultSemantic is the semantic of all work that is not registered.
const DefaultSemantic = "default"

// Policy is a compiled configuration. It is immutable and safe for concurrent use.
type Policy struct {
	version    uint64
	routes     []*Route // by position
	byName     map[string]*Route
	router     router
	callers    map[string]*Caller // by id
	keys       map[uint64]*key    // by the first 8 bytes of the hash
	anonymous  *Caller
	observeAll bool        // server.mode = "observe"
	observing  []string    // ids of rules that observe, in order
	semantics  []*Semantic // by position
	byTag      map[string]*Semantic
	fallback   *Semantic // "default"
	maxTag     int       // bytes of the longest semantic's name
	plans      []*Plan
	levels     []Level
	poolList   []Pool
	limits     config.Limits
	callerList []*Caller // in the order of the file
	overrides  []override
}

// Route is method, host and path pattern, leading to an upstream and accepting some semantics. Its fields are not
// to be written.
type Route struct {
	Name     string
	Index    int32  // of Names.Routes
	Host     string // "": any
	Methods  []string
	Path     string // exact, or a prefix ending in /*
	Upstream string
	Public   bool   // needs no key
	At       string // where it stands in the file

	position int         // in Policy.routes and in the rows of a Plan
	accepts  semanticSet // by position
	implied  *Semantic   // the one accepted, if it is exactly one
	several  bool        // more than one is accepted
}

// Caller is who sends. Its fields are not to be written.
type Caller struct {
	ID, Name  string
	Index     int32 // of Names.Callers
	Plan      *Plan
	Pool      string
	Enabled   bool
	Anonymous bool // stands for all keyless requests on public routes; they are told apart by address
	At        string

	registers semanticSet // in the configuration
}

// Semantic is a registered kind of work. Its fields are not to be written.
type Semantic struct {
	Name  string
	Index int32 // of Names.Semantics
	Rule  *Rule // its own, for callers whose plan has no other

	position int
}

// Plan is a tier. Its fields are not to be written.
type Plan struct {
	Name       string
	ByTenant   bool         // flows are told apart by tenant, and a request must name one
	CallerRate *pools.Limit // what all flows of one caller may be paid together; nil: no bound
	Weight     float64      // share of its callers among callers, above 0
	// Registration says whether its callers may register semantics themselves: "auto", "approve" or "off".
	Registration string

	// rows holds the rule for each route and semantic by their positions. Routes that no rule of the plan names
	// share one row, so the table costs one row for each route that is named.
	rows           [][]*Rule
	callerRateText string
}

// Rule is the limits chosen for one request. Its fields are not to be written.
type Rule struct {
	scheduler.Rule
	ID         string // plan/route/semantic with * for any, or semantic/NAME
	NamesRoute bool   // then the route is part of the flow
	RateText   string // the rate as written: "20/60s"
	// MaxRateText is how far an operator may raise the rate, as written; "": no further than FileRateText.
	MaxRateText  string
	FileRateText string // the rate that file and environment say, without what operators have set
	Message      string // the refusal's own words, "" if none
	At           string // where it stands in the file: "config.toml:120"
	Version      uint64 // of the Policy it belongs to
	Sources      Sources
	Overrode     []*Rule // the rules that would have counted without it, most specific first
}

// Sources says by rule id where each field of a Rule comes from: the rule itself, or the semantic's own.
type Sources struct {
	Rate         string `json:"rate"`  // "flows.CALLER/SEMANTIC" where an operator has given a rate to this caller alone
	Burst        string `json:"burst"` // as Rate; another only where an operator has set one of the two
	Cost         string `json:"cost"`
	MaxWait      string `json:"max_wait"`
	MaxInFlight  string `json:"max_in_flight"`
	OverInFlight string `json:"over_in_flight"`
	OverRate     string `json:"over_rate"`
	Level        string `json:"level"`
	Observe      string `json:"observe"` // "server.mode" where the whole gateway observes
	Message      string `json:"message"`
}

// Level is one business priority.
type Level struct {
	Name     string
	MinShare float64 // of its pool's seat time, from 0 to 1
}

// Pool is the numbers of one pool, and how many enabled callers it has.
type Pool struct {
	config.Pool
	Callers int
}

// Version is the number that Compile was given.
func (p *Policy) Version() uint64 { return p.version }

// Levels returns the levels, highest first.
func (p *Policy) Levels() []Level { return slices.Clone(p.levels) }

// Pools returns the pools in the order of the file.
func (p *Policy) Pools() []Pool { return slices.Clone(p.poolList) }

// Setup is what the scheduler is made of. A pool with seats = "auto" has its Seats at 0.
func (p *Policy) Setup() scheduler.Setup {
	setup := scheduler.Setup{
		MaxFlows: p.limits.MaxFlows, MaxTenants: p.limits.MaxTenants,
		Observe: p.observeAll || len(p.observing) > 0,
	}
	for _, l := range p.levels {
		setup.Levels = append(setup.Levels, scheduler.LevelSetup(l))
	}
	for _, pool := range p.poolList {
		setup.Pools = append(setup.Pools, scheduler.PoolSetup{
			Name: pool.Name, Seats: pool.Seats.N,
			ExcessCeiling: pool.ExcessCeiling, SurgeCeiling: pool.SurgeCeiling, LongCeiling: pool.LongCeiling,
			MaxWaiting: pool.MaxWaiting, MaxWaitingBytes: int64(pool.MaxWaitingBytes), MaxFlowShare: pool.MaxFlowShare,
			Callers: pool.Callers,
		})
	}
	return setup
}

// Observing returns the ids of the rules that a request can meet and that observe, in the order of the
// alphabet; "*" alone where server.mode makes all of them observe. A rule for any semantic is among them
// when it observes for one of them.
func (p *Policy) Observing() []string {
	if p.observeAll {
		return []string{"*"}
	}
	return slices.Clone(p.observing)
}

// Callers returns all callers in the order of the file.
func (p *Policy) Callers() []*Caller { return slices.Clone(p.callerList) }

// Semantics returns all semantics in the order of the file.
func (p *Policy) Semantics() []*Semantic { return slices.Clone(p.semantics) }

// Routes returns all routes in the order of the file.
func (p *Policy) Routes() []*Route { return slices.Clone(p.routes) }

// Caller returns the caller with this id, nil if there is none.
func (p *Policy) Caller(id string) *Caller { return p.callers[id] }

// Semantic returns the semantic of this name, nil if there is none.
func (p *Policy) Semantic(name string) *Semantic { return p.byTag[name] }

// Route returns the route of this name, nil if there is none.
func (p *Policy) Route(name string) *Route { return p.byName[name] }

// Anonymous returns the caller of keyless requests on public routes, nil if the configuration names none.
func (p *Policy) Anonymous() *Caller { return p.anonymous }

// Match returns the route of a request, nil if none fits. The path is one that NormalisePath returned; the host may
// have a port and any case; the method is compared as it is. It allocates nothing.
func (p *Policy) Match(host, method, path []byte) *Route { return p.router.match(host, method, path) }

// Choose returns the rule of a request. It is never nil, and allocates nothing.
func (p *Policy) Choose(c *Caller, r *Route, s *Semantic) *Rule {
	return c.Plan.rows[r.position][s.position]
}

// Key is what a request of the caller is counted and queued by. The tenant is the one that the request names or, where
// the caller is anonymous, its address; it counts only where it is to. It allocates nothing.
func (c *Caller) Key(r *Route, s *Semantic, rule *Rule, tenant string) scheduler.Key {
	k := scheduler.Key{Caller: c.Index, Semantic: s.Index, Route: scheduler.NoRoute}
	if rule.NamesRoute {
		k.Route = r.Index
	}
	if c.Anonymous || c.Plan.ByTenant {
		k.Tenant = tenant
	}
	return k
}

// Terms is what the scheduler is told of a flow under the rule. It allocates nothing.
func (c *Caller) Terms(rule *Rule) scheduler.Terms {
	return scheduler.Terms{
		Version: rule.Version, Rule: &rule.Rule, Pool: c.Pool, Weight: c.Plan.Weight, CallerRate: c.Plan.CallerRate,
	}
}
