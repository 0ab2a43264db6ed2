package console

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// endpoint answers one method at one path. A GET answers HEAD too.
type endpoint struct {
	method string
	path   string
	role   role
	// serve answers, or says as an error why not: a *problem, a *Failure, or a fault of ours.
	serve func(c *Console, ctx *fasthttp.RequestCtx, who visitor) error
}

const (
	get    = fasthttp.MethodGet
	put    = fasthttp.MethodPut
	post   = fasthttp.MethodPost
	remove = fasthttp.MethodDelete
)

// profiles is the one path that stands for all below it.
const profiles = "/debug/pprof/"

// endpoints is all that this listener answers.
var endpoints = []endpoint{
	{get, "/", roleViewer, (*Console).showPage},
	{get, "/style.css", roleViewer, showStyle},
	{get, "/healthz", roleViewer, healthz},
	{get, "/readyz", roleViewer, (*Console).readyz},
	{get, "/metrics", roleViewer, (*Console).metrics},
	{get, profiles, roleOperator, profile},
	{get, "/api/v1/snapshot", roleViewer, (*Console).snapshot},
	{get, "/api/v1/explain", roleViewer, (*Console).explain},
	{get, "/api/v1/flows", roleViewer, (*Console).flows},
	{get, "/api/v1/refusals", roleViewer, (*Console).refusals},
	{get, "/api/v1/queue", roleViewer, (*Console).queue},
	{get, "/api/v1/config", roleViewer, (*Console).configText},
	{put, "/api/v1/config", roleOwner, (*Console).putConfig},
	{get, "/api/v1/config/versions", roleViewer, (*Console).versions},
	{post, "/api/v1/config/rollback", roleOwner, (*Console).rollback},
	{post, "/api/v1/reload", roleOperator, (*Console).reload},
	{get, "/api/v1/overrides", roleViewer, (*Console).overrides},
	{post, "/api/v1/overrides", roleOperator, (*Console).setOverride},
	{remove, "/api/v1/overrides", roleOperator, (*Console).dropOverride},
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
	if strings.HasPrefix(path+"/", profiles) {
		path = profiles
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
