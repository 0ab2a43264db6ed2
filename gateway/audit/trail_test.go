package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// book is a trail in a directory, and what it has told of.
type book struct {
	t    *testing.T
	dir  string
	said []string
	*Trail
}

func newBook(t *testing.T) *book {
	b := &book{t: t, dir: t.TempDir()}
	b.restart()
	return b
}

// restart opens the trail as a new process would.
func (b *book) restart() {
	b.Trail = Open(b.dir, func(err error) { b.said = append(b.said, err.Error()) })
}

func (b *book) flush() {
	b.t.Helper()
	if err := b.Flush(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *book) path(name string) string { return filepath.Join(b.dir, name) }

func (b *book) text(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *book) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// ids are those found.
func ids(entries []Entry) []uint64 {
	out := make([]uint64, len(entries))
	for i, e := range entries {
		out[i] = e.ID
	}
	return out
}

func (b *book) finds(q Query, want ...uint64) {
	b.t.Helper()
	if got := ids(b.Find(q)); !slices.Equal(got, want) {
		b.t.Errorf("%+v finds %v, want %v", q, got, want)
	}
}

func all(n int) Query { return Query{Limit: n} }

// fill adds n entries with subjects that count.
func (b *book) fill(n int) {
	for range n {
		b.Add(Entry{Actor: "ops", Action: "override_set", Subject: fmt.Sprint("number ", b.Stats().Last+1), Outcome: Done})
	}
}

func TestWhatWasDoneIsFoundNewestFirst(t *testing.T) {
	b := newBook(t)
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	first := b.Add(Entry{
		Time: at, Actor: "ann", Role: "operator", From: "10.0.0.7", Action: "override_set", Subject: "callers.spider-77.pool = vip", Reason: "a promotion",
		Outcome: Done, Version: 7, Diff: "+callers.spider-77.pool = vip\n",
	})
	if first.ID != 1 || !first.Time.Equal(at) {
		t.Errorf("kept as %+v", first)
	}
	if e := b.Add(Entry{Actor: "bob", Action: "config_put", Outcome: Refused, Code: "precondition_failed"}); e.ID != 2 || time.Since(e.Time) > time.Minute {
		t.Errorf("kept as %+v", e)
	}
	b.Add(Entry{Actor: "ann", Action: "login", Outcome: Done})
	for range 2 { // before it is on the disk and after
		b.finds(all(10), 3, 2, 1)
		b.finds(all(2), 3, 2)
		b.finds(Query{Actor: "ann", Limit: 10}, 3, 1)
		b.finds(Query{Action: "config_put", Limit: 10}, 2)
		b.finds(Query{Query: "SPIDER", Limit: 10}, 1)
		b.finds(Query{Query: "Promotion", Limit: 10}, 1)
		b.finds(Query{Before: 3, Limit: 10}, 2, 1)
		b.finds(Query{Before: 1, Limit: 10})
		b.finds(Query{Actor: "nobody", Limit: 10})
		b.flush()
	}
	b.restart()
	if e := b.Find(all(10)); len(e) != 3 || e[2] != first {
		t.Errorf("after a restart\n%+v, want\n%+v", e, first)
	}
	if len(b.said) > 0 {
		t.Error(b.said)
	}
}

func TestNumbersGoOnAfterARestart(t *testing.T) {
	b := newBook(t)
	b.fill(3)
	b.flush()
	b.restart()
	b.fill(2)
	b.finds(all(10), 5, 4, 3, 2, 1)
	b.flush()
	b.restart()
	b.finds(all(10), 5, 4, 3, 2, 1)
}

func TestHalfALineAtTheEndIsRepaired(t *testing.T) {
	whole := `{"id":3,"time":"2026-11-30T09:00:00Z","actor":"x"}`
	for _, c := range []struct {
		name, tail string
		next       uint64
		told       int
	}{
		{"half an entry", `{"id":3,"time":"2026-11-30T09:0`, 3, 1},
		{"what a loss of power leaves", "\x00\x00\x00\x00", 3, 1},
		{"only the end of the line is missing", whole, 4, 0},
		{"a line that is none, in the middle", "nonsense\n" + whole + "\n", 4, 1},
		{"a line longer than any", strings.Repeat("x", 2*mostLine) + "\n" + whole + "\n", 4, 1},
		{"half a line longer than any", strings.Repeat("x", 2*mostLine), 3, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t)
			b.fill(2)
			b.flush()
			b.write(current, b.text(current)+c.tail)
			b.restart()
			if len(b.said) != c.told {
				t.Errorf("told %q", b.said)
			}
			if e := b.Add(Entry{Actor: "next"}); e.ID != c.next {
				t.Errorf("the next is %d", e.ID)
			}
			b.flush()
			b.said = nil
			b.restart()
			want := []uint64{1, 2, 3, 4}[:c.next]
			slices.Reverse(want)
			b.finds(all(10), want...)
			if text := b.text(current); !strings.HasSuffix(text, "}\n") || len(b.said) > 0 && !strings.Contains(c.name, "middle") && !strings.Contains(c.name, "line longer than any") {
				t.Errorf("told %q of %.300q", b.said, text)
			}
		})
	}
}

