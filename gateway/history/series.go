package history

import (
	"crypto/sha256"
	"encoding/binary"
)

// id is a series by number: its kind, and the hash of its name. So a name has the same in every file, and ids in order
// have each kind in one piece.
type id uint64

const kindBit = 61 // an id is a positive int64, as the database has it

func idOf(k Key) id {
	text := append(append(append(make([]byte, 0, 64), k.Name...), 0), k.Part...)
	sum := sha256.Sum256(text)
	return id(k.Kind)<<kindBit | id(binary.BigEndian.Uint64(sum[:])>>(64-kindBit))
}

func (i id) kind() Kind { return Kind(i >> kindBit) }

// series is one of the names that were ever met. Guarded by the history's lock.
type series struct {
	id  id
	key Key

	now    raw   // of the running minute; nil: nothing but zeros
	before raw   // of the minute that is being packed
	last   int64 // second in which it last was not zero
	at     int   // its place in the order in which they came
	place  int   // in the running minute's active, while now is there
}

// names are all series that are known, of which few may be doing anything. They go when the process ends.
type names struct {
	most    int
	byKey   map[Key]*series
	byID    map[id]*series
	callers map[string][]*series // by caller
}

// perSeries is how many names are kept for each series of a caller that may be doing something.
const perSeries = 8

func mostNames(series int) int { return perSeries*series + 4096 }

func newNames(mostSeries int) names {
	return names{
		most: mostNames(mostSeries), byKey: make(map[Key]*series), byID: make(map[id]*series), callers: make(map[string][]*series),
	}
}

// add makes a series; nil: there are too many, or its id is another's.
func (n *names) add(k Key) *series {
	s := &series{id: idOf(k), key: k}
	if len(n.byKey) >= n.most || n.byID[s.id] != nil {
		return nil
	}
	n.byKey[k], n.byID[s.id] = s, s
	if k.Kind == Caller {
		n.callers[k.Name] = append(n.callers[k.Name], s)
	}
	return s
}
