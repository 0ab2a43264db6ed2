package record

import (
	"math/bits"
	"strconv"
)

// pieceKind is a part of a line that consists of names, with the commas around it.
type pieceKind uint8

const (
	pieceCaller      pieceKind = iota + 1 // ,caller,semantic,
	pieceRoute                            // ,route,,cost,
	pieceTenantRoute                      // ,route,
	pieceTenant                           // tenant,cost,
	pieceOutcome                          // ,outcome:code and the line's end
)

// pieceName is what a piece is made of.
type pieceName struct {
	a, b   string
	n      int64
	tenant uint64
	kind   pieceKind
}

// piece is where the text of a piece stands.
type piece struct {
	pieceName
	member uint32 // in whose text; 0: in none
	at     uint32
	length uint32
}

// pieceTable remembers pieces, one at each place. Where two share a place, the later one replaces the other, which
// is then written in full the next time: that costs some bytes and no more.
type pieceTable struct {
	member uint32 // counts from 1
	table  []piece
}

const pieceBits = 11

// begin forgets where pieces were.
func (t *pieceTable) begin() {
	t.member++
	if t.member == 0 || t.table == nil { // after some years
		t.member, t.table = 1, make([]piece, 1<<pieceBits)
	}
}

// find returns the piece of that name. If it is not of this member, its text has to be written.
func (t *pieceTable) find(name *pieceName) *piece {
	h := ends(name.a) ^ bits.RotateLeft64(ends(name.b), 21) ^ (uint64(name.n)<<8^name.tenant^uint64(name.kind))*spread
	p := &t.table[h*spread>>(64-pieceBits)]
	if p.kind != name.kind || p.n != name.n || p.tenant != name.tenant || p.a != name.a || p.b != name.b {
		p.pieceName, p.member = *name, 0
	}
	return p
}

// spread is the golden ratio's: multiplied by it, what differs in any bit differs in the first.
const spread = 0x9e3779b97f4a7c15

// ends makes a number of a name's first and last bytes, in which names mostly differ.
func ends(s string) uint64 {
	if len(s) >= 8 {
		return (word(s) ^ bits.RotateLeft64(word(s[len(s)-8:]), 29)) * spread
	}
	var h uint64
	for i := range len(s) {
		h = h<<8 | uint64(s[i])
	}
	return h * spread
}

func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// append appends the piece's text.
func (p *pieceName) append(dst []byte) []byte {
	switch p.kind {
	case pieceCaller:
		dst = append(dst, ',')
		dst = appendField(dst, p.a)
		dst = append(dst, ',')
		dst = appendField(dst, p.b)
	case pieceRoute, pieceTenantRoute:
		dst = append(dst, ',')
		dst = appendField(dst, p.a)
		if p.kind == pieceRoute {
			dst = append(dst, ',', ',')
			dst = strconv.AppendInt(dst, p.n, 10)
		}
	case pieceTenant:
		dst = appendTenant(dst, p.tenant)
		dst = append(dst, ',')
		dst = strconv.AppendInt(dst, p.n, 10)
	case pieceOutcome:
		dst = append(dst, ',')
		dst = appendOutcome(dst, p.a, p.b)
		return append(dst, '\n')
	}
	return append(dst, ',')
}