func TestOneFileFollowsTheOtherWithoutAGap(t *testing.T) {
	const most = 1 << 20
	b := newBook(t)
	b.file.most = most
	diff := strings.Repeat("+rate = 1\n", 4000)
	const n = 2*most/40_000 + 20
	for i := range n {
		b.Add(Entry{Actor: fmt.Sprint("actor ", i%7), Diff: diff})
		if i%10 == 9 {
			b.flush()
		}
	}
	b.flush()
	for _, name := range []string{current, previous} {
		if size := len(b.text(name)); size > most || size == 0 {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
	expect := func() {
		t.Helper()
		b.recent = b.recent[len(b.recent)-5:] // the others are only in the files
		got := ids(b.Find(all(n)))
		if len(got) < most/45_000 || len(got) > 2*most/40_000 || got[0] != n {
			t.Fatalf("%d are found, the newest %d", len(got), got[0])
		}
		for i, id := range got {
			if id != n-uint64(i) {
				t.Fatalf("after %d comes %d", got[i-1], id)
			}
		}
		old := got[len(got)-1]
		b.finds(Query{Before: old + 3, Limit: 2}, old+2, old+1)
		of := b.Find(Query{Actor: "actor 3", Before: old + 20, Limit: 2})
		if len(of) != 2 || of[0].ID <= of[1].ID || of[0].Actor != "actor 3" {
			t.Errorf("found %v", ids(of))
		}
	}
	expect()
	b.restart()
	expect()
	if e := b.Add(Entry{}); e.ID != n+1 {
		t.Errorf("the next is %d", e.ID)
	}
	// A crash between the two steps of a turn leaves no present file.
	b.flush()
	if err := os.Rename(b.path(current), b.path(previous)); err != nil {
		t.Fatal(err)
	}
	b.restart()
	if e := b.Add(Entry{}); e.ID != n+2 {
		t.Errorf("the next is %d", e.ID)
	}
}

func TestTextsAreBounded(t *testing.T) {
	b := newBook(t)
	e := b.Add(Entry{Reason: strings.Repeat("é", mostText), Diff: strings.Repeat("\x01", 2*mostDiff), Time: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)})
	if len(e.Reason) > mostText || len(e.Diff) > mostDiff || !strings.HasSuffix(e.Reason, "é"+cut) || !strings.HasSuffix(e.Diff, cut) {
		t.Errorf("%d bytes of reason, %d of diff", len(e.Reason), len(e.Diff))
	}
	b.flush()
	b.restart()
	if got := b.Find(all(1)); len(got) != 1 || got[0].Diff != e.Diff || got[0].Reason != e.Reason {
		t.Error("it is not read back as it was")
	}
}

func TestWithoutADirectoryItIsInMemory(t *testing.T) {
	trail := Open("", nil)
	for range mostRecent * 2 {
		trail.Add(Entry{Actor: "x"})
	}
	if err := trail.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := ids(trail.Find(all(2 * mostRecent))); len(got) < mostRecent || len(got) > mostRecent+mostRecent/4 || got[0] != 2*mostRecent {
		t.Errorf("%d are kept", len(got))
	}
}

func TestAThousandAtOnceAreEachThereOnce(t *testing.T) {
	b := newBook(t)
	go b.Run()
	var adding sync.WaitGroup
	for i := range 1000 {
		adding.Go(func() { b.Add(Entry{Actor: fmt.Sprint(i)}) })
	}
	adding.Wait()
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.restart()
	seen := map[string]bool{}
	for i, e := range b.Find(all(2000)) {
		if seen[e.Actor] || e.ID != uint64(1000-i) {
			t.Errorf("%+v", e)
		}
		seen[e.Actor] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d are there", len(seen))
	}
}

func TestADiskThatFailsLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t)
		var full atomic.Bool
		full.Store(true)
		b.file.write = func(h *os.File, lines []byte) error {
			if full.Load() {
				_, _ = h.Write(lines[:len(lines)/2]) // as much as had room
				return errors.New("no space left on device")
			}
			return writeThrough(h, lines)
		}
		go b.Run()
		b.fill(3)
		synctest.Wait()
		began := time.Now()
		time.Sleep(time.Minute)
		b.fill(2)
		since, err := b.Trouble()
		if err == nil || !strings.Contains(err.Error(), "no space left") || !since.Equal(began) {
			t.Errorf("%v since %v", err, since)
		}
		if len(b.said) != 1 {
			t.Errorf("told %q", b.said)
		}
		b.finds(all(10), 5, 4, 3, 2, 1)
		if s := b.Stats(); s.Waiting != 5 || s.Lost != 0 {
			t.Errorf("%+v", s)
		}
		full.Store(false)
		time.Sleep(longestPause)
		if _, err := b.Trouble(); err != nil || b.Stats().Waiting != 0 {
			t.Errorf("%v, and %+v", err, b.Stats())
		}
		b.fill(1)
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		b.restart()
		b.finds(all(10), 6, 5, 4, 3, 2, 1)
		if len(b.said) != 1 {
			t.Errorf("told %q", b.said)
		}
	})
}

