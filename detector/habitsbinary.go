package detector

import "encoding/binary"

// Habits are kept as: the hours watched, the sums of the heights of blips and of their squares and their number, each a float32; the turns of
// the clock, the excursions noted and the bin; how many bins hold something, and each of these: which, its onsets, its blips.

const (
	habitsHead = 4*4 + 2 + 2 + 1 + 1
	habitsMost = habitsHead + 3*bins
)

func (h *habits) append(b []byte) []byte {
	for _, x := range []float32{h.hours, h.tail, h.tails, h.squares} {
		b = appendFloat(b, x)
	}
	b = binary.LittleEndian.AppendUint16(b, h.turns)
	b = binary.LittleEndian.AppendUint16(b, h.excursions)
	b = append(b, h.bin, 0)
	n := len(b) - 1
	for i := range h.onsets {
		if h.onsets[i] > 0 || h.blips[i] > 0 {
			b[n]++
			b = append(b, uint8(i), h.onsets[i], h.blips[i])
		}
	}
	return b
}

// take reads all of b, and says whether it holds habits that there can be.
func (h *habits) take(b []byte) bool {
	if len(b) < habitsHead || len(b) != habitsHead+3*int(b[habitsHead-1]) {
		return false
	}
	for i, x := range []struct {
		into *float32
		most float32
	}{{&h.hours, remembered}, {&h.tail, mostBlips * mostHeight}, {&h.tails, mostBlips}, {&h.squares, mostBlips * mostHeight * mostHeight}} {
		if !takeFloat(x.into, b[4*i:], x.most) {
			return false
		}
	}
	h.turns, h.excursions, h.bin = binary.LittleEndian.Uint16(b[16:]), binary.LittleEndian.Uint16(b[18:]), b[20]
	before := -1
	for rest := b[habitsHead:]; len(rest) > 0; rest = rest[3:] {
		i := int(rest[0])
		if i <= before || i >= bins || rest[1] == 0 && rest[2] == 0 {
			return false
		}
		before = i
		h.onsets[i], h.blips[i] = rest[1], rest[2]
	}
	return h.bin < bins
}
