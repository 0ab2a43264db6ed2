package policy

import (
	"fmt"
	"strings"
	"testing"

	"tidegate/gateway/config"
)

func TestTheRequestsWayAllocatesNothing(t *testing.T) {
	c := exampleConfig()
	c.Routes[0].Host, c.Routes[1].Methods = "api.example", []string{"GET", "POST"}
	c.Callers[0].Flows = []config.FlowRate{{Semantic: "chat", Rate: rate("3/s")}}
	p := mustCompile(t, c)
	key, noKey, tag, huge := []byte("acme-key"), []byte("nobody"), []byte("export"), []byte(strings.Repeat("x", 10_000))
	host, method, path, escaped := []byte("API.example:8080"), []byte("GET"), []byte("/v1/reports/2026"), []byte("/v1/re%3Aports/%3A")
	acme, bolt, route := p.Caller("acme"), p.Caller("bolt"), p.Route("mixed")
	more := registered{{bolt.Index, p.Semantic("export").Index}: true}
	for what, f := range map[string]func(){
		"Match":       func() { p.Match(host, method, path); p.Match(host, method, escaped) },
		"CallerByKey": func() { p.CallerByKey(key); p.CallerByKey(noKey); p.CallerByKey(huge) },
		"SemanticFor": func() {
			p.SemanticFor(route, acme, tag, nil)
			p.SemanticFor(route, acme, nil, nil)
			p.SemanticFor(route, acme, huge, nil)
			p.SemanticFor(route, acme, tag, more)
			p.SemanticFor(route, bolt, tag, more)
		},
		"a flow's own": func() { p.Choose(acme, route, p.byTag["chat"]) },
		"Choose":       func() { acme.Terms(p.Choose(acme, route, p.fallback)) },
		"ValidTenant":  func() { ValidTenant(tag); ValidTenant(huge) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}

func TestTenantsAreShortAndPlain(t *testing.T) {
	for tenant, want := range map[string]bool{
		"a": true, "A-z_0.9:x": true, strings.Repeat("a", 128): true,
		"": false, strings.Repeat("a", 129): false, "a b": false, "a/b": false, "a\x00": false, "é": false, "a,b": false, "*": false,
	} {
		if got := ValidTenant([]byte(tenant)); got != want {
			t.Errorf("%.20q: %v", tenant, got)
		}
	}
}

// The figures for 10 and for 10,000 routes are to be alike but for the cache.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		c := exampleConfig()
		c.Routes = nil
		for i := range n {
			c.Routes = append(c.Routes, config.Route{Name: fmt.Sprint(i), Path: fmt.Sprintf("/v1/service%d/*", i), Upstream: "api"})
		}
		p := mustCompile(b, c)
		host, method := []byte("api.example:8080"), []byte("GET")
		path := fmt.Appendf(nil, "/v1/service%d/items/17", n/2)
		b.Run(fmt.Sprintf("routes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p.Match(host, method, path) == nil {
					b.Fatal("no route")
				}
			}
		})
	}
}

func BenchmarkNormalisePath(b *testing.B) {
	dst := make([]byte, 0, 256)
	for _, path := range []string{"/v1/reports/items/17", "/v1//reports/./%69tems/17"} {
		raw := []byte(path)
		b.Run(path[4:5], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := NormalisePath(dst, raw); !ok {
					b.Fatal("refused")
				}
			}
		})
	}
}

// Everything that the policy does for one request.
func BenchmarkDecide(b *testing.B) {
	p := mustCompile(b, exampleConfig())
	key, host, method, raw := []byte("acme-key"), []byte("api.example:8080"), []byte("GET"), []byte("/v1/reports/items/17")
	b.ReportAllocs()
	for b.Loop() {
		path, _ := NormalisePath(nil, raw)
		r := p.Match(host, method, path)
		c := p.CallerByKey(key)
		if p.Choose(c, r, p.SemanticFor(r, c, nil, nil)).ID != "semantic/export" {
			b.Fatal("another rule")
		}
	}
}