// What stood in the way at the start is gone later: what was counted meanwhile comes after what was there.
func TestAFileThatCannotBeReadAtTheStartIsTakenInLater(t *testing.T) {
	b := newBook(t)
	b.fill(3)
	b.flush()
	away := b.path("away")
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	rename(b.path(current), away)
	if err := os.Mkdir(b.path(current), 0o700); err != nil {
		t.Fatal(err)
	}
	b.restart()
	if _, err := b.Trouble(); err == nil || len(b.said) != 1 {
		t.Errorf("%v, told %q", err, b.said)
	}
	b.fill(2)
	b.finds(all(10), 2, 1)
	if b.Flush() == nil {
		t.Error("written into a directory")
	}
	if err := os.Remove(b.path(current)); err != nil {
		t.Fatal(err)
	}
	rename(away, b.path(current))
	b.flush()
	b.finds(all(10), 5, 4, 3, 2, 1)
	b.restart()
	b.finds(all(10), 5, 4, 3, 2, 1)
}

func TestAFileThatWasTakenAwayIsBegunAnew(t *testing.T) {
	b := newBook(t)
	b.fill(2)
	b.flush()
	if err := os.Remove(b.path(current)); err != nil {
		t.Fatal(err)
	}
	b.fill(2)
	b.flush()
	b.finds(all(10), 4, 3, 2, 1)
	if err := b.file.f.Close(); err != nil { // a handle that has gone bad
		t.Fatal(err)
	}
	b.fill(1)
	if b.Flush() == nil {
		t.Error("written to a closed file")
	}
	b.flush()
	b.restart()
	b.finds(all(10), 5, 4, 3)
}

// A disk that hangs holds neither those who act nor the end of the process.
func TestADiskThatHangsHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t)
		hang := make(chan struct{})
		b.file.write = func(h *os.File, lines []byte) error {
			<-hang
			return writeThrough(h, lines)
		}
		go b.Run()
		began := time.Now()
		b.fill(10)
		time.Sleep(slowDisk / 2)
		if _, err := b.Trouble(); err != nil {
			t.Error(err)
		}
		time.Sleep(slowDisk)
		if since, err := b.Trouble(); err == nil || !since.Equal(began) {
			t.Errorf("%v since %v", err, since)
		}
		b.finds(all(2), 10, 9)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		before := time.Now()
		if err := b.Close(ctx); err == nil || !strings.Contains(err.Error(), "10 entries") || time.Since(before) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(before))
		}
		close(hang)
		synctest.Wait()
		b.restart()
		b.finds(all(10), 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
	})
}

func TestMemoryIsBoundedAndALossIsTold(t *testing.T) {
	b := newBook(t)
	if err := os.Remove(b.path(current)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.path(current), 0o700); err != nil {
		t.Fatal(err)
	}
	diff := strings.Repeat("x", mostDiff)
	for range 2 * waitingBytes / mostDiff {
		b.Add(Entry{Diff: diff})
	}
	if s := b.Stats(); s.Waiting != 2*waitingBytes/mostDiff || s.Lost != 0 || b.bytes > 2*waitingBytes {
		t.Errorf("%+v, %d bytes", s, b.bytes)
	}
	for range mostWaiting {
		b.Add(Entry{})
	}
	if s := b.Stats(); s.Waiting != mostWaiting || s.Lost != 2*waitingBytes/mostDiff || s.Last != mostWaiting+s.Lost {
		t.Errorf("%+v", s)
	}
	if len(b.said) != 1 || !strings.Contains(b.said[0], "lost from number 100001") {
		t.Errorf("told %q", b.said)
	}
}

func FuzzReadingWhatIsInTheFile(f *testing.F) {
	f.Add([]byte("{\"id\":1,\"time\":\"2026-11-30T09:00:00Z\",\"actor\":\"x\"}\n{\"id\":2}\nhalf"))
	f.Add([]byte("\n\n\x00{}\n{\"id\":18446744073709551615}\n"))
	f.Add([]byte("{\"id\":5}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, current), content, 0o600); err != nil {
			t.Fatal(err)
		}
		trail := Open(dir, nil)
		if _, err := trail.Trouble(); err != nil {
			t.Fatal(err)
		}
		before := trail.Find(all(1 << 20))
		added := trail.Add(Entry{Actor: "next"})
		if err := trail.Flush(); err != nil {
			t.Fatal(err)
		}
		again := Open(dir, nil)
		after := again.Find(all(1 << 20))
		if added.ID == 0 { // the numbers of the file have come to their end
			return
		}
		if len(after) != len(before)+1 || after[0] != added {
			t.Fatalf("%d entries were there, and %d are after %+v", len(before), len(after), added)
		}
		for i := range before {
			if before[i] != after[i+1] {
				t.Fatalf("%+v has become %+v", before[i], after[i+1])
			}
		}
	})
}
