package replay

import (
	"errors"
	"io"
	"os"
	"strconv"
	"time"

	"tidegate/gateway/record"
)

// file is a file of counts, read line by line.
type file struct {
	path  string
	f     *os.File
	size  int64
	read  int64 // bytes, as they lie on the disk
	lines *record.Lines
}

func openFile(path string) (*file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &file{path: path, f: f}
	if info, err := f.Stat(); err == nil {
		r.size = info.Size()
	}
	if err := r.rewind(); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r *file) rewind() error {
	if _, err := r.f.Seek(0, io.SeekStart); err != nil && r.read > 0 {
		return err
	}
	r.read = 0
	lines, err := record.NewLines(counted{r})
	if err != nil {
		return damage(err)
	}
	r.lines = lines
	return nil
}

// counted counts what is read of a file. It reads a little at a time: a kilobyte may hold the arrivals of minutes, and what has
// been read is taken for what has been played.
type counted struct{ of *file }

func (c counted) Read(b []byte) (int, error) {
	n, err := c.of.f.Read(b[:min(len(b), 4<<10)])
	c.of.read += int64(n)
	return n, err
}

// line is the next line. It tells flaws of lines that cannot be read, and says false at the end.
func (r *file) line(flaws *flaws) (line []byte, ok bool) {
	for {
		line, err := r.lines.Next()
		switch {
		case err == nil:
			return line, true
		case errors.Is(err, record.ErrLongLine):
			flaws.add(r.path, r.lines.Number(), err)
		case errors.Is(err, io.EOF):
			return nil, false
		default:
			flaws.add(r.path, r.lines.Number(), damage(err))
			return nil, false
		}
	}
}

func (r *file) progress() (done, all int64) { return r.read, r.size }

func (r *file) close() error { return r.f.Close() }

const (
	// maxMS is the farthest moment, in ms from 1970: the sum of two of them fits, in ns.
	maxMS = 1 << 62 / 1_000_000
	// maxBin is the longest bin, in ns.
	maxBin = 366 * 24 * int64(time.Hour)
)

var errFar = errors.New("it lies outside of the years 1824 to 2116")

// parseMS reads a moment in milliseconds since 1970.
func parseMS(s string) (ns int64, err error) {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, errors.New("it is no whole number of milliseconds")
	}
	if ms > maxMS || ms < -maxMS {
		return 0, errFar
	}
	return ms * 1_000_000, nil
}

// maxCount is the most that one bin may hold.
const maxCount = 1 << 40

func parseCount(s []byte) (int64, error) {
	n := int64(0)
	if len(s) == 0 || len(s) > 13 {
		return 0, errBadCount
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, errBadCount
		}
		n = n*10 + int64(c-'0')
	}
	if n > maxCount {
		return 0, errBadCount
	}
	return n, nil
}

var errBadCount = errors.New("the count is no whole number from 0 to 2^40")
