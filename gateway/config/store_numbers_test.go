package config

import (
	"fmt"
	"path/filepath"
	"testing"
)

func TestAFileOfAnImpossibleNumberIsNoVersion(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "version-9223372036854775807.json"), "{}")
	s := open(t, dir)
	if n := s.Next(); n != 1 {
		t.Errorf("the next is %d", n)
	}
	keep(t, s, 1)
}

// What lies below those that are kept is not even read: a directory full of it must not make the start late.
func TestVersionsBeyondThoseKeptAreNotRead(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for n := 101; n <= 100+KeptVersions; n++ {
		keep(t, s, n)
	}
	for n := 1; n <= 100; n++ {
		write(t, filepath.Join(dir, fmt.Sprintf("version-%d.json", n)), "damaged: whoever reads it says so")
	}
	s = open(t, dir)
	if got := len(s.Versions()); got != KeptVersions {
		t.Errorf("%d versions", got)
	}
	keep(t, s, s.Next()) // removes them
	if left, err := filepath.Glob(filepath.Join(dir, "version-*.json")); err != nil || len(left) != KeptVersions {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
