package history

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func (d *desk) count(query string) int64 {
	d.t.Helper()
	d.Flush()
	of := d.keeper.disk.Load()
	if of == nil {
		d.t.Fatal("there is no file")
	}
	n, err := column[int64](of.writer, query)
	if err != nil || len(n) != 1 {
		d.t.Fatal(n, err)
	}
	return n[0]
}

// sparse adds one sample in half a minute: enough for each minute to be known.
func (d *desk) sparse(long time.Duration, of func(at time.Time) map[Key]Sample) {
	for end := d.now.Add(long); d.now.Before(end); d.now = d.now.Add(29 * time.Second) {
		d.run(time.Second, of)
		if d.now.Minute() == 59 && d.now.Second() < 30 {
			d.Flush() // the keeper is not to be a day behind
		}
	}
}

func TestAWeekIsKeptAndNoMore(t *testing.T) {
	d := newDesk(t)
	passing := Key{Caller, "passing", "chat"}
	d.sparse(time.Hour, func(time.Time) map[Key]Sample { return map[Key]Sample{passing: {Rate: 1}, alice: {Rate: 1}} })
	d.sparse(7*24*time.Hour-time.Hour+10*time.Minute, func(at time.Time) map[Key]Sample {
		return map[Key]Sample{alice: {Rate: float32(at.Sub(t0) / time.Hour)}}
	})
	if _, known := d.Read(t.Context(), passing, d.now, ByMinute); !known {
		t.Error("who was there a week ago is forgotten")
	}
	week, _ := d.Read(t.Context(), alice, d.now.Add(-29*time.Second), ByMinute)
	if len(week.Fields[Rate]) != 7*24*60 {
		t.Fatalf("%d minutes", len(week.Fields[Rate]))
	}
	for i, v := range week.Fields[Rate] {
		if at := week.From.Add(time.Duration(i) * time.Minute); v != float64(at.Sub(t0)/time.Hour) && at.Sub(t0) >= time.Hour {
			t.Fatalf("%v is %v", at, v)
		}
	}
	d.sparse(50*time.Hour, at(2))
	for query, most := range map[string]int64{
		"SELECT count(*) FROM hours": 168, "SELECT count(*) FROM known": 168, "SELECT max(hour) - min(hour) FROM hours": 167,
		"SELECT count(*) FROM minutes": 60, "SELECT count(*) FROM seconds": 15, "SELECT count(*) FROM series": 1,
	} {
		if n := d.count(query); n > most || n < most-60 {
			t.Errorf("%s: %d, at most %d", query, n, most)
		}
	}
	d.restart()
	if _, known := d.Read(t.Context(), passing, d.now, ByMinute); known {
		t.Error("who was there nine days ago is still known")
	}
}

// A file that was large once is small again when what made it so is over, and is never larger than it may be.
func TestTheFileHasABound(t *testing.T) {
	d := newDesk(t)
	many := func(n int) func(time.Time) map[Key]Sample {
		return func(at time.Time) map[Key]Sample {
			all := make(map[Key]Sample)
			for i := range n {
				x := float32((int(at.Unix())*7919 + i*104729) % 1000)
				all[Key{Caller, fmt.Sprint("caller-", i), "chat"}] = Sample{x, x + 1, x / 3, x / 5, x / 7, x / 9}
			}
			return all
		}
	}
	d.sparse(2*time.Minute, many(1))
	d.Flush()
	d.keeper.disk.Load().most = 1200 << 10
	d.sparse(8*time.Hour, many(90))
	d.Flush()
	used := d.count("SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count") * pageSize
	if hours := d.count("SELECT count(*) FROM known"); used > 1400<<10 || hours < 3 || hours > 10 {
		t.Errorf("%d KiB for %d hours", used>>10, hours)
	}
	if n := d.count("SELECT count(DISTINCT hour) FROM hours") - d.count("SELECT count(*) FROM known"); n != 0 {
		t.Errorf("%d hours are not what is known", n)
	}
	if _, err := d.keeper.disk.Load().writer.Exec("INSERT INTO seconds VALUES (1, 0, zeroblob(30000000))"); err != nil {
		t.Fatal(err)
	}
	for range 6 { // it takes some minutes
		d.run(time.Minute, at(1))
		d.Flush()
	}
	d.Close()
	if info, err := os.Stat(d.path); err != nil || info.Size() > 6<<20 {
		t.Errorf("the file: %v, %v", info.Size(), err)
	}
	if len(d.failed) > 0 {
		t.Error(d.failed)
	}
}
