package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"tidegate/gateway/config"
)

func explained(t *testing.T, c *config.Config, q Query) *Explanation {
	t.Helper()
	e, err := mustCompile(t, c).Explain(q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func everyRule() *config.Config {
	c := exampleConfig()
	c.Plans[1].Rules = every()
	c.Plans[1].Rules[3].Message = new("Exports run at night.")
	return c
}

func TestExplainAsJSON(t *testing.T) {
	e := explained(t, everyRule(), Query{Caller: "acme", Method: "POST", Path: "//v1/./reports/7?x=1", Semantic: "export", Tenant: "t-1"})
	got, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "caller": "acme",
  "route": "reports",
  "semantic": "export",
  "tenant": "t-1",
  "flow": "caller=acme semantic=export route=reports tenant=t-1",
  "rule": "paid/reports/export",
  "at": "plans[1].rules[3]",
  "rate": "4/s",
  "burst": 0,
  "cost": 1,
  "max_wait": "1m0s",
  "max_in_flight": 16,
  "over_in_flight": "queue",
  "over_rate": "queue",
  "level": "batch",
  "observe": false,
  "pool": "vip",
  "message": "Exports run at night.",
  "overrode": [
    {
      "rule": "paid/reports/*",
      "at": "plans[1].rules[2]"
    },
    {
      "rule": "paid/*/export",
      "at": "plans[1].rules[1]"
    },
    {
      "rule": "paid/*/*",
      "at": "plans[1].rules[0]"
    },
    {
      "rule": "semantic/export",
      "at": "semantics[1]"
    }
  ],
  "overrides": [],
  "plan": "paid",
  "caller_rate": "500/s",
  "upstream": "api",
  "pattern": "any method /v1/reports/*",
  "why": "the tag holds: route reports accepts export and acme has registered it",
  "sources": {
    "rate": "paid/reports/export",
    "burst": "paid/reports/export",
    "cost": "semantic/export",
    "max_wait": "semantic/export",
    "max_in_flight": "semantic/export",
    "over_in_flight": "semantic/export",
    "over_rate": "semantic/export",
    "level": "semantic/export",
    "observe": "semantic/export",
    "message": "paid/reports/export"
  },
  "notes": [],
  "version": 1
}`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestExplainAsText(t *testing.T) {
	const want = `caller    acme (plan paid, pool vip)
route     reports (any method /v1/reports/* -> api)
semantic  export: without a tag, route reports implies export, the one semantic that it accepts
flow      caller=acme semantic=export route=reports tenant=(each)
rule      paid/reports/export (plans[1].rules[3])
  rate            4/s, a sliding window        from paid/reports/export
  over_rate       queue                        from semantic/export
  cost            1                            from semantic/export
  max_wait        1m0s                         from semantic/export
  max_in_flight   16                           from semantic/export
  over_in_flight  queue                        from semantic/export
  level           batch                        from semantic/export
  observe         no                           from semantic/export
  message         "Exports run at night."      from paid/reports/export
  all flows of acme together: at most 500/s (plan paid)
overrode  paid/reports/* (plans[1].rules[2])
          paid/*/export (plans[1].rules[1])
          paid/*/* (plans[1].rules[0])
          semantic/export (semantics[1])
note      plan paid counts by tenant: a request without one gets 400 tenant_missing
`
	if got := explained(t, everyRule(), Query{Caller: "acme", Route: "reports"}).String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestExplainSaysWhatARequestWouldMeet(t *testing.T) {
	for _, tc := range []struct {
		q                               Query
		semantic, rule, why, flow, note string
	}{
		{Query{Caller: "bolt", Route: "mixed", Semantic: "export"}, "default", "semantic/default", "bolt has not registered export", "caller=bolt semantic=default", ""},
		{Query{Caller: "bolt", Route: "chat", Semantic: "export"}, "default", "semantic/default", "route chat does not accept export", "caller=bolt semantic=default", ""},
		{Query{Caller: "bolt", Route: "chat", Semantic: "nonsense"}, "default", "semantic/default", `"nonsense" is none of`, "caller=bolt semantic=default", ""},
		{Query{Caller: "bolt", Route: "chat", Semantic: "default"}, "default", "semantic/default", "asks for default", "caller=bolt semantic=default", ""},
		{Query{Caller: "bolt", Route: "reports"}, "default", "semantic/default", "implies export, but bolt has not registered it", "caller=bolt semantic=default", ""},
		{Query{Caller: "bolt", Route: "mixed"}, "default", "semantic/default", "accepts several", "caller=bolt semantic=default", ""},
		{Query{Caller: "bolt", Route: "open"}, "default", "semantic/default", "accepts no semantic", "caller=bolt semantic=default", ""},
		{Query{Caller: "bolt", Route: "plain"}, "default", "semantic/default", "implies default, the one", "caller=bolt semantic=default", ""},
		{Query{Caller: "bolt", Route: "chat", Tenant: "t"}, "chat", "free/*/*", "implies chat", "caller=bolt semantic=chat", "does not count by tenant"},
		{Query{Caller: "gone", Route: "chat"}, "chat", "free/*/*", "implies chat", "caller=gone semantic=chat", "disabled: 403"},
		{Query{Path: "/v1/chat"}, "chat", "free/*/*", "implies chat", "caller=visitor semantic=chat address=(each)", ""},
		{Query{Path: "/v1/open"}, "default", "semantic/default", "accepts no semantic", "caller=visitor semantic=default address=(each)", "is not public"},
	} {
		c := exampleConfig()
		c.Routes = append(c.Routes, config.Route{Name: "plain", Path: "/plain", Upstream: "api", Semantics: []string{"default"}})
		e := explained(t, c, tc.q)
		if e.Semantic != tc.semantic || e.Rule != tc.rule || e.Flow != tc.flow || !strings.Contains(e.Why, tc.why) ||
			!strings.Contains(strings.Join(e.Notes, "\n"), tc.note) || tc.note == "" && len(e.Notes) > 0 {
			t.Errorf("%+v:\n%s", tc.q, e)
		}
	}
}

func TestExplainWritesBucketsAndRefusals(t *testing.T) {
	c := exampleConfig()
	c.Plans[0].Rules = []config.Rule{{Rate: new(rate("20/60s")), Burst: new(int64(40)), OverRate: new("pace"), OverInFlight: new("reject"), MaxInFlight: new(0)}}
	e := explained(t, c, Query{Caller: "bolt", Route: "chat"})
	if e.Burst != 40 || e.OverRate != "pace" || e.OverInFlight != "reject" {
		t.Errorf("%+v", e)
	}
	for _, want := range []string{"20/60s, a bucket of 40 ", "no limit  "} {
		if !strings.Contains(e.String(), want) {
			t.Errorf("%q is not in\n%s", want, e)
		}
	}
}

func TestExplainFailsWithWhatWouldHelp(t *testing.T) {
	for want, q := range map[string]Query{
		`caller "x" is none of [[callers]]`:      {Caller: "x", Route: "chat"},
		`route "x" is none of [[routes]]`:        {Caller: "acme", Route: "x"},
		"neither a route nor a path":             {Caller: "acme"},
		"give one":                               {Caller: "acme", Route: "chat", Path: "/v1/chat"},
		`"/a/../.." is refused with 400`:         {Caller: "acme", Path: "/a/../.."},
		"GET h/nowhere is refused with 404":      {Caller: "acme", Path: "/nowhere", Host: "h"},
		`tenant "a b" is not valid: 1 to 128 of`: {Caller: "acme", Route: "chat", Tenant: "a b"},
	} {
		if e, err := mustCompile(t, exampleConfig()).Explain(q, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, %v; want %q", q, e, err, want)
		}
	}
	c := exampleConfig()
	c.Identify.Anonymous = ""
	if _, err := mustCompile(t, c).Explain(Query{Route: "chat"}, nil); err == nil || !strings.Contains(err.Error(), "-caller") {
		t.Error(err)
	}
}
