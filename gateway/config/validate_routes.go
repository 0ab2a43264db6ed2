package config

import (
	"slices"
	"strings"
)

// upstreams checks what stands behind the gateway.
func (v *validator) upstreams() {
	seen := v.unique("upstream")
	for i, u := range v.c.Upstreams {
		key := index("upstreams", i)
		v.named(key+".name", u.Name, seen)
		v.oneOf(key+".balance", u.Balance, "least_in_flight", "round_robin", "hash")
		v.positive(key+".timeout", u.Timeout)
		v.positive(key+".stall_timeout", u.StallTimeout)
		v.positive(key+".connect_timeout", u.ConnectTimeout)
		if len(u.Targets) == 0 {
			v.add(key+".targets", nil, `e.g. [{ url = "http://10.0.0.5:8080" }]`, "at least one target is needed")
		}
		urls := map[string]string{}
		for j, t := range u.Targets {
			at := index(key+".targets", j)
			within(v, at+".weight", t.Weight, 1, 1_000_000)
			if v.required(at+".url", t.URL, `e.g. "http://10.0.0.5:8080"`) {
				v.target(at+".url", t.URL, urls)
			}
		}
	}
}

func (v *validator) target(key, url string, seen map[string]string) {
	if err := checkTarget(url); err != nil {
		v.add(key, url, "", "%v", err)
		return
	}
	folded := strings.ToLower(url)
	if first, ok := seen[folded]; ok {
		v.add(key, url, "give one of them a larger weight", "the same target stands at %s", v.at(first))
		return
	}
	seen[folded] = key
	if folded == "http://"+v.c.Server.Listen {
		v.add(key, url, "", "this is the gateway's own address (server.listen): requests would go round for ever")
	}
}

// routes checks where requests go.
func (v *validator) routes() {
	seen := v.unique("route")
	alike := map[string][]int{} // routes by host and path
	for i := range v.c.Routes {
		r := &v.c.Routes[i]
		key := index("routes", i)
		v.named(key+".name", r.Name, seen)
		if r.Host != "" && !validHost(r.Host) {
			v.add(key+".host", r.Host, `write it like "api.example.com"; leave the key out for any`, "not a host name without a port")
		}
		v.methods(key+".methods", r.Methods)
		if v.required(key+".path", r.Path, `an exact path, or a prefix ending in /*: "/v1/chat/*"`) {
			if err := checkPath(r.Path); err != nil {
				v.add(key+".path", r.Path, "", "%v", err)
			} else if isReserved(r.Path) {
				v.add(key+".path", r.Path, "choose another path",
					"%s is where the gateway itself answers its callers; no route leads there", reservedPath)
			}
		}
		if v.required(key+".upstream", r.Upstream, oneOf(v.upstreamNames.list)) {
			v.ref(key+".upstream", r.Upstream, "upstream", v.upstreamNames)
		}
		v.refs(key+".semantics", r.Semantics, "semantic", v.semanticNames)
		if r.Public && v.c.Identify.Anonymous == "" {
			v.add(key+".public", r.Public, "set identify.anonymous to a caller that has no keys",
				"a public route needs a caller that requests without a key are counted as")
		}
		same := strings.ToLower(r.Host) + " " + r.Path
		for _, j := range alike[same] {
			v.tie(key, r, index("routes", j), &v.c.Routes[j])
		}
		alike[same] = append(alike[same], i)
	}
}

func (v *validator) methods(key string, list []string) {
	for i, m := range list {
		at := index(key, i)
		switch {
		case !isToken(m):
			v.add(at, m, "", "not a method")
		case m != strings.ToUpper(m):
			v.add(at, m, "write "+strings.ToUpper(m), "methods are upper-case")
		case m == "CONNECT":
			v.add(at, m, "", "the gateway is no forward proxy: it serves no CONNECT")
		case slices.Contains(list[:i], m):
			v.add(at, m, "leave one out", "named twice")
		}
	}
}

// tie reports two routes of the same host and path between which nothing decides: there is a method that
// both name, or neither names any. A route that names the method goes before one that does not.
func (v *validator) tie(key string, r *Route, otherKey string, other *Route) {
	message := "the same host, path and method as the route " + other.Name + " at " + v.at(otherKey)
	const hint = "nothing decides between them: change the path, the host or the methods of one"
	if len(r.Methods) == 0 && len(other.Methods) == 0 {
		v.add(key+".path", r.Path, hint, "%s", message)
		return
	}
	for _, m := range r.Methods {
		if slices.Contains(other.Methods, m) {
			v.add(key+".path", r.Path, hint, "%s (%s)", message, m)
			return
		}
	}
}
