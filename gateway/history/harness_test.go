package history

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// t0 is at a full hour.
var t0 = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// desk is a history whose clock the test sets.
type desk struct {
	*History
	t      *testing.T
	path   string
	now    time.Time    // as the test sets it
	shown  atomic.Int64 // and as the history is told, in seconds
	most   int
	failed []error
	lost   map[int64]bool // seconds that are known by the minute only
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, path: filepath.Join(t.TempDir(), "history.db"), now: t0, lost: make(map[int64]bool)}
	d.open()
	t.Cleanup(func() { d.Close() })
	return d
}

func (d *desk) open() {
	d.shown.Store(d.now.Unix())
	d.History = Open(Options{Path: d.path, MaxSeries: d.most, Now: func() time.Time { return time.Unix(d.shown.Load(), 0) }, Failed: func(err error) { d.failed = append(d.failed, err) }})
}

func (d *desk) restart() {
	d.Close()
	d.open()
}

// kill leaves the files as a process that is killed leaves them.
func (d *desk) kill() {
	d.t.Helper()
	d.Flush()
	there := d.t.TempDir()
	for _, name := range append(beside(d.path), d.path) {
		data, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			d.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(there, filepath.Base(name)), data, 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
	d.Close()
	d.path = filepath.Join(there, "history.db")
	d.open()
}

// run adds a sample a second for so long.
func (d *desk) run(long time.Duration, of func(at time.Time) map[Key]Sample) {
	for end := d.now.Add(long); d.now.Before(end); d.now = d.now.Add(time.Second) {
		d.shown.Store(d.now.Unix())
		d.Add(d.now, func(yield func(Key, *Sample)) {
			for k, s := range of(d.now) {
				yield(k, &s)
			}
		})
	}
}

// last reads up to now, one field.
func (d *desk) last(k Key, span time.Duration, field int) []float64 {
	d.t.Helper()
	v, _ := d.Read(context.Background(), k, d.now, span)
	return v.Fields[field]
}

var alice = Key{Caller, "alice", "chat"}

func at(rate float32) func(time.Time) map[Key]Sample {
	return func(time.Time) map[Key]Sample { return map[Key]Sample{alice: {Rate: rate}} }
}

// runs writes values as runs: "3x5 2x-" is three fives and two unknown.
func runs(values []float64) string {
	text, n := "", 0
	for i, v := range values {
		n++
		if i+1 < len(values) && (v == values[i+1] || math.IsNaN(v) && math.IsNaN(values[i+1])) {
			continue
		}
		word := fmt.Sprint(v)
		if math.IsNaN(v) {
			word = "-"
		}
		text += fmt.Sprintf(" %dx%s", n, word)
		n = 0
	}
	if text == "" {
		return ""
	}
	return text[1:]
}

func (d *desk) want(what string, got []float64, want string) {
	d.t.Helper()
	if runs(got) != want {
		d.t.Errorf("%s: %s\nwant %s", what, runs(got), want)
	}
}
