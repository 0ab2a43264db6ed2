package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A full disk must not take the way back: what was kept can be gone back to, and what is in force is told of.
func TestTheWayBackIsOpenWhileNothingMoreCanBeKept(t *testing.T) {
	d := newDesk(t, basic)
	d.put(withSeats(t, 3))
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(d.dir, away); err != nil {
		t.Fatal(err)
	}
	if done := d.put(withSeats(t, 4)); len(done.Notes) != 1 || !strings.Contains(done.Notes[0], "cannot keep version 3") {
		t.Errorf("the change says %v", done.Notes)
	}
	versions := d.control().Versions()
	if len(versions) != 3 || versions[1].Number != 2 {
		t.Fatalf("the versions are %+v", versions)
	}
	if v := versions[0]; v.Number != 3 || v.Actor != "ops" || v.Source != "api" || v.Reason != "trying" || !strings.Contains(v.Diff, "+seats = 4") {
		t.Errorf("the one in force is %+v", v)
	}
	if _, err := d.control().Rollback(ops, "", 2); err != nil || d.seats() != 3 || d.onDisk() != versions[1].Text {
		t.Errorf("back to version 2: %v, %d seats", err, d.seats())
	}
	if err := os.Rename(away, d.dir); err != nil {
		t.Fatal(err)
	}
	d.put(withSeats(t, 5))
	// What could not be kept at the time is kept now.
	for range 2 {
		v := d.control().Versions()
		if len(v) != 5 || v[0].Number != 5 || v[0].Diff == "" || v[1].Number != 4 || v[2].Number != 3 || !strings.Contains(v[2].Diff, "+seats = 4") || v[2].Actor != "ops" {
			t.Errorf("with the disk back the versions are %+v", v)
		}
		d.restart()
	}
}

// Where no version can be read any more, the next one is still above them all, and is kept.
func TestVersionsGoOnAboveDamagedOnes(t *testing.T) {
	d := newDesk(t, basic)
	d.put(withSeats(t, 3))
	for _, name := range []string{"version-1.json", "version-2.json"} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.restart()
	if done := d.put(withSeats(t, 4)); done.Version != 4 || len(done.Notes) > 0 {
		t.Errorf("the next is %+v", done)
	}
	if v := d.control().Versions(); len(v) != 2 || v[0].Number != 4 || v[1].Number != 3 {
		t.Errorf("the versions are %+v", v)
	}
}
