package history

import (
	"encoding/binary"
	"slices"
)

// tally is what a minute comes to: one number for each field of those who did something. Nothing of it changes but written, which is the keeper's.
type tally struct {
	minute int64
	ids    []id // in order; often the same slice as another's
	values []number
	first  [kinds]int // place of a kind's first id
	from   [kinds]int // and of its first value

	written bool // is in the database; the keeper's
}

// tallyOf makes one of what it holds.
func tallyOf(minute int64, ids []id, values []number) (*tally, error) {
	t := &tally{minute: minute, ids: ids, values: values}
	place, value := 0, 0
	for k := range kinds {
		t.first[k], t.from[k] = place, value
		next, _ := slices.BinarySearch(ids, id(k+1)<<kindBit)
		value += (next - place) * k.width()
		place = next
	}
	if value != len(values) {
		return nil, errMinute
	}
	return t, nil
}

// of is a series's numbers; nil: all were 0.
func (t *tally) of(i id) []number {
	place, ok := slices.BinarySearch(t.ids, i)
	if !ok {
		return nil
	}
	return t.at(place)
}

func (t *tally) at(place int) []number {
	k := t.ids[place].kind()
	from := t.from[k] + (place-t.first[k])*k.width()
	return t.values[from : from+k.width()]
}

// bytes is what it holds in memory at most.
func (t *tally) bytes() int { return 128 + 8*len(t.ids) + 2*len(t.values) }

func (t *tally) encode() []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+t.bytes()), uint32(len(t.ids)))
	for _, i := range t.ids {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	for _, v := range t.values {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return b
}

func decodeTally(minute int64, b []byte) (*tally, error) {
	ids, b, err := decodeIDs(b)
	if err != nil || len(b)%2 != 0 {
		return nil, errMinute
	}
	values := make([]number, len(b)/2)
	for i := range values {
		values[i] = number(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return tallyOf(minute, ids, values)
}

// summary is one number for each field of a minute's samples. The mean is over the seconds that are known.
func summary(to []number, k Kind, s samples, ran uint64) []number {
	for f := range k.width() {
		var sum, most float64
		known := 0
		for second, n := range s.field(f) {
			if ran>>second&1 == 0 || n == unknown {
				continue
			}
			v := n.float()
			sum, most, known = sum+v, max(most, v), known+1
		}
		switch {
		case known == 0:
			to = append(to, unknown)
		case k.highest(f):
			to = append(to, numberOf(float32(most)).coarse())
		default:
			to = append(to, numberOf(float32(sum/float64(known))).coarse())
		}
	}
	return to
}
