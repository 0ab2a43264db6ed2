package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func holds(t *testing.T, path, want string, mode fs.FileMode) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || string(data) != want {
		t.Errorf("%s holds %.100q, %v; want %q", path, data, err, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s has mode %v, %v; want %v", path, info.Mode().Perm(), err, mode)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAFileIsReplacedWithItsMode(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o644, 0o666} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := errors.Join(os.WriteFile(path, []byte("old"), mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Stat(path)
		if err := WriteFile(path, []byte("new\r\n\x00")); err != nil {
			t.Fatal(err)
		}
		holds(t, path, "new\r\n\x00", mode)
		if after, _ := os.Stat(path); os.SameFile(before, after) {
			t.Error("it was written in place, where a crash leaves half of it")
		}
	}
}

func TestAFileThatIsNotThereIsMadeForItsOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new", 0o600)
}

func TestLinksStayLinks(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "v2", "config.toml")
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "v2"), 0o700), os.WriteFile(target, []byte("old"), 0o640),
		os.Symlink("v2", filepath.Join(dir, "current")),
		os.Symlink(filepath.Join("current", "config.toml"), filepath.Join(dir, "config.toml")),
	); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.toml")
	if err := WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, target, "new", 0o640)
	holds(t, path, "new", 0o640)
	for name, want := range map[string]string{"config.toml": "current/config.toml", "current": "v2"} {
		if got, err := os.Readlink(filepath.Join(dir, name)); err != nil || filepath.ToSlash(got) != want {
			t.Errorf("%s leads to %q, %v", name, got, err)
		}
	}
}

func TestARelativePathIsWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	for range 2 {
		if err := WriteFile("config.toml", []byte("new")); err != nil {
			t.Fatal(err)
		}
		holds(t, "config.toml", "new", 0o600)
	}
}

func TestWhatCannotBeAConfigFileIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := errors.Join(os.Symlink("nowhere", link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                                "it is no regular file",
		link:                               "it is a link to a file that is not there",
		filepath.Join(dir, "no", "config"): "no such file or directory",
		filepath.Join(file, "config.toml"): "not a directory",
	} {
		err := WriteFile(path, []byte("new"))
		if err == nil || !strings.HasPrefix(err.Error(), "cannot write "+path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	holds(t, file, "", 0o600)
}

func TestAMountedFileIsExplained(t *testing.T) {
	if got := remedy(&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EBUSY}, "x"); !strings.Contains(got, "mount the directory") {
		t.Error(got)
	}
}

// Another write may be on its way, so only what is old is taken for left behind.
func TestOldLeftoversBesideAConfigFileAreRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	names := []string{".config.toml.1.tmp", ".config.toml.2.tmp", ".other.toml.3.tmp", "config.toml.4.tmp"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if name != names[1] {
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) != (i == 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
