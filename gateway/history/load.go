package history

import (
	"context"
	"fmt"
	"math/bits"
)

// kept is what a database has for memory.
type kept struct {
	series  []keptSeries
	packed  []*packed
	tallies []*tally
}

type keptSeries struct {
	id  id
	key Key
	day int64 // since 1970, in which it last was seen
}

// load reads what memory holds of the past. What is in the future of the clock is left out.
func (d *disk) load(ctx context.Context, minute int64, most int) (k kept, err error) {
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return k, err
	}
	defer tx.Rollback() // nothing is written
	err = rows(ctx, tx, func(scan func(...any) error) error {
		var s keptSeries
		var number int64
		if err := scan(&number, &s.key.Kind, &s.key.Name, &s.key.Part, &s.day); err != nil {
			return errNotOurs{oneLine(err)}
		}
		if s.id = id(number); !s.key.Kind.known() || s.id != idOf(s.key) {
			return errNotOurs{fmt.Sprintf("series %d is not called %q", number, s.key.Name)}
		}
		k.series = append(k.series, s)
		return nil
	}, "SELECT id, kind, name, part, day FROM series ORDER BY day DESC LIMIT ?", most)
	if err != nil {
		return k, err
	}
	err = rows(ctx, tx, func(scan func(...any) error) error {
		var at, ran int64
		var b []byte
		if err := scan(&at, &ran, &b); err != nil {
			return errNotOurs{oneLine(err)}
		}
		p, err := decodePacked(at, uint64(ran), b)
		if err != nil {
			return err
		}
		p.written = true
		k.packed = append(k.packed, p)
		return nil
	}, "SELECT minute, ran, blocks FROM seconds WHERE minute BETWEEN ? AND ? ORDER BY minute", minute-secondsKept, minute)
	if err != nil {
		return k, err
	}
	err = rows(ctx, tx, func(scan func(...any) error) error {
		var at int64
		var b []byte
		if err := scan(&at, &b); err != nil {
			return errNotOurs{oneLine(err)}
		}
		t, err := decodeTally(at, b)
		if err != nil {
			return err
		}
		t.written = true
		k.tallies = append(k.tallies, t)
		return nil
	}, "SELECT minute, tally FROM minutes WHERE minute BETWEEN ? AND ? ORDER BY minute", minute-hoursKept*60, minute)
	return k, err
}

// takeIn puts what was kept where it is not known better, and says which of it all else has to be written again. The keeper's file
// is another than before.
func (h *History) takeIn(k kept) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range k.series {
		if h.names.byKey[s.key] == nil {
			h.names.add(s.key)
		}
	}
	there := func(minute int64) bool {
		return h.now != nil && h.now.minute <= minute || h.before != nil && h.before.minute == minute
	}
	packedThere, talliesThere := make(map[int64]bool), make(map[int64]bool)
	for _, p := range h.packed {
		p.written, packedThere[p.minute] = false, true
	}
	for _, t := range h.tallies {
		t.written, talliesThere[t.minute] = false, true
	}
	for _, p := range k.packed {
		switch {
		case h.now != nil && h.now.minute == p.minute:
			h.restore(p, h.second%slots)
		case !there(p.minute) && !packedThere[p.minute]:
			h.packed = append(h.packed, p)
		}
	}
	for _, t := range k.tallies {
		if !there(t.minute) && !talliesThere[t.minute] {
			h.tallies = append(h.tallies, t)
		}
	}
	h.sort()
	h.fit()
	if p := h.newest(); p != nil && p.ran != 0 && h.second == 0 {
		h.second = min(p.minute*slots+int64(bits.Len64(p.ran))-1, h.options.Now().Unix()-1)
	}
}
