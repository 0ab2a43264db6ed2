package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Whatever a crash, a full disk or a hand leaves in the directory: the rest is read, and goes on.
func TestDamagedFilesArePassedOverAndReported(t *testing.T) {
	whole := func(t *testing.T, dir, name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	write := func(t *testing.T, dir, name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const last = "version-3.json"
	for _, tc := range []struct {
		what   string
		harm   func(t *testing.T, dir string)
		report string // "": none
		left   string
		next   int
	}{
		{"nothing", func(*testing.T, string) {}, "", "3 2 1", 4},
		{"an unfinished file", func(t *testing.T, dir string) { write(t, dir, ".version-4.json.123.tmp", []byte(`{"vers`)) }, "", "3 2 1", 4},
		{"an empty file", func(t *testing.T, dir string) { write(t, dir, last, nil) }, "version-3.json is passed over: it is empty", "2 1", 4},
		{"half a file", func(t *testing.T, dir string) { d := whole(t, dir, last); write(t, dir, last, d[:len(d)/2]) }, "version-3.json is passed over: not readable: unexpected end of JSON", "2 1", 4},
		{"a file of zeros", func(t *testing.T, dir string) { write(t, dir, last, make([]byte, 4096)) }, "version-3.json is passed over: not readable", "2 1", 4},
		{"no JSON", func(t *testing.T, dir string) { write(t, dir, last, []byte("seats = 3")) }, "version-3.json is passed over: not readable", "2 1", 4},
		{"another JSON", func(t *testing.T, dir string) { write(t, dir, last, []byte("{}")) }, "version-3.json is passed over: it holds version 0", "2 1", 4},
		{"the file of another version", func(t *testing.T, dir string) { write(t, dir, last, whole(t, dir, "version-2.json")) }, "it holds version 2", "2 1", 4},
		{"another text", func(t *testing.T, dir string) {
			write(t, dir, last, []byte(strings.Replace(string(whole(t, dir, last)), `seats = 3\n",`, `seats = 4\n",`, 1)))
		}, "the hash differs", "2 1", 4},
		{"a directory", func(t *testing.T, dir string) {
			if err := errors.Join(os.Remove(filepath.Join(dir, last)), os.MkdirAll(filepath.Join(dir, last, "x"), 0o700)); err != nil {
				t.Fatal(err)
			}
		}, "version-3.json is passed over: it is no regular file", "2 1", 4},
		{"a link to nowhere", func(t *testing.T, dir string) {
			if err := os.Symlink("nowhere", filepath.Join(dir, "version-7.json")); err != nil {
				t.Fatal(err)
			}
		}, "version-7.json is passed over: it is no regular file", "3 2 1", 8},
		{"files that are not ours", func(t *testing.T, dir string) {
			for _, name := range []string{"version-.json", "version-04.json", "version--4.json", "version-4.json.bak", "xversion-4.json", "version-99999999999999999999.json"} {
				write(t, dir, name, []byte("x"))
			}
		}, "", "3 2 1", 4},
		{"overrides cut off", func(t *testing.T, dir string) { write(t, dir, overridesFile, []byte(`{"overrides":[{"na`)) }, "overrides.json is passed over: not readable: unexpected end of JSON input; the 1 overrides of version", "3 2 1", 4},
		{"a directory of that name", func(t *testing.T, dir string) {
			if err := errors.Join(os.Remove(filepath.Join(dir, overridesFile)), os.MkdirAll(filepath.Join(dir, overridesFile, "x"), 0o700)); err != nil {
				t.Fatal(err)
			}
		}, "overrides.json is passed over: it is no regular file; the 1 overrides of version", "3 2 1", 4},
	} {
		t.Run(tc.what, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			keep(t, s, 1, 2)
			v := version(3, "seats = 3\n")
			v.Overrides = over("server.mode = observe")
			if err := errors.Join(s.Keep(v), s.SetOverrides(v.Overrides)); err != nil {
				t.Fatal(err)
			}
			tc.harm(t, dir)
			var want []string
			if tc.report != "" {
				want = []string{tc.report}
			}
			s = open(t, dir, want...)
			if numbers(s) != tc.left || s.Next() != tc.next {
				t.Errorf("versions %s, next %d; want %s, %d", numbers(s), s.Next(), tc.left, tc.next)
			}
			if o := s.Overrides(); len(o) != 1 || o[0].Name != "server.mode" {
				t.Errorf("overrides %v", o)
			}
			v.Number, v.Hash = s.Next(), ""
			if err := s.Keep(v); err != nil {
				t.Fatal(err)
			}
			if got := numbers(open(t, dir, want...)); got != fmt.Sprint(tc.next)+" "+tc.left {
				t.Errorf("one more: %s", got)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestDamagedVersionsGoWithTheirAge(t *testing.T) {
	dir := t.TempDir()
	keep(t, open(t, dir), 1, 2)
	if err := os.WriteFile(filepath.Join(dir, "version-2.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, "version-2.json")
	for range KeptVersions - 1 {
		keep(t, s, s.Next())
	}
	open(t, dir, "version-2.json") // 1 is still kept
	keep(t, s, s.Next())
	open(t, dir)
}

// A write may end at any of its steps. What was kept before is there in any case.
func TestACrashAtAnyStepOfAWriteLeavesTheOldOrTheNew(t *testing.T) {
	crash := errors.New("crash")
	for _, tc := range []struct {
		what  string
		write func(path string, data []byte, mode fs.FileMode) error
		want  string
	}{
		{"before anything", func(string, []byte, fs.FileMode) error { return crash }, "1"},
		{"in the middle of the content", func(path string, data []byte, mode fs.FileMode) error {
			return errors.Join(crash, os.WriteFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".77.tmp"), data[:len(data)/2], mode))
		}, "1"},
		{"before the rename", func(path string, data []byte, mode fs.FileMode) error {
			return errors.Join(crash, os.WriteFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".77.tmp"), data, mode))
		}, "1"},
		{"after the rename", func(path string, data []byte, mode fs.FileMode) error {
			return errors.Join(crash, ReplaceFile(path, data, mode))
		}, "2 1"},
	} {
		dir := t.TempDir()
		s := open(t, dir)
		keep(t, s, 1)
		s.soon = tc.write
		if err := s.Keep(version(2, "seats = 2\n")); !errors.Is(err, crash) {
			t.Fatalf("%s: %v", tc.what, err)
		}
		if numbers(s) != "1" || s.Next() != 2 {
			t.Errorf("%s: a version is there that could not be kept: %s", tc.what, numbers(s))
		}
		if got := numbers(open(t, dir)); got != tc.want {
			t.Errorf("%s: versions %s, want %s", tc.what, got, tc.want)
		}
		s.soon = replaceSoon
		keep(t, s, 2)
		if got := numbers(open(t, dir)); got != "2 1" {
			t.Errorf("%s: and once more: %s", tc.what, got)
		}
	}
}

// FuzzStoreFile: a version is read whole or not at all, whatever its file holds.
func FuzzStoreFile(f *testing.F) {
	whole := version(3, "a = 1\r\n")
	whole.Hash, whole.Overrides = hashOf(whole.Text), over("callers.acme.pool = vip")
	data, err := encode(whole)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte(nil))
	f.Add([]byte("{}"))
	f.Add([]byte(`{"version":3,"hash":"` + hashOf("") + `","overrides":[{"until":null}]}`))
	f.Add([]byte(`{"VERSION":3,"text":"\ud800","hash":"` + hashOf("\ufffd") + `"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := decodeVersion(data, 3)
		if err != nil {
			if err.Error() == "" || !reflect.DeepEqual(v, Version{}) {
				t.Fatalf("%v, %+v", err, v)
			}
			return
		}
		if v.Number != 3 || v.Hash != hashOf(v.Text) {
			t.Fatalf("%+v", v)
		}
		// What was read can be kept again.
		again, err := encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := decodeVersion(again, 3); err != nil || !reflect.DeepEqual(v, w) {
			t.Fatalf("%v: %+v, want %+v", err, w, v)
		}
	})
}
