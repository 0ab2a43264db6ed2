package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
	"tidegate/scheduler"
)

// every is a plan with a rule at each step of precedence for export and for default.
func every() []config.Rule {
	return []config.Rule{
		{Rate: new(rate("1/s"))},
		{Semantic: "export", Rate: new(rate("2/s"))},
		{Route: "reports", Rate: new(rate("3/s"))},
		{Route: "reports", Semantic: "export", Rate: new(rate("4/s"))},
		{Semantic: "default", Rate: new(rate("5/s"))},
		{Route: "reports", Semantic: "default", Rate: new(rate("6/s"))},
	}
}

func ids(rules []*Rule) string {
	list := make([]string, len(rules))
	for i, r := range rules {
		list[i] = r.ID
	}
	return strings.Join(list, " ")
}

func TestTheMostSpecificRuleWins(t *testing.T) {
	all := []string{"*/*", "*/export", "reports/*", "reports/export", "*/default", "reports/default"}
	for _, tc := range []struct {
		without         string // rules left out, by their end
		route, semantic string
		want, overrode  string
		namesRoute      bool
	}{
		{"", "reports", "export", "paid/reports/export", "paid/reports/* paid/*/export paid/*/* semantic/export", true},
		{"reports/export", "reports", "export", "paid/reports/*", "paid/*/export paid/*/* semantic/export", true},
		{"reports/export reports/*", "reports", "export", "paid/*/export", "paid/*/* semantic/export", false},
		{"reports/export reports/* */export", "reports", "export", "paid/*/*", "semantic/export", false},
		{"reports/export reports/* */export */*", "reports", "export", "semantic/export", "", false},
		// A route that no rule names.
		{"", "mixed", "export", "paid/*/export", "paid/*/* semantic/export", false},
		{"*/export", "mixed", "export", "paid/*/*", "semantic/export", false},
		{"*/export */*", "mixed", "export", "semantic/export", "", false},
		// A semantic that no rule names.
		{"", "reports", "chat", "paid/reports/*", "paid/*/* semantic/chat", true},
		{"", "chat", "chat", "paid/*/*", "semantic/chat", false},
		// For default only rules that name it.
		{"", "reports", "default", "paid/reports/default", "paid/*/default semantic/default", true},
		{"reports/default", "reports", "default", "paid/*/default", "semantic/default", false},
		{"reports/default */default", "reports", "default", "semantic/default", "", false},
		{"", "mixed", "default", "paid/*/default", "semantic/default", false},
		{"*/default", "mixed", "default", "semantic/default", "", false},
	} {
		c := exampleConfig()
		for i, rule := range every() {
			if !slices.Contains(strings.Fields(tc.without), all[i]) {
				c.Plans[1].Rules = append(c.Plans[1].Rules, rule)
			}
		}
		p := mustCompile(t, c)
		rule := p.Choose(p.Caller("acme"), p.Route(tc.route), p.Semantic(tc.semantic))
		if rule.ID != tc.want || ids(rule.Overrode) != tc.overrode || rule.NamesRoute != tc.namesRoute {
			t.Errorf("%s, %s without %q:\n%s over %q, route %v\n%s over %q, route %v wanted", tc.route, tc.semantic, tc.without,
				rule.ID, ids(rule.Overrode), rule.NamesRoute, tc.want, tc.overrode, tc.namesRoute)
		}
	}
}

func TestTheOrderOfRulesInTheFileChangesNothing(t *testing.T) {
	c := exampleConfig()
	c.Plans[1].Rules = every()
	forward := mustCompile(t, c)
	c.Plans[1].Rules = every()
	slices.Reverse(c.Plans[1].Rules)
	backward := mustCompile(t, c)
	for _, r := range forward.Routes() {
		for _, s := range forward.Semantics() {
			a := forward.Choose(forward.Caller("acme"), r, s)
			b := backward.Choose(backward.Caller("acme"), backward.Route(r.Name), backward.Semantic(s.Name))
			if a.ID != b.ID || a.Rule != b.Rule {
				t.Errorf("%s, %s: %s and %s", r.Name, s.Name, a.ID, b.ID)
			}
		}
	}
}

// The table of a plan must not grow with routes times semantics.
func TestRoutesShareTheRulesThatNameNoRoute(t *testing.T) {
	c := exampleConfig()
	c.Plans[1].Rules = every()
	p := mustCompile(t, c)
	acme, chat := p.Caller("acme"), p.Semantic("chat")
	c.Plans[1].Rules = slices.Delete(every(), 2, 3) // without reports/*
	q := mustCompile(t, c)
	if p.Choose(acme, p.Route("mixed"), chat) != p.Choose(acme, p.Route("open"), chat) ||
		q.Choose(q.Caller("acme"), q.Route("mixed"), q.Semantic("chat")) != q.Choose(q.Caller("acme"), q.Route("reports"), q.Semantic("chat")) {
		t.Error("two routes have a copy each of one rule")
	}
	if rows := acme.Plan.rows; &rows[0][0] != &rows[2][0] {
		t.Error("routes that no rule names have a row each")
	}
}

