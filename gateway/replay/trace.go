package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidegate/gateway/record"
)

// Options say how traces are read.
type Options struct {
	Spread     Spread
	Seed       uint64
	Semantic   string // the type of all requests; "": as the trace says
	MaxOrigins int    // callers, types and routes that are told apart; 0: 200,000
}

// Trace gives out the requests of traces in the order of their arrival. Not safe for concurrent use.
type Trace struct {
	options Options
	origins *origins
	flaws   flaws
	files   []string
	sources []source
	heads   []Arrival // of the sources
	nobody  int64     // rows without a caller
	through int64     // bytes of sources that have ended
}

// source is one file of counts, or all files of requests. At the end, next says false.
type source interface {
	next(a *Arrival) bool
	// progress is how much of it has been read, and of how much, in bytes.
	progress() (done, all int64)
	close() error
}

// Open opens traces: files, and directories of them.
func Open(paths []string, o Options) (*Trace, error) {
	if o.MaxOrigins <= 0 {
		o.MaxOrigins = 200_000
	}
	t := &Trace{options: o, origins: newOrigins(o.MaxOrigins)}
	if err := t.open(paths); err != nil {
		t.Close()
		return nil, err
	}
	for i := 0; i < len(t.sources); i++ {
		var a Arrival
		if t.sources[i].next(&a) {
			t.heads = append(t.heads, a)
			continue
		}
		t.end(i)
		i--
	}
	if len(t.sources) == 0 {
		return nil, t.empty(paths)
	}
	return t, nil
}

func (t *Trace) empty(paths []string) error {
	err := fmt.Errorf("cannot replay %s: there is no request in it", strings.Join(paths, ", "))
	if first, all := t.Flaws(); all > 0 {
		return fmt.Errorf("%w; %d lines could not be read, the first is %w", err, all, first[0])
	}
	return err
}

func (t *Trace) open(paths []string) error {
	files, err := expand(paths)
	if err != nil {
		return err
	}
	var requests []string
	t.files = files
	for _, path := range files {
		kind, err := kindOf(path)
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", path, err)
		}
		var s source
		switch kind {
		case kindRequests:
			requests = append(requests, path)
			continue
		case kindBins:
			s, err = t.openBins(path)
		case kindDense:
			s, err = t.openDense(path)
		}
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", path, err)
		}
		t.sources = append(t.sources, s)
	}
	if len(requests) > 0 {
		s, err := t.openRequests(requests)
		if err != nil {
			return err
		}
		t.sources = append(t.sources, s)
	}
	return nil
}

// Files are the files that are read, those of directories among them.
func (t *Trace) Files() []string { return slices.Clone(t.files) }

// Next gives out the next request. At the end it says false.
func (t *Trace) Next(a *Arrival) bool {
	first := 0
	switch len(t.heads) {
	case 0:
		return false
	case 1:
	default:
		for i := range t.heads {
			if t.heads[i].At < t.heads[first].At {
				first = i
			}
		}
	}
	*a = t.heads[first]
	if !t.sources[first].next(&t.heads[first]) {
		t.heads = append(t.heads[:first], t.heads[first+1:]...)
		t.end(first)
	}
	return true
}

// end lets go of a source that has been read to its end.
func (t *Trace) end(i int) {
	_, all := t.sources[i].progress()
	t.through += all
	t.sources[i].close() // nothing was written to it
	t.sources = append(t.sources[:i], t.sources[i+1:]...)
}

// Progress is the share of the traces that has been read, from 0 to 1.
func (t *Trace) Progress() float64 {
	done, all := t.through, t.through
	for _, s := range t.sources {
		d, a := s.progress()
		done, all = done+d, all+a
	}
	if all == 0 {
		return 1
	}
	return min(1, float64(done)/float64(all))
}

// Flaws are the first twenty of the lines that were passed over up to now, and how many there were in all.
func (t *Trace) Flaws() (first []record.Flaw, all int) {
	first, all = t.flaws.first, t.flaws.all
	for _, s := range t.sources {
		if r, ok := s.(*requests); ok && !r.ended {
			f, n := r.reader.Flaws()
			first, all = append(first[:len(first):len(first)], f...), all+n
		}
	}
	return first[:min(len(first), maxFlaws)], all
}

// Nobody is how many requests were passed over because the trace names no caller: they were refused before one was known.
func (t *Trace) Nobody() int64 { return t.nobody }

// Close closes what is still open.
func (t *Trace) Close() error {
	var errs []error
	for _, s := range t.sources {
		errs = append(errs, s.close())
	}
	t.sources, t.heads = nil, nil
	return errors.Join(errs...)
}
