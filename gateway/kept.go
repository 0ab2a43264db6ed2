package gateway

import (
	"errors"
	"os"
)

// openKept opens a file that an earlier run has kept in state.dir: a regular one and nothing else, as a pipe would be
// waited for without end.
func openKept(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	return os.Open(path)
}
