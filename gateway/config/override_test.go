package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// over makes overrides of "name = value", all of them by ann.
func over(texts ...string) []Override {
	list := make([]Override, len(texts))
	for i, text := range texts {
		name, value, _ := strings.Cut(text, " = ")
		list[i] = Override{Name: name, Value: value, Actor: "ann"}
	}
	return list
}

func loadWith(t *testing.T, text string, overrides []Override) (*Config, []Aside) {
	t.Helper()
	c, aside, err := LoadWith("config.toml", []byte(text), nil, overrides)
	if err != nil {
		t.Fatal(err)
	}
	v := newValidator(c, nil)
	v.layered = true
	if ps := (&layer{below: c, c: c, v: v}).all(); len(ps) > 0 {
		t.Fatalf("loaded with problems:\n%v", ps)
	}
	if len(c.Overrides)+len(aside) != len(overrides) {
		t.Fatalf("of %d overrides %d are in force and %d set aside", len(overrides), len(c.Overrides), len(aside))
	}
	return c, aside
}

func TestEachOverrideSetsItsValueAndNothingElse(t *testing.T) {
	chat := func(c *Config) *Rule { return &c.Plans[0].Rules[0] }
	for text, set := range map[string]func(*Config){
		"callers.acme.pool = vip":                     func(c *Config) { c.Callers[0].Pool = "vip" },
		"callers.acme.plan = paid":                    func(c *Config) { c.Callers[0].Plan = "paid" },
		"callers.acme.enabled = false":                func(c *Config) { c.Callers[0].Enabled = false },
		"pools.shared.seats = 7":                      func(c *Config) { c.Pools[0].Seats.N = 7 },
		"pools.shared.excess_ceiling = 0.25":          func(c *Config) { c.Pools[0].ExcessCeiling = 0.25 },
		"pools.shared.surge_ceiling = 1":              func(c *Config) { c.Pools[0].SurgeCeiling = 1 },
		"pools.vip.long_ceiling = 0.1":                func(c *Config) { c.Pools[1].LongCeiling = 0.1 },
		"server.mode = observe":                       func(c *Config) { c.Server.Mode = "observe" },
		"flows.acme/chat.rate = 2/s":                  func(c *Config) { c.Callers[0].Flows = []FlowRate{{"chat", Rate{2, time.Second, "2/s"}}} },
		"rules.semantic/chat.rate = 20/60s":           func(c *Config) { c.Semantics[0].Rate = Rate{20, time.Minute, "20/60s"} },
		"rules.semantic/chat.burst = 400":             func(c *Config) { c.Semantics[0].Burst = 400 },
		"rules.semantic/chat.observe = true":          func(c *Config) { c.Semantics[0].Observe = true },
		"rules.semantic/bulk.cost = 60":               func(c *Config) { c.Semantics[1].Cost = 60 },
		"rules.semantic/default.max_wait = 1m30s":     func(c *Config) { c.Semantics[2].MaxWait.Duration = 90 * time.Second },
		"rules.semantic/chat.max_in_flight = 3":       func(c *Config) { c.Semantics[0].MaxInFlight = 3 },
		"rules.semantic/chat.over_rate = pace":        func(c *Config) { c.Semantics[0].OverRate = "pace" },
		"rules.semantic/chat.over_in_flight = reject": func(c *Config) { c.Semantics[0].OverInFlight = "reject" },
		"rules.semantic/chat.level = batch":           func(c *Config) { c.Semantics[0].Level = "batch" },
		"rules.free/*/chat.rate = 5/s":                func(c *Config) { chat(c).Rate = &Rate{5, time.Second, "5/s"} },
		"rules.free/*/chat.burst = 50":                func(c *Config) { chat(c).Burst = new(int64(50)) },
		"rules.free/*/chat.cost = 2":                  func(c *Config) { chat(c).Cost = new(int64(2)) },
		"rules.free/*/chat.max_wait = 0s":             func(c *Config) { chat(c).MaxWait = &Duration{} },
		"rules.free/*/chat.max_in_flight = 3":         func(c *Config) { chat(c).MaxInFlight = new(3) },
		"rules.free/*/chat.over_rate = reject":        func(c *Config) { chat(c).OverRate = new("reject") },
		"rules.free/*/chat.over_in_flight = reject":   func(c *Config) { chat(c).OverInFlight = new("reject") },
		"rules.free/*/chat.level = batch":             func(c *Config) { chat(c).Level = new("batch") },
		"rules.free/*/chat.observe = true":            func(c *Config) { chat(c).Observe = new(true) },
	} {
		got, aside := loadWith(t, whole, over(text))
		if len(aside) > 0 {
			t.Errorf("%s: set aside: %s", text, aside[0].Why)
			continue
		}
		want := load(t, whole)
		set(want)
		same := *got
		same.Overrides, same.below, same.finder, same.origin = nil, nil, nil, want.origin
		if !reflect.DeepEqual(&same, want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", text, &same, want)
		}
		if !reflect.DeepEqual(got.below, load(t, whole)) {
			t.Errorf("%s: what is below it has changed", text)
		}
	}
}

