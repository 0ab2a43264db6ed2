package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const (
	requestsFour = "timestamp_ms,caller,type,size\n1000,a,chat,10\n3000,b,export,\n2000,a,chat,5\n"
	requestsNine = "timestamp_ms,caller,type,size,route,tenant,cost,seat_ms,outcome\n" +
		"1000,a,chat,10,chat,5be1f3a90c47,1,41.203,served\n2000,,,0,,,0,0,refused:caller_unknown\n1500,b,export,0,reports,,2,0,refused:queue_full\n"
	binned = "time_ms,caller,count\n0,a,2\n0,b,1\n500,a,0\n1000,b,2\n1500,a,1\n"
	counts = "# caller=a start_ms=1000 bin_ms=1000\ncount\n2\n0\n1\n"
)

func TestEachFormOfATraceIsRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		options    Options
		want       []string
	}{
		{"requests.csv", requestsFour, Options{}, []string{"1000 a/chat", "2000 a/chat", "3000 b/export"}},
		{"recorded.csv", requestsNine, Options{}, []string{"1000 a/chat", "1500 b/export"}},
		{"bins.csv", binned, Options{Spread: Even}, []string{"125 a/", "250 b/", "375 a/", "1125 b/", "1375 b/", "1750 a/"}},
		{"more columns", "time_ms,caller,count,iat_cv\n0,a,1,0.5\n10,a,1,0.5\n", Options{Spread: Even}, []string{"5 a/", "15 a/"}},
		{"dense", counts, Options{Spread: Even}, []string{"1250 a/", "1750 a/", "3500 a/"}},
		{"dense, \\r\\n", strings.ReplaceAll(counts, "\n", "\r\n"), Options{Spread: Even}, []string{"1250 a/", "1750 a/", "3500 a/"}},
		{"dense, no end", strings.TrimSuffix(counts, "\n"), Options{Spread: Even}, []string{"1250 a/", "1750 a/", "3500 a/"}},
		{"dense, two parts", counts + "# bin_ms=500 caller=b start_ms=9000\n1\n1\n", Options{Spread: Even}, []string{"1250 a/", "1750 a/", "3500 a/", "9250 b/", "9750 b/"}},
		{"dense, before 1970", "# caller=a start_ms=-2000 bin_ms=1000\ncount\n1\n1\n1\n", Options{Spread: Even}, []string{"-1500 a/", "-500 a/", "500 a/"}},
		{"a type for all", binned, Options{Spread: Even, Semantic: "chat"}, []string{"125 a/chat", "250 b/chat", "375 a/chat", "1125 b/chat", "1375 b/chat", "1750 a/chat"}},
		{"a type instead", requestsFour, Options{Semantic: "x"}, []string{"1000 a/x", "2000 a/x", "3000 b/x"}},
	} {
		for _, suffix := range []string{"", ".gz"} {
			tr := opened(t, c.options, written(t, "t"+suffix, c.text))
			if got := arrivals(tr); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s%s: got %q, want %q", c.name, suffix, got, c.want)
			}
			if first, n := tr.Flaws(); n != 0 {
				t.Errorf("%s: %v", c.name, first)
			}
			if p := tr.Progress(); p != 1 {
				t.Errorf("%s: at the end, %v of it was read", c.name, p)
			}
		}
	}
}

func TestWhatARecorderKnowsIsKept(t *testing.T) {
	tr := opened(t, Options{}, written(t, "t.csv", requestsNine))
	var a, b Arrival
	tr.Next(&a)
	tr.Next(&b)
	if a.Tenant != "5be1f3a90c47" || a.Seat.Microseconds() != 41203 || a.Origin.Route != "chat" || !a.Origin.Full {
		t.Errorf("%+v %+v", a, a.Origin)
	}
	if b.Tenant != "" || b.Seat != 0 || b.Origin.Route != "reports" {
		t.Errorf("%+v %+v", b, b.Origin)
	}
	if tr.Next(&a) || tr.Nobody() != 1 {
		t.Errorf("%d rows without a caller, want 1", tr.Nobody())
	}
}