func TestFieldsLeftOutComeFromTheSemantic(t *testing.T) {
	c := exampleConfig()
	c.Semantics[1].Burst, c.Semantics[1].Message, c.Semantics[1].Observe = 40, "later", true
	c.Plans[1].Rules = []config.Rule{
		// Less specific, and so never asked for a field.
		{Rate: new(rate("9/s")), Burst: new(int64(90)), MaxWait: new(config.Duration{Duration: time.Hour}), Level: new("standard")},
		{Semantic: "export", Cost: new(int64(3)), OverRate: new("pace")},
		{Route: "reports", Semantic: "export", Rate: new(rate("5/60s")), OverInFlight: new("reject"), MaxInFlight: new(0), Message: new(""), Level: new("realtime"), Observe: new(false)},
	}
	p := mustCompile(t, c)
	acme, export := p.Caller("acme"), p.Semantic("export")

	rule := p.Choose(acme, p.Route("mixed"), export)
	if rule.Limit != limitOf(rate("20/s"), 40) || rule.Cost != 3 || rule.OverRate != scheduler.OverPace ||
		rule.MaxWait != time.Minute || rule.MaxInFlight != 16 || rule.RejectInFlight || rule.Level != "batch" || rule.Message != "later" || !rule.Observe {
		t.Errorf("paid/*/export: %+v", rule)
	}
	own, it := "semantic/export", "paid/*/export"
	if want := (Sources{own, own, it, own, own, own, it, own, own, own}); rule.Sources != want {
		t.Errorf("paid/*/export: sources %+v, want %+v", rule.Sources, want)
	}

	// A rate without a burst is a window, whatever the semantic's burst; 0 and "" are values.
	rule = p.Choose(acme, p.Route("reports"), export)
	if rule.Limit != limitOf(rate("5/60s"), 0) || rule.RateText != "5/60s" || rule.Cost != 1 || rule.OverRate != scheduler.OverQueue ||
		rule.MaxWait != time.Minute || rule.MaxInFlight != 0 || !rule.RejectInFlight || rule.Level != "realtime" || rule.Message != "" || rule.Observe {
		t.Errorf("paid/reports/export: %+v", rule)
	}
	it = "paid/reports/export"
	if want := (Sources{it, it, own, own, it, it, own, it, it, it}); rule.Sources != want {
		t.Errorf("paid/reports/export: sources %+v, want %+v", rule.Sources, want)
	}

	// The semantic's own is not touched by what was made of it.
	if own := export.Rule; own.Cost != 1 || own.Limit.Burst != 40 || len(own.Overrode) != 0 || own.ID != "semantic/export" {
		t.Errorf("semantic/export: %+v", own)
	}
}

func TestCostsAboveTheRateAreFoundWhereARequestCanMeetThem(t *testing.T) {
	for _, tc := range []struct {
		what   string
		change func(*config.Config)
		want   string // "": none
	}{
		{"the semantic's own", func(c *config.Config) { c.Semantics[0].Cost = 201 }, "semantics[0]: semantic \"chat\": cost = 201"},
		{"exactly the rate", func(c *config.Config) { c.Semantics[0].Cost = 200; c.Plans[0].Rules = nil }, ""},
		{"the burst counts if there is one", func(c *config.Config) { c.Semantics[0].Cost, c.Semantics[0].Burst = 50, 49 }, "burst = 49"},
		{"a bucket deeper than its rate", func(c *config.Config) {
			c.Semantics[0].Cost, c.Semantics[0].Burst, c.Plans[0].Rules = 300, 300, nil
		}, ""},
		{
			"a rule's rate and the semantic's cost", func(c *config.Config) { c.Semantics[0].Cost = 21 },
			"plans[0].rules[0]: rule free/*/* for chat: cost = 21 (of semantic/chat) is more than rate = \"20/60s\" (of free/*/*)",
		},
		{"a rule's cost and the semantic's rate", func(c *config.Config) {
			c.Plans[1].Rules = []config.Rule{{Semantic: "export", Cost: new(int64(21))}}
		}, "plans[1].rules[0]: rule paid/*/export for export: cost = 21"},
		{"on no route that accepts it", func(c *config.Config) { c.Semantics[3].Cost, c.Semantics[3].Rate = 50, rate("100/s") }, ""},
		{"default never meets */*", func(c *config.Config) { c.Semantics[2].Cost, c.Semantics[2].Rate = 50, rate("100/s") }, ""},
	} {
		c := exampleConfig()
		tc.change(c)
		_, err := Compile(c, &Names{}, 1)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.what, err, tc.want)
		} else if err != nil && strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: said more than once: %v", tc.what, err)
		}
	}
}
