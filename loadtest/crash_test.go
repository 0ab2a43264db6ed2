package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidegate/loadtest/stage"
)

func TestAfterACrashTheAcknowledgedOrTheWriteUnderWayMayHold(t *testing.T) {
	type found struct{ text, overrides, won bool }
	over := func(pairs ...string) map[string]string {
		m := make(map[string]string)
		for i := 0; i+1 < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, step := range []struct {
		name             string
		pendingText      string
		pendingOverrides map[string]string
		text             string
		overrides        map[string]string
		want             found
	}{
		{"nothing under way", "", nil, "acknowledged", over("a", "1"), found{true, true, false}},
		{"the text under way lost", "pending", nil, "acknowledged", over("a", "1"), found{true, true, false}},
		{"the text under way won", "pending", nil, "pending", over("a", "1"), found{true, true, true}},
		{"half of it", "pending", nil, "pend", over("a", "1"), found{false, true, false}},
		{"one from before", "", nil, "earlier", over("a", "1"), found{false, true, false}},
		{"the override under way won", "", over("a", "2"), "acknowledged", over("a", "2"), found{true, true, true}},
		{"the dropping under way won", "", over(), "acknowledged", over(), found{true, true, true}},
		{"an override lost", "", nil, "acknowledged", over(), found{true, false, false}},
		{"an override of nobody", "", over("a", "2"), "acknowledged", over("a", "3"), found{true, false, false}},
	} {
		l := newLedger([]byte("acknowledged"))
		l.overrides = over("a", "1")
		if step.pendingText != "" {
			l.pendingText = []byte(step.pendingText)
		}
		l.pendingOverrides = step.pendingOverrides
		if under := step.pendingText != "" || step.pendingOverrides != nil; l.underway() != under {
			t.Errorf("%s: under way %v", step.name, l.underway())
		}
		var got found
		got.text, got.overrides, got.won = l.settle([]byte(step.text), step.overrides)
		if got != step.want {
			t.Errorf("%s: %+v, want %+v", step.name, got, step.want)
		}
		// What was found is what holds from now on.
		if again, overrides, won := l.settle([]byte(step.text), step.overrides); !again || !overrides || won || l.underway() {
			t.Errorf("%s: and once more: %v %v %v", step.name, again, overrides, won)
		}
	}
}

func TestAWindowIsKeptWhenItGivesWhatWasLeft(t *testing.T) {
	for _, step := range []struct {
		name string
		w    windowRound
		want bool
	}{
		{"what was left", windowRound{before: 40, after: 60}, true},
		{"one more than was left", windowRound{before: 40, after: 61}, false},
		{"a full window again", windowRound{before: 40, after: 100}, false},
		{"the latest ones forgotten", windowRound{before: 40, recent: 10, after: 70}, true},
		{"more forgotten than was late", windowRound{before: 40, recent: 10, after: 71}, false},
		{"one taken away", windowRound{before: 40, after: 59}, false},
		{"one taken away that was under way", windowRound{before: 40, after: 59, unsure: true}, true},
		{"two taken away", windowRound{before: 40, after: 58, unsure: true}, false},
		{"a 500", windowRound{before: 40, after: 60, unplanned: "status 500"}, false},
	} {
		if got := step.w.kept(); got != step.want {
			t.Errorf("%s: %v", step.name, got)
		}
	}
}

// lookedAt is a run against a fake that is as it should be after a crash during a write.
func lookedAt(t *testing.T) (*crashed, *fakeAdmin) {
	f, admin := newFakeAdmin(t, "first")
	f.take("second")
	f.overrides = []stage.Override{{Name: "pools.shared.seats", Value: "61"}}
	c := &crashed{admin: admin, stage: &stage.Stage{Config: stage.Config{StateDir: t.TempDir()}}, ledger: newLedger([]byte("first"))}
	c.stage.File = f.file
	c.ledger.acknowledge(1)
	c.ledger.hashes[1] = hashOf("first")
	c.ledger.pendingText = []byte("second")
	c.ledger.overrides["pools.shared.seats"] = "61"
	return c, f
}

func TestLookingAfterACrashFindsWhatIsWrong(t *testing.T) {
	touch := func(t *testing.T, dir string, names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, step := range []struct {
		name  string
		alter func(t *testing.T, c *crashed, f *fakeAdmin)
		wrong string // the check; "": none
	}{
		{"good", func(*testing.T, *crashed, *fakeAdmin) {}, ""},
		{"another text", func(_ *testing.T, _ *crashed, f *fakeAdmin) { f.take("third") }, lookConfig},
		{"the file is another", func(t *testing.T, _ *crashed, f *fakeAdmin) { os.WriteFile(f.file, []byte("secon"), 0o600) }, lookConfig},
		{"no file", func(t *testing.T, _ *crashed, f *fakeAdmin) { os.Remove(f.file) }, lookConfig},
		{"another override", func(_ *testing.T, _ *crashed, f *fakeAdmin) { f.overrides[0].Value = "62" }, lookOverrides},
		{"one that does not act", func(_ *testing.T, _ *crashed, f *fakeAdmin) { f.overrides[0].Aside = "no such pool" }, lookOverrides},
		{"no versions", func(_ *testing.T, _ *crashed, f *fakeAdmin) { f.versions = nil }, lookVersions},
		{"the newest does not run", func(_ *testing.T, _ *crashed, f *fakeAdmin) { f.versions[0].Hash = hashOf("third") }, lookVersions},
		{"a version's text has changed", func(_ *testing.T, _ *crashed, f *fakeAdmin) { f.versions[1].Hash = hashOf("third") }, lookVersions},
		{"a number twice", func(_ *testing.T, _ *crashed, f *fakeAdmin) { f.versions[1] = f.versions[0] }, lookVersions},
		{"an acknowledged version lost", func(_ *testing.T, c *crashed, _ *fakeAdmin) { c.ledger.version = 3 }, lookVersions},
		{"as many files as may be", func(t *testing.T, c *crashed, f *fakeAdmin) {
			for i := range mostFiles - 1 {
				touch(t, c.stage.Config.StateDir, fmt.Sprint("version-", i))
			}
			touch(t, c.stage.Config.StateDir, ".x")
			touch(t, filepath.Dir(f.file), "y")
		}, ""},
		{"two unfinished", func(t *testing.T, c *crashed, _ *fakeAdmin) { touch(t, c.stage.Config.StateDir, ".x", ".y") }, lookFiles},
		{"junk beside the config", func(t *testing.T, _ *crashed, f *fakeAdmin) { touch(t, filepath.Dir(f.file), "x", "y") }, lookFiles},
		{"no state.dir", func(_ *testing.T, c *crashed, _ *fakeAdmin) { c.stage.Config.StateDir += "/none" }, lookFiles},
	} {
		c, f := lookedAt(t)
		step.alter(t, c, f)
		c.look(t.Context(), "round 1")
		for check, found := range c.wrong {
			if check != step.wrong {
				t.Errorf("%s: %s: %q", step.name, check, found)
			}
		}
		if step.wrong != "" && len(c.wrong[step.wrong]) == 0 {
			t.Errorf("%s: not found", step.name)
		}
		if step.name == "good" && (c.tally.Won != 1 || c.tally.Versions != 2 || string(c.ledger.text) != "second") {
			t.Errorf("%s: %+v, %s", step.name, c.tally, c.ledger.text)
		}
	}
}

func TestConfigsAndOverridesAreWrittenUntilNobodyAnswers(t *testing.T) {
	p := &putter{config: func(n int) stage.Config { return crashConfig(n, 20) }}
	first, err := p.render(0)
	if err != nil {
		t.Fatal(err)
	}
	f, admin := newFakeAdmin(t, string(first))
	c := &crashed{admin: admin, putter: p, ledger: newLedger(first)}
	for _, write := range []func(context.Context) error{c.writeConfigs, c.writeOverrides} {
		f.mu.Lock()
		f.mute = len(f.versions) + 20 // as if it were killed then
		f.mu.Unlock()
		if err := write(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !c.ledger.underway() {
			t.Error("the write that was not answered is not known to be under way")
		}
		overrides, err := c.readOverrides(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if text, overridden, won := c.ledger.settle([]byte(f.text), overrides); !text || !overridden || !won {
			t.Errorf("afterwards: %v %v %v", text, overridden, won)
		}
	}
	// The last of each 20 was made and not answered.
	if c.tally.Written != 38 || c.ledger.version != 40 {
		t.Errorf("%d written, the last acknowledged is %d", c.tally.Written, c.ledger.version)
	}
	f.mute = 0
	c.admin.Address += "/refused" // answers 404
	if err := c.writeConfigs(t.Context()); err == nil || gone(err) {
		t.Errorf("an answer that refuses: %v", err)
	}
}

func TestTheCrashReportIsPrinted(t *testing.T) {
	c := &crashed{seed: 5, windows: []windowRound{{caller: "window-007", before: 40, recent: 3, after: 62}, {caller: "window-017", before: 50, after: 50}}}
	c.tally = crashTally{Rounds: [3]int{16, 2, 2}, Written: 300, Underway: 15, Won: 6, SlowReady: 120 * time.Millisecond, Versions: 320, Files: 23, Beside: 1}
	good := newCrashReport(c, "go run ./loadtest crash -rounds 20")
	var text bytes.Buffer
	good.print(&text)
	compare(t, "testdata/crash.golden.txt", text.Bytes())
	if !held(good.Checks) {
		t.Errorf("%s", text.String())
	}

	for _, step := range []struct {
		name  string
		alter func(c *crashed)
		fails string
	}{
		{"the kills came between the writes", func(c *crashed) { c.tally.Underway = 8 }, "the kills meet writes"},
		{"a window was not kept", func(c *crashed) { c.windows = append(c.windows, windowRound{caller: "w", before: 50, after: 51}) }, "a window of"},
		{"it did not come up", func(c *crashed) { c.wrong.add(lookReady, "round 3", "exit status 1") }, "the gateway is ready"},
		{"a PUT was refused", func(c *crashed) { c.wrong.add(lookWrites, "round 3", "412") }, "every write"},
		{"a text was lost", func(c *crashed) { c.wrong.add(lookConfig, "round 3", "lost") }, "what runs"},
		{"a version was lost", func(c *crashed) { c.wrong.add(lookVersions, "round 3", "lost") }, "the versions"},
		{"an override was lost", func(c *crashed) { c.wrong.add(lookOverrides, "round 3", "lost") }, "so are the overrides"},
		{"junk", func(c *crashed) { c.wrong.add(lookFiles, "round 3", "junk") }, "nothing piles up"},
	} {
		bad := *c
		step.alter(&bad)
		for _, check := range newCrashReport(&bad, "").Checks {
			if check.Held == strings.HasPrefix(check.Name, step.fails) {
				t.Errorf("%s: %s: held %v", step.name, check.Name, check.Held)
			}
		}
	}
}

func TestOnlyTheFirstViolationsAreKept(t *testing.T) {
	var v violations
	for i := range 100 {
		v.add(lookFiles, fmt.Sprint("round ", i), "%d files", i)
	}
	if found := v[lookFiles]; len(found) != violationsKept || found[0] != "round 0: 0 files" {
		t.Errorf("%q", found)
	}
}

func TestAnAnswerIsToldFromSilence(t *testing.T) {
	refused := fmt.Errorf("cannot put: %w", &stage.Refused{Status: 412})
	if gone(nil) || gone(refused) || !gone(errors.New("connection refused")) {
		t.Error("412 is an answer, a refused connection is none")
	}
}
