package main

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"tidegate/gateway/config"
)

func TestOpenFilesAreRaisedToWhatIsAllowed(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) }()
	low := syscall.Rlimit{Cur: min(before.Max, 512), Max: before.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Server.MaxConnections = 1
	var said bytes.Buffer
	fits := raiseFileLimit(c, &said)
	var now syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now)
	if now.Cur != before.Max || said.Len() > 0 || uint64(fits) != min(before.Max/2, 1<<31-1) {
		t.Errorf("the limit is %d of %d, %d fit; said %q", now.Cur, before.Max, fits, said.String())
	}
	c.Server.MaxConnections = fits + 1
	if n := raiseFileLimit(c, &said); n != fits {
		t.Errorf("%d fit, then %d", fits, n)
	}
	for _, want := range []string{
		fmt.Sprintf("server.max_connections = %d needs %d open files", fits+1, 2*fits+2), fmt.Sprintf("the limit is %d", now.Cur), fmt.Sprintf("at most %d connections", fits),
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not in %q", want, said.String())
		}
	}
}
