package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidegate/gateway/config"
)

// Compile makes a Policy of a configuration. It takes no part of c along, and gives names to the
// indexes of names only if it succeeds. The error joins all problems found, each with its place; most are found
// by config.Load already, which sees one value at a time, while Compile sees what they amount to together.
func Compile(c *config.Config, names *Names, version uint64) (*Policy, error) {
	k := compiler{
		c:       c,
		version: version,
		p: &Policy{
			version:    version,
			limits:     c.Limits,
			callers:    make(map[string]*Caller, len(c.Callers)),
			keys:       make(map[uint64]*key, len(c.Callers)),
			byTag:      make(map[string]*Semantic, len(c.Semantics)),
			byName:     make(map[string]*Route, len(c.Routes)),
			observeAll: c.Server.Mode == "observe",
		},
		plans:    make(map[string]*Plan, len(c.Plans)),
		pools:    make(map[string]int, len(c.Pools)),
		observed: make(map[string]bool),
	}
	k.levels()
	k.poolList()
	k.semantics()
	k.routes()
	k.planList()
	k.callers()
	if len(k.problems) > 0 {
		return nil, errors.Join(k.problems...)
	}
	k.p.observing = slices.Sorted(maps.Keys(k.observed))
	k.overrides()
	k.intern(names)
	return k.p, nil
}

type compiler struct {
	c        *config.Config
	version  uint64
	p        *Policy
	plans    map[string]*Plan
	pools    map[string]int // position in Policy.poolList
	observed map[string]bool
	problems []error
}

// at is where a table stands in the file; without a file it is the table's key.
func (k *compiler) at(format string, args ...any) string {
	key := fmt.Sprintf(format, args...)
	if c, ok := any(k.c).(interface{ At(key string) string }); ok {
		if at := c.At(key); at != "" {
			return at
		}
	}
	return key
}

func (k *compiler) problem(at, format string, args ...any) {
	k.problems = append(k.problems, fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)))
}

func (k *compiler) levels() {
	if len(k.c.Levels) == 0 {
		k.problem("levels", "there must be at least one [[levels]]")
	}
	for _, l := range k.c.Levels {
		k.p.levels = append(k.p.levels, Level{Name: l.Name, MinShare: l.MinShare})
	}
}

func (k *compiler) hasLevel(name string) bool {
	return slices.ContainsFunc(k.c.Levels, func(l config.Level) bool { return l.Name == name })
}

func (k *compiler) poolList() {
	if len(k.c.Pools) == 0 {
		k.problem("pools", "there must be at least one [[pools]]")
	}
	for i, pool := range k.c.Pools {
		if _, ok := k.pools[pool.Name]; ok {
			k.problem(k.at("pools[%d]", i), "name = %q is taken by another pool", pool.Name)
		}
		k.pools[pool.Name] = i
		k.p.poolList = append(k.p.poolList, Pool{Pool: pool})
	}
}

func (k *compiler) semantics() {
	for i, s := range k.c.Semantics {
		at := k.at("semantics[%d]", i)
		if k.p.byTag[s.Name] != nil {
			k.problem(at, "name = %q is taken by another semantic", s.Name)
		}
		if !k.hasLevel(s.Level) {
			k.problem(at, "level = %q is none of [[levels]]", s.Level)
		}
		k.checkWords(at, &s.OverRate, &s.OverInFlight)
		sem := &Semantic{Name: s.Name, Rule: k.ownRule(s, at), position: i}
		sem.Rule.FileRateText = rateText(k.c.Below().Semantics[i].Rate)
		if err := sem.Rule.check(); err != nil {
			k.problem(at, "semantic %q: %w", s.Name, err)
		}
		k.p.semantics = append(k.p.semantics, sem)
		k.p.byTag[s.Name] = sem
		k.p.maxTag = max(k.p.maxTag, len(s.Name))
	}
	k.p.fallback = k.p.byTag[DefaultSemantic]
	if k.p.fallback == nil {
		k.problem("semantics", "there must be a [[semantics]] with name = %q: it takes all work that is not registered", DefaultSemantic)
	}
}

// checkWords holds the two enumerations; nil is a field that was left out.
func (k *compiler) checkWords(at string, overRate, overInFlight *string) {
	if overRate != nil {
		if _, ok := overRates[*overRate]; !ok {
			k.problem(at, `over_rate = %q: must be "queue", "pace" or "reject"`, *overRate)
		}
	}
	if overInFlight != nil && *overInFlight != "queue" && *overInFlight != "reject" {
		k.problem(at, `over_in_flight = %q: must be "queue" or "reject"`, *overInFlight)
	}
}

