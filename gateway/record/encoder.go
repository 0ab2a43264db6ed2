package record

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strconv"
)

// encoder makes gzip members of rows. It is no compressor for any text: it makes the lines itself, so it
// knows without a search which parts of a line are worth looking up, namely the names between the numbers. Each
// such piece is replaced by a reference to its last occurrence; of numbers, only the first digits of the time repeat.
// Any inflater reads the result (RFC 1951, RFC 1952).
//
// Not safe for concurrent use.
type encoder struct {
	text []byte // of this member, up to n; behind it there is room for what is written in steps of fixed size
	n    int
	b    bitWriter

	line   int   // where the line before begins; -1: there is none
	second int64 // of its time

	match, distance int // a match that may still grow; 0: none

	members  uint32 // counts them; places of other members are void
	flows    [1 << flowBits]flowPieces
	tenants  [1 << tenantPlaceBits]tenantPiece
	outcomes [8]outcomePiece
	outcome  uint8  // the next of them to be replaced
	way      uint32 // which of a place of flows is replaced next
}

func newEncoder() *encoder { return &encoder{b: bitWriter{codes: traceCodes()}} }

// gzipHeader says: deflate, no name, no time, an unknown system.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// member returns a gzip member with a line for each row, below the header line if one is wanted. It is valid until
// the next call.
func (e *encoder) member(rows []row, header bool) []byte {
	e.n, e.line = 0, -1
	e.forget()
	e.b.begin(gzipHeader)
	e.room(len(Header))
	if header {
		e.n = copy(e.text, Header+"\n")
		e.b.literals(e.text[:e.n])
	}
	for i := range rows {
		e.row(&rows[i])
	}
	e.flushMatch()
	out := e.b.end()
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(e.text[:e.n]))
	out = binary.LittleEndian.AppendUint32(out, uint32(e.n))
	e.b.out = out[:cap(out)]
	return out
}

const (
	rowText = 256 // bytes: more than a line has without its names
	rowBits = 512 // more than its matches and numbers have; literals make room for themselves, and for this
)

// room makes room for a line with so many bytes of names, each of which may become two.
func (e *encoder) room(names int) {
	if need := e.n + 2*names + rowText; need > len(e.text) {
		e.text = slices.Grow(e.text[:e.n], need+64<<10-e.n)
		e.text = e.text[:cap(e.text)]
	}
	e.b.reserve(rowBits / 8)
}

// row writes a line, part by part.
func (e *encoder) row(r *row) {
	e.room(len(r.caller) + len(r.semantic) + len(r.route) + len(r.outcome) + len(r.code))
	e.time(r.at)
	f := e.flowOf(r)
	if !e.piece(&f.caller) {
		b := append(e.text[:e.n], ',')
		b = append(appendField(b, r.caller), ',')
		b = append(appendField(b, r.semantic), ',')
		e.write(&f.caller, b)
	}
	e.number(r.bytes)
	if !e.piece(&f.route) {
		b := append(e.text[:e.n], ',')
		b = append(appendField(b, r.route), ',')
		if r.tenant == 0 {
			b = append(strconv.AppendInt(append(b, ','), r.cost, 10), ',')
		}
		e.write(&f.route, b)
	}
	if r.tenant != 0 {
		e.tenant(r)
	}
	e.seat(r.seat.Microseconds())
	if o := e.outcomeOf(r); !e.piece(&o.place) {
		b := appendOutcome(append(e.text[:e.n], ','), r.outcome, r.code)
		e.write(&o.place, append(b, '\n'))
	}
}

// tenant writes a tenant and the cost. Most tenants are not seen twice in a member, so this too goes by steps.
func (e *encoder) tenant(r *row) {
	t := e.tenantOf(r)
	if e.piece(&t.place) {
		return
	}
	from := e.n
	e.flushMatch()
	for shift := tenantBits - 16; shift >= 0; shift -= 16 {
		high, low := &e.b.codes.hex[byte(r.tenant>>(shift+8))], &e.b.codes.hex[byte(r.tenant>>shift)]
		e.digits(high)
		e.digits(low)
		e.b.write(uint64(high.bits)|uint64(low.bits)<<(high.n&63), high.n+low.n)
	}
	e.literals(append(strconv.AppendInt(append(e.text[:e.n], ','), r.cost, 10), ','))
	t.place = place{e.members, uint32(from), uint32(e.n - from)}
}

