package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidegate/gateway/audit"
	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// trail is what was done, oldest first, in few words.
func (d *desk) trail() (said []string) {
	for _, e := range slices.Backward(d.g.auditEntries(console.AuditQuery{Limit: console.MaxPage})) {
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s %s: %s %s %s %s v%d", e.Actor, e.Role, e.Action, e.Subject, e.Outcome, e.Code, e.Version)))
	}
	return said
}

func (d *desk) newest() console.AuditEntry {
	return d.g.auditEntries(console.AuditQuery{Limit: 1})[0]
}

func TestEveryChangeIsInTheTrailWithWhoAndWhat(t *testing.T) {
	d := newDesk(t, basic)
	c := auditedControl{d.control()}
	ann := console.Change{Actor: "ann", Role: "operator", From: "10.0.0.7", Reason: "a promotion"}
	must := func(_ *console.Changed, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(_ *console.Changed, err error) {
		t.Helper()
		if err == nil {
			t.Fatal("was not refused")
		}
	}
	must(c.Put(ann, d.etag(), []byte(hashed(withSeats(t, 5)))))
	e := d.newest()
	if e.Diff != "--- before\n+++ after\n"+e.Diff[strings.Index(e.Diff, "@@"):] || !strings.Contains(e.Diff, "-seats = 2\n+seats = 5\n") || e.From != "10.0.0.7" || e.Reason != "a promotion" ||
		time.Since(e.Time) > time.Minute {
		t.Errorf("%+v", e)
	}
	refused(c.Put(ann, `"another"`, []byte(hashed(withSeats(t, 6)))))
	refused(c.Put(ann, d.etag(), []byte("seats = ")))
	must(c.Rollback(ann, "", 1))
	refused(c.Rollback(ann, "", 77))
	must(c.SetOverride(ann, config.Override{Name: "callers.ann.pool", Value: "vip"}))
	if e := d.newest(); e.Diff != "+ callers.ann.pool = vip\n" && !strings.HasPrefix(e.Diff, "+") {
		t.Errorf("%q", e.Diff)
	}
	refused(c.SetOverride(ann, config.Override{Name: "callers.ann.pool", Value: "nowhere"}))
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	must(c.SetOverride(ann, config.Override{Name: "callers.bob.enabled", Value: "false", Until: &until}))
	must(c.DropOverride(ann, "callers.ann.pool"))
	refused(c.DropOverride(ann, "callers.ann.pool"))
	d.g.endOverrides(until)
	must(c.Reload(ann))
	d.write(withSeats(t, 7))
	d.g.take(nil, nil)
	d.write("nonsense")
	d.g.signalled.Store(true)
	d.g.take(nil, nil)
	refused(c.Reload(ann))
	d.g.consoleAudited(console.AuditEntry{Actor: "ann", Action: "login", Outcome: "done"})
	want := []string{
		"tidegate : start test done  v1",
		"ann operator: config_put version 2 done  v2",
		"ann operator: config_put  refused precondition_failed v0",
		"ann operator: config_put  refused config_invalid v0",
		"ann operator: config_rollback version 1 done  v3",
		"ann operator: config_rollback version 77 refused version_unknown v0",
		"ann operator: override_set callers.ann.pool = vip done  v4",
		"ann operator: override_set callers.ann.pool = nowhere refused override_invalid v0",
		"ann operator: override_set callers.bob.enabled = false until " + until.Format(time.RFC3339) + " done  v5",
		"ann operator: override_drop callers.ann.pool done  v6",
		"ann operator: override_drop callers.ann.pool refused override_unknown v0",
		"tidegate : override_ended callers.bob.enabled done  v7",
		"ann operator: reload  done  v7",
		"file : reload version 8 done  v8",
		"file : reload  refused config_invalid v0",
		"ann operator: reload  refused config_invalid v0",
		"ann : login  done  v0",
	}
	if got := d.trail(); !slices.Equal(got, want) {
		t.Errorf("the trail is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if lines := d.log.lines("audit"); len(lines) != len(want) || !strings.Contains(lines[1], `"actor":"ann"`) || !strings.Contains(lines[1], "+seats = 5") {
		t.Errorf("%d lines in the log", len(lines))
	}
}

func TestTheTrailGoesOnAfterARestartAndSaysWhatHasChanged(t *testing.T) {
	d := newDesk(t, basic)
	d.put(withSeats(t, 5))
	if err := d.g.audit.Flush(); err != nil {
		t.Fatal(err)
	}
	d.write(withSeats(t, 6)) // while it is down
	d.restart()
	if err := d.g.audit.Flush(); err != nil {
		t.Fatal(err)
	}
	e := d.newest()
	if e.ID != 3 || e.Action != actionStart || e.Version != 3 || !strings.Contains(e.Diff, "-seats = 5\n+seats = 6\n") {
		t.Errorf("%+v", e)
	}
	d.restart()
	if e := d.newest(); e.ID != 4 || e.Action != actionStart || e.Version != 3 || e.Diff != "" {
		t.Errorf("%+v", e)
	}
}

func TestNoHashOfAKeyIsInTheTrail(t *testing.T) {
	d := newDesk(t, basic)
	d.put(changed(t, basic, "HASH-bob", "HASH-newkey"))
	hash := hashOf("newkey")
	for _, text := range []string{d.newest().Diff, strings.Join(d.log.lines("audit"), "")} {
		if strings.Contains(text, hash) || !strings.Contains(text, hash[:len("sha256:")+8]+"...") {
			t.Error(text)
		}
	}
}

// The trail has each attempt once, and the versions are complete, however many try at once.
func TestAThousandEditsAtOnceAreEachInTheTrail(t *testing.T) {
	const writers = 1000
	d := newDesk(t, basic)
	c := auditedControl{d.control()}
	tag := d.etag()
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range writers {
		text := []byte(fmt.Sprintf("# writer %d\n%s", i, hashed(basic)))
		all.Go(func() {
			<-start
			_, _ = c.Put(console.Change{Actor: fmt.Sprint(i), Role: "owner"}, tag, text) // one of them is made
		})
	}
	close(start)
	all.Wait()
	winner := d.control().Versions()[0].Actor
	seen := map[string]bool{}
	entries := d.g.audit.Find(audit.Query{Action: actionPut, Limit: 2 * writers})
	for _, e := range entries {
		won := e.Outcome == audit.Done && e.Version == 2 && strings.Contains(e.Diff, "+# writer "+e.Actor+"\n")
		lost := e.Outcome == audit.Refused && e.Code == console.CodePrecondition && e.Diff == ""
		if seen[e.Actor] || won != (e.Actor == winner) || won == lost || e.Role != "owner" {
			t.Errorf("%+v", e)
		}
		seen[e.Actor] = true
	}
	if len(seen) != writers {
		t.Errorf("%d of them are in the trail", len(seen))
	}

	// Overrides ask for no match: all are made, one after the other.
	for i := range 100 {
		all.Go(func() {
			if _, err := c.SetOverride(console.Change{Actor: fmt.Sprint(i)}, config.Override{Name: "callers.ann.enabled", Value: fmt.Sprint(i%2 == 0)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	set := d.g.audit.Find(audit.Query{Action: actionOverrideSet, Limit: 200})
	if len(set) != 100 {
		t.Fatalf("%d overrides are in the trail", len(set))
	}
	for i, e := range set {
		if e.Version != set[len(set)-1].Version+len(set)-1-i || e.Diff == "" || !strings.HasPrefix(e.Subject, "callers.ann.enabled = ") {
			t.Errorf("%+v", e)
		}
	}
	last := d.g.live.Load()
	if kept := d.control().Versions(); kept[0].Number != last.version || last.version != 102 || len(kept) != config.KeptVersions {
		t.Errorf("version %d in force, %d kept, the newest %d", last.version, len(kept), kept[0].Number)
	}
}

// With no disk to take it, the trail is in memory and in the log, and the gateway is changed as usual.
func TestTheTrailOutlivesABrokenDisk(t *testing.T) {
	d := newDesk(t, basic)
	if err := d.g.audit.Flush(); err != nil {
		t.Fatal(err)
	}
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(d.dir, away); err != nil {
		t.Fatal(err)
	}
	d.put(withSeats(t, 5))
	if d.g.audit.Flush() == nil {
		t.Fatal("written to nowhere")
	}
	d.put(withSeats(t, 6))
	if lines := d.log.lines("audit"); len(lines) != 3 || !strings.Contains(lines[2], `"level":"error"`) {
		t.Errorf("the log has %q", lines)
	}
	if err := os.Rename(away, d.dir); err != nil {
		t.Fatal(err)
	}
	if err := d.g.audit.Flush(); err != nil {
		t.Fatal(err)
	}
	d.restart()
	if e := d.g.auditEntries(console.AuditQuery{Action: actionPut, Limit: 10}); len(e) != 2 || e[0].ID != 3 || e[1].ID != 2 {
		t.Errorf("%+v", e)
	}
}
