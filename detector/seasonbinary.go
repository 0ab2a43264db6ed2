package detector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A season is kept as: its version, how many hours it has learned, one bit for each slot that was seen, lowest first,
// and for each of these its level, its past, and how far apart the last weeks were if there are such; then the last
// level, three float32, and the slot it is of; then its habits (see there); then a CRC-32 of all that. Numbers are little-endian.

const (
	seasonVersion = 4
	seenBytes     = slots / 8
	seasonHead    = 1 + 4 + seenBytes
	lastBytes     = 3*4 + 1
	seasonMost    = seasonHead + 4*slots + lastBytes + habitsMost + crc32.Size
)

var errSeason = errors.New("cannot read a season: it is damaged")

// AppendBinary appends the season, 65 to 1,097 bytes, mostly 3 for each slot and bin. The error is nil.
func (s *Season) AppendBinary(b []byte) ([]byte, error) {
	begin := len(b)
	b = append(b, seasonVersion)
	b = binary.LittleEndian.AppendUint32(b, s.hours)
	var seen [seenBytes]byte
	for i, code := range s.level {
		if code != 0 {
			seen[i/8] |= 1 << (i % 8)
		}
	}
	b = append(b, seen[:]...)
	for i := range Slot(slots) {
		if s.level[i] == 0 {
			continue
		}
		b = binary.LittleEndian.AppendUint16(b, s.level[i])
		b = append(b, s.weeks(i)|s.running(i)<<2)
		if s.running(i) > 0 {
			b = append(b, byte(s.apart[i]))
		}
	}
	for _, x := range []float32{s.last.short, s.last.long, s.last.seconds} {
		b = appendFloat(b, x)
	}
	b = s.habits.append(append(b, byte(s.last.slot)))
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[begin:])), nil
}

// UnmarshalBinary takes what AppendBinary gave. What is damaged or of another version is refused, and s is as it was.
func (s *Season) UnmarshalBinary(b []byte) error {
	if len(b) < seasonHead+crc32.Size || len(b) > seasonMost {
		return errSeason
	}
	if b[0] != seasonVersion {
		return fmt.Errorf("cannot read a season: its version is %d, and this program's is %d", b[0], seasonVersion)
	}
	body, sum := b[:len(b)-crc32.Size], binary.LittleEndian.Uint32(b[len(b)-crc32.Size:])
	if crc32.ChecksumIEEE(body) != sum {
		return errSeason
	}
	read := Season{hours: binary.LittleEndian.Uint32(body[1:])}
	seen, rest := body[5:], body[seasonHead:]
	for i := range Slot(slots) {
		if seen[i/8]>>(i%8)&1 == 0 {
			continue
		}
		n, ok := read.take(i, rest)
		if !ok {
			return errSeason
		}
		rest = rest[n:]
	}
	if len(rest) < lastBytes {
		return errSeason
	}
	const mostRate = mostCounted / cellSeconds
	for i, x := range []struct {
		into *float32
		most float32
	}{{&read.last.short, mostRate}, {&read.last.long, mostRate}, {&read.last.seconds, math.MaxFloat32}} {
		if !takeFloat(x.into, rest[4*i:], x.most) {
			return errSeason
		}
	}
	read.last.slot = Slot(rest[lastBytes-1])
	if read.last.slot >= slots || !read.habits.take(rest[lastBytes:]) {
		return errSeason
	}
	*s = read
	return nil
}

// take reads one slot and says of how many bytes.
func (s *Season) take(slot Slot, b []byte) (n int, ok bool) {
	if len(b) < 3 {
		return 0, false
	}
	code, weeks, running := binary.LittleEndian.Uint16(b), b[2]&3, b[2]>>2
	if code == 0 || weeks == 0 || weeks > knownWeeks || running >= mostApart {
		return 0, false
	}
	n = 3
	if running > 0 {
		if len(b) < 4 || b[3] == 0 {
			return 0, false
		}
		s.apart[slot] = int8(b[3])
		n = 4
	}
	s.level[slot] = code
	s.setPast(slot, weeks, running)
	return n, true
}

func appendFloat(b []byte, x float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
}

// takeFloat reads a number from 0 to most, and says whether it is one.
func takeFloat(x *float32, b []byte, most float32) bool {
	*x = math.Float32frombits(binary.LittleEndian.Uint32(b))
	return *x >= 0 && *x <= most && !math.Signbit(float64(*x))
}
