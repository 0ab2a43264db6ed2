package policy

import "testing"

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
	if a.Limit.Burst != 0 || b.Limit.Burst != 0 || a.Sources.Rate != "flows" {
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
