package record

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// trace writes a trace of lines `time,caller` and returns its path.
func trace(t *testing.T, name string, lines ...string) string {
	t.Helper()
	text := "timestamp_ms,caller,type,size\n"
	for _, l := range lines {
		text += l + ",chat,\n"
	}
	return write(t, filepath.Join(t.TempDir(), name), []byte(text))
}

// said is what a reader gives, as `time,caller`.
func said(records []Record) (lines []string) {
	for _, r := range records {
		lines = append(lines, fmt.Sprintf("%d,%s", r.At, r.Caller))
	}
	return lines
}

func TestLinesComeByTimeAndThoseOfOneMomentAsTheyStand(t *testing.T) {
	got, flaws := all(t, trace(t, "a.csv", "5,e", "3,b", "3,c", "1,a", "4,d", "3,x"))
	if want := []string{"1,a", "3,b", "3,c", "3,x", "4,d", "5,e"}; !slices.Equal(said(got), want) || flaws != 0 {
		t.Errorf("%q, %d flaws", said(got), flaws)
	}
}

func TestFilesOfADirectoryAreOneTrace(t *testing.T) {
	dir := t.TempDir()
	// The last one's first line is of a request that took longer than the file before it.
	write(t, filepath.Join(dir, "b.csv"), []byte("timestamp_ms,caller,type,size\n30,d,,\n40,e,,\n"))
	write(t, filepath.Join(dir, "a.csv"), []byte("5,x,,\n50,f,,\n60,g,,\n"))
	write(t, filepath.Join(dir, "empty.csv"), nil)
	write(t, filepath.Join(dir, "notes.txt"), []byte("1,no,,\n"))
	write(t, filepath.Join(dir, "salt"), []byte("1,no,,\n"))
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, "10,a,,\n20,c,,\n15,b,,\n")
	w.Close()
	write(t, filepath.Join(dir, "c.csv.gz"), z.Bytes())
	want := []string{"5,x", "10,a", "15,b", "20,c", "30,d", "40,e", "50,f", "60,g"}
	if got, flaws := all(t, dir); !slices.Equal(said(got), want) || flaws != 0 {
		t.Errorf("%q, %d flaws", said(got), flaws)
	}
	if got, _ := all(t, filepath.Join(dir, "a.csv"), filepath.Join(dir, "c.csv.gz")); len(got) != 6 {
		t.Errorf("%q", said(got))
	}
	for _, path := range []string{filepath.Join(dir, "none"), t.TempDir()} {
		if _, err := OpenReader(path); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}

// What a recorder wrote of requests of any length comes back as they arrived, and only what ended while the longest
// of them lasted is held at once.
func TestOrderIsExactInMemoryOfTheLongestRequest(t *testing.T) {
	const n, longest = 100_000, 8_000
	r := rand.New(rand.NewSource(1))
	type request struct{ at, end int64 }
	requests := make([]request, n)
	for i := range requests {
		took := int64(r.Intn(20))
		if i%1000 == 0 {
			took = longest
		}
		requests[i] = request{int64(i), int64(i) + took}
	}
	slices.SortStableFunc(requests, func(a, b request) int { return int(a.end - b.end) })
	dir := t.TempDir()
	for part := range 5 {
		var b strings.Builder
		for _, q := range requests[part*n/5 : (part+1)*n/5] {
			fmt.Fprintf(&b, "%d,acme,chat,\n", q.at)
		}
		write(t, filepath.Join(dir, fmt.Sprintf("%d.csv", part)), []byte(b.String()))
	}
	reader, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i := range n {
		record, err := reader.Next()
		if err != nil || record.At != int64(i) {
			t.Fatalf("record %d: %+v, %v", i, record, err)
		}
		most = max(most, reader.order.Len())
	}
	if _, err := reader.Next(); err != io.EOF {
		t.Errorf("%v", err)
	}
	if most > longest+2*blockLines {
		t.Errorf("up to %d records of %d were held", most, n)
	}
}

