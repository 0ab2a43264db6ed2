package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// The files, and when one follows the other. The one before the present one is kept, so what is there is between one and
// two of them: some 30,000 entries and more.
const (
	current  = "audit.jsonl"
	previous = "audit.1.jsonl"
	mostFile = 8 << 20 // bytes
)

// file is the trail on the disk. All but find belongs to whoever may write.
type file struct {
	path, old string
	f         *os.File
	info      os.FileInfo // of the file that size is of, open or not
	size      int64       // of the entries that have reached the disk
	torn      bool        // there may be more in the file than size

	most  int64                        // bytes of one file; less for tests
	write func(*os.File, []byte) error // whole and to the disk; another one for tests
}

func newFile(dir string) *file {
	return &file{path: filepath.Join(dir, current), old: filepath.Join(dir, previous), most: mostFile, write: writeThrough}
}

func writeThrough(h *os.File, lines []byte) error {
	if _, err := h.Write(lines); err != nil {
		return err
	}
	return h.Sync()
}

// open opens the file, makes it if there is none, repairs its end, and shows what it and the one before it hold. Odd is what
// was wrong and is not any more.
func (f *file) open(each func(*Entry)) (last uint64, odd []error, err error) {
	f.close()
	take := func(e *Entry) {
		if e.ID > last { // a line that somebody has put there twice counts once
			last = e.ID
			each(e)
		}
	}
	damaged := 0
	if old, err := openRegular(f.old, os.O_RDONLY); err == nil {
		_, bad, err := scan(old, take)
		old.Close()
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", f.old, err)
		}
		damaged += bad
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, nil, err
	}
	h, err := openRegular(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return 0, nil, err
	}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	end, bad, err := scan(h, take)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", f.path, err)
	}
	end, err = f.repair(h, end, take, &odd)
	if err != nil {
		return 0, nil, err
	}
	if damaged += bad; damaged > 0 {
		odd = append(odd, fmt.Errorf("%d lines of the audit trail cannot be read and are passed over", damaged))
	}
	info, err := h.Stat()
	if err != nil {
		return 0, nil, err
	}
	if err := syncDir(filepath.Dir(f.path)); err != nil {
		return 0, nil, err
	}
	f.f, f.info, f.size, f.torn = h, info, end, false
	return last, odd, nil
}

// repair ends a file that ends in half a line: only the end of the line may be missing, else the half goes.
func (f *file) repair(h *os.File, end int64, take func(*Entry), odd *[]error) (int64, error) {
	tail := make([]byte, mostLine+1)
	n, err := h.ReadAt(tail, end)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return 0, err
	case n == 0:
		return end, nil
	}
	if e, ok := parseLine(tail[:n]); ok {
		if _, err := h.Write([]byte{'\n'}); err != nil {
			return 0, errors.Join(err, h.Truncate(end+int64(n)))
		}
		take(&e)
		return end + int64(n) + 1, nil
	}
	*odd = append(*odd, fmt.Errorf("the audit trail ended in %d bytes of an entry that was not written to its end; they are removed", n))
	return end, h.Truncate(end)
}

func (f *file) close() {
	if f.f != nil {
		f.f.Close() // all that counts was synced
		f.f = nil
	}
}

// ready says that the file under its name is the one that size is of, and opens it if it is not open.
func (f *file) ready() bool {
	info, err := os.Lstat(f.path)
	if f.info == nil || err != nil || !os.SameFile(info, f.info) {
		return false
	}
	if f.f == nil {
		f.f, err = openRegular(f.path, os.O_RDWR|os.O_APPEND)
	}
	return err == nil
}

// append writes entries to a file that is ready, and returns when they have reached the disk. When it fails, none of them is
// there, or is taken away before the next attempt; that has the file opened anew, since a handle may be what is broken.
func (f *file) append(entries []Entry) (err error) {
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	var lines []byte
	for i := range entries {
		lines = entries[i].appendLine(lines)
	}
	if f.torn {
		if err := f.f.Truncate(f.size); err != nil {
			return err
		}
		f.torn = false
	}
	if f.size > 0 && f.size+int64(len(lines)) > f.most {
		if err := f.turn(); err != nil {
			return err
		}
	}
	f.torn = true
	if err := f.write(f.f, lines); err != nil {
		return err
	}
	f.size, f.torn = f.size+int64(len(lines)), false
	return nil
}

// turn makes the file the one before, and begins another.
func (f *file) turn() error {
	if err := os.Rename(f.path, f.old); err != nil {
		return err
	}
	f.close()
	f.info = nil
	h, err := openRegular(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	info, err := h.Stat()
	if err == nil {
		err = syncDir(filepath.Dir(f.path))
	}
	if err != nil {
		h.Close()
		return err
	}
	f.f, f.info, f.size = h, info, info.Size()
	return nil
}

// find returns entries of the files that fit, newest first. Both are opened before either is read: if they turn meanwhile,
// the same may be read twice, and IDs tell.
func (f *file) find(q *Query) []Entry {
	now, _ := openRegular(f.path, os.O_RDONLY) // what cannot be read is not found
	old, _ := openRegular(f.old, os.O_RDONLY)
	var last uint64
	var ring []Entry
	next := 0
	for _, h := range []*os.File{old, now} {
		if h == nil {
			continue
		}
		_, _, _ = scan(h, func(e *Entry) {
			if e.ID <= last || !q.fits(e) {
				return
			}
			last = e.ID
			if len(ring) < q.Limit {
				ring = append(ring, *e)
				return
			}
			ring[next] = *e
			next = (next + 1) % q.Limit
		})
		h.Close()
	}
	found := make([]Entry, 0, len(ring))
	for i := range ring {
		found = append(found, ring[(next-1-i+2*len(ring))%len(ring)])
	}
	return found
}

// scan shows the entries of a file from where it stands. End is where the last whole line ends, which what follows is written
// behind; bad counts the lines before it that are none.
func scan(r io.Reader, each func(*Entry)) (end int64, bad int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	var at int64
	for {
		part, err := in.ReadSlice('\n')
		at += int64(len(part))
		if len(line)+len(part) <= mostLine {
			line = append(line, part...)
		} else {
			line = append(line[:0], '?') // longer than any of ours
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return end, bad, nil
		case err != nil:
			return end, bad, err
		}
		if e, ok := parseLine(line[:len(line)-1]); ok {
			each(&e)
		} else {
			bad++
		}
		end, line = at, line[:0]
	}
}

// openRegular opens a file. Nothing else is opened: a pipe would be waited for without end, and a link may lead anywhere.
func openRegular(path string, flag int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return os.OpenFile(path, flag, 0o600)
}

// syncDir makes a file's name reach the disk. Windows knows no such thing.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
