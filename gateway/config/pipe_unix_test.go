//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestARunningProcessReadsNoPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	must(t, syscall.Mkfifo(pipe, 0o600))
	must(t, os.Symlink(pipe, link))
	for _, path := range []string{pipe, link, os.DevNull} {
		if _, err := ReadAgain(path); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := ReadAgain(dir); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	file := filepath.Join(dir, "file")
	write(t, file, "x = 1\n")
	if got, err := ReadAgain(file); string(got) != "x = 1\n" || err != nil {
		t.Errorf("a file: %q, %v", got, err)
	}
}
