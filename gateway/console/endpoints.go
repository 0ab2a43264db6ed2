package console

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// endpoint answers one method at one path. A GET answers HEAD too.
type endpoint struct {
	method string
	path   string // ending in a slash, and longer than that, it stands for all below it
	role   role
	// serve answers, or says as an error why not: a *problem, a *Failure, or a fault of ours.
	serve  func(c *Console, ctx *fasthttp.RequestCtx, who visitor) error
	action string // in the audit trail, of a write that one's role may forbid
}

const (
	get    = fasthttp.MethodGet
	put    = fasthttp.MethodPut
	post   = fasthttp.MethodPost
	remove = fasthttp.MethodDelete

	profiles    = "/debug/pprof/"
	sessionPath = "/api/v1/session"

	actionSet  = "override_set"
	actionDrop = "override_drop"
)

// endpoints is all that this listener answers.
var endpoints = []endpoint{
	{get, "/", roleViewer, (*Console).showPage, ""},
	{get, livePrefix, roleViewer, (*Console).showLive, ""},
	{get, "/healthz", roleViewer, healthz, ""},
	{get, "/readyz", roleViewer, (*Console).readyz, ""},
	{get, "/metrics", roleViewer, (*Console).metrics, ""},
	{get, profiles, roleOperator, profile, ""},
	{get, sessionPath, roleViewer, (*Console).session, ""},
	{post, sessionPath, roleViewer, (*Console).login, ""},
	{remove, sessionPath, roleViewer, (*Console).logout, ""},
	{get, "/api/v1/snapshot", roleViewer, (*Console).snapshot, ""},
	{get, streamPath, roleViewer, (*Console).stream, ""},
	{get, "/api/v1/callers", roleViewer, (*Console).callers, ""},
	{get, "/api/v1/caller", roleViewer, (*Console).caller, ""},
	{get, "/api/v1/history", roleViewer, (*Console).history, ""},
	{get, "/api/v1/explain", roleViewer, (*Console).explain, ""},
	{get, "/api/v1/flows", roleViewer, (*Console).flows, ""},
	{get, "/api/v1/refusals", roleViewer, (*Console).refusals, ""},
	{get, "/api/v1/queue", roleViewer, (*Console).queue, ""},
	{get, "/api/v1/config", roleViewer, (*Console).configText, ""},
	{put, "/api/v1/config", roleOwner, (*Console).putConfig, "config_put"},
	{get, "/api/v1/config/versions", roleViewer, (*Console).versions, ""},
	{post, "/api/v1/config/check", roleViewer, (*Console).check, ""},
	{post, "/api/v1/config/preview", roleOperator, (*Console).preview, "config_preview"},
	{post, "/api/v1/config/rollback", roleOwner, (*Console).rollback, "config_rollback"},
	{post, "/api/v1/reload", roleOperator, (*Console).reload, "reload"},
	{get, "/api/v1/overrides", roleViewer, (*Console).overrides, ""},
	{post, "/api/v1/overrides", roleOperator, (*Console).setOverride, actionSet},
	{remove, "/api/v1/overrides", roleOperator, (*Console).dropOverride, actionDrop},
	{get, "/api/v1/registrations", roleViewer, (*Console).registrations, ""},
	{post, "/api/v1/registrations", roleOwner, (*Console).decideRegistration, "registration_decided"},
	{get, "/api/v1/audit", roleOperator, (*Console).auditTrail, ""},
	{get, "/api/v1/alerts", roleViewer, (*Console).alerts, ""},
	{post, "/api/v1/alerts/test", roleOperator, (*Console).testAlert, "alert_test"},
	{get, documentPath, roleViewer, (*Console).showDocument, ""},
}

// byPath has the endpoints of each path.
var byPath = func() map[string][]endpoint {
	m := map[string][]endpoint{}
	for _, e := range endpoints {
		m[e.path] = append(m[e.path], e)
	}
	return m
}()

// find is the endpoint for a request, and what all may be done at its path: nothing when the path is
// unknown.
func find(method, path string) (e endpoint, found bool, allow []string) {
	switch {
	case strings.HasPrefix(path+"/", profiles):
		path = profiles
	case strings.HasPrefix(path, livePrefix):
		path = livePrefix
	}
	if method == fasthttp.MethodHead {
		method = get
	}
	for _, at := range byPath[path] {
		if at.method == method {
			e, found = at, true
		}
		allow = append(allow, at.method)
		if at.method == get {
			allow = append(allow, fasthttp.MethodHead)
		}
	}
	return e, found, allow
}

// open says whether an endpoint answers whoever asks. The probes come from load balancers and
// orchestrators, which know neither our name nor a token; they learn nothing but yes or no.
func (e endpoint) open() bool { return e.path == "/healthz" || e.path == "/readyz" }

// greets says whether an endpoint takes whoever is not known yet: a login brings its token along.
func (e endpoint) greets() bool { return e.path == sessionPath && e.method == post }

// prefix says whether an endpoint stands for all below its path.
func (e endpoint) prefix() bool { return len(e.path) > 1 && strings.HasSuffix(e.path, "/") }

// directory names all paths, and what can be done there where it is more than looking.
func directory() string {
	var names []string
	for _, e := range endpoints {
		name := e.path
		if _, _, allow := find(get, e.path); !slices.Equal(allow, []string{get, fasthttp.MethodHead}) {
			name += " (" + strings.Join(allow, ", ") + ")"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
