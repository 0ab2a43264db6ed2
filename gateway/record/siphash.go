package record

import (
	"encoding/binary"
	"math/bits"
)

// saltKey is the 128 bits under which tenants are hashed.
type saltKey [2]uint64

// sum is SipHash-2-4 of b: a keyed hash made for short inputs, from whose results, however many, the key
// and what was hashed cannot be found. A cryptographic hash would take ten times as long.
func (k saltKey) sum(b []byte) uint64 {
	s := sip{
		k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d,
		k[0] ^ 0x6c7967656e657261, k[1] ^ 0x7465646279746573,
	}
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		s.add(binary.LittleEndian.Uint64(b))
	}
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	s.add(last)
	s.c ^= 0xff
	s.round()
	s.round()
	s.round()
	s.round()
	return s.a ^ s.b ^ s.c ^ s.d
}

type sip struct{ a, b, c, d uint64 }

func (s *sip) add(word uint64) {
	s.d ^= word
	s.round()
	s.round()
	s.a ^= word
}

func (s *sip) round() {
	a, b, c, d := s.a, s.b, s.c, s.d
	a += b
	c += d
	b = bits.RotateLeft64(b, 13) ^ a
	d = bits.RotateLeft64(d, 16) ^ c
	a = bits.RotateLeft64(a, 32)
	c += b
	a += d
	b = bits.RotateLeft64(b, 17) ^ c
	d = bits.RotateLeft64(d, 21) ^ a
	c = bits.RotateLeft64(c, 32)
	s.a, s.b, s.c, s.d = a, b, c, d
}