// The first line of the second file is of a request that took longer than the first file: what was written first is read
// first all the same, or all of the second file would be held until the first one is read.
func TestFilesAreReadInTheOrderInWhichTheyWereWritten(t *testing.T) {
	dir := t.TempDir()
	var large strings.Builder
	large.WriteString("5,long,,\n")
	for i := range 50_000 {
		fmt.Fprintf(&large, "%d,acme,,\n", 1000+i)
	}
	write(t, filepath.Join(dir, "1.csv"), []byte("10,acme,,\n20,acme,,\n"))
	write(t, filepath.Join(dir, "2.csv"), []byte(large.String()))
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	most, last := 0, int64(0)
	for record, err := r.Next(); err == nil; record, err = r.Next() {
		if record.At < last {
			t.Fatalf("%d behind %d", record.At, last)
		}
		most, last = max(most, r.order.Len()), record.At
	}
	if most > 2*blockLines {
		t.Errorf("up to %d records were held", most)
	}
}

func TestAKilledProcessLosesTheEndOfAFileAndNoMore(t *testing.T) {
	e, rows := newEncoder(), usual(40, 3, true)
	first := bytes.Clone(e.member(rows[:20], true))
	whole := append(bytes.Clone(first), e.member(rows[20:], false)...)
	path := filepath.Join(t.TempDir(), "trace.csv.gz")
	for cut := range len(whole) + 1 {
		write(t, path, whole[:cut])
		got, flaws := all(t, path)
		least, most := 0, 20
		switch {
		case cut == len(whole):
			least, most = 40, 40
		case cut >= len(first):
			least, most = 20, 40
		}
		if len(got) < least || len(got) > most {
			t.Fatalf("%d of %d bytes: %d records", cut, len(whole), len(got))
		}
		if broken := cut != 0 && cut != len(first) && cut != len(whole); broken != (flaws == 1) {
			t.Fatalf("%d of %d bytes: %d flaws", cut, len(whole), flaws)
		}
		for i := range got {
			if got[i].Outcome == "" || !got[i].Full || got[i].Seat != rows[indexOf(rows, got[i])].seat.Truncate(time.Microsecond) {
				t.Fatalf("%d of %d bytes: half a line was taken: %+v", cut, len(whole), got[i])
			}
		}
	}
}

func indexOf(rows []row, r Record) int {
	return slices.IndexFunc(rows, func(row row) bool {
		return row.at == r.At && row.caller == r.Caller && row.bytes == r.Size && fmt.Sprintf("%012x", row.tenant) == r.Tenant
	})
}

