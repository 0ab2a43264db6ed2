package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a file holds, reading it ends, and what it gives out is in order.
func FuzzTrace(f *testing.F) {
	for _, seed := range []string{requestsFour, requestsNine, binned, counts, counts + counts, "# caller=a start_ms=-5 bin_ms=31622400000\n1\n", "\x1f\x8b\x08", "time_ms,caller,count\n0,a,1099511627776\n1,a,0\n"} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	path := filepath.Join(dir, "t.csv")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tr, err := Open([]string{path}, Options{MaxOrigins: 10})
		if err != nil {
			return
		}
		defer tr.Close()
		e := mustEngine(t)
		var a Arrival
		for n, last := 0, int64(-1<<63); n < 2000 && tr.Next(&a); n++ {
			if a.At < last {
				t.Fatalf("%d comes after %d", a.At, last)
			}
			if a.Origin == nil || a.Origin.Caller == "" || a.Origin.Number >= 21 {
				t.Fatalf("origin %+v", a.Origin)
			}
			last = a.At
			e.Arrive(&a)
		}
		e.Finish()
		if r := e.Report(5); r.Total.AtOnce+r.Total.Waited+r.Total.Refused != r.Requests {
			t.Fatalf("%+v", r.Total)
		}
		if p := tr.Progress(); p < 0 || p > 1 {
			t.Fatalf("progress %v", p)
		}
	})
}

func mustEngine(tb testing.TB) *Engine {
	log, err := NewLog(discard{}, "")
	if err != nil {
		tb.Fatal(err)
	}
	e, err := NewEngine(configFor(tb, platform), Play{Log: log})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// A line of a bins trace is read as its fields say, or is a flaw.
func FuzzBinRow(f *testing.F) {
	for _, seed := range []string{"0,a,1", "-5,b,0,x", "1,,2", ",,", "9223372036854775807,a,1", "1,a,00000000000001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var r binRow
		if err := r.parse([]byte(line)); err != nil {
			return
		}
		fields := strings.Split(line, ",")
		if len(fields) < 3 || string(r.caller) != fields[1] || r.count < 0 || r.count > maxCount || r.from%1e6 != 0 {
			t.Fatalf("%q is read as %+v", line, r)
		}
	})
}
