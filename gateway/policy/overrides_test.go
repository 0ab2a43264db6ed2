package policy

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
)

const overridable = `
[[levels]]
name = "standard"
[[pools]]
name = "shared"
[[pools]]
name = "vip"
[[semantics]]
name = "chat"
level = "standard"
rate = "20/s"
burst = 40
[[semantics]]
name = "export"
level = "standard"
rate = "10/s"
[[semantics]]
name = "default"
level = "standard"
rate = "5/s"
[[plans]]
name = "free"
rules = [
  { max_wait = "9s" },
  { route = "chat", rate = "4/s", burst = 8 },
]
[[plans]]
name = "paid"
[[upstreams]]
name = "api"
targets = [{ url = "builtin:sample" }]
[[routes]]
name = "chat"
path = "/v1/chat/*"
upstream = "api"
semantics = ["chat", "export"]
[[routes]]
name = "reports"
path = "/v1/reports/*"
upstream = "api"
semantics = ["chat", "export"]
[[callers]]
id = "acme"
semantics = ["chat", "export"]
[[callers]]
id = "bolt"
pool = "vip"
plan = "paid"
semantics = ["chat", "export"]
`

// overridden compiles the file with overrides "name = value" over it, none of which may be set aside.
func overridden(t *testing.T, texts ...string) *Policy {
	t.Helper()
	var list []config.Override
	for _, text := range texts {
		name, value, _ := strings.Cut(text, " = ")
		list = append(list, config.Override{
			Name: name, Value: value, Actor: "ann", Reason: "promotion",
			Made: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		})
	}
	c, aside, err := config.LoadWith("config.toml", []byte(overridable), nil, list)
	if err != nil || len(aside) > 0 {
		t.Fatal(err, aside)
	}
	return mustCompile(t, c)
}

