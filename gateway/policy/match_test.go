package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidegate/gateway/config"
)

// routesOf makes routes of "METHOD[,METHOD] HOST/PATH", each named by its text; METHOD "*" is any.
func routesOf(texts ...string) []config.Route {
	routes := make([]config.Route, len(texts))
	for i, text := range texts {
		methods, target, _ := strings.Cut(text, " ")
		host, path, _ := strings.Cut(target, "/")
		routes[i] = config.Route{Name: text, Host: host, Path: "/" + path, Upstream: "api"}
		if methods != "*" {
			routes[i].Methods = strings.Split(methods, ",")
		}
	}
	return routes
}

func withRoutes(texts ...string) *config.Config {
	c := exampleConfig()
	c.Routes = routesOf(texts...)
	return c
}

func TestMatchTakesTheMostSpecificRoute(t *testing.T) {
	for _, tc := range []struct {
		what     string
		routes   []string
		requests map[string]string // "METHOD HOST/PATH": the route's text, "" for none
	}{
		{"exact before prefix, longest prefix first", []string{"* /v1/*", "* /v1/chat/*", "* /v1/chat", "* /*"}, map[string]string{
			"GET h/v1/chat":      "* /v1/chat",
			"GET h/v1/chat/":     "* /v1/chat/*",
			"GET h/v1/chat/a/b":  "* /v1/chat/*",
			"GET h/v1/chats":     "* /v1/*",
			"GET h/v1":           "* /v1/*",
			"GET h/v1/":          "* /v1/*",
			"GET h/v10":          "* /*",
			"GET h/":             "* /*",
			"GET h/V1/chat":      "* /*", // paths have case
			"GET h/v1/chat/%61":  "* /v1/chat/*",
			"GET h/v1/cha%2574/": "* /v1/*",
		}},
		{"a prefix holds its own path, on whole segments", []string{"* /a/*"}, map[string]string{
			"GET h/a": "* /a/*", "GET h/a/": "* /a/*", "GET h/a/b": "* /a/*",
			"GET h/ab": "", "GET h/": "", "GET h/b/a": "",
		}},
		{"exact is exact", []string{"* /a", "* /b/"}, map[string]string{
			"GET h/a": "* /a", "GET h/a/": "", "GET h/a/b": "", "GET h/b": "", "GET h/b/": "* /b/", "GET h/b/c": "",
		}},
		{"the path comes before the host", []string{"* one.example/*", "* /v1/chat", "* /v1/*"}, map[string]string{
			"GET one.example/v1/chat": "* /v1/chat",
			"GET one.example/v1/x":    "* /v1/*",
			"GET one.example/x":       "* one.example/*",
			"GET two.example/x":       "",
		}},
		{"for one path: the host before the method", []string{"* /a", "POST /a", "* one.example/a", "GET one.example/a"}, map[string]string{
			"POST one.example/a":   "* one.example/a",
			"GET one.example/a":    "GET one.example/a",
			"POST two.example/a":   "POST /a",
			"DELETE two.example/a": "* /a",
		}},
		{"who does not fit by host or method leaves it to the next", []string{"POST /a", "POST one.example/a/*", "GET /a/*", "* /*"}, map[string]string{
			"GET h/a":             "GET /a/*",
			"DELETE h/a":          "* /*",
			"GET one.example/a/b": "GET /a/*",
			"PUT one.example/a/b": "* /*",
		}},
		{"host without case, port and final dot", []string{"* api.example/a", "* [::1]/b"}, map[string]string{
			"GET API.Example:8080/a": "* api.example/a", "GET api.example./a": "* api.example/a", "GET api.example.:80/a": "* api.example/a",
			"GET xapi.example/a": "", "GET api.example.evil/a": "", "GET /a": "",
			"GET [::1]:8080/b": "* [::1]/b", "GET [::1]/b": "* [::1]/b", "GET [::2]/b": "",
		}},
		{"methods have case, and HEAD is not GET", []string{"GET,PUT /a"}, map[string]string{
			"GET h/a": "GET,PUT /a", "PUT h/a": "GET,PUT /a", "get h/a": "", "HEAD h/a": "", "G h/a": "",
		}},
		{"encoded or not, a reserved character is the same", []string{"* /models:export", "* /a%3Bb/*", "* /*"}, map[string]string{
			"GET h/models:export":   "* /models:export",
			"GET h/models%3Aexport": "* /models:export",
			"GET h/models%3Fexport": "* /*",
			"GET h/a;b/c":           "* /a%3Bb/*",
			"GET h/a%3Bb/c":         "* /a%3Bb/*",
		}},
		{"no routes", nil, map[string]string{"GET h/": ""}},
	} {
		t.Run(tc.what, func(t *testing.T) {
			p := mustCompile(t, withRoutes(tc.routes...))
			for request, want := range tc.requests {
				method, target, _ := strings.Cut(request, " ")
				host, rest, _ := strings.Cut(target, "/")
				path, ok := NormalisePath(nil, []byte("/"+rest))
				if !ok {
					t.Fatalf("%s: no path", request)
				}
				got := ""
				if r := p.Match([]byte(host), []byte(method), path); r != nil {
					got = r.Name
				}
				if got != want {
					t.Errorf("%s: %q, want %q", request, got, want)
				}
			}
		})
	}
}

func TestMatchRefusesWhatIsNoPath(t *testing.T) {
	p := mustCompile(t, withRoutes("* /*"))
	for _, path := range []string{"", "*", "a"} {
		if r := p.Match([]byte("h"), []byte("GET"), []byte(path)); r != nil {
			t.Errorf("%q matched %s", path, r.Name)
		}
	}
}

