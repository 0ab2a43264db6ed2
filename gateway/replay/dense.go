package replay

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
)

// dense reads one caller's counts, a line for each bin. A new head in the same file begins a later part of it.
type dense struct {
	*file
	t       *Trace
	origin  *Origin
	seed    uint64
	from    int64 // ns: of the next bin
	width   int64 // ns
	bin     bin
	columns bool // the line "count" has been seen
	empty   int  // lines up to here without anything in them: no flaw if they are the last ones
}

func (t *Trace) openDense(path string) (source, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	d := &dense{file: f, t: t, from: math.MinInt64}
	line, _ := d.line(&t.flaws)
	if err := d.head(string(line)); err != nil {
		f.close() // the reason is another
		return nil, fmt.Errorf("line 1: %w", err)
	}
	return d, nil
}

// head reads "# caller=X start_ms=N bin_ms=N", in any order. Other words are left alone.
func (d *dense) head(line string) error {
	var caller string
	var start, width int64
	seen := 0
	for word := range strings.FieldsSeq(strings.TrimPrefix(line, "#")) {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "caller":
			caller = value
		case "start_ms":
			start, err = parseMS(value)
		case "bin_ms":
			if width, err = parseMS(value); err == nil && (width <= 0 || width > maxBin) {
				err = errors.New("it must be above 0 and at most 366 days")
			}
		default:
			continue
		}
		seen++
		if err != nil {
			return fmt.Errorf("%s=%s: %w", key, value, err)
		}
	}
	if seen != 3 || caller == "" || width == 0 {
		return fmt.Errorf("%.80q is not of the form # caller=X start_ms=N bin_ms=N", line)
	}
	if start < d.from {
		return errors.New("this part begins before the end of the part above it; put it into a file of its own")
	}
	d.origin = d.t.origins.origin(originKey{Caller: caller, Type: d.t.options.Semantic})
	d.seed = seedOf(d.t.options.Seed, caller)
	d.from, d.width, d.columns = start, width, false
	return nil
}

func (d *dense) next(a *Arrival) bool {
	for d.bin.left <= 0 {
		if !d.nextBin() {
			return false
		}
	}
	a.At, a.Origin = d.bin.at, d.origin
	d.bin.next()
	return true
}

// nextBin reads a line. It says false at the end of what can be read.
func (d *dense) nextBin() bool {
	line, ok := d.line(&d.t.flaws)
	if !ok {
		return false
	}
	if len(line) > 0 {
		for ; d.empty > 0; d.empty-- {
			d.t.flaws.add(d.path, d.lines.Number()-d.empty, errors.New("there is no count"))
		}
	}
	if len(line) > 0 && line[0] == '#' {
		if err := d.head(string(line)); err != nil {
			d.t.flaws.add(d.path, d.lines.Number(), fmt.Errorf("%w; the rest of the file is not read", err))
			return false
		}
		return true
	}
	if !d.columns && bytes.Equal(line, []byte("count")) {
		d.columns = true
		return true
	}
	d.columns = true
	from := d.from
	if from > maxMS*1_000_000 {
		d.t.flaws.add(d.path, d.lines.Number(), fmt.Errorf("its bin: %w; the rest of the file is not read", errFar))
		return false
	}
	d.from += d.width // a bin that cannot be read is empty, and the others keep their place
	if len(line) == 0 {
		d.empty++
		return true
	}
	n, err := parseCount(line)
	if err != nil {
		d.t.flaws.add(d.path, d.lines.Number(), fmt.Errorf("%.20q: %w", line, err))
		return true
	}
	d.bin = newBin(d.origin, from, d.width, n, d.t.options.Spread, d.seed)
	return true
}