func TestExplainNamesTheOverridesThatTouchTheRequest(t *testing.T) {
	all := []string{
		"callers.acme.pool = vip", "callers.bolt.plan = free", "pools.shared.seats = 9", "pools.vip.seats = 7",
		"rules.semantic/chat.rate = 30/s", "rules.semantic/chat.burst = 50", "rules.semantic/chat.level = standard",
		"rules.free/*/*.rate = 3/s", "rules.free/*/*.cost = 2", "rules.free/chat/*.burst = 9",
	}
	for _, tc := range []struct {
		with           []string // beside all
		caller, route  string
		semantic, want string
	}{
		// The burst is still the semantic's, since the file's rule gives neither.
		{nil, "acme", "reports", "chat", `callers.acme.pool = vip (was shared)
pools.vip.seats = 7 (was 64)
rules.semantic/chat.burst = 50 (was 40)
rules.semantic/chat.level = standard (was standard)
rules.free/*/*.rate = 3/s (was 20/s)
rules.free/*/*.cost = 2 (was 1)`},
		{nil, "acme", "reports", "export", `callers.acme.pool = vip (was shared)
pools.vip.seats = 7 (was 64)
rules.free/*/*.rate = 3/s (was 10/s)
rules.free/*/*.cost = 2 (was 1)`},
		{nil, "bolt", "chat", "chat", `callers.bolt.plan = free (was paid)
pools.vip.seats = 7 (was 64)
rules.semantic/chat.level = standard (was standard)
rules.free/chat/*.burst = 9 (was 8)`},
		{[]string{"server.mode = observe", "rules.semantic/chat.observe = true"}, "bolt", "chat", "chat", `callers.bolt.plan = free (was paid)
pools.vip.seats = 7 (was 64)
rules.semantic/chat.level = standard (was standard)
rules.free/chat/*.burst = 9 (was 8)
server.mode = observe (was enforce)`},
	} {
		p := overridden(t, append(all[:len(all):len(all)], tc.with...)...)
		e, err := p.Explain(Query{Caller: tc.caller, Route: tc.route, Semantic: tc.semantic}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range e.Overrides {
			line, by, _ := strings.Cut(o.String(), " by ")
			if got = append(got, line); by != "ann, 2026-03-01T12:00:00Z: promotion" || !strings.Contains(e.String(), "\noverride  "+o.String()+"\n") {
				t.Errorf("by %q, in\n%s", by, e)
			}
		}
		if text := strings.Join(got, "\n"); text != tc.want {
			t.Errorf("%s, %s on %s:\n%s\nwant\n%s", tc.caller, tc.semantic, tc.route, text, tc.want)
		}
	}
}

func TestOverriddenValuesAreWhatRulesHold(t *testing.T) {
	for _, tc := range []struct {
		overrides       []string
		route, semantic string
		rate            string
		burst           int64
		text            string
	}{
		{nil, "reports", "chat", "20/s", 40, "20/s, a bucket of 40         from semantic/chat\n"},
		{[]string{"rules.free/*/*.rate = 3/s"}, "reports", "chat", "3/s", 40, "3/s, a bucket of 40          from free/*/*, the burst from semantic/chat\n"},
		{[]string{"rules.free/*/*.rate = 3/s"}, "reports", "export", "3/s", 0, "3/s, a sliding window        from free/*/*, the burst from semantic/export\n"},
		{[]string{"rules.free/*/*.burst = 6"}, "reports", "export", "10/s", 6, "10/s, a bucket of 6          from semantic/export, the burst from free/*/*\n"},
		{[]string{"rules.free/*/*.burst = 6", "rules.free/*/*.rate = 3/s"}, "reports", "chat", "3/s", 6, "3/s, a bucket of 6           from free/*/*\n"},
		{[]string{"rules.free/chat/*.rate = 3/s"}, "chat", "chat", "3/s", 8, "3/s, a bucket of 8           from free/chat/*\n"},
		{[]string{"rules.free/chat/*.burst = 0"}, "chat", "chat", "4/s", 0, "4/s, a sliding window        from free/chat/*\n"},
	} {
		p := overridden(t, tc.overrides...)
		e, err := p.Explain(Query{Caller: "acme", Route: tc.route, Semantic: tc.semantic}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rule := p.Choose(p.Caller("acme"), p.Route(tc.route), p.Semantic(tc.semantic))
		if e.Rate != tc.rate || e.Burst != tc.burst || rule.Limit != limitOf(rate(tc.rate), tc.burst) || !strings.Contains(e.String(), "  rate            "+tc.text) {
			t.Errorf("%v on %s: %+v\n%s", tc.overrides, tc.route, rule.Limit, e)
		}
	}
	p := overridden(t, "callers.acme.pool = vip", "callers.acme.enabled = false", "pools.vip.seats = 7", "rules.semantic/export.observe = true")
	if acme := p.Caller("acme"); acme.Pool != "vip" || acme.Enabled || p.Pools()[1].Seats.N != 7 || !p.Setup().Observe {
		t.Errorf("%+v, %+v", acme, p.Pools())
	}
}

func TestOverridesInAnExplanationAsJSON(t *testing.T) {
	p := overridden(t, "callers.acme.pool = vip")
	p.overrides[0].Until = new(time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC))
	e, err := p.Explain(Query{Caller: "acme", Route: "chat"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(e.Overrides)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"name":"callers.acme.pool","value":"vip","was":"shared","actor":"ann","reason":"promotion",` +
		`"made":"2026-03-01T12:00:00Z","until":"2026-03-01T13:00:00Z"}]`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if text := e.String(); !strings.Contains(text, "12:00:00Z until 2026-03-01T13:00:00Z: promotion\n") {
		t.Error(text)
	}
}

// What the file's checks let through must compile, or an override would keep the gateway from starting.
func TestOverridesThatAreInForceCompile(t *testing.T) {
	names := strings.Fields(`callers.acme.pool callers.acme.plan callers.bolt.plan pools.vip.seats server.mode rules.semantic/chat.rate
		rules.semantic/chat.burst rules.semantic/chat.cost rules.semantic/export.rate rules.semantic/export.cost rules.semantic/export.burst
		rules.semantic/default.cost rules.free/*/*.rate rules.free/*/*.burst rules.free/*/*.cost rules.free/chat/*.rate rules.free/chat/*.burst rules.free/chat/*.cost`)
	values := strings.Fields("vip shared free paid 1 4 7 9 30 60 4000000000 3000000000000 5/s 8/s 50/s 100/h observe")
	rng := rand.New(rand.NewPCG(1, 2))
	inForce := 0
	for range 300 {
		var list []config.Override
		for range 1 + rng.IntN(9) {
			list = append(list, config.Override{Name: names[rng.IntN(len(names))], Value: values[rng.IntN(len(values))]})
		}
		c, _, err := config.LoadWith("config.toml", []byte(overridable), nil, list)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(c, &Names{}, 1); err != nil {
			t.Fatalf("%v: %v", c.Overrides, err)
		}
		inForce += len(c.Overrides)
	}
	if inForce < 300 {
		t.Errorf("only %d overrides were in force", inForce)
	}
}
