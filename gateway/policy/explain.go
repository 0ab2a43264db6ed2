package policy

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Query asks for the rule that a request would meet. The route is given by its name, or by a path with method and
// host; not by both.
type Query struct {
	Caller   string // id; "" is the anonymous caller
	Route    string
	Method   string // "": GET
	Host     string
	Path     string // as a request has it; a query is cut off
	Semantic string // the tag; "" is none
	Tenant   string
}

// Explanation is the answer to a Query. Its JSON names are part of the public contract.
type Explanation struct {
	Caller   string `json:"caller"`
	Route    string `json:"route"`
	Semantic string `json:"semantic"`
	Tenant   string `json:"tenant"`
	Flow     string `json:"flow"` // what is counted: name=value pairs
	Rule     string `json:"rule"`
	At       string `json:"at"` // file:line

	Rate         string `json:"rate"`
	Burst        int64  `json:"burst"` // 0: a sliding window
	Cost         int64  `json:"cost"`
	MaxWait      string `json:"max_wait"`
	MaxInFlight  int    `json:"max_in_flight"` // 0: no limit of its own
	OverInFlight string `json:"over_in_flight"`
	OverRate     string `json:"over_rate"`
	Level        string `json:"level"`
	Observe      bool   `json:"observe"` // decided and counted, and nothing is held back
	Pool         string `json:"pool"`
	Message      string `json:"message"`

	Overrode  []RuleRef     `json:"overrode"`  // most specific first
	Overrides []OverrideRef `json:"overrides"` // what operators have set over the file, of all that is said here

	Plan       string   `json:"plan"`
	CallerRate string   `json:"caller_rate"` // what all flows of the caller may be paid together; "": no bound
	Upstream   string   `json:"upstream"`
	Pattern    string   `json:"pattern"` // the route's method, host and path
	Why        string   `json:"why"`     // why the semantic came out so
	Sources    Sources  `json:"sources"`
	Notes      []string `json:"notes"` // what would happen to such a request before any rule
	Version    uint64   `json:"version"`
}

// RuleRef names a rule and where it stands.
type RuleRef struct {
	Rule string `json:"rule"`
	At   string `json:"at"`
}

// Explain takes the same decisions as a request would meet, and says why. It fails where the request would
// be refused as unknown or malformed, with what would help. more may be nil.
func (p *Policy) Explain(q Query, more Registrations) (*Explanation, error) {
	c, err := p.queriedCaller(q.Caller)
	if err != nil {
		return nil, fmt.Errorf("cannot explain: %w", err)
	}
	r, err := p.queriedRoute(q)
	if err != nil {
		return nil, fmt.Errorf("cannot explain: %w", err)
	}
	if q.Tenant != "" && !ValidTenant([]byte(q.Tenant)) {
		return nil, fmt.Errorf("cannot explain: tenant %.40q is not valid: 1 to %d of A-Z, a-z, 0-9 and ._:-", q.Tenant, MaxTenant)
	}
	s, reason := p.semanticFor(r, c, []byte(q.Semantic), more)
	rule := p.Choose(c, r, s)
	e := &Explanation{
		Caller: c.ID, Route: r.Name, Semantic: s.Name, Tenant: q.Tenant,
		Flow: flowText(c, r, s, rule, q.Tenant), Rule: rule.ID, At: rule.At,
		Rate: rule.RateText, Burst: rule.Limit.Burst, Cost: rule.Cost, MaxWait: rule.MaxWait.String(),
		MaxInFlight: rule.MaxInFlight, OverInFlight: "queue", OverRate: overRateText(rule), Level: rule.Level,
		Observe: rule.Observe, Pool: c.Pool, Message: rule.Message,
		Overrode: make([]RuleRef, 0, len(rule.Overrode)), Overrides: p.overridesOf(c, s, rule),
		Plan: c.Plan.Name, CallerRate: c.Plan.callerRateText, Upstream: r.Upstream, Pattern: r.pattern(),
		Why: whySemantic(reason, r, c, q.Semantic), Sources: rule.Sources, Notes: notes(c, r, q), Version: p.version,
	}
	if rule.RejectInFlight {
		e.OverInFlight = "reject"
	}
	for _, o := range rule.Overrode {
		e.Overrode = append(e.Overrode, RuleRef{o.ID, o.At})
	}
	return e, nil
}

func (p *Policy) queriedCaller(id string) (*Caller, error) {
	if id == "" {
		if p.anonymous == nil {
			return nil, errors.New("no caller is given, and identify.anonymous names none; give one with -caller")
		}
		return p.anonymous, nil
	}
	if c := p.callers[id]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("caller %q is none of [[callers]]", id)
}

