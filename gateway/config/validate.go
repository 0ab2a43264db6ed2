package config

import (
	"cmp"
	"slices"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// validator holds a decoded configuration against what its parts may be and how they must fit together.
type validator struct {
	*report
	c       *Config
	layered bool // operators' overrides are in it: rates may stand above what operators may raise them to

	levelNames, poolNames, semanticNames, planNames, upstreamNames, routeNames, callerIDs nameSet
}

// validate reports every fault of c that its types do not rule out.
func validate(c *Config, r *report) { newValidator(c, r).all() }

func newValidator(c *Config, r *report) *validator {
	return &validator{
		report:        r,
		c:             c,
		levelNames:    namesOf(c.Levels, func(l *Level) string { return l.Name }),
		poolNames:     namesOf(c.Pools, func(p *Pool) string { return p.Name }),
		semanticNames: namesOf(c.Semantics, func(s *Semantic) string { return s.Name }),
		planNames:     namesOf(c.Plans, func(p *Plan) string { return p.Name }),
		upstreamNames: namesOf(c.Upstreams, func(u *Upstream) string { return u.Name }),
		routeNames:    namesOf(c.Routes, func(r *Route) string { return r.Name }),
		callerIDs:     namesOf(c.Callers, func(c *Caller) string { return c.ID }),
	}
}

func (v *validator) all() {
	v.server()
	v.admin()
	v.observing()
	v.identify()
	v.bounds()
	v.detector()
	v.levels()
	v.pools()
	v.semantics()
	v.plans()
	v.upstreams()
	v.routes()
	v.callers()
	v.alerts()
	v.notBuilt()
}

// oneOf wants one of a few words.
func (v *validator) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		v.add(key, value, didYouMean(value, allowed), "not one of the words allowed here")
	}
}

// within wants a value between two bounds, both allowed.
func within[T cmp.Ordered](v *validator, key string, value, low, high T) {
	if value < low || value > high {
		v.add(key, value, "", "out of range; allowed is %v to %v", any(low), any(high))
	}
}

// positive wants a duration above 0.
func (v *validator) positive(key string, d Duration) {
	if d.Duration <= 0 {
		v.add(key, d, "", "a time above 0 is needed here")
	}
}

// atLeast wants a duration that the gateway can keep to.
func (v *validator) atLeast(key string, d Duration, low time.Duration) {
	if d.Duration < low {
		v.add(key, d, "", "at least %s is needed here", Duration{low})
	}
}

// share wants a part of a whole that is not nothing.
func (v *validator) share(key string, f float64) {
	if f <= 0 || f > 1 {
		v.add(key, f, "1 is all of it", "a share is above 0 and at most 1")
	}
}

// required wants a text that is not empty.
func (v *validator) required(key, value, hint string) bool {
	if value == "" {
		v.add(key, nil, hint, "must be given")
	}
	return value != ""
}

// text wants something that can be shown: no control characters, not endless.
func (v *validator) text(key, s string, longest int) {
	if utf8.RuneCountInString(s) > longest {
		v.add(key, s, "", "longer than %d characters", longest)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			v.add(key, s, "", "control characters and line breaks are not allowed here")
		}
	}
}

// ref wants the name of something that there is; an empty one is another matter.
func (v *validator) ref(key, name, what string, known nameSet) {
	if name == "" || known.has[name] || v.full() {
		return
	}
	if len(known.list) == 0 {
		v.add(key, name, "", "no such %s: there is none at all", what)
		return
	}
	v.add(key, name, didYouMean(name, known.list), "no such %s", what)
}

// refs wants names of things that there are, each once.
func (v *validator) refs(key string, names []string, what string, known nameSet) {
	for i, name := range names {
		at := index(key, i)
		switch {
		case name == "":
			v.add(at, name, "", "the name of a %s is needed", what)
		case slices.Contains(names[:i], name):
			v.add(at, name, "leave one out", "named twice")
		default:
			v.ref(at, name, what, known)
		}
	}
}

// unique notes the names of a list and reports one that comes again.
type unique struct {
	v    *validator
	what string
	seen map[string]string // name: key
}

func (v *validator) unique(what string) *unique {
	return &unique{v: v, what: what, seen: map[string]string{}}
}

func (u *unique) add(key, name string) {
	if first, ok := u.seen[name]; ok {
		u.v.add(key, name, "", "there is a %s of this name already, at %s", u.what, u.v.at(first))
		return
	}
	u.seen[name] = key
}

// named checks the name of a list's element: given, of the right form, and its own.
func (v *validator) named(key, name string, u *unique) {
	if !v.required(key, name, "every "+u.what+" has a name") {
		return
	}
	if !validName(name) {
		v.add(key, name, "", "a name is 1 to 64 of a-z, 0-9, '.', '_' and '-'")
		return
	}
	u.add(key, name)
}

// at says where a key stands, for a message that points at a second place.
func (v *validator) at(key string) string {
	if p := v.origin.of(key); p.line > 0 {
		return "line " + strconv.Itoa(p.line)
	}
	return v.origin.display(key)
}

// nameSet is what the elements of a list are called, in their order.
type nameSet struct {
	list []string
	has  map[string]bool
}

func namesOf[T any](list []T, name func(*T) string) nameSet {
	s := nameSet{has: make(map[string]bool, len(list))}
	for i := range list {
		if n := name(&list[i]); n != "" && !s.has[n] {
			s.list = append(s.list, n)
			s.has[n] = true
		}
	}
	return s
}
