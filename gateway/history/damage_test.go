package history

import (
	"database/sql"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// filled is a directory with the history of some hours, and the path of its file.
func filled(t *testing.T) string {
	t.Helper()
	d := newDesk(t)
	d.run(130*time.Minute, func(at time.Time) map[Key]Sample {
		all := map[Key]Sample{{Total, "", ""}: {Rate: 9}, alice: {Rate: 5}}
		for _, name := range []string{"ann", "bob", "cleo", "dan"} {
			all[Key{Caller, name, "chat"}] = Sample{float32(at.Second() * len(name)), 1, 2, 3, float32(at.Minute())}
		}
		return all
	})
	d.Close()
	return d.path
}

func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(s, err)
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever a crash, a full disk or a hand has made of the file: it is set aside, and the history begins anew.
func TestADamagedFileIsSetAside(t *testing.T) {
	whole, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		what string
		harm func(t *testing.T, path string)
		why  string // in the report
		late bool   // it is found when it is written to, or read from
	}{
		{"no database", func(t *testing.T, path string) { write(t, path, []byte(strings.Repeat("no database. ", 1000))) }, "not a database", false},
		{"zeros", func(t *testing.T, path string) { write(t, path, make([]byte, 1<<16)) }, "not a database", false},
		{"half a file", func(t *testing.T, path string) { write(t, path, whole[:len(whole)/2]) }, "malformed", true},
		{"a page of a file", func(t *testing.T, path string) { write(t, path, whole[:4096]) }, "malformed", true},
		{"less than a head", func(t *testing.T, path string) { write(t, path, whole[:50]) }, "malformed", false},
		{"holes", func(t *testing.T, path string) {
			holed := append([]byte(nil), whole...)
			for at := pageSize; at+pageSize < len(holed); at += 2 * pageSize {
				clear(holed[at : at+pageSize])
			}
			write(t, path, holed)
		}, "malformed", true},
		{"a later format", func(t *testing.T, path string) { execute(t, path, "PRAGMA user_version = 7") }, "its format is 7, and this program's is 1", false},
		{"another's", func(t *testing.T, path string) {
			write(t, path, nil)
			execute(t, path, "CREATE TABLE pictures (x)", "INSERT INTO pictures VALUES (1)")
		}, "another program's", false},
		{"a table too few", func(t *testing.T, path string) { execute(t, path, "DROP TABLE hours") }, "not those of its format", false},
		{"a trigger too many", func(t *testing.T, path string) {
			execute(t, path, "CREATE TRIGGER t AFTER INSERT ON minutes BEGIN DELETE FROM hours; END")
		}, "not those of its format", false},
		{"minutes that are none", func(t *testing.T, path string) { execute(t, path, "UPDATE seconds SET blocks = x'0102030405'") }, "a minute of the history is damaged", false},
		{"tallies that are none", func(t *testing.T, path string) { execute(t, path, "UPDATE minutes SET tally = zeroblob(7)") }, "a minute of the history is damaged", false},
		{"hours that are none", func(t *testing.T, path string) { execute(t, path, "UPDATE hours SET block = x'ff'") }, "a block of the history is damaged", true},
		{"series under others' names", func(t *testing.T, path string) { execute(t, path, "UPDATE series SET name = 'eve'") }, `is not called "eve"`, false},
		{"a log of another", func(t *testing.T, path string) { write(t, path, nil); write(t, path+"-wal", whole) }, "", false},
		{"a directory", func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "x"), 0o700)); err != nil {
				t.Fatal(err)
			}
		}, "history.db is no regular file", false},
		{"a directory for a log", func(t *testing.T, path string) {
			if err := os.Mkdir(path+"-wal", 0o700); err != nil {
				t.Fatal(err)
			}
		}, "history.db-wal is no regular file", false},
	} {
		t.Run(tc.what, func(t *testing.T) {
			d := newDesk(t)
			d.Close()
			write(t, d.path, whole)
			write(t, d.path+".damaged", []byte("an older one"))
			tc.harm(t, d.path)
			d.now = t0.Add(131 * time.Minute)
			d.open()
			if tc.late {
				d.last(alice, ByMinute, Rate)
				// Of what is on the disk all, or nothing: no zeros where there were numbers.
				for i, v := range d.last(alice, 3*time.Hour, Rate) {
					if v != 5 && !math.IsNaN(v) {
						t.Errorf("minute %d is %v", i, v)
					}
				}
			}
			d.run(2*time.Minute, at(7))
			d.Flush()
			d.run(time.Minute, at(7))
			d.Flush()
			if since, err := d.Trouble(); err != nil {
				t.Errorf("trouble since %v: %v", since, err)
			}
			d.restart()
			if got := runs(d.last(alice, 2*time.Minute, Rate)); got != "120x7" {
				t.Errorf("what came afterwards is kept as %s", got)
			}
			if tc.why == "" { // SQLite takes it for an empty one
				return
			}
			if len(d.failed) != 1 || !strings.Contains(d.failed[0].Error(), tc.why) || !strings.Contains(d.failed[0].Error(), "set aside as "+d.path+".damaged") {
				t.Errorf("reported: %v; want %q", d.failed, tc.why)
			}
			if aside, err := os.ReadFile(d.path + ".damaged"); string(aside) == "an older one" || err != nil && tc.what != "a directory" {
				t.Errorf("set aside is %.20q, %v", aside, err)
			}
			if left, _ := filepath.Glob(d.path + "*"); len(left) > 4 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// A directory with something in it is nobody's to delete.
func TestADirectoryThatWasSetAsideStays(t *testing.T) {
	d := newDesk(t)
	d.Close()
	kept := filepath.Join(d.path+".damaged", "x")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, d.path, []byte(strings.Repeat("no database. ", 1000)))
	d.open()
	d.run(3*time.Minute, at(5))
	d.Flush()
	if _, err := d.Trouble(); err == nil || !strings.Contains(err.Error(), "cannot be set aside") {
		t.Errorf("the trouble is %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	d.want("in memory", d.last(alice, 3*time.Minute, Rate), "180x5")
	if err := os.Rename(d.path+".damaged", filepath.Join(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	d.run(time.Minute, at(5))
	d.Flush()
	if _, err := d.Trouble(); err != nil {
		t.Error(err)
	}
}

// One byte in a hundred pages is another: nothing panics, nothing fails, and what is read is a number or unknown.
func TestAFileWithWrongBytesHarmsNobody(t *testing.T) {
	whole, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		harmed := append([]byte(nil), whole...)
		for range 1 + rnd.IntN(20) {
			harmed[rnd.IntN(len(harmed))] = byte(rnd.Uint32())
		}
		d := newDesk(t)
		d.Close()
		d.failed = nil
		write(t, d.path, harmed)
		d.now = t0.Add(131 * time.Minute)
		d.open()
		for _, k := range []Key{{Total, "", ""}, alice, {Caller, "bob", ""}} {
			for _, span := range []time.Duration{BySecond, ByMinute} {
				for _, v := range d.last(k, span, Rate) {
					if v < 0 || v > 1e10 {
						t.Fatalf("%v is %v", k, v)
					}
				}
			}
		}
		d.run(61*time.Minute, at(7))
		d.Flush()
		d.run(time.Minute, at(7))
		d.restart()
		d.want("afterwards", d.last(alice, BySecond, Rate), "900x7")
		if _, err := d.Trouble(); err != nil {
			t.Error(err)
		}
		d.Close()
	}
}

// FuzzFile opens whatever there is in place of the file.
func FuzzFile(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "history.db")
	h := Open(Options{Path: path, Now: func() time.Time { return t0 }})
	for i := range 130 {
		h.Add(t0.Add(time.Duration(i)*time.Minute), func(yield func(Key, *Sample)) { yield(alice, &Sample{Rate: float32(i)}) })
	}
	h.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:4096])
	f.Add([]byte{})
	f.Add([]byte("SQLite format 3\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "history.db")
		write(t, path, data)
		now := t0.Add(131 * time.Minute)
		h := Open(Options{Path: path, Now: func() time.Time { return now }})
		defer h.Close()
		h.Read(t.Context(), alice, now, ByMinute)
		for i := range 3 {
			h.Add(now.Add(time.Duration(i)*time.Minute), func(yield func(Key, *Sample)) { yield(alice, &Sample{Rate: 1}) })
		}
		h.Flush()
	})
}
