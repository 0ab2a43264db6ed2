// Package recent remembers what came of late: which flow had how many requests in which second, and how long they held
// their seats. It is what a changed configuration is tried on before it is brought into force.
//
// A second costs about four bytes for each flow that sent something in it, and a flow that is remembered its names; all of it
// together stays within [MaxBytes], the oldest seconds making room.
package recent

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"
)

const (
	// Span is how far back it goes.
	Span = 15 * time.Minute
	// MaxBytes is what is held at most.
	MaxBytes = 32 << 20

	perSecond = 64  // bytes of a second beside its flows
	perFlow   = 192 // bytes of a flow beside its names: it stands in a list and in a map
)

// Flow is who sent.
type Flow struct {
	Caller, Semantic string
	Route            string // empty where its rule names none
	Tenant           string // empty where it is not told apart by tenant
}

func (f *Flow) bytes() int {
	return perFlow + 2*(len(f.Caller)+len(f.Semantic)+len(f.Route)+len(f.Tenant))
}

// Log is the memory. The zero value is empty. Safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	byName  map[Flow]int
	flows   []known
	free    []int // places in flows that nothing in seconds names
	seconds []second
	bytes   int
}

type known struct {
	Flow
	seconds int // in which it is named
}

// second is one second's arrivals: for each flow its place as a difference to the one before, how many, and their seat
// time in units of 100 µs, as varints.
type second struct {
	at   int64 // seconds since 1970
	data []byte
}

const seatUnit = 100 * time.Microsecond

// Add takes in the arrivals of the second that ends now: each calls yield once for each flow that had any, with its mean seat
// time (0: unknown). A second that was there before, or that lies before the last one (the clock was set back), is left out.
func (l *Log) Add(now time.Time, each func(yield func(f Flow, arrivals int, seat time.Duration))) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := now.Unix()
	if n := len(l.seconds); n > 0 && at <= l.seconds[n-1].at {
		if l.seconds[n-1].at-at < int64(Span/time.Second) {
			return
		}
		l.forget(n) // the clock was far ahead: nothing of that was real
	}
	var data []byte
	last := 0
	each(func(f Flow, arrivals int, seat time.Duration) {
		if arrivals <= 0 {
			return
		}
		i := l.place(f)
		l.flows[i].seconds++
		data = binary.AppendVarint(data, int64(i-last))
		data = binary.AppendUvarint(data, uint64(arrivals))
		data = binary.AppendUvarint(data, uint64(max(seat, 0)/seatUnit))
		last = i
	})
	l.seconds = append(l.seconds, second{at, slices.Clip(data)})
	l.bytes += perSecond + len(data)
	old := 0
	for old < len(l.seconds) && l.seconds[old].at <= at-int64(Span/time.Second) {
		old++
	}
	l.forget(old)
	for l.bytes > MaxBytes && len(l.seconds) > 0 {
		l.forget(max(1, len(l.seconds)/16))
	}
}

// place is a flow's, made at need. l.mu is held.
func (l *Log) place(f Flow) int {
	if i, ok := l.byName[f]; ok {
		return i
	}
	if l.byName == nil {
		l.byName = make(map[Flow]int)
	}
	i := len(l.flows)
	if n := len(l.free); n > 0 {
		i, l.free = l.free[n-1], l.free[:n-1]
		l.flows[i] = known{Flow: f}
	} else {
		l.flows = append(l.flows, known{Flow: f})
	}
	l.byName[f] = i
	l.bytes += f.bytes()
	return i
}

// forget drops the oldest seconds, and the flows that only they name. l.mu is held.
func (l *Log) forget(n int) {
	for _, s := range l.seconds[:n] {
		l.bytes -= perSecond + len(s.data)
		s.each(func(i, _ int, _ time.Duration) {
			f := &l.flows[i]
			if f.seconds--; f.seconds == 0 {
				l.bytes -= f.bytes()
				delete(l.byName, f.Flow)
				f.Flow = Flow{}
				l.free = append(l.free, i)
			}
		})
	}
	l.seconds = slices.Delete(l.seconds, 0, n)
}

// each reads what Add wrote.
func (s *second) each(visit func(flow, arrivals int, seat time.Duration)) {
	place := 0
	for data := s.data; len(data) > 0; {
		difference, n := binary.Varint(data)
		arrivals, m := binary.Uvarint(data[n:])
		seat, k := binary.Uvarint(data[n+m:])
		data = data[n+m+k:]
		place += int(difference)
		visit(place, int(arrivals), time.Duration(seat)*seatUnit)
	}
}
