package replay

import (
	"bytes"
	"errors"
	"fmt"
	"math"
)

const binsHeader = "time_ms,caller,count"

// bins reads the counts of many callers, in the order of time. What is held is the rows of one bin.
type bins struct {
	*file
	t       *Trace
	width   int64 // ns: the smallest distance between two times
	origins map[string]*binOrigin
	row     binRow // read, of the next bin
	more    bool   // there is one
	bins    []bin  // of the present one
	heap    []int32
}

// binOrigin is a caller of the file.
type binOrigin struct {
	*Origin
	seed uint64
}

type binRow struct {
	from   int64 // ns
	caller []byte
	count  int64
}

// openBins reads the file once to learn how long a bin is.
func (t *Trace) openBins(path string) (source, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	b := &bins{file: f, t: t, origins: make(map[string]*binOrigin)}
	if err := b.survey(); err != nil {
		f.close() // the reason is another
		return nil, err
	}
	b.more = b.readRow(&t.flaws)
	return b, nil
}

func (b *bins) survey() error {
	last, any := int64(0), false
	b.width = math.MaxInt64
	var passed flaws // they are told of the second time
	for b.readRow(&passed) {
		switch {
		case any && b.row.from < last:
			return fmt.Errorf("line %d: time_ms %d is before the one above it: put the rows into the order of their time (sort -s -t, -k1,1n)", b.lines.Number(), b.row.from/1e6)
		case any && b.row.from > last:
			b.width = min(b.width, b.row.from-last)
		}
		last, any = b.row.from, true
	}
	switch {
	case !any && passed.all == 0:
		return errors.New("it has no row")
	case !any:
		return fmt.Errorf("none of its rows can be read; the first is %w", passed.first[0])
	case b.width > maxBin && b.width < math.MaxInt64:
		return errors.New("its times are more than 366 days apart, which is no length of a bin")
	case b.width == math.MaxInt64:
		return errors.New("all its rows have one time, so the length of a bin cannot be told: add an empty bin, or write it with # caller=X start_ms=N bin_ms=N")
	}
	return b.rewind()
}

// readRow reads the next row that can be read.
func (b *bins) readRow(flaws *flaws) bool {
	for {
		line, ok := b.line(flaws)
		if !ok {
			return false
		}
		if len(line) == 0 || bytes.HasPrefix(line, []byte(binsHeader)) {
			continue
		}
		if err := b.row.parse(line); err != nil {
			flaws.add(b.path, b.lines.Number(), err)
			continue
		}
		return true
	}
}

// parse reads a line; further columns are left alone.
func (r *binRow) parse(line []byte) (err error) {
	at, rest, ok := bytes.Cut(line, comma)
	caller, rest, two := bytes.Cut(rest, comma)
	count, _, _ := bytes.Cut(rest, comma)
	if !ok || !two {
		return errors.New("it has fewer columns than " + binsHeader)
	}
	if len(caller) == 0 || len(caller) > maxName {
		return errors.New("the caller is empty or longer than 1 KiB")
	}
	if r.from, err = parseMS(string(at)); err != nil {
		return fmt.Errorf("time_ms %.20q: %w", at, err)
	}
	if r.count, err = parseCount(count); err != nil {
		return fmt.Errorf("%.20q: %w", count, err)
	}
	r.caller = append(r.caller[:0], caller...)
	return nil
}

var comma = []byte{','}

// maxName is the longest name of a caller, in bytes.
const maxName = 1 << 10

func (b *bins) next(a *Arrival) bool {
	for len(b.heap) == 0 {
		if !b.more {
			return false
		}
		b.nextBin()
	}
	first := &b.bins[b.heap[0]]
	a.At, a.Origin = first.at, first.origin
	if !first.next() {
		n := len(b.heap) - 1
		b.heap[0] = b.heap[n]
		b.heap = b.heap[:n]
	}
	b.sink(0)
	return true
}

// nextBin takes all rows of the next time.
func (b *bins) nextBin() {
	b.bins, b.heap = b.bins[:0], b.heap[:0]
	for from := b.row.from; b.more && b.row.from == from; b.more = b.readRow(&b.t.flaws) {
		if b.row.count > 0 {
			o := b.origin()
			b.bins = append(b.bins, newBin(o.Origin, from, b.width, b.row.count, b.t.options.Spread, o.seed))
		}
	}
	for i := range b.bins {
		b.heap = append(b.heap, int32(i))
	}
	for i := len(b.heap)/2 - 1; i >= 0; i-- {
		b.sink(i)
	}
}

func (b *bins) origin() *binOrigin {
	if o := b.origins[string(b.row.caller)]; o != nil {
		return o
	}
	caller := string(b.row.caller)
	o := &binOrigin{b.t.origins.origin(originKey{Caller: caller, Type: b.t.options.Semantic}), seedOf(b.t.options.Seed, caller)}
	if len(b.origins) < b.t.options.MaxOrigins {
		b.origins[caller] = o
	}
	return o
}

// sink brings a bin to its place among those that are later.
func (b *bins) sink(i int) {
	for {
		down := 2*i + 1
		if down >= len(b.heap) {
			return
		}
		if down+1 < len(b.heap) && b.before(down+1, down) {
			down++
		}
		if !b.before(down, i) {
			return
		}
		b.heap[i], b.heap[down] = b.heap[down], b.heap[i]
		i = down
	}
}

// before compares by the next arrival; those of one moment come in the order of the file.
func (b *bins) before(i, j int) bool {
	x, y := b.heap[i], b.heap[j]
	return b.bins[x].at < b.bins[y].at || b.bins[x].at == b.bins[y].at && x < y
}
