package main

import (
	"fmt"
	"os"
	"testing"
)

// TestMain makes the test binary usable as a gateway: `loadtest.test run -config F` is the fake as a program.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "run" {
		fmt.Fprintln(os.Stderr, fakeMain(os.Args[3]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}
