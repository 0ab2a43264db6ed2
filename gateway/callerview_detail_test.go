package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
	"tidegate/gateway/policy"
)

func TestACallersRulesAreToldForEachRouteAndSemantic(t *testing.T) {
	d := newDesk(t, changed(t, basic, `rules = [ {`, "rules = [ { route = \"mixed\", rate = \"50/s\" }, {"))
	rules := func(id string) (list []string) {
		of, ok := d.g.callerDetail(id)
		if !ok {
			t.Fatalf("%s is not known", id)
		}
		for _, r := range of.Rules {
			list = append(list, fmt.Sprintf("%s %s %v %s %s", r.Route, r.Semantic, r.Registered, r.Rule, r.Rate))
			if !strings.Contains(r.At, "config.toml:") || r.Level == "" || r.OverRate == "" || r.FileRate != r.Rate || r.Overrides == nil {
				t.Errorf("%+v", r)
			}
		}
		return list
	}
	for id, want := range map[string]string{
		"ann": `chat chat true semantic/chat 100/s
chat default false semantic/default 2/s
reports export true plain/*/export 3/s
reports default false semantic/default 2/s
mixed chat true plain/mixed/* 50/s
mixed export true plain/mixed/* 50/s
mixed default false semantic/default 2/s
open chat true semantic/chat 100/s
open default false semantic/default 2/s`,
		"vip": `chat chat true semantic/chat 100/s
chat default false semantic/default 2/s
reports default false semantic/default 2/s
mixed chat true plain/mixed/* 50/s
mixed default false semantic/default 2/s
open chat true semantic/chat 100/s
open default false semantic/default 2/s`,
	} {
		if got := strings.Join(rules(id), "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", id, got, want)
		}
	}
	if _, ok := d.g.callerDetail("nobody"); ok {
		t.Error("who is not in the configuration is told of")
	}
}

