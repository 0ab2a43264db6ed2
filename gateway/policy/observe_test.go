package policy

import (
	"slices"
	"strings"
	"testing"

	"tidegate/gateway/config"
)

func TestObservingListsTheRulesThatARequestCanMeet(t *testing.T) {
	for _, tc := range []struct {
		what   string
		change func(*config.Config)
		want   string
	}{
		{"nothing observes", func(*config.Config) {}, ""},
		{"a semantic, and the rule that leaves it to the semantic", func(c *config.Config) { c.Semantics[0].Observe = true }, "free/*/* semantic/chat"},
		{"a rule", func(c *config.Config) { c.Plans[0].Rules[0].Observe = new(true) }, "free/*/*"},
		{"a rule takes its semantic's word back", func(c *config.Config) {
			c.Semantics[0].Observe, c.Plans[0].Rules[0].Observe = true, new(false)
		}, "semantic/chat"},
		{"a semantic that no route accepts", func(c *config.Config) { c.Semantics[3].Observe = true }, ""},
		{"default comes by every route", func(c *config.Config) { c.Semantics[2].Observe = true }, "semantic/default"},
		{"the whole gateway", func(c *config.Config) { c.Server.Mode, c.Plans[0].Rules[0].Observe = "observe", new(false) }, "*"},
	} {
		c := exampleConfig()
		tc.change(c)
		p := mustCompile(t, c)
		if got := strings.Join(p.Observing(), " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.what, got, tc.want)
		}
		if got := p.Setup().Observe; got != (tc.want != "") {
			t.Errorf("%s: the scheduler is told %v", tc.what, got)
		}
	}
}

func TestEveryRuleObservesWhenTheGatewayDoes(t *testing.T) {
	c := exampleConfig()
	c.Server.Mode = "observe"
	c.Plans[1].Rules = every()
	c.Plans[1].Rules[3].Observe = new(false)
	p := mustCompile(t, c)
	for _, r := range p.Routes() {
		for _, s := range p.Semantics() {
			for _, caller := range p.Callers() {
				if rule := p.Choose(caller, r, s); !rule.Observe || rule.Sources.Observe != "server.mode" {
					t.Errorf("%s: observe %v from %s", rule.ID, rule.Observe, rule.Sources.Observe)
				}
			}
		}
	}
}

func TestExplainSaysWhatIsObservedAndWhoSaysSo(t *testing.T) {
	c := exampleConfig()
	c.Plans[1].Rules = []config.Rule{{Semantic: "export", Observe: new(true)}}
	e := explained(t, c, Query{Caller: "acme", Route: "reports"})
	want := "  observe         yes: nothing is held back    from paid/*/export\n"
	if !e.Observe || !strings.Contains(e.String(), want) {
		t.Errorf("observe %v\n%swant %s", e.Observe, e, want)
	}
	if e = explained(t, c, Query{Caller: "acme", Route: "chat"}); e.Observe || !slices.Contains(strings.Split(e.String(), "\n"), "  observe         no                           from semantic/chat") {
		t.Errorf("observe %v\n%s", e.Observe, e)
	}
}
