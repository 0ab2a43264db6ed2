package replay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidegate/scheduler"
)

// Log writes events, a JSON object a line. A nil Log writes nothing.
type Log struct {
	b    *bufio.Writer
	line []byte
	only [events]bool
	head []byte // what each line says first, after the moment
}

// event is a kind of event.
type event uint8

const (
	eventSurge event = iota
	eventCalm
	eventRefused
	eventQueued
	eventDispatched
	events
)

var eventNames = [events]string{"surge", "calm", "refused", "queued", "dispatched"}

// NewLog makes a log of the events named in only, separated by commas; "": of all.
func NewLog(w io.Writer, only string) (*Log, error) {
	l := &Log{b: bufio.NewWriterSize(w, 64<<10)}
	if only == "" {
		for i := range l.only {
			l.only[i] = true
		}
		return l, nil
	}
	for name := range strings.SplitSeq(only, ",") {
		i := slices.Index(eventNames[:], strings.TrimSpace(name))
		if i < 0 {
			return nil, fmt.Errorf("event %q: must be among %s", name, strings.Join(eventNames[:], ", "))
		}
		l.only[i] = true
	}
	return l, nil
}

// Of is a log that writes into the same, and says in each line which configuration it is of.
func (l *Log) Of(config string) *Log {
	if l == nil {
		return nil
	}
	other := *l
	other.line = nil
	other.head = append(appendJSON([]byte(`,"config":`), config), l.head...)
	return &other
}

// Flush writes what is still to be written.
func (l *Log) Flush() error {
	if l == nil {
		return nil
	}
	if err := l.b.Flush(); err != nil {
		return fmt.Errorf("cannot write the events: %w", err)
	}
	return nil
}

func appendJSON(dst []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string can always be written
	return append(dst, text...)
}

// names are what the lines of a flow say of whose they are.
func (l *Log) names(d *flow) []byte {
	if l == nil {
		return nil
	}
	b := laneNames(d.lane)
	if d.lane.rule.NamesRoute {
		b = appendJSON(append(b, `,"route":`...), d.lane.route.Name)
	}
	if t := d.flow.Key.Tenant; t != "" {
		b = appendJSON(append(b, `,"tenant":`...), t)
	}
	return b
}

func laneNames(l *lane) []byte {
	b := appendJSON([]byte(`,"caller":`), l.caller.ID)
	return appendJSON(append(b, `,"semantic":`...), l.semantic.Name)
}

func (l *Log) wants(e event) bool { return l != nil && l.only[e] }

// begin begins a line.
func (l *Log) begin(at int64, e event, names []byte) []byte {
	b := append(l.line[:0], `{"t_ms":`...)
	b = strconv.AppendInt(b, floorMS(at), 10)
	b = append(b, `,"event":"`...)
	b = append(b, eventNames[e]...)
	b = append(b, '"')
	b = append(b, l.head...)
	return append(b, names...)
}

// floorMS is the millisecond that a moment lies in, before 1970 too.
func floorMS(ns int64) int64 {
	ms := ns / 1e6
	if ns%1e6 < 0 {
		ms--
	}
	return ms
}

// end writes the line. An error stays with the writer and is told by Flush.
func (l *Log) end(b []byte) {
	b = append(b, "}\n"...)
	l.line = b
	_, _ = l.b.Write(b)
}

func appendNumber(b []byte, key string, v float64) []byte {
	b = append(b, key...)
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// appendMS appends milliseconds with up to three decimals.
func appendMS(b []byte, key string, d time.Duration) []byte {
	b = append(b, key...)
	return strconv.AppendFloat(b, float64(d.Microseconds())/1000, 'f', -1, 64)
}

func (l *Log) surge(at int64, d *flow) {
	if l.wants(eventSurge) {
		l.end(appendVerdict(l.begin(at, eventSurge, d.names), d))
	}
}

func (l *Log) calm(at int64, d *flow) {
	if l.wants(eventCalm) {
		l.end(appendVerdict(l.begin(at, eventCalm, d.names), d))
	}
}

func (l *Log) queued(at int64, d *flow, it *scheduler.Item) {
	if !l.wants(eventQueued) {
		return
	}
	b := l.begin(at, eventQueued, d.names)
	b = append(b, `,"place":`...)
	b = strconv.AppendInt(b, int64(it.Place), 10)
	if it.Estimate >= 0 {
		b = appendMS(b, `,"estimate_ms":`, it.Estimate)
	}
	l.end(b)
}

func (l *Log) dispatched(at int64, d *flow, it *scheduler.Item) {
	if !l.wants(eventDispatched) {
		return
	}
	b := l.begin(at, eventDispatched, d.names)
	b = append(b, `,"band":"`...)
	b = append(b, it.Band.String()...)
	b = appendMS(append(b, '"'), `,"waited_ms":`, it.Waited)
	l.end(b)
}

func (l *Log) refused(at int64, d *flow, it *scheduler.Item) {
	if !l.wants(eventRefused) {
		return
	}
	b := l.begin(at, eventRefused, d.names)
	b = append(b, `,"code":"`...)
	b = append(b, it.Verdict.String()...)
	b = append(b, `","band":"`...)
	b = append(b, it.Band.String()...)
	b = append(b, '"')
	b = appendJSON(append(b, `,"rule":`...), d.lane.rule.ID)
	b = appendMS(b, `,"waited_ms":`, it.Waited)
	if it.Back > 0 {
		b = appendMS(b, `,"retry_after_ms":`, it.Back)
	}
	l.end(b)
}

func (l *Log) refusedEarly(at int64, n *lane, why code) {
	if !l.wants(eventRefused) {
		return
	}
	b := l.begin(at, eventRefused, laneNames(n))
	b = append(b, `,"code":"`...)
	b = append(b, why.String()...)
	l.end(append(b, '"'))
}
