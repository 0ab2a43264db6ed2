package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"tidegate/gateway/record"
)

// accessLog is one of the logs that are merged. Access logs are nearly in order: by the end of requests, to the second.
// So a log is read ahead by the window, and what was read is given out by time.
type accessLog struct {
	c      *converter
	name   string
	lines  *record.Lines
	parser record.AccessParser
	within *rand.Rand // where in its second a request is
	order  record.Order
	latest int64 // time in the log, milliseconds
	ended  bool
}

// open begins a log, up to its first line that can be read.
func (c *converter) open(name string) error {
	in := os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		in = f
	} else {
		name = "standard input"
	}
	lines, err := record.NewLines(in)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", name, err)
	}
	l := &accessLog{
		c: c, name: name, lines: lines, parser: record.AccessParser{Format: c.format},
		within: rand.New(rand.NewPCG(1, 2)), latest: math.MinInt64,
	}
	for l.order.Len() == 0 && !l.ended {
		l.read()
	}
	if l.order.Len() > 0 {
		c.waiting = append(c.waiting, l)
	}
	return nil
}

// read reads a line.
func (l *accessLog) read() {
	line, err := l.lines.Next()
	if err == nil && len(line) == 0 {
		return
	}
	switch {
	case errors.Is(err, io.EOF):
		l.ended = true
		return
	case err != nil && !errors.Is(err, record.ErrLongLine):
		fmt.Fprintf(os.Stderr, "%s:%d: cut or damaged here, the rest is not read: %v\n", l.name, l.lines.Number(), err)
		l.ended = true
		return
	}
	l.c.lines++
	var a record.Access
	if err == nil {
		a, err = l.parser.Parse(line)
	}
	if err != nil {
		l.c.unread++
		if l.c.unread <= shownLines {
			fmt.Fprintf(os.Stderr, "%s:%d: %v\n", l.name, l.lines.Number(), err)
		}
		return
	}
	var fraction int64
	if l.c.spread {
		fraction = l.within.Int64N(1000)
	}
	l.latest = max(l.latest, a.Time*1000)
	l.order.Put(l.c.record(&a, fraction))
}

// fill reads ahead by the window. It returns false when there is no more.
func (l *accessLog) fill() bool {
	for !l.ended && (l.order.Len() == 0 || l.latest-l.order.First() <= l.c.window) {
		l.read()
	}
	return l.order.Len() > 0
}

// merge writes all logs in the order of time. A log is read ahead only when its time has come, so that thirty files of
// a month cost no more memory than one.
func (c *converter) merge(out io.Writer) {
	slices.SortStableFunc(c.waiting, func(a, b *accessLog) int { return cmp.Compare(a.order.First(), b.order.First()) })
	c.last = math.MinInt64
	var line []byte
	for {
		c.merged = slices.DeleteFunc(c.merged, func(l *accessLog) bool { return !l.fill() })
		if len(c.merged) == 0 && len(c.waiting) == 0 {
			return
		}
		first := c.earliest()
		if len(c.waiting) > 0 && (first == nil || c.waiting[0].order.First()-c.window <= first.order.First()) {
			c.merged, c.waiting = append(c.merged, c.waiting[0]), c.waiting[1:]
			continue
		}
		r := first.order.Take()
		if r.At < c.last {
			c.late++
			r.At = c.last
		}
		c.last = r.At
		line = r.Append(line[:0])
		if _, err := out.Write(line); err != nil {
			return // Flush says it
		}
	}
}

// earliest is the log with the next line, nil if none has begun.
func (c *converter) earliest() *accessLog {
	if len(c.merged) == 0 {
		return nil
	}
	return slices.MinFunc(c.merged, func(a, b *accessLog) int { return cmp.Compare(a.order.First(), b.order.First()) })
}
