//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestOneGatewayAtATimeHasAStateDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	held, err := LockState(dir)
	must(t, err)
	if _, err := LockState(dir); err == nil || !strings.Contains(err.Error(), "another gateway runs on "+dir) {
		t.Errorf("a second one: %v", err)
	}
	must(t, held.Close())
	again, err := LockState(dir)
	must(t, err)
	must(t, again.Close())
}
