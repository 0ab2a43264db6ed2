package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// disk is one whose files do what a test says.
type disk struct {
	mu     sync.Mutex
	failed []error
	write  func(f *os.File, b []byte) (int, error) // nil: as usual
	create error
	cut    error // of Truncate
}

type diskFile struct {
	*os.File
	d *disk
}

func (f diskFile) Write(b []byte) (int, error) {
	f.d.mu.Lock()
	write := f.d.write
	f.d.mu.Unlock()
	if write != nil {
		return write(f.File, b)
	}
	return f.File.Write(b)
}

func (f diskFile) Truncate(size int64) error {
	if f.d.cut != nil {
		return f.d.cut
	}
	return f.File.Truncate(size)
}

func (d *disk) set(write func(*os.File, []byte) (int, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.write = write
}

func (d *disk) open(t *testing.T, o Options) *Recorder {
	t.Helper()
	o.Failed = func(err error) { d.failed = append(d.failed, err) }
	r, err := open(o, func(path string) (*directory, saltKey, error) {
		dir, key, err := openDirectory(path)
		if err == nil {
			dir.create = func(path string) (output, error) {
				if d.create != nil {
					return nil, d.create
				}
				f, err := createFile(path)
				if err != nil {
					return nil, err
				}
				return diskFile{f.(*os.File), d}, nil
			}
		}
		return dir, key, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestASlowDiskHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		o := options(t.TempDir())
		r := d.open(t, o)
		let := make(chan struct{})
		d.set(func(f *os.File, b []byte) (int, error) {
			<-let
			return f.Write(b)
		})
		const n = (batches + 5) * batchRows
		for range n {
			r.Add(entry(time.Now(), "acme")) // would end the test if it waited: nothing lets the disk go on
		}
		if s := r.Stats(); s.Dropped != 5*batchRows || s.Written != 0 {
			t.Errorf("%+v", s)
		}
		close(let)
		synctest.Wait()
		r.Add(entry(time.Now(), "later"))
		time.Sleep(batches * flushAfter)
		r.mu.Lock()
		made := r.made
		r.mu.Unlock()
		if made > spareBatches {
			t.Errorf("%d batches are kept", made)
		}
		closed(t, r)
		if s := r.Stats(); s.Written != batches*batchRows+1 || s.Dropped != 5*batchRows {
			t.Errorf("%+v", s)
		}
		if got := text(t, o.Dir, ours(t, o.Dir)); strings.Count(got, "\n") != batches*batchRows+2 || !strings.Contains(got, "later") {
			t.Errorf("%d lines", strings.Count(got, "\n"))
		}
	})
}

func TestAFullDiskCostsEntriesAndNoMore(t *testing.T) {
	full := func(f *os.File, b []byte) (int, error) {
		n, _ := f.Write(b[:len(b)/2])
		return n, syscall.ENOSPC
	}
	for name, c := range map[string]struct {
		cut   error
		files int
	}{
		"what is written in part is taken back":                  {nil, 1},
		"where it cannot be taken back, another file is written": {syscall.EIO, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := disk{cut: c.cut}
				o := options(t.TempDir())
				r := d.open(t, o)
				add := func(caller string, after time.Duration) {
					r.Add(entry(time.Now(), caller))
					time.Sleep(after)
					synctest.Wait()
				}
				add("before", flushAfter)
				d.set(full)
				add("lost", flushAfter)
				d.create = syscall.ENOSPC
				add("lost", flushAfter)
				if len(d.failed) != 1 || !errors.Is(d.failed[0], syscall.ENOSPC) || !strings.Contains(d.failed[0].Error(), o.Dir) {
					t.Errorf("reported: %q", d.failed)
				}
				add("lost", reportAfter)
				add("lost", flushAfter)
				if len(d.failed) != 2 {
					t.Errorf("reported: %q", d.failed)
				}
				d.set(nil)
				d.create = nil
				add("after", flushAfter)
				closed(t, r)
				if s := r.Stats(); s.Written != 2 || s.Dropped != 4 || s.Files != c.files {
					t.Errorf("%+v", s)
				}
				records, flaws := all(t, o.Dir)
				if len(records) != 2 || records[0].Caller != "before" || records[1].Caller != "after" || flaws != c.files-1 {
					t.Errorf("%+v, %d flaws", records, flaws)
				}
			})
		})
	}
}