func (p *Policy) queriedRoute(q Query) (*Route, error) {
	switch {
	case q.Route != "" && q.Path != "":
		return nil, fmt.Errorf("both route %q and path %q are given; give one", q.Route, q.Path)
	case q.Route != "":
		if r := p.byName[q.Route]; r != nil {
			return r, nil
		}
		return nil, fmt.Errorf("route %q is none of [[routes]]", q.Route)
	case q.Path == "":
		return nil, errors.New("neither a route nor a path is given; give -route, or -path with -method")
	}
	raw, _, _ := strings.Cut(q.Path, "?")
	path, ok := NormalisePath(nil, []byte(raw))
	if !ok && !strings.HasPrefix(raw, "/") {
		return nil, fmt.Errorf("path %q does not begin with /; give the path as requests send it, like /v1/chat/x", raw)
	}
	if !ok {
		return nil, fmt.Errorf("path %q is refused with 400 bad_request: servers read it in different ways", raw)
	}
	method := cmp.Or(q.Method, "GET")
	r := p.Match([]byte(q.Host), []byte(method), path)
	if r == nil {
		return nil, fmt.Errorf("%s %s%s is refused with 404 route_unknown: none of [[routes]] matches it", method, q.Host, path)
	}
	return r, nil
}

func overRateText(r *Rule) string {
	for text, value := range overRates {
		if value == r.OverRate {
			return text
		}
	}
	return ""
}

func flowText(c *Caller, r *Route, s *Semantic, rule *Rule, tenant string) string {
	flow := "caller=" + c.ID + " semantic=" + s.Name
	if rule.NamesRoute {
		flow += " route=" + r.Name
	}
	switch {
	case c.Anonymous:
		flow += " address=(each)"
	case c.Plan.ByTenant && tenant != "":
		flow += " tenant=" + tenant
	case c.Plan.ByTenant:
		flow += " tenant=(each)"
	}
	return flow
}

func whySemantic(reason semanticReason, r *Route, c *Caller, tag string) string {
	switch reason {
	case tagHolds:
		return fmt.Sprintf("the tag holds: route %s accepts %s and %s has registered it", r.Name, tag, c.ID)
	case tagRegisteredByCaller:
		return fmt.Sprintf("the tag holds: route %s accepts %s, registered by the caller itself", r.Name, tag)
	case tagIsDefault:
		return "the tag asks for default, which everybody may have"
	case tagUnknown:
		return fmt.Sprintf("the tag %.40q is none of [[semantics]], so it counts as default", tag)
	case tagNotAccepted:
		return fmt.Sprintf("route %s does not accept %s, so the tag counts as default; add it to the route's semantics (%s) to allow it",
			r.Name, tag, r.At)
	case tagNotRegistered:
		return fmt.Sprintf("%s has not registered %s, so the tag counts as default; add it to the caller's semantics (%s) to allow it",
			c.ID, tag, c.At)
	case impliedByRoute:
		return fmt.Sprintf("without a tag, route %s implies %s, the one semantic that it accepts", r.Name, r.implied.Name)
	case impliedRegisteredByCaller:
		return fmt.Sprintf("without a tag, route %s implies %s, the one semantic that it accepts, registered by the caller itself",
			r.Name, r.implied.Name)
	case impliedNotRegistered:
		return fmt.Sprintf("without a tag, route %s implies %s, but %s has not registered it; add it to the caller's semantics (%s) to allow it",
			r.Name, r.implied.Name, c.ID, c.At)
	case noTagSeveralAccepted:
		return fmt.Sprintf("route %s accepts several semantics, so without a tag it is default", r.Name)
	default:
		return fmt.Sprintf("route %s accepts no semantic, so it is default", r.Name)
	}
}

// notes says what such a request would meet before its rule.
func notes(c *Caller, r *Route, q Query) []string {
	notes := []string{}
	if !c.Enabled {
		notes = append(notes, fmt.Sprintf("caller %s is disabled: 403 caller_disabled", c.ID))
	}
	if c.Anonymous && !r.Public {
		notes = append(notes, fmt.Sprintf("route %s is not public, so a request without a key gets 401 caller_unknown", r.Name))
	}
	if c.Plan.ByTenant && !c.Anonymous && q.Tenant == "" {
		notes = append(notes, fmt.Sprintf("plan %s counts by tenant: a request without one gets 400 tenant_missing", c.Plan.Name))
	}
	if !c.Plan.ByTenant && q.Tenant != "" {
		notes = append(notes, fmt.Sprintf("plan %s does not count by tenant, so the tenant changes nothing", c.Plan.Name))
	}
	return notes
}

// pattern is what the route matches, for people.
func (r *Route) pattern() string {
	method := "any method"
	if len(r.Methods) > 0 {
		method = strings.Join(r.Methods, ",")
	}
	return method + " " + r.Host + r.Path
}
