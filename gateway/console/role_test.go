package console

import (
	"strings"
	"testing"

	"tidegate/gateway/config"
)

// accessTable is who may do what, written down once more: a slip in the table of endpoints must show.
var accessTable = []struct {
	method, path            string
	viewer, operator, owner string
	body                    string
}{
	{"GET", "/", "200", "200", "200", ""},
	{"GET", "/live/live.css", "200", "200", "200", ""},
	{"GET", "/healthz", "200", "200", "200", ""},
	{"GET", "/readyz", "200", "200", "200", ""},
	{"GET", "/metrics", "200", "200", "200", ""},
	{"GET", "/debug/pprof/", "operator or owner", "200", "200", ""},
	{"GET", "/debug/pprof/heap", "operator or owner", "200", "200", ""},
	{"GET", "/api/v1/snapshot", "200", "200", "200", ""},
	{"GET", "/api/v1/session", "200", "200", "200", ""},
	{"POST", "/api/v1/session", "200", "200", "200", `{"token":"v"}`},
	{"DELETE", "/api/v1/session", "200", "200", "200", ""},
	{"GET", "/api/v1/stream", "200", "200", "200", ""},
	{"GET", "/api/v1/callers", "200", "200", "200", ""},
	{"GET", "/api/v1/caller?id=acme", "200", "200", "200", ""},
	{"GET", "/api/v1/history?kind=total", "200", "200", "200", ""},
	{"GET", "/api/v1/explain?route=chat", "200", "200", "200", ""},
	{"GET", "/api/v1/flows", "200", "200", "200", ""},
	{"GET", "/api/v1/refusals", "200", "200", "200", ""},
	{"GET", "/api/v1/queue", "200", "200", "200", ""},
	{"GET", "/api/v1/config", "200", "200", "200", ""},
	{"GET", "/api/v1/config?version=1", "200", "200", "200", ""},
	{"PUT", "/api/v1/config", "owner", "owner", "200", `{"config":"a = 1"}`},
	{"GET", "/api/v1/config/versions", "200", "200", "200", ""},
	{"POST", "/api/v1/config/check", "200", "200", "200", `{"config":"a = 1"}`},
	{"POST", "/api/v1/config/preview", "operator or owner", "200", "200", `{"config":"a = 1"}`},
	{"POST", "/api/v1/config/rollback", "owner", "owner", "200", `{"version":1}`},
	{"POST", "/api/v1/reload", "operator or owner", "200", "200", `{}`},
	{"GET", "/api/v1/overrides", "200", "200", "200", ""},
	{"POST", "/api/v1/overrides", "operator or owner", "200", "200", `{"name":"a","value":"b"}`},
	{"DELETE", "/api/v1/overrides?name=x", "operator or owner", "200", "200", ""},
	{"GET", "/api/v1/registrations", "200", "200", "200", ""},
	{"POST", "/api/v1/registrations", "owner", "owner", "200", `{"caller":"acme","semantic":"chat","decision":"approve"}`},
	{"GET", "/api/v1/audit", "operator or owner", "200", "200", ""},
	{"GET", "/api/v1/alerts", "200", "200", "200", ""},
	{"POST", "/api/v1/alerts/test", "operator or owner", "200", "200", ""},
	{"GET", "/api/v1/openapi.json", "200", "200", "200", ""},
}

func TestRolesMayDoWhatTheyAreFor(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range accessTable {
		path, _, _ := strings.Cut(c.path, "?")
		if strings.HasPrefix(path, livePrefix) {
			path = livePrefix
		}
		seen[c.method+" "+path] = true
		for _, as := range []struct{ secret, want string }{
			{"v", c.viewer},
			{"o", c.operator},
			{"w", c.owner},
			{"?", c.viewer}, // a role that nobody knows is the least one
		} {
			d := newDesk("127.0.0.1:8081", tokenOf("v", "viewer"), tokenOf("o", "operator"), tokenOf("w", "owner"), tokenOf("?", "admin"))
			d.control.overrides = []OverrideView{{Override: config.Override{Name: "x"}}}
			a := d.ask(write(c.method, c.path, asJSON, c.body, "Authorization: Bearer "+as.secret, "If-Match: *"))
			got := code(t, a)
			if as.want == "200" {
				if got != "200" {
					t.Errorf("%s %s as %s = %s %s", c.method, c.path, as.secret, got, a.Body())
				}
				continue
			}
			if got != "403 role_insufficient" || !strings.Contains(detail(t, a.Body()), "needs the role "+as.want+";") {
				t.Errorf("%s %s as %s = %s %s, want one that needs %s", c.method, c.path, as.secret, got, a.Body(), as.want)
			}
			if (d.control.last != Change{}) || len(d.decided) > 0 || (d.tested != Change{}) {
				t.Errorf("%s %s as %s was made all the same", c.method, c.path, as.secret)
			}
			if c.method != get && (len(d.audited) != 1 || d.audited[0].Code != "role_insufficient" || d.audited[0].Action == "" || d.audited[0].Role != "viewer" && d.audited[0].Role != "operator") {
				t.Errorf("%s %s as %s: the trail has %+v", c.method, c.path, as.secret, d.audited)
			}
		}
	}
	for _, e := range endpoints {
		if !seen[e.method+" "+e.path] {
			t.Errorf("who may %s %s is not written down", e.method, e.path)
		}
	}
}

