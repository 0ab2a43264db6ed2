package history

import "database/sql"

// batch is what one transaction brings onto the disk.
type batch struct {
	packed  []*packed // all that are in memory
	tallies []*tally  // likewise
	hour    int64     // that runs
	turned  bool      // it came by itself: the clock was not set
	key     func(id) (Key, bool)
}

// mostFile is how large the database may be, without what is free in it.
const mostFile = 512 << 20

// write brings a batch onto the disk, and lets go what is older than it may be. saved are the days for which the series are
// known to be in the file.
func (d *disk) write(b *batch, saved map[id]int64) error {
	tx, err := d.writer.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	w := writing{tx: tx, day: b.hour / 24, saved: saved, key: b.key, most: d.most}
	if err := w.all(b); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, i := range w.named {
		saved[i] = w.day
	}
	return d.shrink()
}

// writing is a transaction under way.
type writing struct {
	tx    *sql.Tx
	day   int64
	saved map[id]int64
	named []id  // written anew
	most  int64 // bytes of the file
	key   func(id) (Key, bool)
}

func (w *writing) all(b *batch) error {
	first, last := int64(0), int64(-1)
	for i, p := range b.packed {
		if last = p.minute; i == 0 {
			first = p.minute
		}
		if p.written {
			continue
		}
		if err := w.do("INSERT OR REPLACE INTO seconds VALUES (?, ?, ?)", p.minute, int64(p.ran), p.encode()); err != nil {
			return err
		}
		if err := w.names(p.ids); err != nil {
			return err
		}
	}
	if err := w.do("DELETE FROM seconds WHERE minute NOT BETWEEN ? AND ?", first, last); err != nil {
		return err
	}
	last = 0
	for _, t := range b.tallies {
		if last = t.minute; t.written || t.minute/60 < b.hour {
			continue
		}
		if err := w.do("INSERT OR REPLACE INTO minutes VALUES (?, ?)", t.minute, t.encode()); err != nil {
			return err
		}
	}
	for from := 0; from < len(b.tallies) && b.tallies[from].minute/60 < b.hour; {
		hour, to := b.tallies[from].minute/60, from
		for to < len(b.tallies) && b.tallies[to].minute/60 == hour {
			to++
		}
		if err := w.hour(hour, b.tallies[from:to]); err != nil {
			return err
		}
		from = to
	}
	if err := w.do("DELETE FROM minutes WHERE minute NOT BETWEEN ? AND ?", b.hour*60, last); err != nil {
		return err
	}
	if !b.turned {
		return nil
	}
	return w.retire(b.hour)
}

func (w *writing) do(statement string, args ...any) error {
	_, err := w.tx.Exec(statement, args...)
	return err
}

// names sees that the file has the names of series, and that they were seen today.
func (w *writing) names(ids []id) error {
	var insert *sql.Stmt
	for _, i := range ids {
		if day, ok := w.saved[i]; ok && day == w.day {
			continue
		}
		key, ok := w.key(i)
		if !ok {
			continue // of a minute of an earlier run, whose names are there
		}
		if insert == nil {
			var err error
			if insert, err = w.tx.Prepare("INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?)"); err != nil {
				return err
			}
			defer insert.Close()
		}
		if _, err := insert.Exec(int64(i), int64(key.Kind), key.Name, key.Part, w.day); err != nil {
			return err
		}
		w.named = append(w.named, i)
	}
	return nil
}
