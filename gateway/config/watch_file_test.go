package config

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// These run on the real file system, because what they test is how editors and clusters replace files.
// They wait for deliveries, not for time; the bound only ends a test that has failed.
const bound = 20 * time.Second

// onDisk watches a file in a directory of its own, and waits for contents to be delivered.
func onDisk(t *testing.T, path string) (expect func(content string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	delivered := make(chan string, 1000)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		NewWatcher(path, "").Run(ctx, func(data []byte, err error) {
			if err == nil {
				delivered <- string(data)
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return func(content string) {
		t.Helper()
		deadline := time.After(bound)
		for {
			select {
			case got := <-delivered:
				if got == content {
					return
				}
			case <-deadline:
				t.Fatalf("%q was never delivered", content)
			}
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWatchSurvivesHowFilesAreReplaced(t *testing.T) {
	for _, tc := range []struct {
		name    string
		replace func(t *testing.T, path, content string)
	}{
		{"written in place", write},
		{"written beside it and renamed over it", func(t *testing.T, path, content string) {
			write(t, path+".new", content)
			must(t, os.Rename(path+".new", path))
		}},
		{"removed and made anew", func(t *testing.T, path, content string) {
			must(t, os.Remove(path))
			write(t, path, content)
		}},
		{"moved to a backup and made anew", func(t *testing.T, path, content string) {
			must(t, os.Rename(path, path+"~"))
			write(t, path, content)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config.toml")
			write(t, path, "0")
			expect := onDisk(t, path)
			expect("0")
			for _, content := range []string{"1", "2", "3"} { // more than once: the first time may end the watch
				tc.replace(t, path, content)
				expect(content)
			}
		})
	}
}

func TestWatchFollowsSymlinksThatAreTurned(t *testing.T) {
	t.Parallel()
	// As a cluster mounts a config map: config.toml -> ..data/config.toml, ..data -> ..1, and ..data is turned.
	dir := t.TempDir()
	turn := func(version, content string) {
		must(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		write(t, filepath.Join(dir, version, "config.toml"), content)
		must(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
		must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	turn("..1", "1")
	path := filepath.Join(dir, "config.toml")
	must(t, os.Symlink(filepath.Join("..data", "config.toml"), path))
	expect := onDisk(t, path)
	expect("1")
	turn("..2", "2")
	expect("2")
	turn("..3", "3")
	expect("3")
	// The target is written where it lies, in another directory.
	write(t, filepath.Join(dir, "..3", "config.toml"), "4")
	expect("4")
}

func TestWatchTakesAFileThatComesLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	expect := onDisk(t, path)
	write(t, path, "1")
	expect("1")
}

// The system's notices must go on after the file was removed; polling would hide it if they did not.
func TestNoticesGoOnAfterTheFileWasRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, "0")
	ctx, cancel := context.WithCancel(context.Background())
	notices := make(chan struct{}, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		notice(ctx, path, notices)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	for round := range 3 {
		must(t, os.Remove(path))
		write(t, path, "again")
		// Notices of the removal and of the new watch come first, some time; then writing must give more.
		deadline := time.After(bound)
		for n := 0; n < 20; {
			write(t, path, "more")
			select {
			case <-notices:
				n++
			case <-time.After(10 * time.Millisecond):
			case <-deadline:
				t.Fatalf("round %d: notices have ended", round)
			}
		}
	}
}
