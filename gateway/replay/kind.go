package replay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tidegate/gateway/record"
)

// allowed is what a trace may be.
const allowed = "a trace is CSV, plain or gzip, and begins with the line\n" +
	"  timestamp_ms,caller,type,size        then a line for each request (as record.dir and tidegate convert have it, with more columns)\n" +
	"  time_ms,caller,count                 then a line for each bin and caller, in the order of time\n" +
	"  # caller=X start_ms=N bin_ms=N       then the line \"count\" and a count for each bin"

// expand puts the traces in directories in their place.
func expand(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read the trace: %w", err)
		}
		if !info.IsDir() {
			if !info.Mode().IsRegular() { // a trace is read twice, so a pipe or a device is none
				return nil, fmt.Errorf("cannot read the trace: %s is no regular file; a trace is read more than once, so write it to one", path)
			}
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read the trace: %w", err)
		}
		found := len(files)
		for _, e := range entries { // by name
			if name := e.Name(); e.Type().IsRegular() && (strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".csv.gz")) {
				files = append(files, filepath.Join(path, name))
			}
		}
		if len(files) == found {
			return nil, fmt.Errorf("cannot read the trace: there is no file *.csv or *.csv.gz in %s", path)
		}
	}
	return files, nil
}

type kind uint8

const (
	kindRequests kind = iota
	kindBins
	kindDense
)

// kindOf looks at a file's first line. An empty file is one of requests: so is what a recorder has just begun.
func kindOf(path string) (kind, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines, err := record.NewLines(f)
	if err != nil {
		return 0, damage(err)
	}
	line, err := lines.Next()
	switch text := string(line); {
	case errors.Is(err, io.EOF):
		return kindRequests, nil
	case err != nil && !errors.Is(err, record.ErrLongLine):
		return 0, damage(err)
	case strings.HasPrefix(text, "timestamp_ms,"):
		return kindRequests, nil
	case text == binsHeader || strings.HasPrefix(text, binsHeader+","):
		return kindBins, nil
	case strings.HasPrefix(text, "#"):
		return kindDense, nil
	default:
		return 0, fmt.Errorf("it begins with %.60q and is no trace: %s", text, allowed)
	}
}

func damage(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the file is cut here; what stands before was read")
	}
	return fmt.Errorf("the file is damaged here, the rest of it is not read: %w", err)
}

// maxFlaws are kept; all are counted.
const maxFlaws = 20

type flaws struct {
	first []record.Flaw
	all   int
}

func (f *flaws) add(path string, line int, err error) {
	f.all++
	if len(f.first) < maxFlaws {
		f.first = append(f.first, record.Flaw{File: path, Line: line, Err: err})
	}
}

func (f *flaws) join(first []record.Flaw, all int) {
	f.all += all
	f.first = append(f.first, first[:min(len(first), maxFlaws-len(f.first))]...)
}
