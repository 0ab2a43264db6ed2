package config

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs f as a user who owns nothing, since root may write everywhere. Files made by the test are
// readable for him.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread() // the kernel knows users by thread
	defer runtime.UnlockOSThread()
	const nobody = 65534
	if err := syscall.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setfsuid(0)
	f()
}

// sharedDir is a directory that others can read, and write only with the mode.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAPipeInPlaceOfAVersionIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	keep(t, open(t, dir), 1, 2)
	if err := syscall.Mkfifo(filepath.Join(dir, "version-7.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := open(t, dir, "version-7.json is passed over: it is no regular file"); numbers(s) != "2 1" || s.Next() != 8 {
		t.Errorf("%s, next %d", numbers(s), s.Next())
	}
}

func TestAReadOnlyDirectoryIsReadAndWritesSayWhatToDo(t *testing.T) {
	dir := sharedDir(t)
	keep(t, open(t, dir), 1)
	if err := errors.Join(os.Chmod(filepath.Join(dir, "version-1.json"), 0o644), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	asNobody(t, func() {
		s := open(t, dir)
		if numbers(s) != "1" {
			t.Errorf("versions %s", numbers(s))
		}
		for _, err := range []error{s.Keep(version(2, "x")), s.SetOverrides(nil)} {
			if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "set state.dir to another place") {
				t.Error(err)
			}
		}
		if numbers(s) != "1" || s.Next() != 2 {
			t.Errorf("changed: %s", numbers(s))
		}
		if _, _, err := OpenStore(filepath.Join(dir, "below")); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "set state.dir to another place") {
			t.Error(err)
		}
	})
}

func TestAFileOfADirectoryThatIsReadOnlyStaysAsItIs(t *testing.T) {
	dir := sharedDir(t)
	path := filepath.Join(dir, "config.toml")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o644), os.Chmod(path, 0o666), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	asNobody(t, func() {
		if err := WriteFile(path, []byte("new")); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "let the gateway's user write it and its directory") {
			t.Error(err)
		}
	})
	holds(t, path, "old", 0o666)
}

// The directory would allow it, and the owner of the file does not.
func TestAProtectedFileIsNotReplaced(t *testing.T) {
	dir := sharedDir(t)
	path := filepath.Join(dir, "config.toml")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o444), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		if err := WriteFile(path, []byte("new")); !errors.Is(err, os.ErrPermission) {
			t.Error(err)
		}
	})
	holds(t, path, "old", 0o444)
}

// Only root gives files away, so that only root can find one that belongs to another.
func TestAReplacedFileKeepsItsOwner(t *testing.T) {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 1234, 4321
	}
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o640), os.Chown(path, uid, gid)); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new", 0o640)
	info, err := os.Stat(path)
	if s := info.Sys().(*syscall.Stat_t); err != nil || int(s.Uid) != uid || int(s.Gid) != gid {
		t.Errorf("it belongs to %d:%d", s.Uid, s.Gid)
	}
}

// keeperDir makes the test binary a process that keeps versions without end.
const keeperDir = "TIDEGATE_TEST_KEEPER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(keeperDir); dir != "" {
		keepForEver(dir)
	}
	os.Exit(m.Run())
}

func keepForEver(dir string) {
	s, damaged, err := OpenStore(dir)
	if err != nil || len(damaged) > 0 {
		fmt.Println(err, damaged)
		os.Exit(1)
	}
	text := strings.Repeat("# a line of a file\n", 500)
	for {
		n := s.Next()
		if err := errors.Join(s.Keep(version(n, fmt.Sprintf("%s# %d\n", text, n))), s.SetOverrides(over(fmt.Sprintf("pools.shared.seats = %d", n)))); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

// The process is killed in the middle of whatever it is doing, some of it in the middle of a write.
func TestAStoreIsWholeAfterItsProcessIsKilled(t *testing.T) {
	dir, told := t.TempDir(), 0
	for round := range 8 {
		keeper := exec.Command(os.Args[0])
		keeper.Env = append(os.Environ(), keeperDir+"="+dir)
		out, err := keeper.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := keeper.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 1 + round%3 {
			lines.Scan()
			if _, err := fmt.Sscan(lines.Text(), &told); err != nil {
				t.Error(lines.Text())
			}
		}
		_ = keeper.Process.Kill() // the wait tells
		if err := keeper.Wait(); err == nil {
			t.Fatal("it ended by itself")
		}
		s := open(t, dir)
		newest := s.Versions()[0]
		// What was said to be kept is, and at most the one after it.
		if newest.Number < told {
			t.Fatalf("round %d: %d was kept, and %d is there", round, told, newest.Number)
		}
		for i, v := range s.Versions() {
			if v.Number != newest.Number-i || !strings.HasSuffix(v.Text, fmt.Sprintf("# %d\n", v.Number)) {
				t.Fatalf("round %d: version %d in place %d", round, v.Number, i)
			}
		}
		if o := s.Overrides(); len(o) != 1 || o[0].Value != fmt.Sprint(newest.Number) && o[0].Value != fmt.Sprint(newest.Number-1) {
			t.Fatalf("round %d: version %d beside %v", round, newest.Number, o)
		}
	}
}