func TestOverridesThatConcernACallerAreTold(t *testing.T) {
	d := newDesk(t, basic)
	for _, o := range []config.Override{
		{Name: "rules.plain/*/export.rate", Value: "2/s"},
		{Name: "callers.bob.enabled", Value: "false"},
		{Name: "callers.ann.pool", Value: "vip"},
		{Name: "pools.vip.seats", Value: "3"},
		{Name: "pools.shared.seats", Value: "4"},
		{Name: "rules.semantic/default.rate", Value: "1/s"},
	} {
		if _, err := d.control().SetOverride(console.Change{Actor: "ops", Role: "owner"}, o); err != nil {
			t.Fatal(err)
		}
	}
	overrides := func(id string) map[string]bool {
		of, _ := d.g.callerDetail(id)
		names := map[string]bool{}
		for _, o := range of.Overrides {
			names[o.Name] = true
		}
		return names
	}
	for id, want := range map[string]string{
		"ann": "map[callers.ann.pool:true pools.vip.seats:true rules.plain/*/export.rate:true rules.semantic/default.rate:true]",
		"bob": "map[callers.bob.enabled:true pools.shared.seats:true rules.semantic/default.rate:true]",
		"vip": "map[pools.vip.seats:true rules.semantic/default.rate:true]",
	} {
		if got := fmt.Sprint(overrides(id)); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	of, _ := d.g.callerDetail("ann")
	if of.Caller.Pool != "vip" {
		t.Errorf("%+v", of.Caller)
	}
	for _, r := range of.Rules {
		if r.Semantic == "export" && r.Route == "reports" && (r.Rate != "2/s" || r.FileRate != "3/s" ||
			fmt.Sprint(r.Overrides) != "[rules.plain/*/export.rate callers.ann.pool pools.vip.seats]") {
			t.Errorf("%+v", r)
		}
	}
	if of, _ := d.g.callerDetail("bob"); of.Caller.Enabled || of.Caller.Standing == "" {
		t.Errorf("paused a moment ago: %+v", of.Caller)
	}
}

// One that is set aside has no part in any rule, and is told with whom it names all the same.
func TestAnOverrideThatIsSetAsideIsToldWithItsCaller(t *testing.T) {
	var all []console.OverrideView
	for _, name := range []string{"callers.vip.pool", "callers.vip2.pool", "flows.vip/chat.rate", "flows.vip2/chat.rate", "rules.a/b/c.rate", "server.mode"} {
		all = append(all, console.OverrideView{Override: config.Override{Name: name}, Aside: "it does not fit"})
	}
	var names []string
	for _, o := range overridesOf(all, &policy.Caller{ID: "vip"}, map[string]bool{"server.mode": true}) {
		names = append(names, o.Name)
	}
	if fmt.Sprint(names) != "[callers.vip.pool flows.vip/chat.rate server.mode]" {
		t.Errorf("%v", names)
	}
}

func TestACallersDetailHasOnlyWhatIsItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		w.gather(5, "GET /v1/reports/x", "X-API-Key: ann") // 3/s
		for range 7 {
			w.do("GET /v1/chat/x", "X-API-Key: ann")
		}
		w.do("GET /v1/chat/x", "X-API-Key: bob")
		w.do("GET /v1/chat/x", "X-API-Key: off")
		for i := range 250 {
			w.do("GET /v1/chat/x", "X-API-Key: shop", fmt.Sprintf("X-Tenant-Id: t%d", i))
		}
		w.nextCensus()
		ann, _ := w.g.callerDetail("ann")
		if len(ann.Flows) != 2 || len(ann.Refusals) != 2 || ann.Refusals[0].Caller != "ann" || ann.Refusals[0].Code != "rate_exceeded" || ann.Caller.FlowsTotal != 2 {
			t.Errorf("%+v", ann)
		}
		if of := ann.Caller.Semantics; of[0].Semantic != "export" || of[1].Rate <= of[0].Rate {
			t.Errorf("what needs attention comes first, though less comes of it: %+v", of)
		}
		for _, f := range ann.Flows {
			if f.Caller != "ann" || f.Semantic == "export" && (f.Admitted != 3 || f.Refused != 2 || f.Rule != "plain/*/export" || f.Standing != "throttled") {
				t.Errorf("%+v", f)
			}
		}
		if off, _ := w.g.callerDetail("off"); len(off.Refusals) != 1 || off.Flows == nil || len(off.Flows) != 0 || off.Surges == nil || off.Overrides == nil || off.Registrations == nil {
			t.Errorf("%+v", off)
		}
		if shop, _ := w.g.callerDetail("shop"); len(shop.Flows) != console.MaxFlows || shop.Caller.FlowsTotal != 250 || len(shop.Caller.Semantics) != 1 {
			t.Errorf("%d flows, %+v", len(shop.Flows), shop.Caller)
		}
	})
}

func TestRegistrationsAndTroublesAreShownWhereThereAreAny(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		if s := w.snapshot(); len(s.Troubles) != 0 || s.RegistrationsWaiting != 0 {
			t.Errorf("%+v", s)
		}
		w.g.registrationsOf = func(caller string) []console.RegistrationView {
			if caller == "ann" {
				return []console.RegistrationView{{Caller: caller, Semantic: "export"}}
			}
			return nil
		}
		w.g.registrationsWaiting = func() int { return 3 }
		w.g.troubles = func() []console.TroubleView { return []console.TroubleView{{What: "history", Since: time.Now()}} }
		if s := w.snapshot(); len(s.Troubles) != 1 || s.RegistrationsWaiting != 3 {
			t.Errorf("%+v", s)
		}
		ann, _ := w.g.callerDetail("ann")
		bob, _ := w.g.callerDetail("bob")
		if len(ann.Registrations) != 1 || bob.Registrations == nil || len(bob.Registrations) != 0 {
			t.Errorf("%+v, %+v", ann.Registrations, bob.Registrations)
		}
	})
}