// time begins a line. Within a second the digits are those of the line before, but for the last three.
func (e *encoder) time(at int64) {
	start, second := e.n, at/1000
	if e.line >= 0 && second == e.second && second >= minTime && start-e.line <= maxDistance {
		*(*[16]byte)(e.text[start:]) = *(*[16]byte)(e.text[e.line:]) // what is too much is written over
		e.n += timeDigits
		e.repeat(timeDigits, start-e.line)
		ms := &e.b.codes.padded[at%1000]
		e.digits(ms)
		e.flushMatch()
		e.b.write(uint64(ms.bits), ms.n)
	} else {
		e.literals(strconv.AppendInt(e.text[:start], at, 10))
	}
	e.line, e.second = start, second
}

// A time in seconds has ten digits, from 2001 to 2286. Before, it is written in full.
const (
	timeDigits = 10
	minTime    = 1e9
)

// digits writes the text of a number's digits.
func (e *encoder) digits(d *number) {
	binary.LittleEndian.PutUint32(e.text[e.n:], d.text)
	e.n += int(d.digits)
}

// number writes a number. Below a million it is looked up.
func (e *encoder) number(n int64) {
	short := &e.b.codes.short
	switch {
	case uint64(n) < 1e3:
		d := &short[n]
		e.digits(d)
		e.flushMatch()
		e.b.write(uint64(d.bits), d.n)
	case uint64(n) < 1e6:
		high, low := &short[n/1e3], &e.b.codes.padded[n%1e3]
		e.digits(high)
		e.digits(low)
		e.flushMatch()
		e.b.write(uint64(high.bits)|uint64(low.bits)<<(high.n&63), high.n+low.n)
	default:
		e.literals(strconv.AppendInt(e.text[:e.n], n, 10))
	}
}

// seat writes microseconds as milliseconds with three decimals, or 0.
func (e *encoder) seat(micros int64) {
	if micros <= 0 {
		e.number(0)
		return
	}
	e.number(micros / 1e3)
	dot, low := e.b.codes.literal['.'], &e.b.codes.padded[micros%1e3]
	e.text[e.n] = '.'
	e.n++
	e.digits(low)
	e.b.write(uint64(dot.bits)|uint64(low.bits)<<(dot.n&63), dot.n+low.n)
}

// piece writes a piece that has been written before; false: it has not been in this member.
func (e *encoder) piece(p *place) bool {
	if p.member != e.members {
		return false
	}
	from, at, n := e.n, int(p.at), int(p.length)
	if n <= 32 { // copied whole, which is faster; what is too much is written over
		*(*[32]byte)(e.text[from:]) = *(*[32]byte)(e.text[at:])
	} else {
		copy(e.text[from:], e.text[at:at+n])
	}
	if n < minMatch || n > maxMatch || from-at > maxDistance {
		e.write(p, e.text[:from+n])
		return true
	}
	p.at = uint32(from)
	e.n += n
	e.repeat(n, from-at)
	return true
}

// write writes what b has more than the text up to now, and remembers it as a piece.
func (e *encoder) write(p *place, b []byte) {
	*p = place{e.members, uint32(e.n), uint32(len(b) - e.n)}
	e.literals(b)
}

// literals writes, byte by byte, what b has more than the text up to now. There is room for it, so b is the text.
func (e *encoder) literals(b []byte) {
	e.flushMatch()
	e.b.literals(b[e.n:])
	e.n = len(b)
}

// repeat writes n bytes that stand distance bytes before. What ends one line and what begins the next are
// most often repeated from the same two lines, so a match is held back: it may grow.
func (e *encoder) repeat(n, distance int) {
	if e.match > 0 {
		if e.distance == distance && e.match+n <= maxMatch {
			e.match += n
			return
		}
		e.b.match(e.match, e.distance)
	}
	e.match, e.distance = n, distance
}

func (e *encoder) flushMatch() {
	if e.match > 0 {
		e.b.match(e.match, e.distance)
		e.match = 0
	}
}
