package policy

import (
	"strings"
	"testing"

	"tidegate/gateway/config"
	"tidegate/scheduler"
)

func TestACallerOfATraceIsOfAPlanAndHasEverySemantic(t *testing.T) {
	names := &Names{}
	p, err := Compile(exampleConfig(), names, 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.NewCaller(names, "stranger", "paid")
	if err != nil {
		t.Fatal(err)
	}
	if c.ID != "stranger" || c.Plan.Name != "paid" || c.Pool != "shared" || !c.Enabled || c.Anonymous || names.Callers.Name(c.Index) != "stranger" {
		t.Errorf("%+v", c)
	}
	for _, s := range p.Semantics() {
		if r := p.RouteFor(s); r != nil {
			if got := p.SemanticFor(r, c, []byte(s.Name), nil); got != s {
				t.Errorf("by route %s the tag %s counts as %s", r.Name, s.Name, got.Name)
			}
			if p.Choose(c, r, s) == nil {
				t.Errorf("there is no rule for %s", s.Name)
			}
		}
	}
	if p.Caller("stranger") != nil {
		t.Error("the caller has become part of the policy")
	}
	if c, err := p.NewCaller(names, "x", ""); err != nil || c.Plan.Name != exampleConfig().Plans[0].Name {
		t.Errorf("without a plan: %+v, %v", c, err)
	}
	if _, err := p.NewCaller(names, "x", "gold"); err == nil || !strings.Contains(err.Error(), `plan "gold" is none of [[plans]]`) {
		t.Errorf("an unknown plan: %v", err)
	}
	if !p.HasPlan("") || !p.HasPlan("paid") || p.HasPlan("gold") {
		t.Error("plans are not told apart")
	}
}

func TestTheRouteForASemanticIsTheFirstThatAcceptsIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		routes []config.Route
		want   map[string]string // semantic to route, "" is none
	}{
		{"first of two", []config.Route{{Name: "a", Semantics: []string{"export"}}, {Name: "b", Semantics: []string{"chat", "export"}}}, map[string]string{"export": "a", "chat": "b", "default": "b", "audit": ""}},
		{"default accepted", []config.Route{{Name: "a", Semantics: []string{"chat", "export"}}, {Name: "b", Semantics: []string{"default"}}}, map[string]string{"default": "b"}},
		{"default by a route that accepts nothing", []config.Route{{Name: "a", Semantics: []string{"chat"}}, {Name: "b"}}, map[string]string{"default": "b"}},
		{"default by a route that implies another", []config.Route{{Name: "a", Semantics: []string{"chat"}}}, map[string]string{"default": "a"}},
		{"no route", nil, map[string]string{"default": "", "chat": ""}},
	} {
		config := exampleConfig()
		for i := range config.Plans {
			config.Plans[i].Rules = nil
		}
		config.Routes = c.routes
		for i := range config.Routes {
			config.Routes[i].Path, config.Routes[i].Upstream = "/"+config.Routes[i].Name, exampleConfig().Upstreams[0].Name
		}
		p, err := Compile(config, &Names{}, 1)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for semantic, want := range c.want {
			got := ""
			if r := p.RouteFor(p.Semantic(semantic)); r != nil {
				got = r.Name
			}
			if got != want {
				t.Errorf("%s: %s comes by %q, want %q", c.name, semantic, got, want)
			}
		}
	}
}

func TestAKeyHasRouteAndTenantOnlyWhereTheyCount(t *testing.T) {
	c, r, s := &Caller{Index: 1, Plan: &Plan{}}, &Route{Index: 2}, &Semantic{Index: 3}
	by := &Caller{Index: 1, Plan: &Plan{ByTenant: true}}
	anyone := &Caller{Index: 1, Plan: &Plan{}, Anonymous: true}
	for _, x := range []struct {
		caller *Caller
		rule   *Rule
		want   scheduler.Key
	}{
		{c, &Rule{}, scheduler.Key{Caller: 1, Semantic: 3, Route: scheduler.NoRoute}},
		{c, &Rule{NamesRoute: true}, scheduler.Key{Caller: 1, Semantic: 3, Route: 2}},
		{by, &Rule{}, scheduler.Key{Caller: 1, Semantic: 3, Route: scheduler.NoRoute, Tenant: "t"}},
		{anyone, &Rule{}, scheduler.Key{Caller: 1, Semantic: 3, Route: scheduler.NoRoute, Tenant: "t"}},
	} {
		if got := x.caller.Key(r, s, x.rule, "t"); got != x.want {
			t.Errorf("got %+v, want %+v", got, x.want)
		}
	}
}

// A flow's requests come by the route that it is told apart by, or by one that no rule names.
func TestAFlowsRouteIsOneOnWhichItsRuleHolds(t *testing.T) {
	c := exampleConfig()
	c.Plans[0].Rules = []config.Rule{{Route: "reports", Rate: new(rate("1/s"))}, {Route: "chat", Semantic: "chat", Rate: new(rate("2/s"))}}
	p := mustCompile(t, c)
	for _, tc := range []struct{ caller, semantic, route, want string }{
		{"bolt", "export", "", "mixed"}, // a rule names reports
		{"bolt", "export", "reports", "reports"},
		{"bolt", "export", "mixed", ""}, // no rule names it: such a flow is not told apart
		{"bolt", "export", "chat", ""},  // does not accept it
		{"bolt", "export", "gone", ""},
		{"bolt", "chat", "", "mixed"},
		{"bolt", "chat", "chat", "chat"},
		{"bolt", "default", "", "chat"}, // everything may come by any route, and rules for any semantic are not for it
		{"bolt", "default", "reports", ""},
		{"acme", "export", "", "reports"}, // of another plan
		{"acme", "audit", "", ""},         // no route accepts it
	} {
		got := ""
		if r := p.RouteOf(p.Caller(tc.caller), p.Semantic(tc.semantic), tc.route); r != nil {
			got = r.Name
		}
		if got != tc.want {
			t.Errorf("%s/%s by %q: %q, want %q", tc.caller, tc.semantic, tc.route, got, tc.want)
		}
	}
}
