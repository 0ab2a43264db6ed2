package history

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// A block is sixty samples of one series, the seconds of a minute or the minutes of an hour, each field on its own:
//
//	head     one byte: how many bits a number takes, 0 to 16; or same + place of an earlier field that has the same numbers
//	lowest   uvarint, the lowest number
//	shift    one byte, if a number takes any bits: how many low bits are the same in all
//	numbers  what each has above the lowest, without these low bits, one after the other from the lowest bit up
//
// Noise costs what it is wide, and what does not change costs two or three bytes.
type block []byte

const (
	slots = 60
	same  = 32
)

var errBlock = errors.New("a block of the history is damaged")

// samples are sixty times the numbers of one series: those of the first field, then those of the second.
type samples []number

func (s samples) field(f int) samples { return s[f*slots : (f+1)*slots] }

// appendBlock packs samples of a number of fields.
func appendBlock(to []byte, s samples) []byte {
	for f := range len(s) / slots {
		to = appendField(to, s, f)
	}
	return to
}

func appendField(to []byte, s samples, f int) []byte {
	of := s.field(f)
	lowest, highest := of[0], of[0]
	for _, n := range of {
		lowest, highest = min(lowest, n), max(highest, n)
	}
	if lowest == highest {
		return binary.AppendUvarint(append(to, 0), uint64(lowest))
	}
	for earlier := range f {
		if [slots]number(s.field(earlier)) == [slots]number(of) {
			return append(to, same+byte(earlier))
		}
	}
	var differ number
	for _, n := range of {
		differ |= n - lowest
	}
	shift := bits.TrailingZeros16(uint16(differ))
	width := bits.Len16(uint16(highest-lowest) >> shift)
	to = append(binary.AppendUvarint(append(to, byte(width)), uint64(lowest)), byte(shift))
	var held uint64
	var n int
	for _, v := range of {
		held |= uint64((v-lowest)>>shift) << n
		for n += width; n >= 8; n -= 8 {
			to = append(to, byte(held))
			held >>= 8
		}
	}
	if n > 0 {
		to = append(to, byte(held))
	}
	return to
}

// unpack reads the first fields of a block, as many as into has room for. It must be all of them to find that
// something is too long.
func (b block) unpack(into samples) error {
	rest := []byte(b)
	for f := range len(into) / slots {
		var err error
		if rest, err = unpackField(rest, into, f); err != nil {
			return err
		}
	}
	return nil
}

func unpackField(b []byte, into samples, f int) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, errBlock
	}
	head, b, of := int(b[0]), b[1:], into.field(f)
	if head >= same {
		if head-same >= f {
			return nil, errBlock
		}
		copy(of, into.field(head-same))
		return b, nil
	}
	lowest, n := binary.Uvarint(b)
	if n <= 0 || lowest > uint64(unknown) || head > 16 {
		return nil, errBlock
	}
	b = b[n:]
	if head == 0 {
		for i := range of {
			of[i] = number(lowest)
		}
		return b, nil
	}
	length := (slots*head + 7) / 8
	if len(b) < 1+length || int(b[0])+head > 16 {
		return nil, errBlock
	}
	shift, packed := b[0], b[1:1+length]
	var held uint64
	have, mask := 0, uint64(1)<<head-1
	for i := range of {
		for have < head {
			held |= uint64(packed[0]) << have
			packed = packed[1:]
			have += 8
		}
		v := lowest + held&mask<<shift
		if v > uint64(unknown) {
			return nil, errBlock
		}
		of[i] = number(v)
		held >>= head
		have -= head
	}
	return b[1+length:], nil
}
