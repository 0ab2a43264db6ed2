package gateway

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
	"tidegate/gateway/octets"
	"tidegate/gateway/policy"
	"tidegate/gateway/registration"
)

// callerDesk is what the gateway answers its callers itself, on their own listener: what they register, what they have, and
// the page for them. A request for it goes the way of all others as far as identify, so that its key, its address and
// its path are looked at by the same code; it is no traffic, and is counted with no flow. Safe for concurrent use.
type callerDesk struct {
	registrations *registration.Registry
	reads, writes deskMeters // of each caller
	refusals      deskRefusals
	pages         deskPages
	entries, all  deskMeters // in the audit trail
}

// deskRoot is what all of its paths begin with. No route leads there, whatever its pattern holds.
const deskRoot = "/.tidegate"

// deskRoute stands for all of it, where a request has a route.
var deskRoute = &policy.Route{Name: deskRoot[1:]}

// isDesk says that a canonical path is the desk's and no upstream's. Servers behind us may take no
// notice of case, or of what stands in a segment after a semicolon; so the desk has all of these, and serves the one.
func isDesk(path []byte) bool {
	if len(path) < len(deskRoot) || !octets.EqualFold(path[:len(deskRoot)], deskRoot) {
		return false
	}
	rest := path[len(deskRoot):]
	return len(rest) == 0 || rest[0] == '/' || rest[0] == ';' || len(rest) >= 3 && string(rest[:3]) == "%3B"
}

// callerDesk answers a request for the desk. It always says false, as nothing is left to be done.
func (x *exchange) callerDesk() bool {
	x.route = deskRoute
	rest, ours := strings.CutPrefix(string(x.path), deskRoot)
	c := x.live.config
	api, isAPI := strings.CutPrefix(rest, "/v1/")
	switch {
	case !ours:
	case isAPI && (c.Server.CallersPage || takesRegistrations(c)):
		return x.deskAPI(api)
	case !isAPI && c.Server.CallersPage && (rest == "" || rest[0] == '/'):
		return x.deskPage(rest)
	}
	return x.refuse(CodeRouteUnknown)
}

func takesRegistrations(c *config.Config) bool {
	for i := range c.Plans {
		if c.Plans[i].Registration != registration.PlanOff {
			return true
		}
	}
	return false
}

// deskAPI answers what comes behind /.tidegate/v1/.
func (x *exchange) deskAPI(path string) bool {
	name, one := strings.CutPrefix(path, "semantics/")
	var answer map[string]func(name string) bool
	switch {
	case path == "me":
		answer = map[string]func(string) bool{"GET": func(string) bool { return x.answerMe() }}
	case path == "semantics":
		answer = map[string]func(string) bool{"GET": func(string) bool { return x.answerSemantics() }}
	case one && name != "" && !strings.Contains(name, "/"):
		answer = map[string]func(string) bool{"GET": x.answerSemantic, "PUT": x.putSemantic, "DELETE": x.deleteSemantic}
	default:
		return x.refuse(CodeRouteUnknown)
	}
	method := string(x.ctx.Method())
	if method == "HEAD" {
		method = "GET"
	}
	do := answer[method]
	if do == nil {
		x.ctx.Response.Header.Set("Allow", allowed(len(answer) > 1))
		return x.deskRefuse(faultMethod, 0)
	}
	if code := x.findCaller(); code != CodeNone {
		return x.refuse(code)
	}
	meters := &x.g.desk.reads
	if method != "GET" {
		meters = &x.g.desk.writes
	}
	if ok, wait := meters.take(x.start, x.caller.Index); !ok {
		return x.deskRefuse(faultTooOften, spread(uint64(x.caller.Index), wait))
	}
	return do(name)
}

func allowed(writes bool) string {
	if writes {
		return "GET, HEAD, PUT, DELETE"
	}
	return "GET, HEAD"
}

// answerJSON answers with a document that is for its caller alone.
func (x *exchange) answerJSON(status int, document any) bool {
	body, err := json.Marshal(document)
	if err != nil {
		panic(err) // texts, numbers and times of this century
	}
	x.ctx.SetContentType("application/json")
	x.answerDesk(status, append(body, '\n'))
	return false
}

func (x *exchange) answerDesk(status int, body []byte) {
	h := &x.ctx.Response.Header
	x.ctx.SetStatusCode(status)
	x.label(h)
	if len(h.Peek(fasthttp.HeaderCacheControl)) == 0 {
		h.Set(fasthttp.HeaderCacheControl, "no-store")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	x.ctx.SetBody(body)
	x.result.Bytes = int64(len(body))
	if bodyOnItsWay(x.ctx) {
		h.SetConnectionClose()
	}
}

// openDesk makes the desk of what was kept. The configuration in force is told to it by commit.
func (g *Gateway) openDesk() {
	r, odd := registration.Open(registration.Options{
		Dir: g.options.State, Config: func(string, string) registration.Terms { return registration.Terms{} }, Said: g.saidOfRegistrations,
	})
	g.sayDamaged(odd)
	g.desk.registrations, g.registry = r, r
	g.registrationsOf, g.registrationsWaiting = g.registrationsBy, r.WaitForOwner
	g.desk.reads.limit, g.desk.writes.limit = deskReads, deskWrites
	g.desk.entries.limit, g.desk.all.limit = deskEntries, deskAllEntries
}

// termsOf is what a policy says of registrations.
func termsOf(p *policy.Policy) registration.Config {
	return func(caller, semantic string) (t registration.Terms) {
		c := p.Caller(caller)
		if c == nil || c.Anonymous {
			return t
		}
		t.Plan, t.Caller = c.Plan.Registration, c.Index
		if s := p.Semantic(semantic); s != nil {
			t.Semantic, t.Given = s.Index, c.Registered(s)
		}
		return t
	}
}

// keepFor is how long an answer waits for the disk.
const keepFor = time.Second

// auditDesk puts into the trail what somebody did at the desk, if there is a trail.
func (g *Gateway) auditDesk(e console.AuditEntry) {
	if g.auditRegistration != nil {
		g.auditRegistration(e)
	}
}