func TestRoutesThatNoRequestTellsApartAreAnError(t *testing.T) {
	for _, tc := range []struct {
		routes []string
		want   string // "": none
	}{
		{[]string{"* /a", "* /a"}, "matches the same requests"},
		{[]string{"* /a/*", "* /a/*"}, "matches the same requests"},
		{[]string{"GET /a", "POST,GET /a"}, "GET)"},
		{[]string{"* One.example/a", "* one.example:80/a"}, "matches the same requests"},
		{[]string{"* /a:b", "* /a%3Ab"}, "matches the same requests"},
		{[]string{"* /a", "GET /a", "* one.example/a", "* /a/", "* /a/*"}, ""},
		{[]string{"GET /a", "POST /a"}, ""},
	} {
		c := withRoutes(tc.routes...)
		for i := range c.Routes {
			c.Routes[i].Name = fmt.Sprint(i)
		}
		_, err := Compile(c, &Names{}, 1)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%q: %v, want %q", tc.routes, err, tc.want)
		}
	}
}

func TestPatternsThatNothingWouldMatchAreAnError(t *testing.T) {
	for pattern, want := range map[string]string{
		"* /a//b":                        `write "/a/b"`,
		"* /a/../b":                      `write "/b"`,
		"* /%61/*":                       `write "/a/*"`,
		"* /a*":                          "whole last segment",
		"* /*/a":                         "whole last segment",
		"* /a//*":                        "whole last segment",
		"* /a%2Fb":                       "no path that a request can have",
		"* /a?b=1":                       "no path that a request can have",
		"* *.host/a":                     "is not a host name",
		"* /" + strings.Repeat("x", 256): "at most 255",
	} {
		if _, err := Compile(withRoutes(pattern), &Names{}, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
}

// The tree against a matcher that tries every route: whatever the routes and the request, both take the same one.
func FuzzMatch(f *testing.F) {
	f.Add("* /*\n* /a/*\nGET /a\n* h/a/*\nPOST h/a/b", "GET", "h", "/a/b")
	f.Add("* /a:b\n* /a;c/*\nGET,PUT H.x/%20", "PUT", "h.X:80", "/%20")
	f.Add("* /a\n* /a/\n* /a/*\n* /a/b/c/*", "GET", "", "/a/b/c/d/")
	f.Fuzz(func(t *testing.T, list, method, host, raw string) {
		path, ok := NormalisePath(nil, []byte(raw))
		if !ok || len(list) > 2000 {
			return
		}
		var routes []*Route
		var m router
		for _, c := range routesOf(strings.Split(list, "\n")...) {
			r := &Route{Name: c.Name, Host: c.Host, Methods: c.Methods, Path: c.Path}
			err := m.add(r, r.Methods)
			if tie := err != nil && strings.Contains(err.Error(), "same requests"); tie != naiveTie(routes, r) && (tie || err == nil) {
				t.Fatalf("%q among %q: %v", r.Name, list, err)
			}
			if err != nil {
				return // a failed add leaves the tree unusable
			}
			routes = append(routes, r)
		}
		m.root.link(nil)
		var want *Route
		for _, r := range routes {
			if naiveFits(r, method, host, string(path)) && (want == nil || naiveRank(r) > naiveRank(want)) {
				want = r
			}
		}
		if got := m.match([]byte(host), []byte(method), path); got != want {
			t.Fatalf("%s %s %s among %q: %v, want %v", method, host, path, list, got, want)
		}
	})
}

var port = regexp.MustCompile(`:[^:\]]*$`)

func naiveHost(host string) string {
	host = strings.TrimSuffix(port.ReplaceAllString(host, ""), ".")
	if len(host) > maxHost {
		return ""
	}
	lower := []byte(host)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

func naiveKey(path string) string {
	for _, c := range "!$&'()*+,;=:@" {
		path = strings.ReplaceAll(path, fmt.Sprintf("%%%02X", c), string(c))
	}
	return path
}

func naiveTie(routes []*Route, r *Route) bool {
	return slices.ContainsFunc(routes, func(o *Route) bool {
		return naiveKey(strings.TrimSuffix(o.Path, "/*")) == naiveKey(strings.TrimSuffix(r.Path, "/*")) &&
			strings.HasSuffix(o.Path, "/*") == strings.HasSuffix(r.Path, "/*") &&
			naiveHost(o.Host) == naiveHost(r.Host) &&
			(len(o.Methods)+len(r.Methods) == 0 ||
				slices.ContainsFunc(o.Methods, func(m string) bool { return slices.Contains(r.Methods, m) }))
	})
}

func naiveFits(r *Route, method, host, path string) bool {
	if r.Host != "" && (naiveHost(host) == "" || naiveHost(r.Host) != naiveHost(host)) ||
		len(r.Methods) > 0 && !slices.Contains(r.Methods, method) {
		return false
	}
	path = naiveKey(path)
	prefix, isPrefix := strings.CutSuffix(r.Path, "/*")
	prefix = naiveKey(prefix)
	return path == prefix || isPrefix && strings.HasPrefix(path, prefix+"/")
}

func naiveRank(r *Route) int {
	prefix, isPrefix := strings.CutSuffix(r.Path, "/*")
	rank := 4 * len(naiveKey(prefix))
	if !isPrefix {
		rank += 1 << 40
	}
	if r.Host != "" {
		rank += 2
	}
	if len(r.Methods) > 0 {
		rank++
	}
	return rank
}
