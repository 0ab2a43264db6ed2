package gateway

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// desk is a gateway that does not run, its config file and its state directory.
type desk struct {
	t    *testing.T
	g    *Gateway
	path string
	dir  string
	log  *logBuffer
}

// newDesk starts a gateway on a file of its own.
func newDesk(t *testing.T, text string) *desk {
	t.Helper()
	d := &desk{t: t, path: filepath.Join(t.TempDir(), "config.toml"), dir: filepath.Join(t.TempDir(), "state"), log: &logBuffer{}}
	d.write(text)
	d.restart()
	return d
}

func (d *desk) write(text string) {
	d.t.Helper()
	if err := os.WriteFile(d.path, []byte(hashed(text)), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// restart makes another gateway of the same files, as a new process would.
func (d *desk) restart() {
	d.t.Helper()
	text := d.onDisk()
	c, err := config.LoadBytes(d.path, []byte(text), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	if d.g, err = New(c, Options{Path: d.path, Text: []byte(text), State: d.dir, Version: "test", NoDate: true, Log: jsonLog(d.log)}); err != nil {
		d.t.Fatal(err)
	}
	g := d.g
	d.t.Cleanup(g.sample.Close)
}

func (d *desk) onDisk() string {
	d.t.Helper()
	text, err := os.ReadFile(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

func (d *desk) control() control { return control{d.g} }

func (d *desk) etag() string {
	_, tag := d.control().Text()
	return tag
}

// seats is the number in force for the first pool.
func (d *desk) seats() int { return d.g.live.Load().config.Pools[0].Seats.N }

var ops = console.Change{Actor: "ops", From: "127.0.0.1", Reason: "trying"}

// put wants a change to hold.
func (d *desk) put(text string) *console.Changed {
	d.t.Helper()
	done, err := d.control().Put(ops, d.etag(), []byte(hashed(text)))
	if err != nil {
		d.t.Fatal(err)
	}
	return done
}

// fails wants a change not to be made, with a code, and nothing to be different.
func (d *desk) fails(code string, change func() (*console.Changed, error)) *console.Failure {
	d.t.Helper()
	text, before := d.onDisk(), d.g.live.Load()
	_, err := change()
	var failure *console.Failure
	if !errors.As(err, &failure) || failure.Code != code {
		d.t.Fatalf("%v, want %s", err, code)
	}
	if d.g.live.Load() != before || d.onDisk() != text {
		d.t.Errorf("%s, and something has changed", code)
	}
	return failure
}

func TestAWrittenConfigIsInTheFileInForceAndAVersion(t *testing.T) {
	d := newDesk(t, basic)
	first := d.etag()
	done := d.put(withSeats(t, 9))
	if !done.Changed || done.Version != 2 || d.seats() != 9 || d.onDisk() != hashed(withSeats(t, 9)) {
		t.Errorf("%+v, %d seats", done, d.seats())
	}
	versions := d.control().Versions()
	if len(versions) != 2 {
		t.Fatalf("%d versions", len(versions))
	}
	v := versions[0]
	if v.Number != 2 || v.Actor != "ops" || v.From != "127.0.0.1" || v.Reason != "trying" || v.Source != "api" || v.Text != d.onDisk() || v.Hash != done.Hash ||
		!strings.Contains(v.Diff, "-seats = 2\n+seats = 9\n") {
		t.Errorf("%+v", v)
	}
	if v := versions[1]; v.Number != 1 || v.Source != "start" || v.Text != hashed(basic) {
		t.Errorf("%+v", v)
	}
	f := d.fails(console.CodePrecondition, func() (*console.Changed, error) {
		return d.control().Put(ops, first, []byte(hashed(withSeats(t, 10))))
	})
	if f.ETag != d.etag() {
		t.Errorf("the failure names %s and in force is %s", f.ETag, d.etag())
	}
	if done := d.put(withSeats(t, 9)); done.Changed || done.Version != 2 {
		t.Errorf("the same again: %+v", done)
	}
}

func TestAFaultyConfigIsNotWritten(t *testing.T) {
	d := newDesk(t, basic)
	f := d.fails(console.CodeConfigInvalid, func() (*console.Changed, error) {
		return d.control().Put(ops, d.etag(), []byte(hashed(changed(t, basic, "seats = 2", "seats = -2", `rate = "100/s"`, `rate = "no"`))))
	})
	if len(f.Problems) != 2 || f.Problems[0].Line == 0 {
		t.Errorf("%+v", f.Problems)
	}
	if s := d.g.snapshot().Config; s.Error != "" {
		t.Errorf("the file is good, and yet: %s", s.Error)
	}
}

// Whoever edits the file by hand has the word: an operator at the console must have seen it.
func TestAnEditOnDiskIsNotOverwrittenUnseen(t *testing.T) {
	d := newDesk(t, basic)
	d.write(withSeats(t, 5) + "# half an ed")
	d.fails(console.CodePrecondition, func() (*console.Changed, error) {
		return d.control().Put(ops, d.etag(), []byte(hashed(withSeats(t, 6))))
	})
	if done, err := d.control().Reload(ops); err != nil || !done.Changed || d.seats() != 5 {
		t.Fatalf("%+v, %v", done, err)
	}
	d.write("nonsense")
	d.fails(console.CodeConfigInvalid, func() (*console.Changed, error) { return d.control().Reload(ops) })
	if s := d.g.snapshot().Config; s.Error == "" {
		t.Error("the file is bad, and nothing says so")
	}
	// One step back is always there, also over a file that is broken.
	if _, err := d.control().Rollback(ops, "", 2); err != nil {
		t.Fatal(err)
	}
	if d.onDisk() != hashed(withSeats(t, 5)+"# half an ed") || d.g.snapshot().Config.Error != "" {
		t.Errorf("%q, %+v", d.onDisk(), d.g.snapshot().Config)
	}
}

func TestRollbackBringsTheBytesBack(t *testing.T) {
	odd := strings.ReplaceAll(basic, "\n", "\r\n") + "# no end of line"
	d := newDesk(t, odd)
	for n := 3; n < 6; n++ {
		d.put(withSeats(t, n))
	}
	done, err := d.control().Rollback(console.Change{Actor: "ops"}, d.etag(), 1)
	if err != nil || done.Version != 5 {
		t.Fatalf("%+v, %v", done, err)
	}
	if d.onDisk() != hashed(odd) || d.seats() != 2 {
		t.Errorf("%d seats, and the file is\n%q", d.seats(), d.onDisk())
	}
	if v := d.control().Versions()[0]; v.Source != "rollback" || v.Reason != "back to version 1" {
		t.Errorf("%+v", v)
	}
	d.fails(console.CodeVersionUnknown, func() (*console.Changed, error) { return d.control().Rollback(ops, "", 77) })
	d.fails(console.CodePrecondition, func() (*console.Changed, error) { return d.control().Rollback(ops, `"older"`, 2) })
}

func TestVersionsGoOnAfterARestart(t *testing.T) {
	d := newDesk(t, basic)
	d.put(withSeats(t, 3))
	d.restart()
	if v := d.g.live.Load().version; v != 2 || len(d.control().Versions()) != 2 {
		t.Errorf("the same configuration is version %d of %d", v, len(d.control().Versions()))
	}
	d.write(withSeats(t, 4)) // while nothing ran
	d.restart()
	if v := d.control().Versions()[0]; v.Number != 3 || v.Source != "start" || !strings.Contains(v.Diff, "+seats = 4") {
		t.Errorf("%+v", v)
	}
	for n := range 30 {
		d.put(withSeats(t, 10+n))
	}
	if v := d.control().Versions(); len(v) != config.KeptVersions || v[0].Number != 33 || v[len(v)-1].Number != 33-config.KeptVersions+1 {
		t.Errorf("%d versions, from %d to %d", len(v), v[0].Number, v[len(v)-1].Number)
	}
}

func TestAnOverrideLiesAboveTheFileUntilItIsTakenBack(t *testing.T) {
	d := newDesk(t, basic)
	text := d.onDisk()
	set := func(name, value string, until *time.Time) *console.Changed {
		t.Helper()
		done, err := d.control().SetOverride(ops, config.Override{Name: name, Value: value, Until: until})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if done := set("callers.ann.pool", "vip", nil); !done.Changed || done.Version != 2 {
		t.Errorf("%+v", done)
	}
	set("rules.plain/*/export.rate", "1/s", nil)
	ann := func() string { return d.g.live.Load().policy.Caller("ann").Pool }
	export := func() string {
		e, err := d.g.explain(console.ExplainQuery{Caller: "ann", Route: "reports"})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(e)
	}
	if ann() != "vip" || !strings.Contains(export(), "1/s, a sliding window") || d.onDisk() != text {
		t.Errorf("ann is in %s; %s", ann(), export())
	}
	if v := d.control().Versions()[0]; v.Source != "override" || v.Actor != "ops" || v.Reason != "trying" || !strings.Contains(v.Diff, "plain/*/export.rate") || len(v.Overrides) != 2 {
		t.Errorf("%+v", v)
	}

	// It outlives other changes, and a restart.
	d.put(withSeats(t, 3))
	d.restart()
	if ann() != "vip" || d.seats() != 3 || len(d.control().Overrides()) != 2 {
		t.Errorf("after a restart ann is in %s", ann())
	}
	// A file without what it names sets it aside, and it comes back with it.
	d.put(changed(t, withSeats(t, 3), "[[pools]]\nname = \"vip\"", "[[pools]]\nname = \"gold\"", `pool = "vip"`, `pool = "gold"`))
	if views := d.control().Overrides(); ann() != "shared" || views[0].Aside == "" || views[1].Aside != "" {
		t.Errorf("ann is in %s; %+v", ann(), views)
	}
	d.put(withSeats(t, 3))
	if views := d.control().Overrides(); ann() != "vip" || views[0].Aside != "" {
		t.Errorf("ann is in %s; %+v", ann(), views)
	}
	if _, err := d.control().DropOverride(ops, "callers.ann.pool"); err != nil || ann() != "shared" {
		t.Errorf("ann is in %s, %v", ann(), err)
	}
	d.fails(console.CodeOverrideUnknown, func() (*console.Changed, error) { return d.control().DropOverride(ops, "callers.ann.pool") })
	for name, value := range map[string]string{"callers.ann.pool": "gold", "callers.nobody.pool": "vip", "server.listen": ":1", "rules.plain/*/export.rate": "fast", "": ""} {
		d.fails(console.CodeOverrideInvalid, func() (*console.Changed, error) {
			return d.control().SetOverride(ops, config.Override{Name: name, Value: value})
		})
	}
}

func TestAnOverrideEndsWhenItsTimeIsOver(t *testing.T) {
	d := newDesk(t, basic)
	now := time.Now()
	soon, later := now.Add(time.Minute), now.Add(time.Hour)
	past := now.Add(-time.Second)
	d.fails(console.CodeOverrideInvalid, func() (*console.Changed, error) {
		return d.control().SetOverride(ops, config.Override{Name: "callers.ann.enabled", Value: "false", Until: &past})
	})
	for name, until := range map[string]*time.Time{"callers.ann.enabled": &soon, "callers.bob.enabled": &later} {
		if _, err := d.control().SetOverride(ops, config.Override{Name: name, Value: "false", Until: until}); err != nil {
			t.Fatal(err)
		}
	}
	paused := func() (ann, bob bool) {
		p := d.g.live.Load().policy
		return !p.Caller("ann").Enabled, !p.Caller("bob").Enabled
	}
	d.g.endOverrides(soon.Add(-time.Millisecond))
	if ann, bob := paused(); !ann || !bob {
		t.Errorf("paused: ann %v, bob %v; want both", ann, bob)
	}
	d.g.endOverrides(soon)
	if ann, bob := paused(); ann || !bob {
		t.Errorf("paused: ann %v, bob %v; want bob alone", ann, bob)
	}
	if v := d.control().Versions()[0]; v.Source != "override_ended" || v.Actor != "tidegate" || !strings.Contains(v.Reason, "callers.ann.enabled") {
		t.Errorf("%+v", v)
	}
}

func TestWhatCannotBeWrittenIsSaid(t *testing.T) {
	d := newDesk(t, basic)
	if err := os.RemoveAll(d.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.dir, nil, 0o600); err != nil { // nothing can be made below it
		t.Fatal(err)
	}
	d.fails(console.CodeStateNotWritten, func() (*console.Changed, error) {
		return d.control().SetOverride(ops, config.Override{Name: "callers.ann.enabled", Value: "false"})
	})
	// The configuration itself does not depend on its history.
	if done := d.put(withSeats(t, 3)); !done.Changed || len(done.Notes) == 0 || d.seats() != 3 {
		t.Errorf("%+v", done)
	}
	if len(d.log.lines("config")) == 0 {
		t.Error("the log does not say that the version is not kept")
	}
	versions := d.control().Versions()
	if len(versions) != 2 || versions[0].Number != 2 || versions[0].Source != "api" || versions[0].Actor != ops.Actor || !strings.Contains(versions[0].Diff, "+seats = 3") {
		t.Errorf("the one in force, and before it the one that is kept: %+v", versions)
	}

	if err := os.RemoveAll(filepath.Dir(d.path)); err != nil {
		t.Fatal(err)
	}
	before := d.g.live.Load()
	_, err := d.control().Put(ops, d.etag(), []byte(hashed(withSeats(t, 4))))
	var failure *console.Failure
	if !errors.As(err, &failure) || failure.Code != console.CodeNotWritten || d.g.live.Load() != before {
		t.Errorf("%v", err)
	}
}

func TestAnOperatorsOwnWriteIsNoSecondVersion(t *testing.T) {
	d := newDesk(t, basic)
	d.put(withSeats(t, 3))
	loads := d.g.telemetry.reloadsOK.Get()
	d.g.take(nil, nil) // the file has changed, says the watcher
	if n := d.g.telemetry.reloadsOK.Get() - loads; n != 0 || len(d.control().Versions()) != 2 {
		t.Errorf("%d loads, %d versions", n, len(d.control().Versions()))
	}
	d.write(withSeats(t, 4))
	d.g.take(nil, nil)
	if v := d.control().Versions()[0]; v.Source != "file" || v.Actor != "file" || v.Number != 3 {
		t.Errorf("%+v", v)
	}
	d.write(withSeats(t, 5))
	d.g.signalled.Store(true)
	d.g.take(nil, nil)
	if v := d.control().Versions()[0]; v.Source != "signal" || v.Number != 4 {
		t.Errorf("%+v", v)
	}
}

func TestAStartSweepsUpWhatACrashLeftBesideTheFile(t *testing.T) {
	d := newDesk(t, basic)
	left := filepath.Join(filepath.Dir(d.path), ".config.toml.123.tmp")
	others := filepath.Join(filepath.Dir(d.path), ".other.toml.123.tmp")
	for _, path := range []string{left, others} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.restart()
	if _, err := os.Stat(left); err == nil {
		t.Error("it is still there")
	}
	if _, err := os.Stat(others); err != nil {
		t.Error("what is not ours was removed, too")
	}
}