// An operator turns rates, pools and pauses; whether rules hold at all is the owner's.
func TestWhetherRulesHoldIsTheOwnersToSay(t *testing.T) {
	for _, tc := range []struct{ name, operator string }{
		{"callers.acme.pool", "200"},
		{"rules.free/*/chat.rate", "200"},
		{"pools.shared.seats", "200"},
		{"server.mode", "403 role_insufficient"},
		{"rules.free/*/chat.observe", "403 role_insufficient"},
		// What would take him round the bound of a rate:
		{"callers.acme.plan", "403 role_insufficient"},
		{"rules.free/*/chat.over_rate", "403 role_insufficient"},
		{"rules.free/*/chat.level", "403 role_insufficient"},
		{"flows.acme/chat.rate", "200"},
		{"rules.free/*/chat.max_in_flight", "200"},
	} {
		for secret, want := range map[string]string{"o": tc.operator, "w": "200"} {
			d := newDesk("127.0.0.1:8081", tokenOf("o", "operator"), tokenOf("w", "owner"))
			d.control.overrides = []OverrideView{{Override: config.Override{Name: tc.name}}}
			auth := "Authorization: Bearer " + secret
			set := d.ask(write("POST", "/api/v1/overrides", asJSON, `{"name":"`+tc.name+`","value":"1"}`, auth))
			drop := d.ask(write("DELETE", "/api/v1/overrides?name="+tc.name, asJSON, "", auth))
			if got, gone := code(t, set), code(t, drop); got != want || gone != want {
				t.Errorf("%s as %s: set %s, dropped %s; want %s", tc.name, secret, got, gone, want)
			}
		}
	}
}

// Each way in which a web page can make a browser send a request without asking first, and some in
// which it would have to ask. None may get through, whether a token is needed or not.
func TestNoWebPageMakesAChange(t *testing.T) {
	const type415, cross = "415 unsupported_media_type", "403 cross_site"
	ways := []struct {
		name, want string
		headers    []string
		body       string
	}{
		{"a form of another site", cross, []string{"Content-Type: application/x-www-form-urlencoded", "Origin: http://evil.example", "Sec-Fetch-Site: cross-site"}, "a=1"},
		{"a form, in a browser that says less", type415, []string{"Content-Type: application/x-www-form-urlencoded"}, "a=1"},
		{"an empty form", type415, []string{"Content-Type: application/x-www-form-urlencoded"}, ""},
		{"a text form that is made to look like JSON", type415, []string{"Content-Type: text/plain"}, `{"version":1,"reason":"="}`},
		{"a form with a file", type415, []string{"Content-Type: multipart/form-data; boundary=x"}, "--x--\r\n"},
		{"a form that is sandboxed", cross, []string{"Content-Type: text/plain", "Origin: null"}, "{}"},
		{"a script's bodiless request", cross, []string{"Origin: http://evil.example"}, ""},
		{"a script's, without an origin", type415, []string{"Referer: http://evil.example/"}, ""},
		{"a script's, of this machine's other port", cross, []string{"Origin: http://localhost:3000", "Sec-Fetch-Site: same-site"}, ""},
		{"a script's, with a cookie only", type415, []string{"Cookie: a=b"}, ""},
		{"a script's, of our own page", type415, []string{"Origin: http://localhost:8081", "Sec-Fetch-Site: same-origin"}, ""},
		{"a beacon", cross, []string{"Content-Type: application/json", "Origin: http://evil.example", "Sec-Fetch-Mode: no-cors"}, "{}"},
		{"a ping", type415, []string{"Content-Type: text/ping", "Ping-To: http://localhost:8081/"}, "PING"},
		{"JSON after asking", cross, []string{"Content-Type: application/json", "Origin: http://evil.example"}, "{}"},
		{"a body without a type", type415, nil, "{}"},
	}
	tried := 0
	for _, c := range accessTable {
		if c.method == get {
			continue
		}
		for _, way := range ways {
			for _, method := range []string{c.method, "POST"} { // a form knows no other
				tried++
				for _, d := range []*desk{newDesk("127.0.0.1:8081"), newDesk("127.0.0.1:8081", tokenOf("w", "owner"))} {
					r := request{method: method, path: c.path, body: way.body, headers: append([]string{"Authorization: Bearer w", "If-Match: *"}, way.headers...)}
					if got := code(t, d.ask(r)); got != way.want {
						t.Errorf("%s %s by %s = %s, want %s", method, c.path, way.name, got, way.want)
					}
					if (d.control.last != Change{}) || len(d.decided) > 0 || (d.tested != Change{}) || len(d.audited) > 0 {
						t.Fatalf("%s %s by %s made a change", method, c.path, way.name)
					}
				}
			}
		}
		// A name that a stranger has pointed here is stopped before all else.
		d := newDesk("127.0.0.1:8081")
		r := write(c.method, c.path, asJSON, c.body, "If-Match: *", "Sec-Fetch-Site: same-origin", "Origin: http://evil.example:8081")
		r.host = "evil.example:8081"
		if got := code(t, d.ask(r)); got != "403 host_forbidden" {
			t.Errorf("%s %s by a name pointed here = %s", c.method, c.path, got)
		}
	}
	if tried < 11*2*len(ways) {
		t.Errorf("only %d ways were tried", tried)
	}
}

// A command line tool sends no type when there is no body, and needs none.
func TestAWriteWithoutABodyNeedsNoType(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.control.overrides = []OverrideView{{Override: config.Override{Name: "x"}}}
	for _, r := range []request{
		{method: "POST", path: "/api/v1/reload"},
		{method: "POST", path: "/api/v1/reload", headers: []string{"User-Agent: curl/8.5", "Accept: */*"}},
		{method: "DELETE", path: "/api/v1/overrides?name=x"},
	} {
		if got := code(t, d.ask(r)); got != "200" {
			t.Errorf("%s %s = %s", r.method, r.path, got)
		}
	}
}
