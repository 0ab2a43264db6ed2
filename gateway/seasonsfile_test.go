package gateway

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidegate/detector"
)

func TestADamagedFileOfSeasonsIsSetAside(t *testing.T) {
	good := func() []byte {
		table := map[flowNames]*keptSeason{}
		for _, caller := range []string{"ann", "bob"} {
			table[flowNames{caller, "chat", "", ""}] = &keptSeason{taught(3, 1), hourOf(time.Now())}
		}
		data, err := encodeSeasons(table)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"nonsense":      func([]byte) []byte { return []byte("\x1f\x8b nonsense") },
		"empty":         func([]byte) []byte { return nil },
		"cut":           func(b []byte) []byte { return b[:len(b)-40] },
		"a bit flipped": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				dir := t.TempDir()
				bad := damage(good())
				if err := os.WriteFile(seasonsIn(dir), bad, 0o600); err != nil {
					t.Fatal(err)
				}
				w := newWorldIn(t, dir, basic, mirror)
				w.visit(annKey)
				if lines := w.log.lines("seasons"); len(lines) != 1 || !strings.Contains(lines[0], "cannot read the seasons") || !strings.Contains(lines[0], ".damaged") {
					t.Errorf("the log says %v", lines)
				}
				if aside, err := os.ReadFile(seasonsIn(dir) + ".damaged"); err != nil || !bytes.Equal(aside, bad) {
					t.Errorf("set aside: %d bytes, %v", len(aside), err)
				}
				w.teach("ann", "", taught(2, 7))
				w = w.afterRestart(basic, 0)
				if w.visit(annKey); w.season("ann", "chat", "") != lessonOf(taught(2, 7)) {
					t.Error("the next file is no better")
				}
			})
		})
	}
}

func TestSeasonsThatCannotBeWrittenAreSaidOnceAndWrittenLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), basic, mirror)
		inTheWay := filepath.Join(seasonsIn(w.state), "in the way")
		if err := os.MkdirAll(inTheWay, 0o700); err != nil {
			t.Fatal(err)
		}
		w.visit(annKey)
		w.teach("ann", "", taught(3, 1))
		time.Sleep(3*seasonsEvery + time.Minute)
		synctest.Wait()
		if lines := w.log.lines("seasons"); len(lines) != 1 || !strings.Contains(lines[0], "cannot keep the seasons") {
			t.Errorf("the log says %v", lines)
		}
		if left, err := filepath.Glob(filepath.Join(w.state, ".seasons*")); err != nil || len(left) > 0 {
			t.Errorf("left over: %v %v", left, err)
		}
		if err := os.RemoveAll(seasonsIn(w.state)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(seasonsEvery + time.Minute)
		w = w.afterRestart(basic, 0)
		if w.visit(annKey); w.season("ann", "chat", "") != lessonOf(taught(3, 1)) {
			t.Error("they were not written later")
		}
	})
}

func TestSeasonsAreWrittenOnlyWhenSomethingWasLearned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), basic, mirror)
		written := func() time.Time {
			info, err := os.Stat(seasonsIn(w.state))
			if err != nil {
				return time.Time{}
			}
			return info.ModTime()
		}
		w.visit(annKey)
		time.Sleep(2 * seasonsEvery)
		if at := written(); !at.IsZero() {
			t.Error("a file is written of nothing")
		}
		w.visit(annKey)
		w.teach("ann", "", taught(1, 1))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		first := written()
		if first.IsZero() {
			t.Fatal("nothing is written")
		}
		time.Sleep(5 * seasonsEvery)
		if at := written(); !at.Equal(first) {
			t.Error("it is written again, and nothing has changed")
		}
	})
}

func TestAFileOfSeasonsIsHeldToWhatItSays(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"seasons":1,"flows":0}`:                   true,
		`{"seasons":1,"flows":1}`:                   false,
		`{"seasons":2,"flows":0}`:                   false,
		`{"seasons":1,"flows":1}` + "\n" + `{}`:     false,
		`{"seasons":1,"flows":0}` + "\n" + `season`: false,
		``: false,
	} {
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		if _, err := zip.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
		if err := readSeasons(&b, func(*seasonLine, *detector.Season) {}); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzSeasonsFile(f *testing.F) {
	data, err := encodeSeasons(map[flowNames]*keptSeason{{"ann", "chat", "r", "t"}: {taught(2, 3), 7}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		table := map[flowNames]*keptSeason{}
		if readSeasons(bytes.NewReader(b), func(line *seasonLine, s *detector.Season) {
			table[flowNames{line.Caller, line.Semantic, line.Route, line.Tenant}] = &keptSeason{*s, line.Seen}
		}) != nil {
			return
		}
		again, err := encodeSeasons(table)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		if err := readSeasons(bytes.NewReader(again), func(line *seasonLine, s *detector.Season) {
			if k := table[flowNames{line.Caller, line.Semantic, line.Route, line.Tenant}]; k == nil || k.season != *s || k.seen != line.Seen {
				t.Errorf("%+v became another", line)
			}
			n++
		}); err != nil || n != len(table) {
			t.Fatalf("%d of %d, %v", n, len(table), err)
		}
	})
}
