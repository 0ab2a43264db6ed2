package record

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func options(dir string) Options {
	return Options{Dir: dir, MaxBytes: 16 << 20, FileBytes: 4 << 20, FileSpan: time.Hour}
}

// tight is a bound that some files fill.
const tight = 1 << 20

func opened(t *testing.T, o Options) *Recorder {
	t.Helper()
	r, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func closed(t *testing.T, r *Recorder) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// entry is the usual one, at a moment and of a caller.
func entry(at time.Time, caller string) *Entry {
	return &Entry{At: at, Caller: caller, Semantic: "chat", Route: "v1", Cost: 1, Bytes: 7, Seat: time.Millisecond, Outcome: "served"}
}

// ours returns the traces in a directory, oldest first.
func ours(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := parseName(e.Name()); ok && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names
}

// text is what zcat says of files; each of them must be whole.
func text(t *testing.T, dir string, names []string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(unzip(t, b))
	}
	return all.String()
}

// all reads traces to their end, and says how much was passed over.
func all(t *testing.T, paths ...string) (records []Record, flaws int) {
	t.Helper()
	r, err := OpenReader(paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		record, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	_, flaws = r.Flaws()
	return records, flaws
}

func unzip(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, path string, b []byte) string {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// usual makes rows as a gateway has them: callers of very different size, three semantics.
func usual(n, callers int, tenants bool) []row {
	r := rand.New(rand.NewSource(1))
	z := rand.NewZipf(r, 1.2, 2, uint64(callers-1))
	semantics := []string{"chat", "export", "search"}
	at, rows := int64(1764450000000), make([]row, n)
	names := make([]string, callers) // one string for each, as a configuration has them
	for i := range names {
		names[i] = fmt.Sprintf("caller-%02d", i)
	}
	for i := range rows {
		if r.Intn(30) == 0 {
			at++
		}
		c := z.Uint64()
		s := semantics[c%3]
		rows[i] = row{
			at: at + int64(r.Intn(20)), caller: names[c], semantic: s, route: s, outcome: "served", cost: 1,
			bytes: int64(math.Exp(r.NormFloat64() + 7)), seat: time.Duration(math.Exp(r.NormFloat64()*0.7+2.5) * 1e6),
		}
		if tenants {
			rows[i].tenant = (c*1000 + uint64(r.Intn(50)) + 1) * 0x9e3779b97f4a7c15 >> 16
		}
		if i%50 == 0 {
			rows[i].outcome, rows[i].code, rows[i].seat, rows[i].bytes = "refused", "rate_exceeded", 0, 0
		}
	}
	return rows
}