func TestDamageIsTold(t *testing.T) {
	e, rows := newEncoder(), usual(2000, 3, false)
	b := bytes.Clone(e.member(rows, true))
	b[len(b)/2] ^= 0x40
	path := write(t, filepath.Join(t.TempDir(), "trace.csv.gz"), b)
	r, err := OpenReader(path, trace(t, "fine.csv", "1,a"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err = r.Next(); err == nil; _, err = r.Next() {
		n++
	}
	first, _ := r.Flaws()
	if n == 0 || n > 2000 || len(first) == 0 || !strings.HasPrefix(first[0].Error(), path+":") {
		t.Errorf("%d records, %v", n, first)
	}
}

func TestLinesThatAreNoRequestsArePassedOver(t *testing.T) {
	text := Header + "\n" +
		"1,acme,chat,5\n" +
		"\n" +
		"2,\"a \"\"b\"\", c\",chat,\r\n" +
		Header + "\n" +
		"3,acme,chat,7,v1,5be1f3a90c47,2,41.203,refused:queue_full\n" +
		"4,acme,chat,7,v1,,1,0,served,a column of later\n" +
		"5,acme,chat,7,v1,,1\n" + // columns of another program
		"6\n" + "x,a,b,\n" + "7,a,b\n" + "8,a,b,x\n" + "9,a,b,-1\n" + "10,\"a,b,\n" + "11,\"a\"b,c,\n" +
		"12,a,b,,c,d,x,0,served\n" + "13,a,b,,c,d,1,1e3,served\n" + "14,a,b,,c,d,1,1.x,served\n" +
		"15," + strings.Repeat("long", 300) + ",b,\n" + "16," + strings.Repeat("l", 100<<10) + "\n" +
		"99999999999999999999,a,b,\n" + "17,a,b,,c,d,1,9999999999999999,served\n" +
		"20,last,chat,"
	path := write(t, filepath.Join(t.TempDir(), "a.csv"), []byte(text))
	got, flaws := all(t, path)
	want := []Record{
		{At: 1, Caller: "acme", Type: "chat", Size: 5},
		{At: 2, Caller: `a "b", c`, Type: "chat", Size: -1},
		{At: 3, Caller: "acme", Type: "chat", Size: 7, Full: true, Route: "v1", Tenant: "5be1f3a90c47", Cost: 2, Seat: 41203 * time.Microsecond, Outcome: "refused:queue_full"},
		{At: 4, Caller: "acme", Type: "chat", Size: 7, Full: true, Route: "v1", Cost: 1, Outcome: "served"},
		{At: 5, Caller: "acme", Type: "chat", Size: 7},
		{At: 20, Caller: "last", Type: "chat", Size: -1},
	}
	if !slices.Equal(got, want) || flaws != 14 {
		t.Errorf("%d flaws\n%+v\nwant\n%+v", flaws, got, want)
	}
}

func TestWhatIsAddedWhileATraceIsReadIsNotRead(t *testing.T) {
	path := trace(t, "a.csv", "1,a", "9,b")
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("5,late,chat,\n")
	f.Close()
	var got []Record
	for record, err := r.Next(); err == nil; record, err = r.Next() {
		got = append(got, record)
	}
	if want := []string{"1,a", "9,b"}; !slices.Equal(said(got), want) {
		t.Errorf("%q", said(got))
	}
}

// The oldest file may be deleted while a reader stands before it.
func TestAFileThatGoesWhileATraceIsReadIsTold(t *testing.T) {
	gone := trace(t, "a.csv", "1,a")
	r, err := OpenReader(gone, trace(t, "b.csv", "2,b"))
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(gone)
	record, err := r.Next()
	if _, flaws := r.Flaws(); err != nil || record.Caller != "b" || flaws != 1 {
		t.Errorf("%+v, %v, %d flaws", record, err, flaws)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("timestamp_ms,caller,type,size\n1,a,b,\n"), []byte("3,\"a\",b,4,c,d,1,0.5,served\n2,a,b,"))
	f.Add(newEncoder().member(usual(5, 2, true), true), []byte{0x1f, 0x8b})
	f.Add([]byte("1,a,b,\n"), newEncoder().member(usual(5, 2, true), false)[:40])
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, a, b []byte) {
		paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
		write(t, paths[0], a)
		write(t, paths[1], b)
		records, _ := all(t, paths...)
		for i := range records {
			if i > 0 && records[i].At < records[i-1].At {
				t.Fatalf("%d behind %d", records[i].At, records[i-1].At)
			}
			// What was read can be written, and says the same again.
			var p parser
			line := records[i].Append(nil)
			again, err := p.parse(bytes.TrimSuffix(line, []byte{'\n'}))
			want := records[i]
			want.Full, want.Seat = true, want.Seat.Truncate(time.Microsecond)
			for _, s := range []*string{&want.Caller, &want.Type, &want.Route, &want.Tenant, &want.Outcome} {
				*s = strings.NewReplacer("\r", " ", "\n", " ").Replace(*s)
			}
			if err != nil || again != want {
				t.Fatalf("%q: %+v, %v, want %+v", line, again, err, want)
			}
		}
	})
}

func BenchmarkReader(b *testing.B) {
	e, rows := newEncoder(), usual(200*batchRows, 100, false)
	var file []byte
	for at := 0; at < len(rows); at += batchRows {
		file = append(file, e.member(rows[at:at+batchRows], at == 0)...)
	}
	path := filepath.Join(b.TempDir(), "trace.csv.gz")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := OpenReader(path)
		if err != nil {
			b.Fatal(err)
		}
		for _, err = r.Next(); err == nil; _, err = r.Next() {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/record")
}