func (k *compiler) routes() {
	for i, r := range k.c.Routes {
		at := k.at("routes[%d]", i)
		route := &Route{
			Name: r.Name, Host: r.Host, Methods: slices.Clone(r.Methods), Path: r.Path, Upstream: r.Upstream,
			Public: r.Public, At: at, position: i, accepts: makeSemanticSet(len(k.c.Semantics)),
		}
		if k.p.byName[r.Name] != nil {
			k.problem(at, "name = %q is taken by another route", r.Name)
		}
		k.p.byName[r.Name] = route
		if !slices.ContainsFunc(k.c.Upstreams, func(u config.Upstream) bool { return u.Name == r.Upstream }) {
			k.problem(at, "upstream = %q is none of [[upstreams]]", r.Upstream)
		}
		for _, s := range k.named(at, r.Semantics) {
			switch {
			case route.accepts.has(s.position): // named twice
			case route.implied == nil && !route.several:
				route.implied = s
			default:
				route.implied, route.several = nil, true
			}
			route.accepts.add(s.position)
		}
		if err := k.p.router.add(route, r.Methods); err != nil {
			k.problem(at, "route %q: %w", r.Name, err)
		}
		k.p.routes = append(k.p.routes, route)
	}
	k.p.router.root.link(nil)
}

// named returns the semantics of a list of names.
func (k *compiler) named(at string, names []string) []*Semantic {
	var found []*Semantic
	for _, name := range names {
		if s := k.p.byTag[name]; s != nil {
			found = append(found, s)
		} else {
			k.problem(at, "semantics: %q is none of [[semantics]]", name)
		}
	}
	return found
}

func (k *compiler) callers() {
	for i, c := range k.c.Callers {
		at := k.at("callers[%d]", i)
		caller := &Caller{
			ID: c.ID, Name: c.Name, Enabled: c.Enabled, Anonymous: c.ID != "" && c.ID == k.c.Identify.Anonymous, At: at,
			registers: makeSemanticSet(len(k.c.Semantics)),
		}
		if c.ID == "" || k.p.callers[c.ID] != nil {
			k.problem(at, "id = %q: every caller needs an id of its own", c.ID)
		}
		k.p.callers[c.ID] = caller
		k.p.callerList = append(k.p.callerList, caller)
		k.planAndPool(at, c, caller)
		for _, s := range k.named(at, c.Semantics) {
			caller.registers.add(s.position)
		}
		for _, text := range c.Keys {
			hash, err := config.ParseHash(text)
			if err != nil {
				k.problem(at, "a key of caller %q: %w", c.ID, err)
			} else if owner := k.p.addKey(hash, caller); owner != nil && owner != caller {
				k.problem(at, "a key of caller %q is also one of %q; give each a key of its own", c.ID, owner.ID)
			}
		}
		if caller.Anonymous {
			k.p.anonymous = caller
			if len(c.Keys) > 0 {
				k.problem(at, "caller %q has keys, but identify.anonymous names it; it must have none", c.ID)
			}
		}
	}
	if k.p.anonymous == nil && k.c.Identify.Anonymous != "" {
		k.problem("identify", "anonymous = %q is none of [[callers]]", k.c.Identify.Anonymous)
	}
}

// planAndPool gives a caller its plan and its pool: the first where it names none.
func (k *compiler) planAndPool(at string, c config.Caller, caller *Caller) {
	switch plan := k.plans[c.Plan]; {
	case plan != nil:
		caller.Plan = plan
	case c.Plan == "" && len(k.p.plans) > 0:
		caller.Plan = k.p.plans[0]
	default:
		k.problem(at, "plan = %q is none of [[plans]]", c.Plan)
	}
	if caller.Plan != nil {
		caller.Plan = k.apart(caller.Plan, c)
	}
	i, ok := k.pools[c.Pool]
	if !ok && (c.Pool != "" || len(k.p.poolList) == 0) {
		k.problem(at, "pool = %q is none of [[pools]]", c.Pool)
		return
	}
	caller.Pool = k.p.poolList[i].Name // the first if it names none
	switch {
	case caller.Anonymous:
		k.p.poolList[i].Callers += 2 // stands for many, who are told apart by address
	case c.Enabled:
		k.p.poolList[i].Callers++
	}
}

// intern is the part that cannot fail.
func (k *compiler) intern(names *Names) {
	for _, c := range k.p.callerList {
		c.Index = names.Callers.Index(c.ID)
	}
	for _, s := range k.p.semantics {
		s.Index = names.Semantics.Index(s.Name)
	}
	for _, r := range k.p.routes {
		r.Index = names.Routes.Index(r.Name)
	}
}
