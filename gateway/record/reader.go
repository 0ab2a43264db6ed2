package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Reader reads traces in the order of arrival: files and directories, plain or gzip, of four columns or of nine.
//
// It reads each file twice. The first time it only notes, for each block of 4,096 lines, the earliest time in it. The
// second time it therefore knows, wherever it stands, the earliest time that is still to come, and gives out what is
// not later. So the order is exact, without a guess of how long requests take, and what is held in memory is a
// block, and the lines behind which one is still to come that arrived before them: as many as ended while
// the longest request lasted. It does not depend on the length of the trace, but for eight bytes a block.
//
// Not safe for concurrent use.
type Reader struct {
	sources []*source
	rest    []int64 // by block of all sources: the earliest time in it and behind it
	block   int     // the next one to be read
	open    *reading
	order   Order
	parser  parser
	flaws   []Flaw
	passed  int
}

const blockLines = 4 << 10

// source is a file as it was found the first time. What is added to it later is not read.
type source struct {
	path   string
	latest int64
	blocks []int64 // the earliest time of each
	lines  int     // that can be read
}

// reading is a source that is being read.
type reading struct {
	file  *os.File
	lines *Lines
	left  int
}

// Flaw is something that a Reader passed over.
type Flaw struct {
	File string
	Line int
	Err  error
}

func (f Flaw) Error() string { return fmt.Sprintf("%s:%d: %v", f.File, f.Line, f.Err) }

// maxFlaws are kept; all are counted.
const maxFlaws = 20

// OpenReader reads the paths for the first time. Of a directory it takes the files whose names end in .csv or .csv.gz.
func OpenReader(paths ...string) (*Reader, error) {
	r := &Reader{}
	files, err := expand(paths)
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		s, err := r.survey(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", path, err)
		}
		if s.lines > 0 {
			r.sources = append(r.sources, s)
		}
	}
	// By the latest time: the earliest may be of a request that took longer than the file before.
	slices.SortStableFunc(r.sources, func(a, b *source) int { return cmp.Compare(a.latest, b.latest) })
	for _, s := range r.sources {
		r.rest = append(r.rest, s.blocks...)
	}
	for i := len(r.rest) - 2; i >= 0; i-- {
		r.rest[i] = min(r.rest[i], r.rest[i+1])
	}
	return r, nil
}

// expand puts the files of directories in their place.
func expand(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		found := len(files)
		for _, e := range entries { // by name
			if name := e.Name(); e.Type().IsRegular() && (strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".csv.gz")) {
				files = append(files, filepath.Join(path, name))
			}
		}
		if len(files) == found {
			return nil, fmt.Errorf("there is no file *.csv or *.csv.gz in %s", path)
		}
	}
	return files, nil
}

// survey reads a file for the first time.
func (r *Reader) survey(path string) (*source, error) {
	s := &source{path: path, latest: math.MinInt64}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := NewLines(f)
	if err != nil {
		r.flaw(path, 1, damage(err))
		return s, nil
	}
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil && !errors.Is(err, ErrLongLine):
			r.flaw(path, lines.Number(), damage(err))
			return s, nil
		}
		if s.lines%blockLines == 0 {
			s.blocks = append(s.blocks, math.MaxInt64)
		}
		s.lines++
		if err != nil {
			continue // is told of the second time
		}
		if at, err := timeOf(line); err == nil {
			last := len(s.blocks) - 1
			s.blocks[last] = min(s.blocks[last], at)
			s.latest = max(s.latest, at)
		}
	}
}

func damage(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the file is cut here, as a killed process leaves it; what stands before was read")
	}
	return fmt.Errorf("the file is damaged here, the rest of it is not read: %w", err)
}

// Next returns the next record. At the end it is io.EOF; lines that are not to be read are passed over, see Flaws.
func (r *Reader) Next() (Record, error) {
	for {
		rest := int64(math.MaxInt64)
		if r.block < len(r.rest) {
			rest = r.rest[r.block]
		}
		if r.order.Len() > 0 && (r.order.First() <= rest || r.block == len(r.rest)) {
			return r.order.Take(), nil
		}
		if r.block == len(r.rest) {
			return Record{}, io.EOF
		}
		r.readBlock()
	}
}

// readBlock reads the next block.
func (r *Reader) readBlock() {
	s := r.sources[0]
	if r.open == nil && !r.reopen(s) {
		r.leave(len(s.blocks))
		return
	}
	for range min(blockLines, r.open.left) {
		line, err := r.open.lines.Next()
		if err != nil && !errors.Is(err, ErrLongLine) {
			r.flaw(s.path, r.open.lines.Number(), errors.New("the file was changed while it was read"))
			r.leave(len(s.blocks))
			return
		}
		r.open.left--
		if err == nil {
			if len(line) == 0 || isHeader(line) {
				continue
			}
			var record Record
			if record, err = r.parser.parse(line); err == nil {
				r.order.Put(record)
			}
		}
		if err != nil {
			r.flaw(s.path, r.open.lines.Number(), err)
		}
	}
	s.blocks = s.blocks[1:]
	r.block++
	if len(s.blocks) == 0 {
		r.leave(0)
	}
}

func (r *Reader) reopen(s *source) bool {
	f, err := os.Open(s.path)
	if err != nil {
		r.flaw(s.path, 1, err)
		return false
	}
	lines, err := NewLines(f)
	if err != nil {
		f.Close()
		r.flaw(s.path, 1, damage(err))
		return false
	}
	r.open = &reading{f, lines, s.lines}
	return true
}

// leave goes on to the next source, past so many blocks of this one.
func (r *Reader) leave(blocks int) {
	r.block += blocks
	r.sources = r.sources[1:]
	r.Close()
}

func (r *Reader) flaw(path string, line int, err error) {
	r.passed++
	if len(r.flaws) < maxFlaws {
		r.flaws = append(r.flaws, Flaw{path, line, err})
	}
}

// Flaws returns the first twenty of what was passed over up to now, and how many there were in all.
func (r *Reader) Flaws() (first []Flaw, all int) { return slices.Clone(r.flaws), r.passed }

// Close closes the file that is being read, if any.
func (r *Reader) Close() error {
	if r.open == nil {
		return nil
	}
	err := r.open.file.Close()
	r.open = nil
	return err
}

// Progress is how many blocks of lines have been read for the second time, and of how many.
func (r *Reader) Progress() (done, all int) { return r.block, len(r.rest) }