func TestSeveralTracesArePlayedAsOne(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.csv": requestsFour, "a.csv": requestsNine, "c.csv": binned, "begun.csv": "", "no trace.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tr := opened(t, Options{Spread: Even}, dir, written(t, "d.csv.gz", counts))
	want := []string{
		"125 a/", "250 b/", "375 a/", "1000 a/chat", "1000 a/chat", "1125 b/", "1250 a/", "1375 b/", "1500 b/export", "1750 a/", "1750 a/", "2000 a/chat",
		"3000 b/export", "3500 a/",
	}
	if got := arrivals(tr); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLinesThatCannotBeReadAreCountedToldAndPassedOver(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // of the arrivals
		flaws      []string // parts of what is said, with the line
	}{
		{
			"requests", requestsFour + "x,a,chat,1\n4000,a\n5000,a,chat,-1\n6000,c,chat,1\n",
			[]string{"1000 a/chat", "2000 a/chat", "3000 b/export", "6000 c/chat"},
			[]string{":5: timestamp_ms", ":6: it has fewer columns", ":7: size"},
		},
		{
			"requests far away", requestsFour + "9300000000000,a,chat,1\n",
			[]string{"1000 a/chat", "2000 a/chat", "3000 b/export"},
			[]string{"outside of the years"},
		},
		{
			"bins", "time_ms,caller,count\n0,a,1\nx,a,1\n5,a\n5,,1\n5,a,-1\n5,a,1.5\n9999999999999999,a,1\n10,a,1\n20,a,1\n\n",
			[]string{"5 a/", "15 a/", "25 a/"},
			[]string{`:3: time_ms "x"`, ":4: it has fewer columns", ":5: the caller", `:6: "-1": the count`, `:7: "1.5": the count`, ":8: time_ms"},
		},
		{
			"dense", "# caller=a start_ms=0 bin_ms=10\ncount\n1\nx\n\n-1\n1\n\n\n",
			[]string{"5 a/", "45 a/"},
			[]string{`:4: "x": the count`, ":5: there is no count", `:6: "-1": the count`},
		},
		{
			"dense, a bad part", "# caller=a start_ms=0 bin_ms=10\ncount\n1\n1\n# caller=b start_ms=5 bin_ms=10\n1\n",
			[]string{"5 a/", "15 a/"},
			[]string{":5: this part begins before"},
		},
		{
			"dense, beyond time", "# caller=a start_ms=4611686000000 bin_ms=20000000\n1\n1\n1\n",
			[]string{"4611696000000 a/"},
			[]string{":3: its bin: it lies outside"},
		},
		{
			"long line", "# caller=a start_ms=0 bin_ms=10\n1\n" + strings.Repeat("1", 70_000) + "\n1\n",
			[]string{"5 a/", "15 a/"},
			[]string{":3: it is longer than 64 KiB"},
		},
	} {
		path := written(t, "t.csv", c.text)
		tr, err := Open([]string{path}, Options{Spread: Even})
		if err != nil {
			if c.want != nil || !strings.Contains(err.Error(), c.flaws[0]) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if got := arrivals(tr); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		first, n := tr.Flaws()
		if n != len(c.flaws) || len(first) != n {
			t.Errorf("%s: %d flaws: %v", c.name, n, first)
			continue
		}
		for i, f := range first {
			if !strings.Contains(f.Error(), c.flaws[i]) {
				t.Errorf("%s: %q, want %q", c.name, f.Error(), c.flaws[i])
			}
		}
		tr.Close()
	}
}

func TestOfManyFlawsTwentyAreKept(t *testing.T) {
	tr := opened(t, Options{}, written(t, "t.csv", counts+strings.Repeat("x\n", 500)))
	arrivals(tr)
	if first, n := tr.Flaws(); len(first) != 20 || n != 500 {
		t.Errorf("%d of %d", len(first), n)
	}
}

func TestAFileThatIsCutIsReadAsFarAsItGoes(t *testing.T) {
	path := written(t, "t.csv.gz", "# caller=a start_ms=0 bin_ms=10\n"+strings.Repeat("1\n2\n3\n5\n7\n", 50_000))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	tr := opened(t, Options{}, path)
	n := len(arrivals(tr))
	if first, all := tr.Flaws(); n < 1000 || all != 1 || !strings.Contains(first[0].Error(), "cut here") {
		t.Errorf("%d arrivals, %v", n, first)
	}
}

func TestWhatIsNoTraceIsAnErrorThatSaysWhatIs(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ text, want string }{
		{"caller,onset_ms,end_ms\na,1,2\n", "time_ms,caller,count"},
		{"count\n1\n2\n", "# caller=X start_ms=N bin_ms=N"},
		{"{}\n", "timestamp_ms,caller,type,size"},
		{"# caller=a start_ms=0\ncount\n1\n", "line 1: "},
		{"# caller=a start_ms=x bin_ms=1\n", "start_ms=x"},
		{"# caller=a start_ms=0 bin_ms=0\n", "bin_ms=0: it must be above 0"},
		{"# caller=a start_ms=0 bin_ms=-5\n", "bin_ms=-5"},
		{"time_ms,caller,count\n0,a,1\n10,a,1\n5,a,1\n", "line 4: time_ms 5 is before the one above it"},
		{"time_ms,caller,count\n0,a,1\n0,b,1\n", "one time"},
		{"time_ms,caller,count\n", "no row"},
		{"time_ms,caller,count\nx,a,1\n", "none of its rows"},
		{"time_ms,caller,count\n-4000000000000,a,1\n4000000000000,a,1\n", "no length of a bin"},
		{"", "no request"},
		{"timestamp_ms,caller,type,size\nx\n", "1 lines could not be read"},
		{"# caller=a start_ms=0 bin_ms=1\n0\n0\n", "no request"},
	} {
		path := filepath.Join(dir, "t.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open([]string{path}, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %q with the file's name", c.text, err, c.want)
		}
	}
	if _, err := Open([]string{filepath.Join(dir, "none")}, Options{}); err == nil {
		t.Error("a file that is not there is taken")
	}
	if _, err := Open([]string{t.TempDir()}, Options{}); err == nil || !strings.Contains(err.Error(), "no file *.csv") {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestProgressGoesFromNoneToAll(t *testing.T) {
	tr := opened(t, Options{}, written(t, "t.csv", "# caller=a start_ms=0 bin_ms=1000\n"+strings.Repeat("1\n", 200_000)), written(t, "u.csv", requestsFour))
	var a Arrival
	last := 0.0
	var seen []float64
	for n := 0; tr.Next(&a); n++ {
		if n%20_000 != 0 {
			continue
		}
		p := tr.Progress()
		if p < last {
			t.Errorf("after %d it is %v, and was %v", n, p, last)
		}
		last = p
		seen = append(seen, p)
	}
	if len(slices.Compact(seen)) < 5 || seen[0] > 0.5 || tr.Progress() != 1 {
		t.Errorf("%v", seen)
	}
}

// What is held while a trace is read does not depend on how long it is.
func TestReadingATraceTakesMemoryForABlockOfIt(t *testing.T) {
	for name, text := range map[string]func(n int) string{
		"dense": func(n int) string { return "# caller=a start_ms=0 bin_ms=1000\n" + strings.Repeat("2\n", n) },
		"bins": func(n int) string {
			var b strings.Builder
			b.WriteString("time_ms,caller,count\n")
			for i := range n {
				fmt.Fprintf(&b, "%d,a,1\n%d,b,1\n", i*1000, i*1000)
			}
			return b.String()
		},
	} {
		allocations := func(n int) float64 {
			path := written(t, "t.csv.gz", text(n))
			return testing.AllocsPerRun(3, func() {
				tr, err := Open([]string{path}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				var a Arrival
				for tr.Next(&a) {
				}
				tr.Close()
			})
		}
		few, many := allocations(500), allocations(50_000)
		// The decompressor makes tables for each block of its own, some 60 kB of text.
		if many > few+500 {
			t.Errorf("%s: %v allocations for 500 bins, %v for 50,000", name, few, many)
		}
	}
}
