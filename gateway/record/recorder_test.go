package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestARequestIsALineTwoSecondsAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := opened(t, options(dir))
		at := time.Now()
		r.Add(&Entry{
			At: at, Caller: "acme", Semantic: "chat", Route: "v1", Tenant: []byte("berlin"), Cost: 2, Bytes: 1840,
			Seat: 41203 * time.Microsecond, Outcome: "served",
		})
		r.Add(&Entry{At: at.Add(2 * time.Millisecond), Caller: "acme", Semantic: "chat", Route: "v1", Cost: 1, Outcome: "refused", Code: "queue_full"})
		r.Add(&Entry{At: at.Add(3 * time.Millisecond), Outcome: "upstream_error", Code: "upstream_error"})
		if got := ours(t, dir); len(got) != 0 {
			t.Fatalf("there is a file before there is an entry: %q", got)
		}
		time.Sleep(flushAfter)
		synctest.Wait()
		hash := r.key.tenantHash("acme", []byte("berlin"))
		want := Header + "\n" +
			fmt.Sprintf("946684800000,acme,chat,1840,v1,%012x,2,41.203,served\n", hash) +
			"946684800002,acme,chat,0,v1,,1,0,refused:queue_full\n" +
			"946684800003,,,0,,,0,0,upstream_error\n"
		if got := text(t, dir, ours(t, dir)); got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
		if s := r.Stats(); s.Written != 3 || s.Dropped != 0 || s.Files != 1 || s.Bytes == 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A batch is used again and again.
func TestNothingOfAnEntryStaysForTheNextInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t.TempDir())
		r := opened(t, o)
		for range 5 * batchRows {
			e := entry(time.Now(), "acme")
			e.Tenant, e.Code, e.Outcome = []byte("berlin"), "queue_full", "refused"
			r.Add(e)
			synctest.Wait()
		}
		for range 5 * batchRows {
			r.Add(&Entry{At: time.Now()})
			synctest.Wait()
		}
		closed(t, r)
		lines := strings.SplitAfter(text(t, o.Dir, ours(t, o.Dir)), "\n")
		if len(lines) != 10*batchRows+2 {
			t.Fatalf("%d lines", len(lines))
		}
		for _, line := range lines[5*batchRows+1 : 10*batchRows+1] {
			if line != "946684800000,,,0,,,0,0,\n" {
				t.Fatal(line)
			}
		}
	})
}

