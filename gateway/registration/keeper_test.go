package registration

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func dirOf(w *world) string { return filepath.Dir(w.keeper.path) }

func TestARestartFindsEverythingAsItWas(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	w.ask(t0, "ann", "chat")
	w.ask(t0, "bob", "chat")
	w.ask(t0, "bob", "export")
	w.decide(t0.Add(time.Hour), "bob", "chat", true)
	w.decide(t0.Add(time.Hour), "bob", "export", false)
	if !w.Keep(0) || w.wrote != 1 {
		t.Fatalf("kept by %d writes", w.wrote)
	}
	if !w.Keep(0) || w.wrote != 1 {
		t.Error("written again without need")
	}
	if info, err := os.Stat(w.keeper.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	again := open(t, dir)
	if len(again.odd) > 0 || !reflect.DeepEqual(again.All(), w.All()) {
		t.Errorf("%v, want %v (%v)", again.All(), w.All(), again.odd)
	}
	again.stands("bob", "chat", Active)
	again.stands("bob", "export", Denied)
}

func TestWithoutADirectoryNothingIsKept(t *testing.T) {
	w := open(t, "")
	w.ask(t0, "ann", "chat")
	if w.Keep(0) || w.Keeps() {
		t.Error("kept nowhere")
	}
	if _, err := w.Trouble(); err != nil {
		t.Error(err)
	}
}

func TestABrokenDiskLosesNoDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := open(t, dir)
		w.ask(t0, "bob", "chat")
		w.Keep(0)
		w.disk = errDisk
		w.decide(t0, "bob", "chat", true)
		failing := time.Now()
		if w.Keep(0) {
			t.Error("kept on a disk that fails")
		}
		w.stands("bob", "chat", Active)
		if since, err := w.Trouble(); err == nil || !strings.Contains(err.Error(), errDisk.Error()) || !since.Equal(failing) {
			t.Errorf("trouble: %v since %v", err, since)
		}
		w.disk = nil
		if w.Keep(0) {
			t.Error("a disk that failed was asked again at once")
		}
		if !w.KeepLast(0) {
			t.Error("nor was it asked at the end")
		}
		w.disk = errDisk
		w.ask(t0, "ann", "chat")
		w.Keep(0)
		time.Sleep(retryAfter)
		w.disk = nil
		if !w.Keep(0) {
			t.Error("not kept on a disk that is back")
		}
		if _, err := w.Trouble(); err != nil {
			t.Error(err)
		}
		if len(w.said) != 4 || w.said[0] == nil || w.said[1] != nil || w.said[2] == nil || w.said[3] != nil {
			t.Errorf("said %v, want each failure once and each recovery once", w.said)
		}
		open(t, dir).stands("bob", "chat", Active)
	})
}

func TestAThousandCallersAtOnceCostAFewWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var writes atomic.Int32
		r, _ := Open(Options{
			Dir: t.TempDir(), Config: func(string, string) Terms { return Terms{Plan: PlanAuto} },
			Replace: func(string, []byte, fs.FileMode) error {
				writes.Add(1)
				time.Sleep(100 * time.Millisecond)
				return nil
			},
		})
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				_, _, err := r.Ask(t0, fmt.Sprint("c", i), "chat", words)
				if err != nil || !r.Keep(time.Second) {
					t.Errorf("%d: not kept: %v", i, err)
				}
			})
		}
		all.Wait()
		if n := writes.Load(); n > 3 {
			t.Errorf("%d writes", n)
		}
	})
}

func TestADiskThatHangsHoldsNobodyForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := Open(Options{
			Dir: t.TempDir(), Config: func(string, string) Terms { return Terms{Plan: PlanAuto} },
			Replace: func(string, []byte, fs.FileMode) error { time.Sleep(time.Hour); return nil },
		})
		_, _, _ = r.Ask(t0, "ann", "chat", words)
		go r.Keep(0)
		synctest.Wait()
		_, _, _ = r.Ask(t0, "bob", "chat", words)
		began := time.Now()
		if r.Keep(time.Second) || time.Since(began) != time.Second {
			t.Errorf("held for %v", time.Since(began))
		}
		time.Sleep(2 * time.Hour)
		if !r.Keep(0) {
			t.Error("not kept afterwards")
		}
	})
}

