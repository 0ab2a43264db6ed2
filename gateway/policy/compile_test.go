package policy

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tidegate/gateway/config"
	"tidegate/scheduler"
)

func TestCompileNamesEveryProblem(t *testing.T) {
	for want, change := range map[string]func(*config.Config){
		`there must be at least one [[levels]]`:               func(c *config.Config) { c.Levels = nil },
		`there must be at least one [[pools]]`:                func(c *config.Config) { c.Pools = nil },
		`pools[1]: name = "shared" is taken`:                  func(c *config.Config) { c.Pools[1].Name = "shared" },
		`semantics[1]: name = "chat" is taken`:                func(c *config.Config) { c.Semantics[1].Name = "chat" },
		`semantics[0]: level = "low" is none of [[levels]]`:   func(c *config.Config) { c.Semantics[0].Level = "low" },
		`there must be a [[semantics]] with name = "default"`: func(c *config.Config) { c.Semantics[2].Name = "other" },
		`semantics[0]: over_rate = "": must be "queue"`:       func(c *config.Config) { c.Semantics[0].OverRate = "" },
		`semantics[0]: over_in_flight = "pace": must be`:      func(c *config.Config) { c.Semantics[0].OverInFlight = "pace" },
		`semantics[0]: semantic "chat": rate = "0/0s"`:        func(c *config.Config) { c.Semantics[0].Rate = config.Rate{} },
		`semantics[0]: semantic "chat": cost = 0`:             func(c *config.Config) { c.Semantics[0].Cost = 0 },
		`semantic "chat": max_wait = "-1ns"`:                  func(c *config.Config) { c.Semantics[0].MaxWait.Duration = -1 },
		`semantic "chat": max_in_flight = -1`:                 func(c *config.Config) { c.Semantics[0].MaxInFlight = -1 },
		`routes[1]: name = "chat" is taken`:                   func(c *config.Config) { c.Routes[1].Name = "chat" },
		`routes[0]: upstream = "x" is none of [[upstreams]]`:  func(c *config.Config) { c.Routes[0].Upstream = "x" },
		`routes[0]: semantics: "x" is none of [[semantics]]`:  func(c *config.Config) { c.Routes[0].Semantics = []string{"x"} },
		`plans[1]: name = "free" is taken`:                    func(c *config.Config) { c.Plans[1].Name = "free" },
		`plans[1]: count_by = "x": must be`:                   func(c *config.Config) { c.Plans[1].CountBy = "x" },
		`plans[1]: weight = 0: must be above 0`:               func(c *config.Config) { c.Plans[1].Weight = 0 },
		`plans[1]: weight = NaN: must be above 0`:             func(c *config.Config) { c.Plans[1].Weight = math.NaN() },
		`plans[1]: caller_rate = "5/2h"`:                      func(c *config.Config) { c.Plans[1].CallerRate = rate("5/2h") },
		`plans[0].rules[1]: rule free/*/* is there already`:   addRule(config.Rule{}),
		`plans[0].rules[1]: rule free/x/*: route = "x" is`:    addRule(config.Rule{Route: "x"}),
		`plans[0].rules[1]: rule free/*/x: semantic = "x" is`: addRule(config.Rule{Semantic: "x"}),
		`rule free/*/chat: level = "x" is none of [[levels]]`: addRule(config.Rule{Semantic: "chat", Level: new("x")}),
		`rule free/*/chat: burst = 5 without a rate`:          addRule(config.Rule{Semantic: "chat", Burst: new(int64(5))}),
		`plans[0].rules[1]: over_rate = "x": must be "queue"`: addRule(config.Rule{Semantic: "chat", OverRate: new("x")}),
		`rule free/*/chat for chat: max_in_flight = -1`:       addRule(config.Rule{Semantic: "chat", MaxInFlight: new(-1)}),
		`callers[1]: id = "acme": every caller needs an id`:   func(c *config.Config) { c.Callers[1].ID = "acme" },
		`callers[1]: id = "": every caller needs an id`:       func(c *config.Config) { c.Callers[1].ID = "" },
		`callers[1]: plan = "x" is none of [[plans]]`:         func(c *config.Config) { c.Callers[1].Plan = "x" },
		`callers[1]: pool = "x" is none of [[pools]]`:         func(c *config.Config) { c.Callers[1].Pool = "x" },
		`callers[1]: semantics: "x" is none of [[semantics]]`: func(c *config.Config) { c.Callers[1].Semantics = []string{"x"} },
		`caller "bolt" is also one of "acme"`:                 func(c *config.Config) { c.Callers[1].Keys[0] = c.Callers[0].Keys[0] },
		`a key of caller "bolt": a sha256 has 64 hex digits`:  func(c *config.Config) { c.Callers[1].Keys[0] = "bolt-key" },
		`a key of caller "bolt": not a sha256`:                func(c *config.Config) { c.Callers[1].Keys[0] = "sha256:" + strings.Repeat("g", 64) },
		`caller "acme" has keys, but identify.anonymous`:      func(c *config.Config) { c.Identify.Anonymous = "acme" },
		`anonymous = "x" is none of [[callers]]`:              func(c *config.Config) { c.Identify.Anonymous = "x" },
	} {
		c, names := exampleConfig(), &Names{}
		change(c)
		if _, err := Compile(c, names, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
		if names.Callers.Name(1) != "" || names.Semantics.Name(1) != "" || names.Routes.Name(1) != "" {
			t.Errorf("%s: a config that failed left names behind", want)
		}
	}
}

func addRule(r config.Rule) func(*config.Config) {
	return func(c *config.Config) { c.Plans[0].Rules = append(c.Plans[0].Rules, r) }
}

func TestCompileSaysAllProblemsAtOnce(t *testing.T) {
	c := exampleConfig()
	c.Semantics[0].Level, c.Routes[0].Path, c.Callers[0].Plan = "x", "x", "x"
	_, err := Compile(c, &Names{}, 1)
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v, want three lines", err)
	}
}

