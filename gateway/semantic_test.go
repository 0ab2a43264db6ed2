package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Which semantic a request has, and by what it is counted: nobody gains by what he says or leaves out.

// A tag that does not hold, and none where there are several, is the semantic default, which is tight.
func TestNeitherAMissingTagNorAFalseOneGainsAnything(t *testing.T) {
	for _, tc := range []struct {
		name    string
		request string
		lines   []string
	}{
		{"no tag on a route of two", "GET /v1/mixed/x", []string{"X-API-Key: ann"}},
		{"an empty tag", "GET /v1/mixed/x", []string{"X-API-Key: ann", "X-Semantic: "}},
		{"a tag that nobody knows", "GET /v1/mixed/x", []string{"X-API-Key: ann", "X-Semantic: nonsense"}},
		{"a tag in another case", "GET /v1/mixed/x", []string{"X-API-Key: ann", "X-Semantic: Chat"}},
		{"two tags in one", "GET /v1/mixed/x", []string{"X-API-Key: ann", "X-Semantic: chat, export"}},
		{"a tag of 10 kB", "GET /v1/mixed/x", []string{"X-API-Key: ann", "X-Semantic: " + strings.Repeat("chat", 2500)}},
		{"a tag that the caller has not registered", "GET /v1/mixed/x", []string{"X-API-Key: bob", "X-Semantic: export"}},
		{"a route whose one semantic the caller has not registered", "GET /v1/reports/x", []string{"X-API-Key: bob"}},
		{"the same with a tag", "GET /v1/reports/x", []string{"X-API-Key: bob", "X-Semantic: export"}},
		{"a registered tag that the route does not accept", "GET /v1/reports/x", []string{"X-API-Key: ann", "X-Semantic: chat"}},
		{"a tag asking for default", "GET /v1/chat/x", []string{"X-API-Key: ann", "X-Semantic: default"}},
		{"the path written otherwise", "GET /v1/./reports//x", []string{"X-API-Key: bob"}},
		{"a tenant beside it", "GET /v1/mixed/x", []string{"X-API-Key: ann", "X-Tenant-Id: t"}},
		{"the upstream's header beside it", "GET /v1/mixed/x", []string{"X-API-Key: ann", "X-Tidegate-Semantic: chat"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, basic, mirror)
				for i := range 4 {
					a := w.do(tc.request, tc.lines...)
					if i < 2 {
						if a.status != 200 || a.header.Get("RateLimit") != fmt.Sprintf(`"semantic/default";r=%d`, 1-i)+resetAfter(i) ||
							!strings.Contains(a.body, "X-Tidegate-Semantic: default\n") {
							t.Errorf("%d: %d %s\n%s", i, a.status, a.header.Get("RateLimit"), a.body)
						}
						continue
					}
					if a.code() != "rate_exceeded" || a.member("rule") != "semantic/default" || a.member("semantic") != "default" {
						t.Errorf("%d: %d %s; default is two a second", i, a.status, a.body)
					}
				}
				// What it got as default costs its registered work nothing.
				for _, good := range []struct {
					request, tag, rule string
					left               int
				}{{"GET /v1/mixed/x", "chat", "semantic/chat", 99}, {"GET /v1/chat/x", "", "semantic/chat", 98}} {
					lines := []string{tc.lines[0]}
					if good.tag != "" {
						lines = append(lines, "X-Semantic: "+good.tag)
					}
					if a := w.do(good.request, lines...); a.status != 200 || a.left() != good.left || !strings.Contains(a.header.Get("RateLimit"), good.rule) {
						t.Errorf("%+v: %d %s", good, a.status, a.header.Get("RateLimit"))
					}
				}
			})
		})
	}
}

// resetAfter is what RateLimit says of the second of two.
func resetAfter(i int) string {
	if i == 1 {
		return ";t=1"
	}
	return ""
}

func TestATagThatHoldsChoosesTheRule(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		for _, tc := range []struct{ tag, limit string }{
			{"chat", `"semantic/chat";r=99`}, {"export", `"plain/*/export";r=2`}, {"chat", `"semantic/chat";r=98`},
		} {
			if a := w.do("GET /v1/mixed/x", "X-API-Key: ann", "X-Semantic: "+tc.tag); a.header.Get("RateLimit") != tc.limit ||
				!strings.Contains(a.body, "X-Tidegate-Semantic: "+tc.tag+"\n") {
				t.Errorf("%s: %d %s", tc.tag, a.status, a.header.Get("RateLimit"))
			}
		}
		// One flow for a semantic, whichever route it comes by.
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.left() != 97 {
			t.Errorf("%s", a.header.Get("RateLimit"))
		}
		if a := w.do("GET /v1/mixed/x", "X-API-Key: ann", "X-Semantic: chat", "X-Semantic: export"); a.code() != "bad_request" {
			t.Errorf("two tags: %d %s", a.status, a.body)
		}
	})
}

func TestTenantsAreCountedEachByItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, changed(t, basic, `rate = "100/s"`, "rate = \"3/60s\"\nover_rate = \"reject\""), mirror)
		as := func(tenant string) reply { return w.do("GET /v1/chat/x", "X-API-Key: shop", "X-Tenant-Id: "+tenant) }
		for i := range 3 {
			for _, tenant := range []string{"north", "south"} {
				if a := as(tenant); a.status != 200 || a.left() != 2-i || !strings.Contains(a.body, "X-Tidegate-Tenant: "+tenant+"\n") {
					t.Errorf("%s: %d %s", tenant, a.status, a.header.Get("RateLimit"))
				}
			}
		}
		if a := as("north"); a.code() != "rate_exceeded" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := as("west"); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
		for _, lines := range [][]string{nil, {"X-Tenant-Id: "}} {
			if a := w.do("GET /v1/chat/x", append([]string{"X-API-Key: shop"}, lines...)...); a.status != 400 || a.code() != "tenant_missing" {
				t.Errorf("%q: %d %s", lines, a.status, a.body)
			}
		}
		if a := w.do("GET /v1/chat/x", "X-API-Key: shop", "X-Tenant-Id: north", "X-Tenant-Id: east"); a.code() != "bad_request" {
			t.Errorf("two tenants: %d %s", a.status, a.body)
		}
		if f := w.flow("shop", "chat", "north"); f.Admitted != 3 || f.Refused != 1 {
			t.Errorf("%+v", f)
		}
		// Where the plan does not count by tenant it changes no counter; the upstream is told it.
		for i, tenant := range []string{"north", "south", "west"} {
			if a := w.do("GET /v1/chat/x", "X-API-Key: ann", "X-Tenant-Id: "+tenant); a.left() != 2-i || !strings.Contains(a.body, "X-Tidegate-Tenant: "+tenant+"\n") {
				t.Errorf("ann's %s: %d %s", tenant, a.status, a.header.Get("RateLimit"))
			}
		}
		if n := w.snapshot().FlowsTotal; n != 4 {
			t.Errorf("%d flows, want 4", n)
		}
		time.Sleep(time.Minute)
		if a := as("north"); a.status != 200 {
			t.Errorf("a minute later: %d", a.status)
		}
	})
}

func TestInventedTenantsShareOneFlowPastTheBound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, changed(t, basic, "[log]\n", "[limits]\nmax_tenants = 3\n[log]\n", `rate = "100/s"`, "rate = \"2/60s\"\nover_rate = \"reject\""), mirror)
		served := 0
		for i := range 50 {
			if a := w.do("GET /v1/chat/x", "X-API-Key: shop", fmt.Sprintf("X-Tenant-Id: t%d", i)); a.status == 200 {
				served++
			}
		}
		if n := w.snapshot().FlowsTotal; served != 5 || n != 4 {
			t.Errorf("%d served by %d flows, want 3 and 2 by 4", served, n)
		}
	})
}

func TestAKeyGivenTwiceIsRefusedWhereverItStands(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, changed(t, basic, "[identify]", "[identify]\nkey = [\"header:X-API-Key\", \"query:apikey\"]\nsemantic = [\"query:kind\"]\ntenant = [\"query:for\"]"), mirror)
		for query, want := range map[string]int{
			"apikey=ann": 200, "apikey=ann&a=1&a=2": 200, "apikey=ann&apikey=bob": 400, "apikey=ann&x=1&%61pikey=ann": 400,
			"apikey=ann&kind=chat&kind=export": 400, "apikey=ann&for=x&for=y": 400, "apikey=ann&kind=chat&for=x": 200,
		} {
			a := w.do("GET /v1/mixed/x?" + query)
			if a.status != want {
				t.Errorf("%s: %d %s", query, a.status, a.body)
			}
			if a.status == 200 && (strings.Contains(a.body, "apikey") || strings.Contains(a.body, "kind=") || strings.Contains(a.body, "for=")) {
				t.Errorf("%s: what was read went on to the upstream:\n%s", query, a.body)
			}
		}
	})
}

func TestWhatWasMatchedIsWhatTheUpstreamGets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic+"[[routes]]\nname = \"root\"\npath = \"/\"\nupstream = \"api\"\nsemantics = [\"chat\"]\n", mirror)
		for target, want := range map[string]string{
			"/v1/chat/x":                         "/v1/chat/x",
			"/v1/chat/x?a=/../b&c=%2f":           "/v1/chat/x?a=/../b&c=%2f",
			"/v1/chat/x?":                        "/v1/chat/x?",
			"//v1/./chat//x?a=b":                 "/v1/chat/x?a=b",
			"/v1/reports/../chat/x":              "/v1/chat/x",
			"/v1/chat/%c3%a9?%c3":                "/v1/chat/%C3%A9?%c3",
			"/":                                  "/",
			"/?a=b":                              "/?a=b",
			"http://api.example":                 "/",
			"http://api.example/":                "/",
			"http://api.example?a=b":             "/?a=b",
			"http://api.example/v1/chat/%78?a=b": "/v1/chat/x?a=b",
		} {
			a := w.do("GET "+target, "X-API-Key: ann")
			if got, _, _ := strings.Cut(a.body, "\n"); a.status != 200 || got != "GET "+want {
				t.Errorf("%s: %d, the upstream got %q, want %q", target, a.status, got, "GET "+want)
			}
		}
		w.idle()
	})
}