func TestADamagedFileIsSetAsideAndSaid(t *testing.T) {
	good := `{"caller":"ann","semantic":"chat","description":"Talks.","expected_rate":"","asked":"2026-03-02T09:00:00Z"}`
	of := func(list ...string) string {
		return `{"format":1,"registrations":[` + strings.Join(list, ",") + `]}`
	}
	for _, tc := range []struct {
		name, text string
		odd, good  int
	}{
		{"nothing", ``, 1, 0},
		{"half a file", of(good)[:80], 1, 0},
		{"no JSON", `registrations`, 1, 0},
		{"another program's", `{"format":2,"registrations":[]}`, 1, 0},
		{"text behind it", of(good) + `x`, 1, 0},
		{"another kind", `[]`, 1, 0},
		{"one of two", of(good, `{"caller":"bob"}`), 1, 1},
		{"twice the same", of(good, good), 1, 1},
		{"a reserved name", of(good, strings.Replace(good, "chat", "default", 1)), 1, 1},
		{"a decision that is none", of(good, strings.Replace(good, `"asked"`, `"decision":"maybe","decided":"2026-03-02T09:00:00Z","asked"`, 1)), 1, 1},
		{"a decision without a time", of(good, strings.Replace(strings.Replace(good, "ann", "bob", 1), `"asked"`, `"decision":"approved","asked"`, 1)), 1, 1},
		{"a null", of("null", good), 1, 1},
		{"a sound one", of(good), 0, 1},
		{"an empty one", of(), 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, FileName)
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			w := open(t, dir)
			if len(w.odd) != tc.odd || len(w.All()) != tc.good {
				t.Fatalf("%d odd and %d good, want %d and %d: %v", len(w.odd), len(w.All()), tc.odd, tc.good, w.odd)
			}
			if tc.odd == 0 {
				return
			}
			if !w.Keep(0) {
				t.Fatal("not kept")
			}
			if text, err := os.ReadFile(filepath.Join(dir, asideName)); err != nil || string(text) != tc.text {
				t.Errorf("set aside: %q, %v", text, err)
			}
			if again := open(t, dir); len(again.odd) != 0 || len(again.All()) != tc.good {
				t.Errorf("afterwards: %v %v", again.odd, again.All())
			}
		})
	}
}

func TestAFileThatIsNoneIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if w := open(t, dir); len(w.odd) != 1 || !w.Keep(0) {
		t.Errorf("%v", w.odd)
	}
}

// A full set of the longest registrations is below what is read back.
func TestTheLargestFileIsReadBack(t *testing.T) {
	reg := &Registration{
		Caller: strings.Repeat("c", 128), Semantic: strings.Repeat("s", 64), Asked: t0, Decision: Refused, Decided: t0,
		Words: Words{Description: strings.Repeat("\U0001F30A", MaxDescription), ExpectedRate: strings.Repeat("1", maxRate)},
		By:    strings.Repeat("b", 64), Reason: strings.Repeat("\"", 1000),
	}
	data, err := encode([]*Registration{reg})
	if err != nil || len(data)*MaxAll > maxFile {
		t.Errorf("%d bytes each come to %d MiB, and %d are read back (%v)", len(data), len(data)*MaxAll>>20, maxFile>>20, err)
	}
}

func FuzzReadingAFile(f *testing.F) {
	f.Add([]byte(`{"format":1,"registrations":[{"caller":"ann","semantic":"chat","description":"Talks.","expected_rate":"20/s","asked":"2026-03-02T09:00:00Z"}]}`))
	f.Add([]byte(`{"format":1,"registrations":[{"caller":"a","semantic":"c","description":"T","asked":"2026-03-02T09:00:00Z","decision":"refused","decided":"2026-03-02T10:00:00Z","by":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _ := decode(data)
		for _, reg := range list {
			if err := reg.check(); err != nil {
				t.Fatalf("let in: %v", err)
			}
		}
		written, err := encode(list)
		if err != nil {
			t.Fatalf("let in, and cannot be written again: %v", err)
		}
		again, odd := decode(written)
		if len(odd) > 0 || len(again) != len(list) {
			t.Fatalf("%d became %d: %v", len(list), len(again), odd)
		}
	})
}
