package history

import (
	"context"
	"fmt"
	"slices"
)

// hour makes blocks of the tallies of an hour that is over. Where the file has the hour already, as the clock was set back,
// minutes that are new replace the old.
func (w *writing) hour(hour int64, tallies []*tally) error {
	old, minutes, err := w.oldHour(hour)
	if err != nil {
		return err
	}
	for _, t := range tallies {
		minutes |= 1 << (t.minute % 60)
	}
	insert, err := w.tx.Prepare("INSERT OR REPLACE INTO hours VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	var room [MaxFields * slots]number
	var packed []byte
	next := make([]int, len(tallies)) // which of its ids comes next
	for _, i := range allIDs(old, tallies) {
		s := samples(room[:i.kind().width()*slots])
		clear(s)
		if b, ok := old[i]; ok {
			if err := b.unpack(s); err != nil {
				return err
			}
		}
		for n, t := range tallies {
			at := int(t.minute % 60)
			s.clear(at)
			if next[n] < len(t.ids) && t.ids[next[n]] == i {
				for f, v := range t.at(next[n]) {
					s[f*slots+at] = v
				}
				next[n]++
			}
		}
		s.fill(minutes)
		packed = appendBlock(packed[:0], s)
		if _, err := insert.Exec(hour, int64(i), packed); err != nil {
			return err
		}
	}
	if err := w.names(allIDs(nil, tallies)); err != nil {
		return err
	}
	return w.do("INSERT OR REPLACE INTO known VALUES (?, ?)", hour, int64(minutes))
}

// oldHour is what the file has of an hour.
func (w *writing) oldHour(hour int64) (old map[id]block, minutes uint64, err error) {
	known, err := column[int64](w.tx, "SELECT minutes FROM known WHERE hour = ?", hour)
	if err != nil || len(known) == 0 {
		return nil, 0, err
	}
	old = make(map[id]block)
	err = rows(context.Background(), w.tx, func(scan func(...any) error) error {
		var i int64
		var b []byte
		if err := scan(&i, &b); err != nil {
			return err
		}
		if !id(i).kind().known() {
			return errBlock
		}
		old[id(i)] = b
		return nil
	}, "SELECT series, block FROM hours WHERE hour = ?", hour)
	return old, uint64(known[0]) & (1<<slots - 1), err
}

// allIDs are those of any, in order.
func allIDs(old map[id]block, tallies []*tally) []id {
	ids := make([]id, 0, len(old))
	for i := range old {
		ids = append(ids, i)
	}
	var last *id
	for _, t := range tallies {
		if len(t.ids) > 0 && &t.ids[0] != last { // tallies share them where they are the same
			last = &t.ids[0]
			ids = append(ids, t.ids...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// retire lets go what is too old, and what is far in the future, where the clock once was. The running hour is no part of the
// week that is kept.
func (w *writing) retire(hour int64) error {
	for _, table := range []string{"hours", "known"} {
		if err := w.do("DELETE FROM "+table+" WHERE hour NOT BETWEEN ? AND ?", hour-hoursKept, hour+hoursKept); err != nil {
			return err
		}
	}
	if err := w.do("DELETE FROM series WHERE day NOT BETWEEN ? AND ?", w.day-hoursKept/24-1, w.day+hoursKept/24+1); err != nil {
		return err
	}
	for {
		full, err := w.full()
		if err != nil || !full {
			return err
		}
		oldest, err := column[int64](w.tx, "SELECT hour FROM known ORDER BY hour LIMIT 1")
		if err != nil || len(oldest) == 0 {
			return err
		}
		for _, table := range []string{"hours", "known"} {
			if err := w.do("DELETE FROM "+table+" WHERE hour <= ?", oldest[0]); err != nil {
				return err
			}
		}
	}
}

// full says whether what is in the file is more than it may be.
func (w *writing) full() (bool, error) {
	pages, err := column[int64](w.tx, "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count")
	if err != nil || len(pages) != 1 {
		return false, err
	}
	return pages[0]*pageSize > w.most, nil
}

const (
	// spareShare is the part of the file that may be free: what goes each hour is about a 168th of it.
	spareShare = 16
	// sparePages may be free in any case: what goes each minute is as much as comes.
	sparePages = 1024
	// shrinkPages is how much the file is made smaller at a time.
	shrinkPages = 2048
)

// shrink gives the system back what is free in the file, a part at a time.
func (d *disk) shrink() error {
	counts, err := column[int64](d.writer, "SELECT page_count FROM pragma_page_count UNION ALL SELECT freelist_count FROM pragma_freelist_count")
	if err != nil || len(counts) != 2 {
		return err
	}
	if spare := counts[1] - max(sparePages, counts[0]/spareShare); spare > 0 {
		return rows(context.Background(), d.writer, func(func(...any) error) error { return nil }, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", min(spare, shrinkPages)))
	}
	return nil
}

// readHours reads what the file has of some series between two hours, all of one moment: first the minutes of each hour that are known,
// then the blocks of each series.
func (d *disk) readHours(ctx context.Context, of []*series, from, to int64, known func(hour int64, minutes uint64), each func(hour int64, b block) error) error {
	tx, err := d.reader.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing is written
	err = rows(ctx, tx, func(scan func(...any) error) error {
		var hour, minutes int64
		if err := scan(&hour, &minutes); err != nil {
			return err
		}
		known(hour, uint64(minutes))
		return nil
	}, "SELECT hour, minutes FROM known WHERE hour BETWEEN ? AND ?", from, to)
	for i := 0; err == nil && i < len(of); i++ {
		err = rows(ctx, tx, func(scan func(...any) error) error {
			var hour int64
			var b []byte
			if err := scan(&hour, &b); err != nil {
				return err
			}
			return each(hour, b)
		}, "SELECT known.hour, block FROM known CROSS JOIN hours ON hours.hour = known.hour AND series = ? WHERE known.hour BETWEEN ? AND ?", int64(of[i].id), from, to)
	}
	return err
}
