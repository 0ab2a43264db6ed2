package config

import (
	"errors"
	"strings"
	"testing"
)

// bounded has rules that complete one another: plan free has a rule for chat, one for the route chat and one for any
// semantic that leaves the rate to it; paid leaves all to the semantics.
var bounded = strings.NewReplacer(
	`semantic = "chat", rate = "10/s" }`, `semantic = "chat", rate = "10/s", max_rate = "40/s" }`,
	"#rule\n", `{ route = "chat", cost = 2 },`+"\n"+`{ semantic = "bulk", max_rate = "120/s" },`+"\n"+`{ max_wait = "1s" },`+"\n",
	"#chat\n", "max_rate = \"300/s\"\nburst = 400\n",
	`semantics = ["chat"]`+"\n#route\n", `semantics = ["chat"]`+"\n[[routes]]\nname = \"mixed\"\npath = \"/v1/mixed/*\"\nupstream = \"api\"\nsemantics = [\"chat\", \"bulk\", \"mail\"]\n",
	"#end\n", "[[semantics]]\nname = \"mail\"\nlevel = \"batch\"\nrate = \"30/s\"\n[[callers]]\nid = \"zoe.eu\"\nplan = \"paid\"\n",
).Replace(whole)

func TestAnOperatorRaisesARateNoFurtherThanOwnersSay(t *testing.T) {
	c := load(t, bounded)
	for _, tc := range []struct {
		name, value, role string
		refused           string // what the refusal says; "": it is taken
	}{
		{"rules.free/*/chat.rate", "5/s", "operator", ""},
		{"rules.free/*/chat.rate", "40/s", "operator", ""},
		{"rules.free/*/chat.rate", "20/500ms", "operator", ""}, // the same, over a shorter span
		{"rules.free/*/chat.rate", "41/s", "operator", "may raise it to 40/s, the max_rate of free/*/chat; more is an owner's to give"},
		{"rules.free/*/chat.rate", "2401/60s", "operator", "may raise it to 40/s, the max_rate of free/*/chat"},
		{"rules.free/*/chat.rate", "2400/60s", "operator", "2400/60s lets 2400 come at once, and by free/*/chat it is at most 40; write the same over a shorter span"},
		{"rules.free/*/chat.rate", "41/s", "owner", ""},
		{"rules.free/*/chat.rate", "41/s", "", ""}, // made before roles were kept
		{"rules.free/*/chat.burst", "1", "operator", "may not give free/*/chat a burst: in the file it has none"},
		{"rules.free/*/chat.burst", "5000", "owner", ""},
		{"rules.free/*/chat.cost", "2", "operator", ""},
		{"rules.free/*/chat.max_wait", "9s", "operator", ""},
		{"rules.semantic/bulk.cost", "49", "operator", "may not lower the cost below 50, which semantic/bulk has in the file"},
		{"rules.semantic/bulk.cost", "49", "owner", ""},
		{"rules.semantic/bulk.rate", "100/s", "operator", ""},
		{"rules.semantic/bulk.rate", "101/s", "operator", "may set at most 100/s, the rate of semantic/bulk in the file, which has no max_rate"},
		// A rule that leaves the rate to the semantic is bounded by that one's max_rate, or by its own.
		{"rules.free/*/bulk.rate", "120/s", "operator", ""},
		{"rules.free/*/bulk.rate", "121/s", "operator", "120/s, the max_rate of free/*/bulk"},
		{"rules.free/chat/*.rate", "300/s", "operator", ""},
		{"rules.free/chat/*.rate", "301/s", "operator", "300/s, the max_rate of free/chat/*"},
		{"rules.free/*/*.rate", "30/s", "operator", ""}, // for mail: chat and bulk have rules of their own
		{"rules.free/*/*.rate", "31/s", "operator", "30/s, the rate of free/*/*"},
		// A bucket's burst may be lowered, and its rate's amount counts as it would without it.
		{"rules.semantic/chat.burst", "400", "operator", ""},
		{"rules.semantic/chat.burst", "401", "operator", "a burst of at most 400, which semantic/chat has in the file"},
		{"rules.semantic/chat.rate", "400/2s", "operator", ""},
		{"rules.semantic/chat.rate", "600/2s", "operator", "lets 600 come at once, and by semantic/chat it is at most 400"},
		// One caller's flow: all rules that it meets bound it.
		{"flows.acme/chat.rate", "40/s", "operator", ""},
		{"flows.acme/chat.rate", "41/s", "operator", "max_rate of free/*/chat"},
		{"flows.acme/chat.rate", "41/s", "owner", ""},
		{"flows.acme/bulk.rate", "120/s", "operator", ""},
		{"flows.acme/bulk.rate", "121/s", "operator", "max_rate of free/*/bulk"},
		{"flows.acme/mail.rate", "31/s", "operator", "the rate of free/*/*"},
		{"flows.zoe.eu/chat.rate", "300/s", "operator", ""},
		{"flows.zoe.eu/chat.rate", "301/s", "operator", "max_rate of semantic/chat"},
		{"flows.zoe.eu/default.rate", "6/s", "operator", "the rate of semantic/default"},
		{"flows.zoe.eu/default.rate", "5/2s", "operator", ""},
	} {
		err := CheckOverride(c, Override{Name: tc.name, Value: tc.value, Actor: "ann", Role: tc.role})
		var bound *BoundError
		switch {
		case tc.refused == "" && err != nil:
			t.Errorf("%s = %s by %q: %v", tc.name, tc.value, tc.role, err)
		case tc.refused != "" && (!errors.As(err, &bound) || !strings.Contains(err.Error(), tc.refused)):
			t.Errorf("%s = %s by %q: %v; want %q", tc.name, tc.value, tc.role, err, tc.refused)
		}
	}
}

