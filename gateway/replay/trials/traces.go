package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tidegate/gateway/record"
)

// span is a time, in ms: from <= t < to.
type span struct{ from, to int64 }

// label is what was found in a trace by hand.
type label struct {
	caller, kind string
	onset, end   int64 // ms
}

// labels are those of a trace and its clean times.
type labels struct {
	all   []label
	clean []span
}

// readLabels reads STEM.labels.csv and STEM.clean.csv, as far as there are such.
func readLabels(stem string) (l labels, err error) {
	err = readTable(stem+".labels.csv", []string{"caller", "onset_ms", "end_ms", "kind"}, func(f []string) error {
		onset, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return err
		}
		end := onset
		if f[2] != "" {
			if end, err = strconv.ParseInt(f[2], 10, 64); err != nil {
				return err
			}
		}
		l.all = append(l.all, label{f[0], f[3], onset, end})
		return nil
	})
	if err != nil {
		return l, err
	}
	err = readTable(stem+".clean.csv", []string{"from_ms", "to_ms"}, func(f []string) error {
		from, err := strconv.ParseInt(f[0], 10, 64)
		to, err2 := strconv.ParseInt(f[1], 10, 64)
		l.clean = append(l.clean, span{from, to})
		return errors.Join(err, err2)
	})
	return l, err
}

// bursts are the labels of kind burst.
func (l *labels) bursts() (b []label) {
	for _, x := range l.all {
		if x.kind == "burst" {
			b = append(b, x)
		}
	}
	return b
}

// readTable hands out the named columns of each row. A file that is not there has no rows.
func readTable(path string, columns []string, row func([]string) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	head, err := r.Read()
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", path, err)
	}
	at := make([]int, len(columns))
	for i, c := range columns {
		if at[i] = slices.Index(head, c); at[i] < 0 {
			return fmt.Errorf("cannot read %s: it has no column %s", path, c)
		}
	}
	for {
		all, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			fields := make([]string, len(at))
			for i, c := range at {
				fields[i] = all[c]
			}
			err = row(fields)
		}
		if err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("cannot read %s:%d: %w", path, line, err)
		}
	}
}

// dense is one caller's counts by second.
type dense struct {
	caller  string
	start   int64 // ms
	seconds []int32
}

func readDense(path string) (d dense, err error) {
	bin := int64(0)
	err = readLines(path, func(n int, line string) error {
		switch {
		case n == 1:
			for word := range strings.FieldsSeq(line) {
				key, value, _ := strings.Cut(word, "=")
				var err error
				switch key {
				case "caller":
					d.caller = value
				case "start_ms":
					d.start, err = strconv.ParseInt(value, 10, 64)
				case "bin_ms":
					bin, err = strconv.ParseInt(value, 10, 64)
				}
				if err != nil {
					return err
				}
			}
			if bin != 1000 {
				return fmt.Errorf("bin_ms is %d, must be 1000", bin)
			}
			return nil
		case line == "count" || line == "":
			return nil
		}
		count, err := strconv.ParseUint(line, 10, 16)
		d.seconds = append(d.seconds, int32(count))
		return err
	})
	return d, err
}

func readLines(path string, each func(n int, line string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines, err := record.NewLines(f)
	for err == nil {
		var line []byte
		if line, err = lines.Next(); err == nil {
			err = each(lines.Number(), string(line))
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	if lines == nil {
		return fmt.Errorf("cannot read %s: %w", path, err)
	}
	return fmt.Errorf("cannot read %s:%d: %w", path, lines.Number(), err)
}

// readEvents reads the arrivals of each caller, in ms and in order, and the type of the last of each.
func readEvents(path string) (times map[string][]int64, types map[string]string, err error) {
	r, err := record.OpenReader(path)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	times, types = make(map[string][]int64), make(map[string]string)
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read %s: %w", path, err)
		}
		times[rec.Caller] = append(times[rec.Caller], rec.At)
		types[rec.Caller] = rec.Type
	}
	if first, n := r.Flaws(); n > 0 {
		return nil, nil, fmt.Errorf("cannot read %s: %d lines are damaged, the first: %w", path, n, first[0])
	}
	return times, types, nil
}

// bySecond says that a trace tells whole seconds only.
func bySecond(times map[string][]int64) bool {
	for _, t := range times {
		if slices.ContainsFunc(t, func(at int64) bool { return at%1000 != 0 }) {
			return false
		}
	}
	return true
}

// within puts arrivals that are known by the second at independent moments in it.
func within(times []int64, r *rand.Rand) []int64 {
	spread := make([]int64, len(times))
	for i, t := range times {
		spread[i] = t + r.Int64N(1000)
	}
	slices.Sort(spread)
	return spread
}

// stems finds, below dir, the traces whose file ends so, without that ending.
func stems(dir, ending string) (found []string, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if stem, ok := strings.CutSuffix(path, ending); ok && err == nil {
			found = append(found, stem)
		}
		return err
	})
	return found, err
}

// nameOf is a stem without the directory of all traces.
func nameOf(dir, stem string) string {
	if name, err := filepath.Rel(dir, stem); err == nil {
		return name
	}
	return stem
}
