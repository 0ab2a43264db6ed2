package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// A check finds what a load would, and where.
func TestACheckSaysWhatALoadWould(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), basic, mirror)
		if _, err := (control{w.g}).SetOverride(ops, config.Override{Name: "callers.bob.pool", Value: "vip"}); err != nil {
			t.Fatal(err)
		}
		check := func(text string) console.CheckView { return w.g.checkConfig([]byte(hashed(text))) }
		if v := check(basic); !v.OK || v.Diff != "" || len(v.Problems)+len(v.RestartNeeded)+len(v.Asides) != 0 {
			t.Errorf("what is in force: %+v", v)
		}
		v := check(changed(t, basic, "[[pools]]\nname = \"vip\"", "[[pools]]\nname = \"other\"", "pool = \"vip\"", "pool = \"other\"", `level = "debug"`, "level = \"debug\"\nformat = \"console\""))
		if !v.OK || len(v.Asides) != 1 || v.Asides[0].Name != "callers.bob.pool" || v.Asides[0].Aside == "" || len(v.RestartNeeded) != 1 || v.RestartNeeded[0] != "log.format" {
			t.Errorf("%+v", v)
		}
		if !strings.Contains(v.Diff, "\n-name = \"vip\"\n+name = \"other\"\n") {
			t.Errorf("the diff is %s", v.Diff)
		}
		v = check(changed(t, basic, `rate = "100/s"`, `rate = "often"`, "plan = \"tenants\"", "plan = \"tenant\""))
		if v.OK || v.Diff != "" || len(v.Problems) != 2 || v.Problems[0].Line == 0 || v.Problems[1].Line <= v.Problems[0].Line || v.Problems[1].Name != "callers.shop.plan" {
			t.Errorf("%+v", v)
		}
		if n := w.g.live.Load().version; n != 2 {
			t.Errorf("version %d is in force after looking", n)
		}
	})
}

// What only shows when everything is put together is told fault by fault, each with its place.
func TestFaultsOfTheWholeHaveTheirPlacesToo(t *testing.T) {
	g := &Gateway{options: Options{Path: "a/tide.toml"}}
	err := errors.Join(
		errors.New("a/tide.toml:12:3: rule x: there already"), errors.Join(errors.New("a/tide.toml:7: no such"), errors.New("identify: odd: 3")),
		config.Problems{{File: "a/tide.toml", Line: 2, Message: "first"}, {File: "a/tide.toml", Line: 3, Message: "second"}}, errors.New("a/tide.toml:x"),
	)
	var got []string
	for _, p := range g.problemsOf(err, nil) {
		got = append(got, fmt.Sprintf("%s %d %d %s", p.File, p.Line, p.Column, p.Message))
	}
	want := []string{
		"a/tide.toml 12 3 rule x: there already", "a/tide.toml 7 0 no such", "a/tide.toml 0 0 identify: odd: 3",
		"a/tide.toml 2 0 first", "a/tide.toml 3 0 second", "a/tide.toml 0 0 a/tide.toml:x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
