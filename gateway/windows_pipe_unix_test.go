//go:build unix

package gateway

import (
	"syscall"
	"testing"
)

func TestAPipeInPlaceOfTheWindowsHoldsNoStartUp(t *testing.T) {
	d := newDesk(t, basic)
	if err := syscall.Mkfifo(windowsIn(d.dir), 0o600); err != nil {
		t.Fatal(err)
	}
	d.restart()
	if lines := d.log.lines("windows"); len(lines) != 1 {
		t.Errorf("the log says %v", lines)
	}
}