func TestIdsWithDotsAreFound(t *testing.T) {
	text := strings.NewReplacer(`id = "acme"`, `id = "acme.eu:7@x"`, `name = "vip"`, `name = "vip.1"`, `name = "paid"`, `name = "paid.v2"`+"\nrules = [{ cost = 2 }]").Replace(whole)
	c, aside := loadWith(t, text, over("callers.acme.eu:7@x.pool = vip.1", "pools.vip.1.seats = 3", "rules.paid.v2/*/*.cost = 3"))
	if len(aside) > 0 || c.Callers[0].Pool != "vip.1" || c.Pools[1].Seats.N != 3 || *c.Plans[1].Rules[0].Cost != 3 {
		t.Errorf("%v: %+v", aside, c)
	}
}

// Rate and burst are one field in the file; each is one of its own for who overrides it.
func TestAnOverriddenRateKeepsTheBurstAndABurstTheRate(t *testing.T) {
	const bucket = "chat: burst = 400"
	for _, tc := range []struct {
		what, text string
		overrides  []string
		rate       string
		burst      int64
	}{
		{"a rule with both", put(t, bucket, `rule: { semantic = "bulk", rate = "100/s", burst = 150 },`), []string{"rules.free/*/bulk.rate = 90/s"}, "90/s", 150},
		{"a rule with a window", put(t, bucket, `rule: { semantic = "bulk", rate = "100/s" },`), []string{"rules.free/*/bulk.rate = 90/s"}, "90/s", 0},
		{"a window that becomes a bucket", put(t, bucket, `rule: { semantic = "bulk", rate = "100/s" },`), []string{"rules.free/*/bulk.burst = 150"}, "100/s", 150},
		{"a rule that leaves both to a bucket", put(t, `rule: { semantic = "bulk" },`, "end: #", "chat: #"), []string{"rules.semantic/bulk.burst = 70", "rules.free/*/bulk.rate = 90/s"}, "90/s", 70},
		{"a rule that leaves both to a window", put(t, `rule: { semantic = "bulk" },`), []string{"rules.free/*/bulk.burst = 80"}, "100/s", 80},
		{"both of them", put(t, `rule: { semantic = "bulk" },`), []string{"rules.free/*/bulk.burst = 80", "rules.free/*/bulk.rate = 90/s"}, "90/s", 80},
		{"both the other way round", put(t, `rule: { semantic = "bulk" },`), []string{"rules.free/*/bulk.rate = 90/s", "rules.free/*/bulk.burst = 80"}, "90/s", 80},
	} {
		c, aside := loadWith(t, tc.text, over(tc.overrides...))
		rate, burst, _ := c.Plans[0].Rules[1].payment(c.Semantics[1])
		if len(aside) > 0 || rate.Text != tc.rate || burst != tc.burst {
			t.Errorf("%s: %v with %d, %v; want %s with %d", tc.what, rate, burst, aside, tc.rate, tc.burst)
		}
	}
}