func TestFilesAreClosedBySizeAndTheOldestGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		others := []string{"notes.txt", "trace-2020.csv.gz", "trace-20000101T000000.000Z.csv.gz.bak", "trace-99990101T000000.000Z.csv.gz"}
		for _, name := range others {
			write(t, filepath.Join(dir, name), make([]byte, 3<<20))
		}
		const directory = "trace-20000101T000000.000Z.csv.gz" // where the first file would be
		if err := os.Mkdir(filepath.Join(dir, directory), 0o700); err != nil {
			t.Fatal(err)
		}
		o := options(dir)
		o.MaxBytes, o.FileBytes = tight, 128<<10
		r := opened(t, o)
		most := int64(0)
		for i := range 200 * batchRows { // some 3 MB
			at := time.Now().Add(time.Duration(i*i) * time.Microsecond)
			r.Add(&Entry{At: at, Caller: "acme", Semantic: "chat", Bytes: int64(i * i), Seat: time.Duration(i * i), Outcome: "served"})
			if i%batchRows == batchRows-1 {
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
				most = max(most, r.Stats().Bytes)
			}
		}
		closed(t, r)
		s, sum := r.Stats(), int64(0)
		left := ours(t, dir)
		for _, name := range left {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if sum += info.Size(); info.Size() > o.FileBytes {
				t.Errorf("%s has %d bytes", name, info.Size())
			}
		}
		if s.Dropped != 0 || s.Written != 200*batchRows || s.Files != len(left) || s.Bytes != sum {
			t.Errorf("%+v; there are %d files of %d bytes", s, len(left), sum)
		}
		if most > o.MaxBytes || most < o.MaxBytes*3/4 {
			t.Errorf("up to %d bytes were kept, want nearly %d and no more", most, o.MaxBytes)
		}
		// What is left is the end of the trace, each file with a header of its own.
		if got, end := text(t, dir, left), fmt.Sprintf(",acme,chat,%d,", (200*batchRows-1)*(200*batchRows-1)); !strings.Contains(got[len(got)-200:], end) ||
			strings.Count(got, Header) != len(left) {
			t.Errorf("%d headers in %d files; the end is\n%s", strings.Count(got, Header), len(left), got[len(got)-200:])
		}
		for _, name := range append(others, directory) {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestTheSmallestBoundHoldsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t.TempDir())
		o.MaxBytes = MinBytes
		r := opened(t, o)
		rows := usual(40*batchRows, 100, false)
		for i := range rows {
			p := &rows[i]
			r.Add(&Entry{At: time.UnixMilli(p.at), Caller: p.caller, Semantic: p.semantic, Route: p.route, Bytes: p.bytes, Seat: p.seat, Outcome: p.outcome})
			if i%batchRows == 0 {
				synctest.Wait()
				if s := r.Stats(); s.Bytes > MinBytes {
					t.Fatalf("%+v", s)
				}
			}
		}
		closed(t, r)
		if s := r.Stats(); s.Bytes > MinBytes || s.Files < 2 || s.Dropped != 0 || s.Written != 40*batchRows {
			t.Errorf("%+v", s)
		}
		// What does not fit even alone is dropped, and what is there stays.
		r = opened(t, o)
		for i := range batchRows {
			r.Add(&Entry{At: time.UnixMilli(int64(i * i)), Caller: fmt.Sprint(strings.Repeat(fmt.Sprint(i*i), 60))})
		}
		closed(t, r)
		if s := r.Stats(); s.Bytes > MinBytes || s.Files < 2 || s.Dropped != batchRows {
			t.Errorf("%+v", s)
		}
		text(t, o.Dir, ours(t, o.Dir))
	})
}

func TestAFileIsClosedWhenItIsOldEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t.TempDir())
		r := opened(t, o)
		time.Sleep(flushAfter / 2)
		for range 3 {
			r.Add(entry(time.Now(), "acme"))
			time.Sleep(o.FileSpan + 2*flushAfter)
		}
		// Named by the moment in which they were begun; none is begun before there is something for it.
		want := []string{"trace-20000101T000002.000Z.csv.gz", "trace-20000101T010006.000Z.csv.gz", "trace-20000101T020010.000Z.csv.gz"}
		if got := ours(t, o.Dir); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestFilesOfProcessesBeforeCountAndAreNotWrittenTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		cut := []byte("\x1f\x8bcut off")
		path := write(t, filepath.Join(dir, "trace-19991231T235959.999Z.csv.gz"), append(cut, make([]byte, 700<<10)...))
		o := options(dir)
		o.MaxBytes = tight
		r := opened(t, o)
		if s := r.Stats(); s.Files != 1 || s.Bytes != 700<<10+int64(len(cut)) {
			t.Errorf("%+v", s)
		}
		r.Add(entry(time.Now(), "acme"))
		closed(t, r)
		if b, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(b, cut) || len(b) != 700<<10+len(cut) {
			t.Errorf("the old file was changed: %v", err)
		}
		// It is the oldest, so it goes first.
		r = opened(t, o)
		rows := usual(30*batchRows, 10_000, false)
		for i := range rows {
			p := &rows[i]
			r.Add(&Entry{At: time.UnixMilli(p.at), Caller: p.caller, Semantic: p.semantic, Bytes: p.bytes, Seat: p.seat, Outcome: p.outcome})
			if i%batchRows == 0 {
				synctest.Wait()
			}
		}
		closed(t, r)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v, %+v", err, r.Stats())
		}
	})
}

func TestNamesGrowWhateverTheClockDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t.TempDir())
		skew := time.Duration(0)
		r, err := open(o, func(path string) (*directory, saltKey, error) {
			d, key, err := openDirectory(path)
			if err == nil {
				d.now = func() time.Time { return time.Now().Add(skew) }
			}
			return d, key, err
		})
		if err != nil {
			t.Fatal(err)
		}
		var begun []string
		time.Sleep(flushAfter / 2)
		for _, skew = range []time.Duration{0, -8 * time.Hour, 8 * time.Hour, -24 * time.Hour, -24 * time.Hour} {
			r.Add(entry(time.Now(), "acme"))
			time.Sleep(o.FileSpan + 2*flushAfter)
			synctest.Wait()
			all := ours(t, o.Dir)
			begun = append(begun, all[len(all)-1])
		}
		closed(t, r)
		if !slices.IsSorted(begun) || len(slices.Compact(slices.Clone(begun))) != 5 || !slices.Equal(begun, ours(t, o.Dir)) {
			t.Errorf("begun in this order: %q, there are %q", begun, ours(t, o.Dir))
		}
	})
}

func TestAddAllocatesNothing(t *testing.T) {
	r := opened(t, options(t.TempDir()))
	e := entry(time.Now(), "acme")
	e.Tenant = []byte("berlin")
	if n := testing.AllocsPerRun(5*batchRows, func() { r.Add(e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTenantsAreTheSameInAllFilesOfADirectoryAndNowhereElse(t *testing.T) {
	dir := t.TempDir()
	hash := func(dir, caller, tenant string) uint64 {
		r := opened(t, options(dir))
		defer r.Close()
		return r.key.tenantHash(caller, []byte(tenant))
	}
	first := hash(dir, "acme", "berlin")
	if again := hash(dir, "acme", "berlin"); again != first {
		t.Errorf("%x, then %x", first, again)
	}
	for what, got := range map[string]uint64{
		"another tenant": hash(dir, "acme", "paris"), "another caller's": hash(dir, "bolt", "berlin"),
		"another directory's": hash(t.TempDir(), "acme", "berlin"), "another cut": hash(dir, "acm", "eberlin"),
	} {
		if got == first {
			t.Errorf("%s tenant has the same hash", what)
		}
	}
	salt := filepath.Join(dir, "salt")
	if info, err := os.Stat(salt); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	write(t, salt, []byte("too short"))
	if _, err := Open(options(dir)); err == nil || !strings.Contains(err.Error(), "must hold 32 hex digits; remove it") {
		t.Errorf("a damaged salt: %v", err)
	}
}

func TestSipHashIsTheReference(t *testing.T) {
	// From the reference implementation: key 00 01 .. 0f, input 00 01 .. of this length.
	key, input := saltKey{0x0706050403020100, 0x0f0e0d0c0b0a0908}, make([]byte, 16)
	for i := range input {
		input[i] = byte(i)
	}
	for length, want := range map[int]uint64{
		0: 0x726fdb47dd0e0e31, 1: 0x74f839c593dc67fd, 2: 0x0d6c8009d9a94f5a, 8: 0x93f5f5799a932462, 15: 0xa129ca6149be45e5,
	} {
		if got := key.sum(input[:length]); got != want {
			t.Errorf("%d bytes: %x, want %x", length, got, want)
		}
	}
}

func TestManyMayAddAtOnce(t *testing.T) {
	o := options(t.TempDir())
	r := opened(t, o)
	second := options(t.TempDir())
	var adders sync.WaitGroup
	for range 4 {
		adders.Go(func() {
			for i := range 3000 {
				e := entry(time.Now(), "acme")
				e.Tenant = []byte("berlin")
				r.Add(e)
				if i%1000 == 0 {
					r.Stats()
				}
			}
		})
	}
	adders.Go(func() {
		for _, o := range []Options{second, o, second} {
			if err := r.Apply(o); err != nil {
				t.Error(err)
			}
		}
	})
	adders.Wait()
	closed(t, r)
	r.Add(entry(time.Now(), "too late"))
	if s := r.Stats(); s.Written+s.Dropped != 4*3000+1 || s.Dropped < 1 {
		t.Errorf("%+v", s)
	}
	lines := strings.Count(text(t, o.Dir, ours(t, o.Dir))+text(t, second.Dir, ours(t, second.Dir)), ",acme,")
	if s := r.Stats(); lines != int(s.Written) {
		t.Errorf("%d lines; %+v", lines, s)
	}
}