func TestAConfigWithoutCallersAndRoutesIsValid(t *testing.T) {
	c := exampleConfig()
	c.Callers, c.Routes, c.Identify.Anonymous = nil, nil, ""
	p := mustCompile(t, c)
	if p.Anonymous() != nil || p.CallerByKey([]byte("acme-key")) != nil || p.Match(nil, []byte("GET"), []byte("/")) != nil {
		t.Error("found somebody")
	}
}

func TestCallersAreFoundByTheirKeys(t *testing.T) {
	p := mustCompile(t, exampleConfig())
	for key, want := range map[string]string{
		"acme-key": "acme", "bolt-key": "bolt", "bolt-new": "bolt", "gone-key": "gone",
		"": "", "acme": "", "acme-ke": "", "acme-key ": "", "ACME-KEY": "", keyHash("acme-key"): "", strings.Repeat("k", 10_000): "",
	} {
		got := ""
		if c := p.CallerByKey([]byte(key)); c != nil {
			got = c.ID
		}
		if got != want {
			t.Errorf("%.20q: %q, want %q", key, got, want)
		}
	}
	if p.Caller("gone").Enabled || !p.Caller("acme").Enabled {
		t.Error("enabled is not what the file says")
	}
	if a := p.Anonymous(); a != p.Caller("visitor") || !a.Anonymous || p.Caller("acme").Anonymous {
		t.Errorf("anonymous is %+v", a)
	}
}

func TestKeysWithTheSameFirstBytesAreToldApart(t *testing.T) {
	p := mustCompile(t, exampleConfig())
	near, err := config.ParseHash(keyHash("acme-key"))
	if err != nil {
		t.Fatal(err)
	}
	near[31] ^= 1
	other := &Caller{ID: "other"}
	if owner := p.addKey(near, other); owner != nil {
		t.Fatalf("taken by %s", owner.ID)
	}
	if owner := p.addKey(near, other); owner != other {
		t.Error("the second time it is not taken")
	}
	if c := p.CallerByKey([]byte("acme-key")); c != p.Caller("acme") {
		t.Errorf("found %+v", c)
	}
}

func TestCallersThatNameNoPlanOrPoolHaveTheFirst(t *testing.T) {
	p := mustCompile(t, exampleConfig())
	if c := p.Caller("bolt"); c.Plan.Name != "free" || c.Pool != "shared" || c.Plan.ByTenant || c.Plan.CallerRate != nil {
		t.Errorf("bolt: %+v of %+v", c, c.Plan)
	}
	if c := p.Caller("acme"); c.Plan.Name != "paid" || c.Pool != "vip" || !c.Plan.ByTenant || *c.Plan.CallerRate != limitOf(rate("500/s"), 0) {
		t.Errorf("acme: %+v of %+v", c, c.Plan)
	}
}

func TestSetupCountsTheEnabledCallersOfEachPool(t *testing.T) {
	c := exampleConfig()
	c.Limits.MaxFlows, c.Limits.MaxTenants = 9, 8
	p := mustCompile(t, c)
	setup := p.Setup()
	if len(setup.Pools) != 2 || setup.Pools[0].Callers != 3 || setup.Pools[1].Callers != 1 { // bolt, and visitor who stands for many; gone is disabled
		t.Errorf("pools: %+v", setup.Pools)
	}
	if pool := setup.Pools[0]; pool.Name != "shared" || pool.Seats != 64 || pool.ExcessCeiling != 0.8 || pool.MaxWaiting != 20000 {
		t.Errorf("shared: %+v", pool)
	}
	if len(setup.Levels) != 3 || setup.Levels[1] != (scheduler.LevelSetup{Name: "standard", MinShare: 0.1}) {
		t.Errorf("levels: %+v", setup.Levels)
	}
	if setup.MaxFlows != 9 || setup.MaxTenants != 8 {
		t.Errorf("bounds: %+v", setup)
	}
	acme := p.Caller("acme")
	rule := p.Choose(acme, p.Route("chat"), p.Semantic("chat"))
	if terms := acme.Terms(rule); terms.Pool != "vip" || terms.Weight != 3 || terms.Version != 1 || terms.Rule != &rule.Rule || terms.CallerRate != acme.Plan.CallerRate {
		t.Errorf("terms: %+v", terms)
	}
}