func TestADiskThatFailsIsNotAskedForEachBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		asked := 0
		d.write = func(*os.File, []byte) (int, error) {
			asked++
			return 0, syscall.ENOSPC
		}
		r := d.open(t, options(t.TempDir()))
		for i := range 20 * batchRows {
			r.Add(entry(time.Now(), "acme"))
			if i%batchRows == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if asked != 1 {
			t.Errorf("asked %d times within a moment", asked)
		}
		if left := ours(t, r.opts.Dir); len(left) != 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

func TestAFileThatIsTakenAwayIsBegunAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		o := options(filepath.Join(t.TempDir(), "deep", "down"))
		r := d.open(t, o)
		r.Add(entry(time.Now(), "acme"))
		time.Sleep(flushAfter)
		synctest.Wait()
		if err := os.RemoveAll(o.Dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(flushAfter)
		r.Add(entry(time.Now(), "bolt"))
		time.Sleep(flushAfter)
		synctest.Wait()
		if got, _ := all(t, o.Dir); len(got) != 1 || got[0].Caller != "bolt" || len(d.failed) != 1 {
			t.Errorf("%+v; reported: %q", got, d.failed)
		}
	})
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "file"), nil)
	locked := filepath.Join(dir, "locked")
	opened(t, options(locked))
	for want, change := range map[string]func(*Options){
		"dir is empty":                           func(o *Options) { o.Dir = "" },
		"max_bytes = 5: must be at least":        func(o *Options) { o.MaxBytes = 5 },
		"file_bytes = 0: must be above 0":        func(o *Options) { o.FileBytes = 0 },
		"file_span = -1s: must be above 0":       func(o *Options) { o.FileSpan = -time.Second },
		"cannot record into " + file + ": mkdir": func(o *Options) { o.Dir = file },
		"another process records there":          func(o *Options) { o.Dir = locked },
		"cannot record into /proc/self/fdinfo":   func(o *Options) { o.Dir = "/proc/self/fdinfo" },
	} {
		o := options(filepath.Join(dir, "fine"))
		change(&o)
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "fine")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory was made for options that are refused: %v", err)
	}
}

func TestADirectoryThatCannotBeWrittenIsRefusedAndTheOldOneStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t.TempDir())
		r := opened(t, o)
		bad := options(write(t, filepath.Join(t.TempDir(), "file"), nil))
		if err := r.Apply(bad); err == nil {
			t.Error("a file was taken for a directory")
		}
		small := o
		small.MaxBytes = 1
		if err := r.Apply(small); err == nil {
			t.Error("a bound of one byte was taken")
		}
		r.Add(entry(time.Now(), "acme"))
		closed(t, r)
		if got, _ := all(t, o.Dir); len(got) != 1 {
			t.Errorf("%+v", got)
		}
		if err := r.Apply(o); err == nil {
			t.Error("a closed recorder was changed")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnotherDirectoryHasItsOwnSaltFromItsFirstLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := options(t.TempDir()), options(t.TempDir())
		r := opened(t, first)
		tenant := func() { r.Add(&Entry{At: time.Now(), Caller: "acme", Tenant: []byte("berlin"), Outcome: "served"}) }
		name := func(o Options) string {
			got, _ := all(t, o.Dir)
			if len(got) != 1 {
				t.Fatalf("%+v", got)
			}
			return got[0].Tenant
		}
		tenant()
		if err := r.Apply(second); err != nil {
			t.Fatal(err)
		}
		tenant()
		opened(t, first).Close() // it was given back
		closed(t, r)
		if name(first) == name(second) {
			t.Errorf("both call the tenant %s", name(first))
		}
		if s := r.Stats(); s.Written != 2 || s.Files != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestASmallerBoundHoldsWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		o := options(t.TempDir())
		write(t, filepath.Join(o.Dir, "trace-19990101T000000.000Z.csv.gz"), make([]byte, 700<<10))
		r := d.open(t, o)
		rows := usual(80*batchRows, 10_000, false)
		add := func() {
			for i := range rows {
				p := &rows[i]
				r.Add(&Entry{At: time.UnixMilli(p.at), Caller: p.caller, Semantic: p.semantic, Route: p.route, Bytes: p.bytes, Seat: p.seat, Outcome: p.outcome})
				if i%batchRows == 0 {
					synctest.Wait()
				}
			}
			time.Sleep(flushAfter)
			synctest.Wait()
		}
		add()
		if s := r.Stats(); s.Files != 2 || s.Bytes < 2*tight || s.Dropped != 0 {
			t.Fatalf("%+v", s)
		}
		o.MaxBytes = tight
		o.Failed = func(err error) { t.Error(err) }
		if err := r.Apply(o); err != nil {
			t.Fatal(err)
		}
		time.Sleep(flushAfter)
		synctest.Wait()
		if s := r.Stats(); s.Bytes > tight {
			t.Errorf("%+v", s)
		}
		add()
		if s := r.Stats(); s.Bytes > tight || s.Bytes < tight/2 || s.Dropped != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCloseWaitsForTheDiskNoLongerThanItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		r := d.open(t, options(t.TempDir()))
		let := make(chan struct{})
		d.set(func(f *os.File, b []byte) (int, error) {
			<-let
			return f.Write(b)
		})
		r.Add(entry(time.Now(), "acme"))
		begun := time.Now()
		if err := r.Close(); err == nil || !strings.Contains(err.Error(), "cannot end the record") {
			t.Errorf("%v", err)
		}
		if took := time.Since(begun); took != diskWait {
			t.Errorf("took %v", took)
		}
		close(let)
	})
}
