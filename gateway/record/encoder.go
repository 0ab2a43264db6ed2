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
	text   []byte // of this member
	pieces pieceTable
	b      bitWriter

	line   int   // where the line before begins; -1: there is none
	second int64 // of its time

	match, distance int // a match that may still grow; 0: none
}

func newEncoder() *encoder { return &encoder{b: bitWriter{codes: traceCodes()}} }

// gzipHeader says: deflate, no name, no time, an unknown system.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// member returns a gzip member with a line for each row, below the header line if one is wanted. It is valid until
// the next call.
func (e *encoder) member(rows []row, header bool) []byte {
	e.text, e.line = e.text[:0], -1
	e.pieces.begin()
	e.b.begin(gzipHeader)
	if header {
		e.text = append(append(e.text, Header...), '\n')
		e.b.literals(e.text)
	}
	for i := range rows {
		e.row(&rows[i])
	}
	e.flushMatch()
	out := e.b.end()
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(e.text))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(e.text)))
	e.b.out = out
	return out
}

// row writes a line, part by part.
func (e *encoder) row(r *row) {
	e.time(r.at)
	e.piece(pieceName{kind: pieceCaller, a: r.caller, b: r.semantic})
	e.number(r.bytes)
	if r.tenant == 0 {
		e.piece(pieceName{kind: pieceRoute, a: r.route, n: r.cost})
	} else {
		e.piece(pieceName{kind: pieceTenantRoute, a: r.route})
		e.piece(pieceName{kind: pieceTenant, n: r.cost, tenant: r.tenant})
	}
	from := len(e.text)
	e.text = appendSeat(e.text, r.seat)
	e.literals(from)
	e.piece(pieceName{kind: pieceOutcome, a: r.outcome, b: r.code})
}

// time begins a line. Within a second the digits are those of the line before, but for the last three.
func (e *encoder) time(at int64) {
	start, second := len(e.text), at/1000
	if e.line >= 0 && second == e.second && at >= 1000 && start-e.line <= maxDistance {
		n := digits(second)
		ms := at % 1000
		e.text = append(e.text, e.text[e.line:e.line+n]...)
		e.repeat(n, start-e.line)
		e.text = append(e.text, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
		e.literals(start + n)
	} else {
		e.text = strconv.AppendInt(e.text, at, 10)
		e.literals(start)
	}
	e.line, e.second = start, second
}

// digits of a positive number. Until the year 2286 a time in seconds has ten.
func digits(n int64) int {
	if n >= 1e9 && n < 1e10 {
		return 10
	}
	return len(strconv.AppendInt(make([]byte, 0, 20), n, 10))
}

func (e *encoder) number(n int64) {
	from := len(e.text)
	e.text = strconv.AppendInt(e.text, n, 10)
	e.literals(from)
}

// piece writes a part that has likely been written before.
func (e *encoder) piece(name pieceName) {
	from := len(e.text)
	p := e.pieces.find(&name)
	if p.member == e.pieces.member {
		e.text = append(e.text, e.text[p.at:p.at+p.length]...)
		distance := from - int(p.at)
		p.at = uint32(from)
		if p.length >= minMatch && p.length <= maxMatch && distance <= maxDistance {
			e.repeat(int(p.length), distance)
			return
		}
	} else {
		e.text = name.append(e.text)
		p.member, p.at, p.length = e.pieces.member, uint32(from), uint32(len(e.text)-from)
	}
	e.literals(from)
}

// repeat writes n bytes that stand distance bytes before. What ends one line and what begins the next are
// most often repeated from the same two lines, so a match is held back: it may grow.
func (e *encoder) repeat(n, distance int) {
	if e.match > 0 && e.distance == distance && e.match+n <= maxMatch {
		e.match += n
		return
	}
	e.flushMatch()
	e.match, e.distance = n, distance
}

func (e *encoder) flushMatch() {
	if e.match > 0 {
		e.b.match(e.match, e.distance)
		e.match = 0
	}
}

// literals writes the text from there to its end, byte by byte.
func (e *encoder) literals(from int) {
	if from == len(e.text) {
		return
	}
	e.flushMatch()
	e.b.literals(e.text[from:])
}

// bitWriter writes the symbols of one deflate block.
type bitWriter struct {
	codes *codes
	out   []byte // its length is its capacity; at is where the next byte goes
	at    int
	acc   uint64 // bits not yet in out, lowest first
	held  uint   // how many: at most 7 between calls
}

func (b *bitWriter) begin(head string) {
	b.at, b.acc, b.held = 0, 0, 0
	b.reserve(len(head) + 4*len(b.codes.header))
	b.at = copy(b.out, head)
	for _, c := range b.codes.header {
		b.write(uint64(c.bits), c.n)
	}
}

// reserve makes room for n bytes and the word that is written at once.
func (b *bitWriter) reserve(n int) {
	if b.at+n+8 > len(b.out) {
		b.out = slices.Grow(b.out[:b.at], max(n+8, 64<<10))
		b.out = b.out[:cap(b.out)]
	}
}

// write writes up to 56 bits.
func (b *bitWriter) write(v uint64, n uint8) {
	b.acc |= v << (b.held & 63)
	b.held += uint(n)
	binary.LittleEndian.PutUint64(b.out[b.at:], b.acc)
	b.at += int(b.held >> 3)
	b.acc >>= b.held & 56
	b.held &= 7
}

func (b *bitWriter) literals(text []byte) {
	b.reserve(2 * len(text)) // a code has at most 15 bits
	literal, out, at, acc, held := &b.codes.literal, b.out, b.at, b.acc, b.held
	for len(text) > 0 {
		n := min(len(text), 3) // three codes and what is held are at most 52 bits
		for _, c := range text[:n] {
			l := &literal[c]
			acc |= uint64(l.bits) << (held & 63)
			held += uint(l.n)
		}
		text = text[n:]
		binary.LittleEndian.PutUint64(out[at:], acc)
		at += int(held >> 3)
		acc >>= held & 56
		held &= 7
	}
	b.at, b.acc, b.held = at, acc, held
}

// match writes a reference of at most 48 bits.
func (b *bitWriter) match(n, distance int) {
	b.reserve(8)
	symbol, extra, extraBits := distSymbol(distance)
	l, d := &b.codes.length[n], &b.codes.dist[symbol]
	v := uint64(l.bits) | (uint64(d.bits)|uint64(extra)<<(d.n&63))<<(l.n&63)
	b.write(v, l.n+d.n+extraBits)
}

// end ends the block and returns what was written, up to the next whole byte.
func (b *bitWriter) end() []byte {
	b.reserve(8)
	c := b.codes.literal[endOfBlock]
	b.write(uint64(c.bits), c.n)
	if b.held > 0 {
		b.at++
	}
	return b.out[:b.at]
}
