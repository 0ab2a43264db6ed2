package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	namePrefix = "trace-"
	nameSuffix = ".csv.gz"
	nameStamp  = "20060102T150405.000Z"
)

// fileName is the name of a file begun then. Names have all the same length, so they sort by time.
func fileName(begun time.Time) string {
	return namePrefix + begun.UTC().Format(nameStamp) + nameSuffix
}

// parseName says when a file was begun; not ok: it is none of ours. So is one from beyond the year 9000, behind which
// no names would be left.
func parseName(name string) (begun time.Time, ok bool) {
	stamp, found := strings.CutPrefix(name, namePrefix)
	stamp, cut := strings.CutSuffix(stamp, nameSuffix)
	if !found || !cut {
		return time.Time{}, false
	}
	begun, err := time.Parse(nameStamp, stamp)
	return begun, err == nil && begun.Year() <= 9000 && fileName(begun) == name
}

// kept is a file that is in the directory.
type kept struct {
	name  string
	bytes int64
}

// directory is the files of a trace. One goroutine writes.
type directory struct {
	path  string
	lock  *os.File // the salt; held locked, so that no second process deletes what this one writes
	files []kept   // oldest first; the last one may be open

	file  output
	begun time.Time // when the file was opened, with the monotonic clock

	create func(path string) (output, error)
	now    func() time.Time // for names only: it may step back
}

// output is what is needed of an *os.File.
type output interface {
	Write([]byte) (int, error)
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
	Close() error
}

func createFile(path string) (output, error) {
	// Never one that is there: it may be another's, or a whole trace.
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
}

// openDirectory makes the directory if need be, takes it for this process and finds what is there.
func openDirectory(path string) (*directory, saltKey, error) {
	fail := func(err error) (*directory, saltKey, error) {
		return nil, saltKey{}, fmt.Errorf("cannot record into %s: %w", path, err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fail(err)
	}
	probe, err := os.CreateTemp(path, ".probe-*")
	if err != nil {
		return fail(fmt.Errorf("%w; give the gateway's user the right to write there, or another record.dir", err))
	}
	probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return fail(err)
	}
	lock, key, err := openSalt(filepath.Join(path, "salt"))
	if err != nil {
		return fail(err)
	}
	d := &directory{path: path, lock: lock, create: createFile, now: time.Now}
	if err := d.scan(); err != nil {
		lock.Close()
		return fail(err)
	}
	return d, key, nil
}

// scan finds the files that are there: those of earlier processes count, whole or cut, and what somebody else has taken
// away does not.
func (d *directory) scan() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	d.files = d.files[:0]
	for _, e := range entries {
		if _, ours := parseName(e.Name()); !ours || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil {
			d.files = append(d.files, kept{e.Name(), info.Size()})
		}
	}
	slices.SortFunc(d.files, func(a, b kept) int { return strings.Compare(a.name, b.name) })
	return nil
}

func (d *directory) bytes() (sum int64) {
	for _, f := range d.files {
		sum += f.bytes
	}
	return sum
}

// size of the open file.
func (d *directory) size() int64 {
	if d.file == nil {
		return 0
	}
	return d.files[len(d.files)-1].bytes
}

// begin opens a new file, named later than all before.
func (d *directory) begin(now time.Time) error {
	if err := os.MkdirAll(d.path, 0o700); err != nil { // somebody may have removed it
		return err
	}
	if err := d.scan(); err != nil {
		return err
	}
	stamp := d.now().UTC().Truncate(time.Millisecond)
	if n := len(d.files); n > 0 {
		if last, _ := parseName(d.files[n-1].name); !stamp.After(last) {
			stamp = last.Add(time.Millisecond)
		}
	}
	name := fileName(stamp)
	f, err := d.create(filepath.Join(d.path, name))
	for range 100 {
		if !errors.Is(err, fs.ErrExist) { // something of that name that is no file
			break
		}
		stamp = stamp.Add(time.Millisecond)
		name = fileName(stamp)
		f, err = d.create(filepath.Join(d.path, name))
	}
	if err != nil {
		return err
	}
	d.file, d.begun = f, now
	d.files = append(d.files, kept{name: name})
	return nil
}

// append writes a whole member to the open file. What a failure has written of it is taken back; where that fails too,
// or nothing else is in the file, it is closed, so that at most its end is cut.
func (d *directory) append(b []byte) error {
	last := &d.files[len(d.files)-1]
	n, err := d.file.Write(b)
	if err == nil {
		last.bytes += int64(n)
		return nil
	}
	var cut error
	if n > 0 {
		if cut = d.file.Truncate(last.bytes); cut != nil {
			last.bytes += int64(n)
		}
	}
	if cut != nil || last.bytes == 0 {
		return errors.Join(err, cut, d.end())
	}
	return err
}

// end closes the open file, and removes it if nothing could be written to it.
func (d *directory) end() error {
	if d.file == nil {
		return nil
	}
	err := d.file.Close()
	d.file = nil
	if n := len(d.files) - 1; d.files[n].bytes == 0 {
		err = errors.Join(err, os.Remove(filepath.Join(d.path, d.files[n].name)))
		d.files = d.files[:n]
	}
	return err
}

// forget closes the open file and leaves alone whatever has its name now.
func (d *directory) forget() {
	d.file.Close()
	d.file, d.files = nil, d.files[:len(d.files)-1]
}

// lost says that the open file is no longer where it was made: what is written to it, nobody finds.
func (d *directory) lost() bool {
	if d.file == nil {
		return false
	}
	there, err := os.Lstat(filepath.Join(d.path, d.files[len(d.files)-1].name))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	open, err := d.file.Stat()
	return err == nil && !os.SameFile(there, open)
}

// prune removes the oldest files until there is room for more bytes within most. The open file stays.
func (d *directory) prune(more, most int64) error {
	sum, gone := d.bytes()+more, 0
	closed := len(d.files)
	if d.file != nil {
		closed--
	}
	var err error
	for ; gone < closed && sum > most; gone++ {
		err = os.Remove(filepath.Join(d.path, d.files[gone].name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = nil
		sum -= d.files[gone].bytes
	}
	d.files = slices.Delete(d.files, 0, gone)
	if err == nil && sum > most {
		err = fmt.Errorf("max_bytes = %d is used up", most)
	}
	return err
}

// close gives the directory back.
func (d *directory) close() error { return errors.Join(d.end(), d.lock.Close()) }
