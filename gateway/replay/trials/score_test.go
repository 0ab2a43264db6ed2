package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// write puts files of a trace into a directory of their own, and gives its stem.
func write(t *testing.T, files map[string]string) (stem string) {
	t.Helper()
	stem = filepath.Join(t.TempDir(), "trace")
	for ending, text := range files {
		if err := os.WriteFile(stem+ending, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return stem
}

func TestVerdictsAreScoredByHand(t *testing.T) {
	stem := write(t, map[string]string{
		".labels.csv": "caller,onset_ms,end_ms,kind,note\n" +
			"a,100000,130000,burst,found\na,300000,310000,burst,a second before\na,500000,,burst,late\na,700000,720000,burst,too early\na,800000,,burst,later\na,900000,910000,weak,neither\n",
		".clean.csv": "from_ms,to_ms\n0,50000\n1000000,4550000\n",
	})
	l, err := readLabels(stem)
	if err != nil {
		t.Fatal(err)
	}
	s := judge(&l, []int64{
		0, 49_999, 50_000, // the last is no longer in clean time
		102_000, 125_000, // within 2 s, and again in the same burst
		299_000,   // a second before
		505_000,   // within 5 s
		698_999,   // too early for the burst
		805_001,   // within 10 s
		905_000,   // of another kind
		4_549_999, // false
	})
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"bursts", float64(s.Bursts), 5},
		{"within 2 s", s.Within2, 0.4},
		{"within 5 s", s.Within5, 0.6},
		{"within 10 s", s.Within10, 0.8},
		{"clean hours", s.CleanHours, 1},
		{"false a clean day", s.FalseADay, 3 * 24},
		{"a burst caught", s.PerBurst, 11. / 4},
		{"verdicts", s.Verdicts, 11},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if m := mean([]score{s, {Bursts: 5, Within2: 1, FalseADay: 24}}); m.Within2 != 0.7 || m.FalseADay != 48 {
		t.Errorf("mean %+v", m)
	}
}

func TestTablesThatCannotBeReadAreRefused(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no such column": {".labels.csv": "caller,onset_ms,kind\n"},
		"no number":      {".labels.csv": "caller,onset_ms,end_ms,kind\na,x,2,burst\n"},
		"no end":         {".labels.csv": "caller,onset_ms,end_ms,kind\na,1,x,burst\n"},
		"clean time":     {".clean.csv": "from_ms,to_ms\n1,x\n"},
		"short row":      {".clean.csv": "from_ms,to_ms\n1\n"},
	} {
		if _, err := readLabels(write(t, files)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if l, err := readLabels(filepath.Join(t.TempDir(), "none")); err != nil || len(l.all)+len(l.clean) > 0 {
		t.Errorf("no files: %v, %v", l, err)
	}
}

func TestCountsBySecondAreRead(t *testing.T) {
	stem := write(t, map[string]string{".a": "# caller=x start_ms=5000 bin_ms=1000\ncount\n3\n0\n12\n", ".b": "# caller=x start_ms=5000 bin_ms=60000\n3\n", ".c": "# caller=x bin_ms=1000\nmany\n"})
	d, err := readDense(stem + ".a")
	if err != nil || d.caller != "x" || d.start != 5000 || len(d.seconds) != 3 || d.seconds[2] != 12 {
		t.Errorf("%+v, %v", d, err)
	}
	for _, bad := range []string{".b", ".c", ".none"} {
		if _, err := readDense(stem + bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func TestWhatIsBeatenIsLeftOut(t *testing.T) {
	at := func(name string, false2, in2, in5 float64) point {
		return point{Setting: name, score: score{FalseADay: false2, Within2: in2, Within5: in5}}
	}
	best := unbeaten([]point{
		at("worse at both", 2, 0.5, 0.5), at("quick", 3, 0.9, 0.6), at("quiet", 1, 0.6, 0.9), at("as quiet and slower", 1, 0.5, 0.8), at("sure", 4, 0.7, 1),
	})
	want := []string{"quiet", "quick", "sure"}
	if len(best) != len(want) {
		t.Fatalf("%+v, want %v", best, want)
	}
	for i, w := range want {
		if best[i].Setting != w {
			t.Errorf("%d: %s, want %s", i, best[i].Setting, w)
		}
	}
}