// The bound of a caller's flow is of the plan that the caller has now.
func TestAMovedCallersFlowIsBoundedByTheNewPlan(t *testing.T) {
	moved := Override{Name: "callers.acme.plan", Value: "paid", Actor: "olga", Role: "owner"}
	flow := Override{Name: "flows.acme/chat.rate", Value: "200/s", Actor: "ann", Role: RoleOperator}
	c, _ := loadWith(t, bounded, []Override{moved})
	if err := CheckOverride(c, flow); err != nil {
		t.Errorf("in the plan paid: %v", err)
	}
	if _, aside := loadWith(t, bounded, []Override{flow, moved}); len(aside) > 0 {
		t.Errorf("set aside: %v", aside)
	}
	// Moved back, what the operator has set is too much, and nothing else suffers from it.
	mail := Override{Name: "flows.acme/mail.rate", Value: "3/s", Actor: "ann", Role: RoleOperator}
	c, aside := loadWith(t, bounded, []Override{flow, mail})
	if len(aside) != 1 || aside[0].Override.Name != flow.Name || !strings.Contains(aside[0].Why, "40/s") {
		t.Errorf("set aside: %v", aside)
	}
	if len(c.Callers[0].Flows) != 1 || c.Callers[0].Flows[0].Semantic != "mail" {
		t.Errorf("%+v", c.Callers[0].Flows)
	}
}

// What an operator has set stands as long as the owner lets him: a bound that is lowered later sets it aside, and what did
// not go together with it has its room.
func TestABoundThatIsLoweredSetsAsideWhatIsAboveIt(t *testing.T) {
	low := strings.Replace(bounded, `max_rate = "40/s"`, `max_rate = "20/s"`, 1)
	over := []Override{
		{Name: "flows.acme/chat.rate", Value: "40/s", Actor: "ann", Role: RoleOperator},
		{Name: "rules.free/*/chat.rate", Value: "30/s", Actor: "olga", Role: "owner"},
		{Name: "rules.free/*/chat.burst", Value: "60", Actor: "olga", Role: "owner"},
		{Name: "rules.free/*/chat.cost", Value: "50", Actor: "olga", Role: "owner"},
	}
	if _, aside := loadWith(t, bounded, over); len(aside) != 1 || aside[0].Override.Name != "rules.free/*/chat.cost" {
		t.Errorf("set aside: %v", aside)
	}
	c, aside := loadWith(t, low, over)
	if len(aside) != 1 || aside[0].Override.Name != "flows.acme/chat.rate" || !strings.Contains(aside[0].Why, "may raise it to 20/s") {
		t.Errorf("set aside: %v", aside)
	}
	if len(c.Callers[0].Flows) != 0 || *c.Plans[0].Rules[0].Cost != 50 {
		t.Errorf("%+v, %+v", c.Callers[0].Flows, c.Plans[0].Rules[0])
	}
}

// A flow's rate and a rule's cost are held against one another whichever comes first.
func TestAFlowsRateMustPayWhatItsRulesCost(t *testing.T) {
	for _, tc := range []struct{ first, second, want string }{
		{"flows.acme/chat.rate = 5/s", "rules.free/*/chat.cost = 6", `callers.acme.flows.chat.rate = "5/s": one chat costs 6: more than the rate 5/s holds`},
		{"rules.free/*/chat.cost = 6", "flows.acme/chat.rate = 5/s", "one chat costs 6: more than the rate 5/s holds, so that it could never be paid; write the same over a longer span"},
		{"rules.free/*/chat.cost = 6", "flows.acme/chat.rate = 6/1200ms", ""},
		{"flows.acme/chat.rate = 40/s", "callers.acme.plan = paid", ""},
		// Bulk costs 50 wherever it comes, and never by the route chat, which does not accept it.
		{"rules.free/chat/*.cost = 300", "flows.acme/bulk.rate = 50/s", ""},
	} {
		over := over(tc.first, tc.second)
		c, aside := loadWith(t, bounded, over[:1])
		if len(aside) > 0 {
			t.Fatalf("%s: %v", tc.first, aside)
		}
		_, aside = loadWith(t, bounded, over)
		err := CheckOverride(c, over[1])
		if tc.want == "" {
			if err != nil || len(aside) > 0 {
				t.Errorf("%s after %s: %v, %v", tc.second, tc.first, err, aside)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || len(aside) != 1 || aside[0].Override.Name != over[1].Name || !strings.Contains(aside[0].Why, tc.want) {
			t.Errorf("%s after %s: %v, %v; want %q", tc.second, tc.first, err, aside, tc.want)
		}
	}
}

func TestAFlowsNameIsSaidToBeWrongWhereItIs(t *testing.T) {
	c := load(t, whole)
	for name, want := range map[string]string{
		"flows.acme.rate":            "CALLER/SEMANTIC",
		"flows.acmee/chat.rate":      `no caller "acmee"; did you mean "acme"`,
		"flows.acme/chatt.rate":      `the file has no semantic "chatt"; did you mean "chat"?`,
		"flows.acme/chat.cost":       "an override of flows sets rate",
		"flows./chat.rate":           "no caller",
		"flows.acme/semantic/x.rate": "no caller",
	} {
		if err := CheckOverride(c, Override{Name: name, Value: "1/s"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	if err := CheckOverride(c, Override{Name: "flows.acme/bulk.rate", Value: "1/s"}); err == nil || !strings.Contains(err.Error(), "costs") {
		t.Errorf("a rate that never pays what bulk costs: %v", err)
	}
}
