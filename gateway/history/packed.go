package history

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// packed is a minute by the second. Nothing of it changes but written, which is the keeper's.
type packed struct {
	minute int64  // since 1970
	ran    uint64 // bit s: second s is known
	ids    []id   // in order; who is not there was 0
	ends   []uint32
	data   []byte // blocks

	written bool // is in the database; the keeper's
}

// block is that of a series; nil: it was 0 for all of the minute.
func (p *packed) block(of id) block {
	i, ok := slices.BinarySearch(p.ids, of)
	if !ok {
		return nil
	}
	return p.at(i)
}

func (p *packed) at(i int) block {
	from := uint32(0)
	if i > 0 {
		from = p.ends[i-1]
	}
	return p.data[from:p.ends[i]]
}

func (p *packed) bytes() int { return len(p.data) + 12*len(p.ids) }

// encode is its ids, where their blocks end, and these.
func (p *packed) encode() []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+p.bytes()), uint32(len(p.ids)))
	for _, i := range p.ids {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	for _, end := range p.ends {
		b = binary.LittleEndian.AppendUint32(b, end)
	}
	return append(b, p.data...)
}

var errMinute = errors.New("a minute of the history is damaged")

// decodePacked is what encode made; blocks are looked at when they are used.
func decodePacked(minute int64, ran uint64, b []byte) (*packed, error) {
	ids, b, err := decodeIDs(b)
	if err != nil || len(b) < 4*len(ids) || ran >= 1<<slots {
		return nil, errMinute
	}
	p := &packed{minute: minute, ran: ran, ids: ids, ends: make([]uint32, len(ids)), data: slices.Clone(b[4*len(ids):])}
	last := uint32(0)
	for i := range p.ends {
		p.ends[i] = binary.LittleEndian.Uint32(b[4*i:])
		if p.ends[i] < last || int64(p.ends[i]) > int64(len(p.data)) {
			return nil, errMinute
		}
		last = p.ends[i]
	}
	if int(last) != len(p.data) {
		return nil, errMinute
	}
	return p, nil
}

// decodeIDs reads how many ids there are, and these, which must be in order and of kinds that there are.
func decodeIDs(b []byte) (ids []id, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errMinute
	}
	n := int(binary.LittleEndian.Uint32(b))
	b = b[4:]
	if n > len(b)/8 {
		return nil, nil, errMinute
	}
	ids = make([]id, n)
	for i := range ids {
		ids[i] = id(binary.LittleEndian.Uint64(b[8*i:]))
		if ids[i] > math.MaxInt64 || !ids[i].kind().known() || i > 0 && ids[i] <= ids[i-1] {
			return nil, nil, errMinute
		}
	}
	return ids, b[8*n:], nil
}