func TestANameKeepsItsIndexOverReloads(t *testing.T) {
	names := &Names{}
	c := exampleConfig()
	first, err := Compile(c, names, 1)
	if err != nil {
		t.Fatal(err)
	}
	// bolt leaves, a caller, a semantic and a route come in before all others.
	c = exampleConfig()
	c.Callers = append([]config.Caller{{ID: "new", Enabled: true}}, c.Callers[0], c.Callers[2], c.Callers[3])
	c.Semantics = append([]config.Semantic{semantic("image", "batch", "1/s", 0)}, c.Semantics...)
	c.Routes = append([]config.Route{{Name: "image", Path: "/image", Upstream: "api"}}, c.Routes...)
	second, err := Compile(c, names, 2)
	if err != nil {
		t.Fatal(err)
	}
	third, err := Compile(exampleConfig(), names, 3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, p := range []*Policy{first, second, third} {
		for _, c := range p.Callers() {
			check(t, seen, "caller", c.ID, c.Index, names.Callers.Name(c.Index))
		}
		for _, s := range p.Semantics() {
			check(t, seen, "semantic", s.Name, s.Index, names.Semantics.Name(s.Index))
		}
		for _, r := range p.Routes() {
			check(t, seen, "route", r.Name, r.Index, names.Routes.Name(r.Index))
		}
	}
	if len(seen) != 2*(5+5+5) {
		t.Errorf("%d names and indexes: %v", len(seen), seen)
	}
}

// check holds that name and index belong to each other and to nobody else.
func check(t *testing.T, seen map[string]string, kind, name string, index int32, named string) {
	t.Helper()
	byName, byIndex := kind+" "+name, fmt.Sprintf("%s #%d", kind, index)
	if old, ok := seen[byName]; ok && old != byIndex {
		t.Errorf("%s was %s and is %s", byName, old, byIndex)
	}
	if old, ok := seen[byIndex]; ok && old != byName {
		t.Errorf("%s was %s and is %s", byIndex, old, byName)
	}
	if index < 1 || named != name {
		t.Errorf("%s is called %q", byIndex, named)
	}
	seen[byName], seen[byIndex] = byIndex, byName
}

func TestReloadingTheSameFileLeavesTheNamesAsTheyAre(t *testing.T) {
	names := &Names{}
	for version := range uint64(1000) {
		if _, err := Compile(exampleConfig(), names, version); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(names.Callers.names) + len(names.Semantics.names) + len(names.Routes.names); n != 12 {
		t.Errorf("%d names, want 12", n)
	}
}

// Under the race detector: readers of an old policy, and of each new one while the next is made.
func TestPoliciesAreReadWhileOthersAreCompiled(t *testing.T) {
	names := &Names{}
	var current atomic.Pointer[Policy]
	current.Store(mustCompile(t, exampleConfig()))
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			old := current.Load()
			for !done.Load() {
				for _, p := range []*Policy{old, current.Load()} {
					c := p.CallerByKey([]byte("acme-key"))
					r := p.Match([]byte("h"), []byte("GET"), []byte("/v1/reports/1"))
					s := p.SemanticFor(r, c, nil, nil)
					if rule := p.Choose(c, r, s); rule.Version != p.Version() || s.Name != "export" {
						t.Errorf("version %d: %s, %+v", p.Version(), s.Name, rule)
					}
					if _, err := p.Explain(Query{Caller: "acme", Route: "reports"}, nil); err != nil {
						t.Error(err)
					}
					names.Callers.Name(c.Index)
					p.Setup()
				}
			}
		})
	}
	for version := range uint64(50) {
		c := exampleConfig()
		c.Plans[1].Rules = every()
		p, err := Compile(c, names, version+2)
		if err != nil {
			t.Fatal(err)
		}
		// What was compiled does not hang on the config.
		c.Callers[0], c.Routes[1], c.Plans[1].Rules[0] = config.Caller{}, config.Route{}, config.Rule{}
		*c.Plans[1].Rules[3].Rate = config.Rate{}
		current.Store(p)
	}
	done.Store(true)
	readers.Wait()
}

// What the config takes for a sha256 the policy takes too: else `check` would find the key only when all else is right.
func TestAKeyMayStandWithoutThePrefix(t *testing.T) {
	c := exampleConfig()
	for i := range c.Callers {
		for j, k := range c.Callers[i].Keys {
			c.Callers[i].Keys[j] = strings.TrimPrefix(k, "sha256:")
		}
	}
	p := mustCompile(t, c)
	if got := p.CallerByKey([]byte("acme-key")); got == nil || got.ID != "acme" {
		t.Errorf("found %+v", got)
	}
}
