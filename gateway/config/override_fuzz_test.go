package config

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// tight is a file in which much is bound to something else.
var tight = strings.NewReplacer(
	"#plan\n", "caller_rate = \"70/s\"\n",
	"#chat\n", "burst = 300\nmax_rate = \"400/s\"\n",
	"#rule\n", "{ cost = 60 },\n{ route = \"chat\", semantic = \"chat\", rate = \"40/s\", max_rate = \"60/s\", burst = 50 },\n",
	"name = \"paid\"\n", "name = \"paid\"\ncaller_rate = \"55/s\"\nrules = [{ semantic = \"default\", max_wait = \"1s\" }]\n",
).Replace(whole)

// Overrides that get into each other's way: each pair of bytes of a mix is a name and one of its field's values.
var (
	mixNames = strings.Fields(`callers.acme.pool callers.acme.plan callers.visitors.plan callers.visitors.enabled
		flows.acme/chat.rate flows.acme/bulk.rate flows.acme/default.rate flows.visitors/chat.rate
		pools.vip.seats pools.shared.excess_ceiling server.mode
		rules.semantic/chat.rate rules.semantic/chat.burst rules.semantic/chat.cost rules.semantic/chat.level
		rules.semantic/bulk.rate rules.semantic/bulk.burst rules.semantic/bulk.cost rules.semantic/default.cost
		rules.free/*/chat.rate rules.free/*/chat.burst rules.free/*/chat.cost rules.free/*/*.rate rules.free/*/*.burst
		rules.free/*/*.cost rules.free/chat/chat.rate rules.free/chat/chat.cost rules.paid/*/default.rate rules.paid/*/default.burst`)
	mixValues = map[string][]string{
		"pool": {"vip", "shared", "gone"}, "plan": {"free", "paid", "gone"}, "enabled": {"true", "no"}, "mode": {"observe", "off"},
		"seats": {"5", "auto"}, "excess_ceiling": {"0.5", "2"}, "level": {"batch", "low"},
		"rate": {"5/s", "10/s", "40/s", "61/s", "400/min", "100/h", "1/0s"}, "burst": {"0", "5", "45", "60", "400", "4000000000"},
		"cost": {"1", "5", "9", "12", "45", "58", "65", "80"},
	}
)

func mixed(a, b byte) Override {
	name := mixNames[int(a)%len(mixNames)]
	_, _, field := SplitOverride(name)
	values := mixValues[field]
	role := []string{"owner", RoleOperator}[b>>7]
	return Override{Name: name, Value: values[int(b&0x7f)%len(values)], Actor: "bob", Role: role}
}

// What is looked at for one change must be all that the change can break.
func TestOverridesHoldTogetherInAnyMix(t *testing.T) {
	base := load(t, tight)
	rng := rand.New(rand.NewPCG(1, 2))
	inForce := 0
	for range 300 {
		var list []Override
		for range 1 + rng.IntN(12) {
			list = append(list, mixed(byte(rng.Uint32()), byte(rng.Uint32())))
		}
		c, aside := lay(base, list)
		holdTogether(t, c, aside, list)
		inForce += len(c.Overrides)
	}
	if inForce < 600 {
		t.Errorf("only %d overrides were in force", inForce)
	}
	if !reflect.DeepEqual(base, load(t, tight)) {
		t.Error("what the overrides lie on has changed")
	}
}

// FuzzOverride: whatever names and values, the configuration is valid, and each override is either in force
// with its value or set aside with a reason. CheckOverride says the same of one alone.
func FuzzOverride(f *testing.F) {
	for _, s := range []string{
		"callers.acme.pool = vip", "callers.acme.plan = paid", "callers.visitors.enabled = false", "pools.vip.seats = 5",
		"pools.vip.excess_ceiling = 1e-3", "server.mode = observe", "rules.semantic/bulk.rate = 60/s", "rules.free/*/chat.burst = 9223372036854775807",
		"rules.free/*/chat.cost = 20", "flows.acme/bulk.rate = 100/s", "rules.semantic/chat.level = batch", "rules.free/*/*.max_wait = 1h", "callers.a.b.c = x", "... = ",
	} {
		name, value, _ := strings.Cut(s, " = ")
		f.Add(name, value, []byte{12, 13, 18, 17, 21, 14})
	}
	base, err := LoadBytes("config.toml", []byte(tight), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, value string, mix []byte) {
		list := []Override{{Name: name, Value: value, Actor: "ann"}}
		c, aside := lay(base, list)
		holdTogether(t, c, aside, list)
		if err := CheckOverride(base, list[0]); (err == nil) != (len(aside) == 0) {
			t.Fatalf("%v: %v, and set aside %v", list[0], err, aside)
		}
		for len(mix) > 1 && len(list) < 20 {
			list = append(list, mixed(mix[0], mix[1]))
			mix = mix[2:]
		}
		c, aside = lay(base, list)
		holdTogether(t, c, aside, list)
		// What is set aside does not fit: not as the operator's next change either.
		for _, a := range aside {
			if a.Why != "there is a later override of the same name" && CheckOverride(c, a.Override) == nil {
				t.Fatalf("%v: %v would fit beside %v", list, a, c.Overrides)
			}
		}
	})
}

// holdTogether checks what must be true of every configuration with overrides.
func holdTogether(t *testing.T, c *Config, aside []Aside, list []Override) {
	t.Helper()
	if len(c.Overrides)+len(aside) != len(list) {
		t.Fatalf("%v: %v in force, %v aside", list, c.Overrides, aside)
	}
	r := newReport(&c.origin)
	v := newValidator(c, r)
	v.layered = true
	if v.all(); len(r.problems()) > 0 {
		t.Fatalf("%v: %v", list, r.problems())
	}
	for _, o := range c.Overrides {
		to, err := c.finder.find(o.Name)
		if err != nil || c.At(to.key) != "override by "+o.Actor {
			t.Fatalf("%v in force stands at %s, %v", o, c.At(to.key), err)
		}
		before := to.element(c).Interface()
		if err := to.set(c, o.Value); err != nil || !reflect.DeepEqual(before, to.element(c).Interface()) {
			t.Fatalf("%v does not have its value: %+v, %v", o, before, err)
		}
		c.Was(o.Name, "chat")
	}
	for _, o := range c.Overrides {
		to, _ := c.finder.find(o.Name)
		if err := to.withinBound(c.Below(), c, o); err != nil {
			t.Fatalf("%v is in force: %v", o, err)
		}
	}
	for _, a := range aside {
		if a.Why == "" {
			t.Fatalf("%v is set aside without a reason", a.Override)
		}
	}
}
