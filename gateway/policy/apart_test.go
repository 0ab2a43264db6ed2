package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
)

// A flow that has a rate of its own has it under every rule it meets, and nobody else has.
func TestAFlowsOwnRateIsItsCallersAlone(t *testing.T) {
	p := overridden(t, "flows.acme/chat.rate = 3/s")
	for _, tc := range []struct{ caller, route, semantic, rule, rate, was string }{
		{"acme", "chat", "chat", "free/chat/*", "3/s", "4/s"},
		{"acme", "reports", "chat", "free/*/*", "3/s", "20/s"},
		{"acme", "chat", "export", "free/chat/*", "4/s", ""},
		{"acme", "reports", "export", "free/*/*", "10/s", ""},
		{"bolt", "chat", "chat", "semantic/chat", "20/s", ""},
	} {
		e, err := p.Explain(Query{Caller: tc.caller, Route: tc.route, Semantic: tc.semantic}, nil)
		if err != nil {
			t.Fatal(err)
		}
		was := ""
		for _, o := range e.Overrides {
			was = o.Was
		}
		if e.Rule != tc.rule || e.Rate != tc.rate || was != tc.was {
			t.Errorf("%s on %s, %s: %s at %s, was %q; want %s at %s, was %q", tc.caller, tc.route, tc.semantic, e.Rule, e.Rate, was, tc.rule, tc.rate, tc.was)
		}
	}
	acme, chat := p.Caller("acme"), p.Semantic("chat")
	a, b := p.Choose(acme, p.Route("chat"), chat), p.Choose(acme, p.Route("reports"), chat)
	if a.Limit.Burst != 0 || b.Limit.Burst != 0 || a.Sources.Rate != "flows.acme/chat" || a.Sources.Burst != "flows.acme/chat" || a.FileRateText != "4/s" {
		t.Errorf("%+v, %+v", a.Rule, b.Rule)
	}
	if acme.Plan.Name != "free" || acme.Plan.Weight != p.plans[0].Weight {
		t.Errorf("the plan is %+v", acme.Plan)
	}
	// Above a rule's override, too.
	p = overridden(t, "rules.free/chat/*.rate = 9/s", "flows.acme/chat.rate = 3/s")
	if e, err := p.Explain(Query{Caller: "acme", Route: "chat", Semantic: "chat"}, nil); err != nil || e.Rate != "3/s" || len(e.Overrides) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}

// Routes that no rule names share a row, and go on to: a thousand routes and as many callers must not cost a million rows.
func TestACallersCopyOfAPlanCostsWhatThePlanCosts(t *testing.T) {
	p := overridden(t, "flows.acme/chat.rate = 3/s", "flows.acme/export.rate = 2/s")
	acme := p.Caller("acme").Plan
	plan := p.plans[0]
	if acme == plan || acme.Name != plan.Name {
		t.Fatalf("acme's plan is %+v", acme)
	}
	for i := range plan.rows {
		for j := range plan.rows {
			if shared := &plan.rows[i][0] == &plan.rows[j][0]; shared != (&acme.rows[i][0] == &acme.rows[j][0]) {
				t.Errorf("rows %d and %d are shared in the plan: %v", i, j, shared)
			}
			for _, s := range p.semantics {
				if same := plan.rows[i][s.position] == plan.rows[j][s.position]; same != (acme.rows[i][s.position] == acme.rows[j][s.position]) {
					t.Errorf("%s has one rule on routes %d and %d: %v", s.Name, i, j, same)
				}
			}
		}
	}
}

// What a flow's rate cannot pay is no fault where no request can meet it.
func TestAFlowsRateIsHeldAgainstWhatItCanMeet(t *testing.T) {
	c := exampleConfig()
	c.Plans[1].Rules = append(c.Plans[1].Rules, config.Rule{Route: "reports", Rate: new(config.Rate{N: 100, Per: time.Second}), Cost: new(int64(50))})
	if !slices.Contains(c.Routes[1].Semantics, "export") || slices.Contains(c.Routes[1].Semantics, "chat") {
		t.Fatal("the route reports accepts something else")
	}
	flow := func(semantic string) []config.FlowRate {
		return []config.FlowRate{{Semantic: semantic, Rate: config.Rate{N: 5, Per: time.Second}}}
	}
	c.Callers[0].Flows = flow("chat")
	mustCompile(t, c)
	c.Callers[0].Flows = flow("export")
	if _, err := Compile(c, &Names{}, 1); err == nil || !strings.Contains(err.Error(), "/reports/* for export of caller acme") {
		t.Errorf("a rate of 5/s for a cost of 50: %v", err)
	}
}
