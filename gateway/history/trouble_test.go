package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// troubled sees that the disk is said not to work, with these words, and that memory goes on.
func (d *desk) troubled(words string) {
	d.t.Helper()
	d.Flush()
	since, err := d.Trouble()
	if err == nil || !strings.Contains(err.Error(), words) || since.IsZero() || since.After(d.now) {
		d.t.Errorf("the trouble since %v is %v; want %q", since, err, words)
	}
	if len(d.failed) != 1 {
		d.t.Errorf("it was said %d times: %v", len(d.failed), d.failed)
	}
	before := d.now
	d.run(16*time.Minute, at(5))
	d.want("seconds in memory", d.last(alice, BySecond, Rate), "900x5")
	d.Flush()
	if again, _ := d.Trouble(); !again.Equal(since) || again.After(before) {
		d.t.Errorf("it began at %v, and then at %v", since, again)
	}
	if len(d.failed) != 1 {
		d.t.Errorf("it was said again: %v", d.failed)
	}
}

// well sees that the disk works again, and has what memory had kept for it.
func (d *desk) well(minutes string) {
	d.t.Helper()
	d.run(time.Minute, at(5))
	d.Flush()
	if _, err := d.Trouble(); err != nil {
		d.t.Errorf("the trouble is still %v", err)
	}
	d.restart()
	d.want("by the minute, after a restart", d.last(alice, 3*time.Hour, Rate), minutes)
	d.want("by the second", d.last(alice, BySecond, Rate), "900x5")
}

func TestADirectoryThatGoesAndComesBack(t *testing.T) {
	d := newDesk(t)
	dir := filepath.Join(t.TempDir(), "state")
	d.Close()
	d.path = filepath.Join(dir, "history.db")
	d.failed = nil
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d.open()
	d.run(70*time.Minute, at(5))
	d.Flush()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	d.run(65*time.Minute, at(5))
	d.troubled("no such file or directory")
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	d.well("28x- 152x5")
}

func TestADirectoryThatIsNoneYet(t *testing.T) {
	d := newDesk(t)
	d.Close()
	dir := filepath.Join(t.TempDir(), "state")
	write(t, dir, nil) // a file: whoever runs the test, nothing can be made in it
	d.path = filepath.Join(dir, "history.db")
	d.open()
	d.run(70*time.Minute, at(5))
	d.troubled("not a directory")
	if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	d.well("93x- 87x5")
}

func TestADiskThatIsFull(t *testing.T) {
	d := newDesk(t)
	d.run(70*time.Minute, at(5))
	d.Flush()
	limit := func(pages string) {
		if _, err := d.keeper.disk.Load().writer.Exec("PRAGMA max_page_count = " + pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("1") // as many as there are
	d.run(5*time.Minute, func(at time.Time) map[Key]Sample {
		many := map[Key]Sample{alice: {Rate: 5}}
		for i := range 300 {
			many[Key{Caller, fmt.Sprint("caller-", i), "chat"}] = Sample{Rate: float32(at.Second() * i % 61)}
		}
		return many
	})
	d.troubled("full")
	limit("1000000")
	d.well("88x- 92x5")
}

func TestAFileThatIsGoneIsMadeAgain(t *testing.T) {
	d := newDesk(t)
	d.run(30*time.Minute, at(5))
	d.Flush()
	for _, name := range append(beside(d.path), d.path) {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	d.run(10*time.Minute, at(5))
	d.Flush()
	d.restart()
	d.want("by the minute", d.last(alice, time.Hour, Rate), "20x- 40x5") // of the running hour memory has all
	if len(d.failed) > 0 {
		t.Error(d.failed)
	}
}

// Somebody empties a file while it is open, with all that SQLite keeps beside it.
func TestFilesThatAreEmptiedHarmNobody(t *testing.T) {
	for _, name := range []string{"", "-wal", "-shm"} {
		d := newDesk(t)
		d.run(65*time.Minute, at(5))
		d.Flush()
		if err := os.Truncate(d.path+name, 0); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			d.run(30*time.Minute, at(5))
			d.Flush()
			d.last(alice, ByMinute, Rate)
		}
		d.restart()
		d.want("history.db"+name+": by the second", d.last(alice, BySecond, Rate), "900x5")
		d.run(time.Minute, at(5))
		d.Flush()
		if _, err := d.Trouble(); err != nil {
			t.Error(name, err)
		}
	}
}

// A disk that answers nothing at all holds up neither those who add nor those who read nor the end.
func TestADiskThatHangsHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		none := filepath.Join(t.TempDir(), "file")
		write(t, none, nil)
		began := time.Now()
		h := Open(Options{Path: filepath.Join(none, "history.db"), Failed: func(error) { <-hangs }})
		if waited := time.Since(began); waited != openWait {
			t.Errorf("the start waited %v", waited)
		}
		for range 20 * 60 {
			h.Add(time.Now(), func(yield func(Key, *Sample)) { yield(alice, &Sample{Rate: 5}) })
			time.Sleep(time.Second)
		}
		if v, ok := h.Read(t.Context(), alice, time.Now(), BySecond); !ok || runs(v.Fields[Rate]) != "900x5" {
			t.Errorf("it is known as %v", runs(v.Fields[Rate]))
		}
		began = time.Now()
		h.Close()
		if waited := time.Since(began); waited != closeWait {
			t.Errorf("the end waited %v", waited)
		}
		close(hangs)
	})
}
