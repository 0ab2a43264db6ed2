//go:build unix

package gateway

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"tidegate/gateway/console"
)

// Opening a pipe waits for somebody who writes into it. A change that waits so would have all others wait, and
// the end of the process as well.
func TestAPipeInPlaceOfTheConfigFileHoldsNobodyUp(t *testing.T) {
	d := newDesk(t, basic)
	if err := errors.Join(os.Remove(d.path), syscall.Mkfifo(d.path, 0o600)); err != nil {
		t.Fatal(err)
	}
	d.g.take(nil, nil) // as the watcher does
	if got := d.g.loadError.Load().(string); !strings.Contains(got, "no regular file") {
		t.Errorf("the error shown is %q", got)
	}
	for code, change := range map[string]func() (*console.Changed, error){
		console.CodeConfigInvalid: func() (*console.Changed, error) { return d.control().Reload(ops) },
		console.CodeNotWritten: func() (*console.Changed, error) {
			return d.control().Put(ops, d.etag(), []byte(hashed(basic)+"\n"))
		},
	} {
		_, err := change()
		var failure *console.Failure
		if !errors.As(err, &failure) || failure.Code != code {
			t.Errorf("%v, want %s", err, code)
		}
	}
}
