package record

import (
	"encoding/binary"
	"slices"
)

// bitWriter writes the symbols of one deflate block.
type bitWriter struct {
	codes *codes
	out   []byte // at is where the next byte goes
	at    int
	acc   uint64 // bits not yet in out, lowest first
	held  uint   // how many: at most 7 between calls
}

// begin writes what stands before a block, and the block's header.
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
		b.out = slices.Grow(b.out[:b.at], n+64<<10)
		b.out = b.out[:cap(b.out)]
	}
}

// write writes up to 56 bits, for which there is room.
func (b *bitWriter) write(v uint64, n uint8) {
	b.acc |= v << (b.held & 63)
	held := b.held + uint(n)
	binary.LittleEndian.PutUint64(b.out[b.at:], b.acc)
	b.at += int(held >> 3)
	b.acc >>= held & 56
	b.held = held & 7
}

func (b *bitWriter) literals(text []byte) {
	b.reserve(2*len(text) + rowBits/8) // a code has at most 15 bits
	literal, out, at, acc, held := &b.codes.literal, b.out, b.at, b.acc, b.held
	for len(text) >= 3 { // three codes and what is held are at most 52 bits
		x, y, z := literal[text[0]], literal[text[1]], literal[text[2]]
		text = text[3:]
		acc |= uint64(x.bits) << (held & 63)
		held += uint(x.n)
		acc |= uint64(y.bits) << (held & 63)
		held += uint(y.n)
		acc |= uint64(z.bits) << (held & 63)
		held += uint(z.n)
		binary.LittleEndian.PutUint64(out[at:], acc)
		at += int(held >> 3)
		acc >>= held & 56
		held &= 7
	}
	b.at, b.acc, b.held = at, acc, held
	for _, c := range text {
		b.write(uint64(literal[c].bits), literal[c].n)
	}
}

// match writes a reference of at most 48 bits, for which there is room.
func (b *bitWriter) match(n, distance int) {
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
