// Package recent remembers what came of late: which flow had how many requests in which second, and how long they held
// their seats. It is what a changed configuration is tried on before it is brought into force.
//
// # Time
//
// Seconds follow one another without a gap: each is as long as the time since the one before, by a clock that nobody sets,
// and when they were is counted back from the last one. So a clock that is set changes nothing, and what came while a
// second was late is spread over all of it.
//
// # Memory
//
// A second costs about four bytes for each flow that sent something in it, and a flow that is remembered its names and
// its place; all of it together stays within [MaxBytes], the oldest seconds making room.
package recent

import (
	"cmp"
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

	perSecond = 64 // bytes of a second beside its flows
	// perFlow is the bytes of a flow's place, in use or free, as measured while flows come and go: 72 in the list and 73 in
	// the map, of which such a map is full to a third at worst, and the list has room to grow.
	perFlow = 512
)

// Flow is who sent.
type Flow struct {
	Caller, Semantic string
	Route            string // empty where its rule names none
	Tenant           string // empty where it is not told apart by tenant
}

// bytes is what its names take, twice that of short ones for what they are rounded up to.
func (f *Flow) bytes() int {
	return 2 * (len(f.Caller) + len(f.Semantic) + len(f.Route) + len(f.Tenant))
}

// Log is the memory. The zero value is empty. Safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	byName  map[Flow]int
	flows   []known
	free    []int // places in flows that nothing in seconds names
	seconds []second
	span    time.Duration // of all seconds
	last    time.Time     // when the last of them ended
	bytes   int
	scratch []byte

	most int // bytes; 0: MaxBytes
}

type known struct {
	Flow
	seconds int // in which it is named
	next    int // the place of the flow that came after it last, which mostly comes after it again; only a guess
}

// second is the arrivals of a second or so: for each flow its place as a difference to the one before, how many, and their
// seat time in units of 100 µs, as varints.
type second struct {
	span time.Duration
	data []byte
}

const (
	seatUnit  = 100 * time.Microsecond
	shortSpan = time.Millisecond
)

// Add takes in the arrivals of the time that ends now and was so long, a millisecond at least: each calls yield once for
// each flow that had any, with its mean seat time (0: unknown).
func (l *Log) Add(now time.Time, span time.Duration, each func(yield func(f Flow, arrivals int, seat time.Duration))) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scratch = l.scratch[:0]
	last := 0
	each(func(f Flow, arrivals int, seat time.Duration) {
		if arrivals <= 0 {
			return
		}
		i := l.after(last, f)
		l.flows[i].seconds++
		l.write(i-last, arrivals, seatUnits(seat))
		last = i
	})
	s := second{min(max(span, shortSpan), Span), slices.Clone(l.scratch)}
	l.seconds = append(l.seconds, s)
	l.bytes += s.bytes()
	l.span += s.span
	l.last = now.Round(0) // only what the clock says: how far apart seconds are is known
	old := 0
	for span := l.span; span-l.seconds[old].span >= Span; old++ {
		span -= l.seconds[old].span
	}
	l.forget(old)
	for l.bytes > cmp.Or(l.most, MaxBytes) && len(l.seconds) > 0 {
		l.forget(max(1, len(l.seconds)/16))
	}
}

// seatUnits is a seat time as it is written: 0 is unknown, so what is known is at least 1.
func seatUnits(seat time.Duration) uint64 {
	if seat <= 0 {
		return 0
	}
	return uint64(max((seat+seatUnit/2)/seatUnit, 1))
}

func (l *Log) write(difference, arrivals int, seat uint64) {
	l.scratch = binary.AppendVarint(l.scratch, int64(difference))
	l.scratch = binary.AppendUvarint(l.scratch, uint64(arrivals))
	l.scratch = binary.AppendUvarint(l.scratch, seat)
}

func (s *second) bytes() int { return perSecond + cap(s.data) }

// after is the place of a flow that is named after another one. Flows come in much the same order each second, so it is where it
// was the last time, and finding it costs no hash over all its names. l.mu is held.
func (l *Log) after(last int, f Flow) int {
	if last < len(l.flows) {
		if i := l.flows[last].next; i < len(l.flows) && l.flows[i].Flow == f {
			return i
		}
	}
	i := l.place(f)
	l.flows[last].next = i
	return i
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
		l.bytes += perFlow
	}
	l.byName[f] = i
	l.bytes += f.bytes()
	return i
}

// forget drops the oldest seconds, and the flows that only they name. l.mu is held.
func (l *Log) forget(n int) {
	for i := range l.seconds[:n] {
		s := &l.seconds[i]
		l.bytes -= s.bytes()
		l.span -= s.span
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
	if len(l.free) >= fewPlaces && len(l.free) > len(l.flows)/4 {
		l.compact()
	}
}

// fewPlaces are not worth being given back.
const fewPlaces = 1024

// compact gives back the places that are free: neither lists nor maps shrink by themselves. l.mu is held.
func (l *Log) compact() {
	used := len(l.flows) - len(l.free)
	flows, byName, moved := make([]known, 0, used), make(map[Flow]int, used), make([]int, len(l.flows))
	for i, f := range l.flows {
		if f.seconds > 0 {
			moved[i] = len(flows)
			byName[f.Flow] = len(flows)
			flows = append(flows, f)
		}
	}
	l.bytes -= len(l.free) * perFlow
	l.flows, l.byName, l.free = flows, byName, nil
	for i := range l.seconds {
		s := &l.seconds[i]
		l.bytes -= s.bytes()
		l.scratch = l.scratch[:0]
		last := 0
		s.each(func(i, arrivals int, seat time.Duration) {
			l.write(moved[i]-last, arrivals, seatUnits(seat))
			last = moved[i]
		})
		s.data = slices.Clone(l.scratch) // whoever reads the old one reads on
		l.bytes += s.bytes()
	}
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
