package gateway

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"tidegate/pools"
	"tidegate/scheduler"
)

// windows keeps what slow rates have paid in state.dir, so that a restart gives nobody a fresh hour. It
// is written every few seconds and at the end: a crash forgets what the last seconds paid, and no more. It
// belongs to one goroutine; its trouble may be asked for by any.
type windows struct {
	path  string // empty: nothing is kept
	next  time.Time
	empty bool // the file holds nothing, or there is none
	trouble
}

const (
	// keptFrom is the shortest span of a rate that is kept: a shorter one is over by the time that a
	// restart takes, or nearly so.
	keptFrom = time.Minute
	// windowsEvery is how often they are written, and windowsShare bounds what that may cost: a write
	// that takes long is made less often.
	windowsEvery = 5 * time.Second
	windowsShare = 50 // at most a fiftieth of one core
)

// windowsHead is the first line of the file; one for each flow and caller follows.
type windowsHead struct {
	Format int `json:"windows"`
}

const windowsFormat = 1

// windowLine is what one flow's rate has paid; without a semantic it is a caller's own rate. The last line
// has the moment after which all of them are older than they say, and nothing else.
type windowLine struct {
	Saved    *time.Time  `json:"saved,omitempty"`
	Caller   string      `json:"caller,omitempty"`
	Semantic string      `json:"semantic,omitempty"`
	Route    string      `json:"route,omitempty"`
	Tenant   string      `json:"tenant,omitempty"`
	Meter    pools.Saved `json:"meter,omitzero"`
}

// tick writes the windows when it is time.
func (w *windows) tick(g *Gateway, now time.Time) {
	if w.path == "" || now.Before(w.next) {
		return
	}
	w.save(g)
	w.next = time.Now().Add(max(windowsEvery, windowsShare*time.Since(now)))
}

// save writes the windows now. A failure is said once, until it works again.
func (w *windows) save(g *Gateway) {
	if w.path == "" {
		return
	}
	err := w.write(g)
	if w.note(time.Now(), err) && err != nil {
		g.logs.Error("windows", zap.Error(err), zap.String("remedy", "make state.dir writable; until then a restart gives slow rates a fresh window"))
	}
}

func (w *windows) write(g *Gateway) error {
	out := &windowsFile{path: w.path}
	defer out.discard()
	g.scheduler.SaveMeters(keptFrom, func(f scheduler.SavedFlow) {
		line := windowLine{
			Caller: g.names.Callers.Name(f.Key.Caller), Semantic: g.names.Semantics.Name(f.Key.Semantic), Tenant: f.Key.Tenant, Meter: f.Meter,
		}
		if f.Key.Route != scheduler.NoRoute {
			line.Route = g.names.Routes.Name(f.Key.Route)
		}
		out.add(line)
	}, func(c scheduler.SavedCaller) {
		out.add(windowLine{Caller: g.names.Callers.Name(c.Caller), Meter: c.Meter})
	})
	if out.lines == 0 {
		if w.empty {
			return nil
		}
		if err := os.Remove(w.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot forget the windows: %w", err)
		}
		w.empty = true
		return nil
	}
	if err := out.commit(); err != nil {
		return fmt.Errorf("cannot keep the windows: %w", err)
	}
	w.empty = false
	return nil
}

// windowsFile is a file under way: it appears under its name when it is whole.
type windowsFile struct {
	path  string
	lines int
	err   error
	whole bool // and under its name

	file *os.File
	zip  *gzip.Writer
	enc  *json.Encoder
}

func (f *windowsFile) add(line windowLine) {
	if f.file == nil && f.err == nil {
		f.begin()
	}
	f.lines++
	if f.err == nil {
		f.err = f.enc.Encode(line)
	}
}

func (f *windowsFile) begin() {
	if f.file, f.err = os.OpenFile(f.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); f.err != nil {
		return
	}
	f.zip, f.err = gzip.NewWriterLevel(f.file, gzip.BestSpeed)
	if f.err == nil {
		f.enc = json.NewEncoder(f.zip)
		f.err = f.enc.Encode(windowsHead{windowsFormat})
	}
}

func (f *windowsFile) commit() error {
	now := time.Now()
	f.add(windowLine{Saved: &now})
	for _, step := range []func() error{f.zip.Close, f.file.Sync, f.file.Close} {
		if f.err == nil {
			f.err = step()
		}
	}
	if f.err == nil {
		f.err = os.Rename(f.path+".new", f.path)
	}
	f.whole = f.err == nil
	return f.err
}

// discard removes what was not committed: where the disk is full, it would keep it full.
func (f *windowsFile) discard() {
	if f.file != nil && !f.whole {
		f.file.Close()           // of no use any more
		os.Remove(f.file.Name()) // if it stays, the next one replaces it
	}
}

// restore gives the scheduler what the last run has kept. What cannot be read is said and passed over.
func (w *windows) restore(g *Gateway, now time.Time) {
	if w.path == "" {
		return
	}
	file, err := openKept(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		w.empty = true
		return
	}
	var flows []scheduler.SavedFlow
	var callers []scheduler.SavedCaller
	saved := now
	if err == nil {
		defer file.Close()
		err = readWindows(file, func(line *windowLine) {
			if line.Saved != nil {
				saved = *line.Saved
				return
			}
			if g.live.Load().policy.Caller(line.Caller) == nil {
				return // is no caller any more
			}
			caller := g.names.Callers.Index(line.Caller)
			if line.Semantic == "" {
				callers = append(callers, scheduler.SavedCaller{Caller: caller, Meter: line.Meter})
				return
			}
			key := scheduler.Key{Caller: caller, Semantic: g.names.Semantics.Index(line.Semantic), Route: scheduler.NoRoute, Tenant: line.Tenant}
			if line.Route != "" {
				key.Route = g.names.Routes.Index(line.Route)
			}
			flows = append(flows, scheduler.SavedFlow{Key: key, Meter: line.Meter})
		})
	}
	if err != nil {
		g.logs.Error("windows", zap.String("file", w.path), zap.Error(err), zap.Int("read", len(flows)+len(callers)))
	}
	g.scheduler.Restore(flows, callers, now.Sub(saved))
	if len(flows)+len(callers) > 0 {
		g.logs.Info("windows", zap.Int("flows", len(flows)), zap.Int("callers", len(callers)), zap.Time("saved", saved))
	}
}

// readWindows reads a file of windows, line by line.
func readWindows(r io.Reader, each func(*windowLine)) error {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("cannot read the windows: %w", err)
	}
	var head windowsHead
	d := json.NewDecoder(zip)
	if err := d.Decode(&head); err != nil {
		return fmt.Errorf("cannot read the windows: %w", err)
	}
	if head.Format != windowsFormat {
		return fmt.Errorf("cannot read the windows: their format is %d, and this program's is %d", head.Format, windowsFormat)
	}
	for {
		var line windowLine
		switch err := d.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read the windows: %w", err)
		}
		each(&line)
	}
}

func windowsIn(dir string) string { return filepath.Join(dir, "windows.json.gz") }
