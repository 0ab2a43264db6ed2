//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package config

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// LockState makes the directory of the state (0700) and takes it for this process, until it is closed or the
// process ends, however that ends. That another one has it is an error: two would write over one another's
// versions and overrides. Where the file system knows no locks there is none.
func LockState(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the directory of the state: %w; %s", err, remedy(err, elsewhere))
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the directory of the state: %w; %s", err, elsewhere)
	}
	if err = unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		d.Close()
		return nil, fmt.Errorf("cannot use state.dir: another gateway runs on %s; end that one, or give each a directory of its own", dir)
	}
	return d, nil
}
