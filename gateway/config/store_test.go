package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// open opens a store, whose damaged files must be these.
func open(t *testing.T, dir string, damaged ...string) *Store {
	t.Helper()
	s, got, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(damaged) {
		t.Fatalf("damaged: %v, want %q", got, damaged)
	}
	for i, want := range damaged {
		if !strings.Contains(got[i].Error(), want) {
			t.Errorf("damaged: %v, want %s", got[i], want)
		}
	}
	return s
}

func version(number int, text string) Version {
	return Version{
		Number: number, Time: t0.Add(time.Duration(number) * time.Second), Actor: "ann", From: "127.0.0.1", Source: "api", Reason: "more seats",
		Text: text, Overrides: []Override{},
	}
}

func keep(t *testing.T, s *Store, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if err := s.Keep(version(n, fmt.Sprintf("seats = %d\n", n))); err != nil {
			t.Fatal(err)
		}
	}
}

func numbers(s *Store) string {
	var list []string
	for _, v := range s.Versions() {
		list = append(list, fmt.Sprint(v.Number))
	}
	return strings.Join(list, " ")
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

func TestVersionsComeBackAsTheyWereKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "state")
	s := open(t, dir)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if s.Next() != 1 || len(s.Versions()) != 0 || len(s.Overrides()) != 0 {
		t.Error("a new store is not empty")
	}
	texts := []string{
		"a = 1\r\nb = 2\r\n", "\xef\xbb\xbfa = 1\n", "a = 1", "", "a = \"<&>\\u0000\u2028 seats\"\n\n\n", strings.Repeat("# 座席\n", 10_000),
	}
	until := t0.Add(time.Hour)
	for i, text := range texts {
		v := version(i+1, text)
		v.Overrides = []Override{{Name: "callers.acme.pool", Value: "vip", Actor: "ann", Reason: "<why>", Made: t0, Until: &until}}
		if err := s.Keep(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetOverrides(over("server.mode = observe", "callers.acme.pool = vip")); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if !reflect.DeepEqual(again.Versions(), s.Versions()) || !reflect.DeepEqual(again.Overrides(), s.Overrides()) || again.Next() != len(texts)+1 {
		t.Errorf("%+v\nwant\n%+v", again.Versions(), s.Versions())
	}
	for i, text := range texts {
		v, ok := again.Version(i + 1)
		if !ok || v.Text != text || v.Hash != hashOf(text) || v.Actor != "ann" || v.Source != "api" || v.Reason != "more seats" || v.From != "127.0.0.1" ||
			!v.Time.Equal(t0.Add(time.Duration(i+1)*time.Second)) || *v.Overrides[0].Until != until {
			t.Errorf("version %d: %.300v", i+1, v)
		}
	}
	if _, ok := again.Version(99); ok {
		t.Error("there is a version 99")
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if len(entries) != len(texts)+1 {
		t.Errorf("there are %d files", len(entries))
	}
}

func TestTheLastTwentyVersionsAreKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	keep(t, s, upTo(25)...)
	want := "25 24 23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6"
	if numbers(s) != want || numbers(open(t, dir)) != want {
		t.Errorf("%s, and on disk %s", numbers(s), numbers(open(t, dir)))
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != KeptVersions {
		t.Errorf("%d files", len(files))
	}
	keep(t, s, 1000) // numbers may leap
	if _, ok := s.Version(6); ok || s.Next() != 1001 {
		t.Errorf("%s", numbers(s))
	}
	for _, n := range []int{1000, 999, 0, -1} {
		if err := s.Keep(version(n, "")); err == nil || !strings.Contains(err.Error(), "numbers only grow") {
			t.Errorf("version %d: %v", n, err)
		}
	}
}

func TestDiffsAreAgainstTheVersionBefore(t *testing.T) {
	dir := t.TempDir()
	keep(t, open(t, dir), 1, 2)
	s := open(t, dir)
	v := version(3, "seats = 3\n")
	v.Diff, v.Overrides = "nonsense", over("server.mode = observe")
	if err := s.Keep(v); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{
		1: "",
		2: "--- before\n+++ after\n@@ -1,1 +1,1 @@\n-seats = 1\n+seats = 2\n",
		3: "--- before\n+++ after\n@@ -1,1 +1,1 @@\n-seats = 2\n+seats = 3\n+override server.mode = \"observe\", by ann\n",
	} {
		if v, _ := open(t, dir).Version(n); v.Diff != want {
			t.Errorf("version %d:\n%s\nwant\n%s", n, v.Diff, want)
		}
	}
}

func TestAVersionMustHaveItsOwnHashAndBeText(t *testing.T) {
	s := open(t, t.TempDir())
	v := version(1, "a")
	v.Hash = hashOf("b")
	if err := s.Keep(v); err == nil || !strings.Contains(err.Error(), "its hash is 3e23") {
		t.Error(err)
	}
	if err := s.Keep(version(1, "a\xff")); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Error(err)
	}
	if len(s.Versions()) != 0 || s.Next() != 1 {
		t.Error("it was kept")
	}
}

func TestAStoreThatCannotWriteSaysWhatToDoAndChangesNothing(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "write x: no space left on device; the disk is full: make room"},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}, "the disk is full: make room"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, "let the gateway's user write there, or set state.dir to another place"},
	} {
		s := open(t, t.TempDir())
		keep(t, s, 1)
		if err := s.SetOverrides(over("server.mode = observe")); err != nil {
			t.Fatal(err)
		}
		s.replace = func(string, []byte, fs.FileMode) error { return tc.err }
		s.soon = s.replace
		if err := s.Keep(version(2, "")); err == nil || !strings.HasPrefix(err.Error(), "cannot keep version 2: ") || !strings.HasSuffix(err.Error(), tc.want) {
			t.Errorf("%v, want %s", err, tc.want)
		}
		if err := s.SetOverrides(nil); err == nil || !strings.HasPrefix(err.Error(), "cannot keep the overrides: ") || !strings.HasSuffix(err.Error(), tc.want) {
			t.Errorf("%v, want %s", err, tc.want)
		}
		if numbers(s) != "1" || len(s.Overrides()) != 1 || s.Next() != 2 {
			t.Errorf("changed: %s, %v", numbers(s), s.Overrides())
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, _, err := OpenStore(file); s != nil || err == nil || !strings.Contains(err.Error(), "set state.dir to another place") {
		t.Errorf("a file in place of the directory: %v", err)
	}
	// A directory in the way of a file.
	dir := t.TempDir()
	s := open(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, overridesFile, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.SetOverrides(nil); err == nil {
		t.Error("a directory was replaced")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWhatAStoreHandsOutIsNotItsOwn(t *testing.T) {
	s := open(t, t.TempDir())
	keep(t, s, 1, 2)
	list := over("server.mode = observe")
	if err := s.SetOverrides(list); err != nil {
		t.Fatal(err)
	}
	list[0].Value = "enforce"
	s.Versions()[0] = Version{}
	s.Overrides()[0].Value = "enforce"
	if numbers(s) != "2 1" || s.Overrides()[0].Value != "observe" {
		t.Errorf("%s, %v", numbers(s), s.Overrides())
	}
}

func TestReadersAndWritersOfAStoreDoNotMeet(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		writers.Go(func() {
			for range 10 {
				for s.Keep(version(s.Next(), "x")) != nil { // another one was quicker
				}
				if err := s.SetOverrides(over("server.mode = observe")); err != nil {
					t.Error(err)
				}
			}
		})
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				list := s.Versions()
				if !slices.IsSortedFunc(list, func(a, b Version) int { return b.Number - a.Number }) || len(list) > KeptVersions {
					t.Errorf("%d versions, or in no order", len(list))
				}
				s.Version(s.Next())
				s.Overrides()
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if s.Next() != 41 || numbers(open(t, dir)) != numbers(s) {
		t.Errorf("next is %d, on disk %s", s.Next(), numbers(open(t, dir)))
	}
}

// Ten versions a second are usual under a script that tries things out; a file of a thousand callers.
func BenchmarkKeep(b *testing.B) {
	s, _, err := OpenStore(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	text := manyCallers(1000)
	for b.Loop() {
		n := s.Next()
		if err := s.Keep(version(n, fmt.Sprintf("# %d\n%s", n, text))); err != nil {
			b.Fatal(err)
		}
	}
}

func TestVersionsAreFlushedOnceAndAll(t *testing.T) {
	s := open(t, t.TempDir())
	keep(t, s, 1)
	keep(t, s, 2)
	if len(s.unsynced) != 2 {
		t.Fatalf("%v wait to be flushed", s.unsynced)
	}
	if err := os.Remove(s.path(1)); err != nil { // as if it had been dropped
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil || len(s.unsynced) != 0 {
		t.Errorf("%v, %v wait", err, s.unsynced)
	}
	keep(t, s, 3)
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err == nil || !strings.Contains(err.Error(), "cannot flush the versions") {
		t.Errorf("%v", err)
	}
}