func TestOverridesStandAboveTheEnvironmentAndSayWhoMadeThem(t *testing.T) {
	c, aside, err := LoadWith("config.toml", []byte(put(t, "chat: burst = 400")), []string{"TIDEGATE__SERVER__MODE=observe"},
		over("server.mode = enforce", "callers.acme.pool = vip", "rules.free/*/chat.rate = 5/s", "rules.semantic/bulk.cost = 60", "pools.vip.seats = 7"))
	if err != nil || len(aside) > 0 || c.Server.Mode != "enforce" || len(c.Overrides) != 5 {
		t.Fatalf("%+v, %v, %v", c, aside, err)
	}
	for _, key := range []string{"server.mode", "callers[0].pool", "plans[0].rules[0].rate", "semantics[1].cost", "pools[1].seats"} {
		if got := c.At(key); got != "override by ann" {
			t.Errorf("%s stands at %s", key, got)
		}
	}
	if at := c.At("plans[0].rules[0]"); at != "config.toml:40" {
		t.Errorf("the rule itself stands at %s", at)
	}
	i := slices.IndexFunc(c.Settings(), func(s Setting) bool { return s.Key == "pools[1].seats" })
	if got, want := c.Settings()[i], (Setting{"pools[1].seats", "pools.vip.seats", "7", false, "override by ann"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, was := range []struct{ name, semantic, want string }{
		{"server.mode", "", "observe"},
		{"callers.acme.pool", "", "shared"},
		{"pools.vip.seats", "", "64"},
		{"rules.free/*/chat.rate", "chat", "10/s"},
		{"rules.free/*/chat.burst", "chat", "0"},
		{"rules.free/*/chat.max_wait", "chat", "2s"},
		{"rules.semantic/bulk.cost", "", "50"},
		{"rules.free/*/chat.cost", "bulk", "50"},
		{"rules.free/*/chat.cost", "no such", ""},
		{"callers.nobody.pool", "", ""},
	} {
		if got := c.Was(was.name, was.semantic); got != was.want {
			t.Errorf("%s was %q, want %q", was.name, got, was.want)
		}
	}
}

func TestWhatDoesNotFitIsSetAsideAlone(t *testing.T) {
	c, aside := loadWith(t, whole, over(
		"callers.acme.pool = vip",
		"callers.acne.pool = vip",
		"callers.visitors.pool = gone",
		"callers.visitors.enabled = perhaps",
		"rules.semantic/bulk.cost = 101",
		"rules.semantic/chat.cost = 10",
		"rules.semantic/chat.cost = 2",
		"rules.paid/*/chat.rate = 5/s",
		"pools.shared.seats = auto",
		"pools.shared.seats.x = 5",
		"plans.free.weight = 5",
		"callers.acme.keys = x",
		"pools.vip.seats = 7",
	))
	want := []string{
		`callers.acne.pool: the file has no caller "acne"`,
		`callers.visitors.pool: no such pool; choose from "shared", "vip"`,
		`callers.visitors.enabled: true or false is wanted here`,
		`rules.semantic/bulk.cost: more than the rate 100/s holds, so that it could never be paid`,
		`rules.semantic/chat.cost: there is a later override of the same name`,
		`rules.paid/*/chat.rate: the file has no rule "paid/*/chat"`,
		`pools.shared.seats: "auto" is not built yet; write a number, e.g. 64`,
		`pools.shared.seats.x: an override of pools sets seats, excess_ceiling, surge_ceiling, long_ceiling; everything else is changed in the file`,
		`plans.free.weight: no such override: an override is named callers.ID.FIELD, flows.CALLER/SEMANTIC.rate, pools.NAME.FIELD, rules.RULE.FIELD (the rule as explain shows it) or server.mode`,
		`callers.acme.keys: an override of callers sets pool, plan, enabled; everything else is changed in the file`,
	}
	var got []string
	for _, a := range aside {
		got = append(got, a.Override.Name+": "+a.Why)
	}
	if !slices.Equal(got, want) {
		t.Errorf("set aside\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c.Callers[0].Pool != "vip" || c.Semantics[0].Cost != 2 || c.Pools[1].Seats.N != 7 || len(c.Overrides) != 3 {
		t.Errorf("in force %v: %+v", c.Overrides, c)
	}
	if c.Callers[1].Pool != "shared" || c.Semantics[1].Cost != 50 || c.At("semantics[1].cost") != "config.toml:31" {
		t.Errorf("what was set aside acts: %+v", c)
	}
}

func TestOverridesThatOnlyFitTogetherDo(t *testing.T) {
	for _, order := range [][]string{
		{"rules.semantic/bulk.cost = 300", "rules.semantic/bulk.rate = 400/s"},
		{"rules.semantic/bulk.rate = 400/s", "rules.semantic/bulk.cost = 300"},
	} {
		for _, beside := range []string{"pools.vip.seats = 5", "pools.gone.seats = 5", "pools.vip.seats = -5"} {
			c, aside := loadWith(t, whole, over(append(order, beside)...))
			if c.Semantics[1].Cost != 300 || c.Semantics[1].Rate.N != 400 || len(aside) > 1 || !strings.HasPrefix(order[0], c.Overrides[0].Name) {
				t.Errorf("%v beside %s: %+v, set aside %v", order, beside, c.Overrides, aside)
			}
		}
	}
}

// Of two that do not go together the first has the say.
func TestOfTwoThatDisagreeTheLaterIsSetAside(t *testing.T) {
	for _, tc := range [][]string{
		{"rules.semantic/bulk.cost = 60", "callers.visitors.plan = paid"}, // visitors may send bulk then
		{"rules.semantic/chat.cost = 20", "rules.semantic/chat.rate = 19/s"},
		{"rules.semantic/chat.rate = 19/s", "rules.semantic/chat.cost = 20"},
		{"rules.semantic/bulk.cost = 60", "rules.semantic/bulk.burst = 59"},
		{"rules.semantic/chat.cost = 9", "rules.free/*/chat.rate = 8/s"},
	} {
		text := strings.NewReplacer(`rate = "10/s" }`, `rate = "30/s" }`, "name = \"paid\"\n", "name = \"paid\"\ncaller_rate = \"55/s\"\n",
			"#end\n", "semantics = [\"bulk\"]\n").Replace(whole)
		c, aside := loadWith(t, text, over(tc...))
		name, _, _ := strings.Cut(tc[1], " = ")
		if len(c.Overrides) != 1 || len(aside) != 1 || aside[0].Override.Name != name || !strings.Contains(aside[0].Why, "could never be paid") && !strings.Contains(aside[0].Why, "more than it ever holds") {
			t.Errorf("%v: in force %v, set aside %v", tc, c.Overrides, aside)
		}
	}
}

// An override is no remedy for a file: taking it back would then break what runs.
func TestAFileMustBeGoodWithoutItsOverrides(t *testing.T) {
	c, aside, err := LoadWith("config.toml", []byte(put(t, `caller: pool = "gone"`)), nil, over("callers.acme.pool = vip"))
	if _, ok := err.(Problems); !ok || c != nil || aside != nil {
		t.Errorf("%+v, %v, %v", c, aside, err)
	}
}

func TestAnOverrideThatCannotBeSetIsRefusedWithWords(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	text := put(t, `plan: caller_rate = "70/s"`, "chat: burst = 9000")
	c, _ := loadWith(t, text, over("rules.semantic/bulk.cost = 60", "callers.visitors.pool = vip"))
	for _, tc := range []struct {
		name, value, want string
	}{
		{"callers.acme.pool", "vip", ""},
		{"callers.visitors.pool", "shared", ""}, // in place of the one in force
		{"rules.semantic/bulk.cost", "65", ""},
		{"callers.acne.pool", "vip", `callers.acne.pool: the file has no caller "acne"; did you mean "acme"?`},
		{"callers.acme.pool", "vpi", `callers.acme.pool = "vpi": no such pool; did you mean "vip"?`},
		{"callers.acme.plan", "", `callers.acme.plan = "": a value is needed here`},
		{"callers.acme.enabled", "0", `callers.acme.enabled = "0": true or false is wanted here`},
		{"pools.vip.seats", "0", `pools.vip.seats = "0": seats are a whole number from 1 to 10000000`},
		{"pools.vip.long_ceiling", "2", `pools.vip.long_ceiling = "2": a share is above 0 and at most 1; 1 is all of it`},
		{"pools.vip.long_ceiling", "NaN", `pools.vip.long_ceiling = "NaN": a number is wanted here`},
		{"server.mode", "off", `server.mode = "off": not one of the words allowed here; choose from "enforce", "observe"`},
		{"server.x.mode", "observe", `server.x.mode: no such override: an override is named callers.ID.FIELD`},
		{"server.listen", ":1", `server.listen: an override of server sets mode; everything else is changed in the file`},
		{"rules.free/*/chta.rate", "5/s", `rules.free/*/chta.rate: the file has no rule "free/*/chta"; did you mean "free/*/chat"?`},
		{"rules.x.rate", "5/s", `rules.x.rate: the file has no rule "x"; choose from "free/*/chat", "semantic/bulk", "semantic/chat", "semantic/default"`},
		{"rules.semantic/chat.rate", "5", `rules.semantic/chat.rate = "5": not a rate; write it as amount/span`},
		{"rules.semantic/chat.level", "low", `rules.semantic/chat.level = "low": no such level; choose from "realtime", "batch"`},
		{"rules.semantic/chat.over_rate", "wait", `rules.semantic/chat.over_rate = "wait": not one of the words allowed here; choose from "queue", "pace", "reject"`},
		{"rules.semantic/bulk.rate", "59/s", `rules.semantic/bulk.rate = "59/s": semantics.bulk.cost = 60: more than the rate 59/s holds`},
		{"rules.semantic/bulk.cost", "71", `rules.semantic/bulk.cost = "71": plans.free.caller_rate = "70/s": one bulk costs 71, more than it ever holds`},
		{"rules.semantic/chat.burst", "-1", `rules.semantic/chat.burst = "-1": out of range`},
		{"", "", `no such override`},
		{"callers.", "", `callers.: no such override`},
		{"callers..pool", "vip", `callers..pool: no such override`},
		{"a\nb.c.d", "vip", `"a\nb.c.d": no such override`},
	} {
		err := CheckOverride(c, Override{Name: tc.name, Value: tc.value, Actor: "ann", Made: now})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s = %q: %v\nwant %s", tc.name, tc.value, err, tc.want)
		}
	}
	for _, tc := range []struct {
		change func(*Override)
		want   string
	}{
		{func(o *Override) { o.Until = new(now.Add(time.Second)) }, ""},
		{func(o *Override) { o.Reason = "促销 script runs wild" }, ""},
		{func(o *Override) { o.Until = new(now) }, "it would end before it begins"},
		{func(o *Override) { o.Reason = "a\nb" }, "reason: control characters"},
		{func(o *Override) { o.Reason = strings.Repeat("x", 1001) }, "reason: longer than 1000 characters"},
		{func(o *Override) { o.Actor = "a\xff" }, "must be UTF-8"},
	} {
		o := Override{Name: "callers.acme.pool", Value: "vip", Actor: "ann", Made: now}
		tc.change(&o)
		err := CheckOverride(c, o)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v: %v, want %q", o, err, tc.want)
		}
	}
}

// manyCallers is a file with n callers.
func manyCallers(n int) string {
	var b strings.Builder
	b.WriteString(whole)
	for i := range n {
		fmt.Fprintf(&b, "[[callers]]\nid = \"c%d\"\nkeys = [\"sha256:%064x\"]\nsemantics = [\"chat\"]\n", i, i+10)
	}
	return b.String()
}

func TestOverridesAreBounded(t *testing.T) {
	text := manyCallers(MaxOverrides + 1)
	var list []Override
	for i := range MaxOverrides {
		list = append(list, over(fmt.Sprintf("callers.c%d.pool = vip", i))...)
	}
	c, _ := loadWith(t, text, list)
	if err := CheckOverride(c, over("callers.c0.pool = shared")[0]); err != nil {
		t.Errorf("in place of another: %v", err)
	}
	if err := CheckOverride(c, over(fmt.Sprintf("callers.c%d.pool = shared", MaxOverrides))[0]); err == nil || !strings.Contains(err.Error(), "there may be no more") {
		t.Errorf("one more: %v", err)
	}
}

// A reload may come ten times a second, whatever the overrides are worth: a thousand on a thousand callers.
func BenchmarkLoadWith(b *testing.B) {
	data := []byte(manyCallers(1000))
	fit, alien, bad := make([]Override, 0, 1000), make([]Override, 0, 1000), make([]Override, 0, 1000)
	for i := range 1000 {
		fit = append(fit, over(fmt.Sprintf("callers.c%d.pool = vip", i))...)
		alien = append(alien, over(fmt.Sprintf("callers.d%d.pool = vip", i))...)
		bad = append(bad, over(fmt.Sprintf("callers.c%d.plan = gone", i))...)
	}
	for _, bc := range []struct {
		name      string
		overrides []Override
	}{{"none", nil}, {"all fit", fit}, {"one does not", append(slices.Clip(fit[:999]), bad[999])}, {"unknown callers", alien}, {"none fits", bad}} {
		b.Run(bc.name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := LoadWith("config.toml", data, nil, bc.overrides); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
