package history

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe in place of a file would be waited for without end.
func TestAPipeInPlaceOfAFileIsSetAside(t *testing.T) {
	for _, name := range []string{"", "-wal"} {
		d := newDesk(t)
		d.run(2*time.Minute, at(5))
		d.Close()
		if err := os.Remove(d.path + name); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(d.path+name, 0o600); err != nil {
			t.Fatal(err)
		}
		d.open()
		d.run(2*time.Minute, at(5))
		d.Flush()
		if _, err := d.Trouble(); err != nil || len(d.failed) != 1 || !strings.Contains(d.failed[0].Error(), "no regular file") {
			t.Errorf("%s: %v, and reported was %v", name, err, d.failed)
		}
	}
}

// A link to the device that is always full is moved away itself.
func TestALinkToADeviceIsSetAside(t *testing.T) {
	d := newDesk(t)
	d.Close()
	if err := os.Symlink("/dev/full", d.path); err != nil {
		t.Fatal(err)
	}
	d.open()
	d.run(2*time.Minute, at(5))
	d.restart()
	d.want("by the second", d.last(alice, 2*time.Minute, Rate), "120x5")
	if to, err := os.Readlink(d.path + ".damaged"); to != "/dev/full" {
		t.Errorf("set aside is %q, %v", to, err)
	}
}

const limited = "TIDEGATE_TEST_FILE_SIZE"

// The system itself lets no file grow any more, in a process of its own.
func TestASystemThatTakesNothingMore(t *testing.T) {
	if os.Getenv(limited) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
		cmd.Env = append(os.Environ(), limited+"=yes")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	limit := func(bytes uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: was.Max}); err != nil {
			t.Fatal(err)
		}
	}
	d := newDesk(t)
	d.run(70*time.Minute, at(5))
	d.Flush()
	limit(4096)
	d.run(5*time.Minute, at(5))
	d.Flush()
	if _, err := d.Trouble(); err == nil {
		t.Fatal("it is written all the same")
	}
	d.troubled("I/O error")
	limit(was.Cur)
	d.well("88x- 92x5")
	// And a start with no room at all, where nothing is there yet.
	limit(0)
	e := newDesk(t)
	e.run(70*time.Minute, at(5))
	e.troubled("")
	limit(was.Cur)
	e.well("93x- 87x5")
	var errs error
	for _, d := range []*desk{d, e} {
		if _, err := os.Stat(d.path + ".damaged"); err == nil {
			errs = errors.Join(errs, errors.New("a whole file was set aside"))
		}
	}
	if errs != nil {
		t.Error(errs)
	}
}
