package config

import (
	"errors"
	"strings"
	"testing"
)

func TestAnOperatorRaisesARateNoFurtherThanOwnersSay(t *testing.T) {
	text := strings.NewReplacer(`semantic = "chat", rate = "10/s"`, `semantic = "chat", rate = "10/s", max_rate = "40/s"`).Replace(whole)
	if text == whole {
		t.Fatal("the rule for chat is not there")
	}
	c := load(t, text)
	for _, tc := range []struct {
		name, value, role string
		bound             string // what the refusal names; "": it is taken
	}{
		{"rules.free/*/chat.rate", "5/s", "operator", ""},
		{"rules.free/*/chat.rate", "40/s", "operator", ""},
		{"rules.free/*/chat.rate", "2400/60s", "operator", ""}, // the same, over a longer span
		{"rules.free/*/chat.rate", "41/s", "operator", "max_rate of free/*/chat"},
		{"rules.free/*/chat.rate", "2401/60s", "operator", "max_rate of free/*/chat"},
		{"rules.free/*/chat.rate", "41/s", "owner", ""},
		{"rules.free/*/chat.rate", "41/s", "", ""}, // made before roles were kept
		{"rules.free/*/chat.burst", "5000", "operator", "a burst of 0"},
		{"rules.free/*/chat.burst", "5000", "owner", ""},
		{"rules.semantic/bulk.rate", "101/s", "operator", "it has no max_rate"},
		{"rules.semantic/bulk.rate", "100/s", "operator", ""},
		{"flows.acme/chat.rate", "40/s", "operator", ""},
		{"flows.acme/chat.rate", "41/s", "operator", "max_rate of free/*/chat"},
		{"flows.acme/chat.rate", "41/s", "owner", ""},
		{"flows.acme/bulk.rate", "101/s", "operator", "rate of semantic/bulk in the file"},
	} {
		err := CheckOverride(c, Override{Name: tc.name, Value: tc.value, Actor: "ann", Role: tc.role})
		var bound *BoundError
		switch {
		case tc.bound == "" && err != nil:
			t.Errorf("%s = %s by %q: %v", tc.name, tc.value, tc.role, err)
		case tc.bound != "" && (!errors.As(err, &bound) || !strings.Contains(err.Error(), tc.bound)):
			t.Errorf("%s = %s by %q: %v; want a bound that names %q", tc.name, tc.value, tc.role, err, tc.bound)
		}
	}
}

// What an operator has set stands as long as the owner lets him: a bound that is lowered later sets it aside.
func TestABoundThatIsLoweredSetsAsideWhatIsAboveIt(t *testing.T) {
	o := Override{Name: "flows.acme/chat.rate", Value: "30/s", Actor: "ann", Role: "operator"}
	wide := strings.NewReplacer(`semantic = "chat", rate = "10/s"`, `semantic = "chat", rate = "10/s", max_rate = "40/s"`).Replace(whole)
	if _, aside := loadWith(t, wide, []Override{o}); len(aside) > 0 {
		t.Errorf("set aside: %s", aside[0].Why)
	}
	c, aside := loadWith(t, whole, []Override{o})
	if len(aside) != 1 || !strings.Contains(aside[0].Why, "at most 10/s") || len(c.Callers[0].Flows) > 0 && !c.Callers[0].Flows[0].Rate.IsZero() {
		t.Errorf("%+v, %+v", aside, c.Callers[0].Flows)
	}
}

func TestAFlowsNameIsSaidToBeWrongWhereItIs(t *testing.T) {
	c := load(t, whole)
	for name, want := range map[string]string{
		"flows.acme.rate":            "CALLER/SEMANTIC",
		"flows.acmee/chat.rate":      `no caller "acmee"; did you mean "acme"`,
		"flows.acme/chatt.rate":      `no semantic "chatt"`,
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
