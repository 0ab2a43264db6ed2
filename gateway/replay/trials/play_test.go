package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// burst is a caller's requests at one a second for ten minutes, and forty a second from then on for five seconds, by
// the second.
func burst(start int64) (times []int64, onset int64) {
	for s := range int64(600) {
		times = append(times, start+s*1000)
	}
	onset = start + 600_000
	for i := range int64(200) {
		times = append(times, onset+i/40*1000)
	}
	return times, onset
}

func TestPlayingTimesAndCellsFindsTheSame(t *testing.T) {
	times, onset := burst(1_000_000)
	times = within(times, rand.New(rand.NewPCG(1, 1)))
	cells := make([]uint16, 606*cellsASec)
	for _, at := range times {
		cells[(at-1_000_000)/cellMS]++
	}
	a, b := playTimes(settings(), times), playCells(settings(), 1_000_000, cells)
	if len(a) != 1 || len(b) != 1 || a[0].at != b[0].at || a[0].at < onset || a[0].at > onset+2000 {
		t.Errorf("%v and %v, want one verdict soon after %d", a, b, onset)
	}
}

// A cell holds what came from its begin until before its end, and is told at its end.
func TestCellsBeginOnTheClocksGrid(t *testing.T) {
	c := settings()
	c.MinRate = 0.1
	var times []int64
	for s := range int64(120) {
		times = append(times, 30+s*1000)
	}
	for i := range int64(40) {
		times = append(times, 120_000+i*cellMS) // the first of each cell
	}
	cells := make([]uint16, 124*cellsASec)
	for i := range cells {
		if i >= 1200 || i%cellsASec == 0 {
			cells[i] = 1
		}
	}
	a, b := playTimes(c, times), playCells(c, 0, cells)
	if len(a) != 1 || len(b) != 1 || a[0].at != b[0].at {
		t.Errorf("%+v and %+v, want one verdict at the same time", a, b)
	}
}

func TestQuietFlowIsNotStepped(t *testing.T) {
	c := settings()
	p := player{config: &c}
	p.cell(100, 5)
	for i := range int64(200) {
		p.cell(200+i*cellMS, 0)
	}
	if p.awake {
		t.Error("awake after 20 s without an arrival")
	}
	if p.cell(1_000_000, 1); !p.awake {
		t.Error("asleep at an arrival")
	}
}

func TestScatteredSecondsKeepTheirCounts(t *testing.T) {
	seconds := []int32{0, 7, 3000, 0, 1}
	cells := scatter(seconds, rand.New(rand.NewPCG(1, 1)))
	for i, n := range seconds {
		sum := int32(0)
		for _, c := range cells[i*cellsASec : (i+1)*cellsASec] {
			sum += int32(c)
			if n == 3000 && math.Abs(float64(c)-300) > 90 {
				t.Errorf("%d of 3000 in a tenth of the second", c)
			}
		}
		if sum != n {
			t.Errorf("second %d: %d, want %d", i, sum, n)
		}
	}
}

func TestSplicedTracesAreWrittenWithTheirBurst(t *testing.T) {
	quiet := map[string][]int64{"short": make([]int64, 30), "few": {0, 9_000_000}}
	for i := range int64(100) {
		quiet["long"] = append(quiet["long"], 1_000_000+i*20_000)
	}
	caller := quietest(quiet)
	if caller != "long" {
		t.Fatalf("spliced into %q", caller)
	}
	scan := cut([]int64{3999, 4000, 5000, 5000, 6000, 7000, 7001}, label{"s", "burst", 5000, 7000})
	if !slices.Equal(scan, []int64{4000, 5000, 5000, 6000, 7000}) {
		t.Fatalf("the scan is %v", scan)
	}
	dir := t.TempDir()
	if _, err := spliceBurst(0, quiet[caller], caller, "page", scan, label{"s", "burst", 5000, 7000}, dir, 1); err != nil {
		t.Fatal(err)
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 2*places {
		t.Fatalf("%d files", len(files))
	}
	last := int64(0)
	for p := range places {
		stem := filepath.Join(dir, "burst1-place"+string(rune('0'+p)))
		l, err := readLabels(stem)
		if err != nil || len(l.bursts()) != 1 || l.bursts()[0].onset <= last {
			t.Fatalf("place %d: %+v, %v", p, l, err)
		}
		b := l.bursts()[0]
		last = b.onset
		times, types, err := readEvents(stem + ".events.csv")
		if err != nil || len(times) != 1 || len(times[caller]) != 105 || types[caller] != "page" || b.end-b.onset != 2000 {
			t.Fatalf("place %d: %d requests, %v, %v", p, len(times[caller]), types, err)
		}
		n := 0
		for _, at := range times[caller] {
			if b.onset <= at && at < b.onset+1000 {
				n++
			}
		}
		if n < 2 || n > 3 {
			t.Errorf("place %d: %d requests in the second of the onset", p, n)
		}
	}
}

func TestTracesAreFoundByTheirEndings(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/x.events.csv.gz", "b/y.events.csv.gz", "b/z.events.csv.gz", "b/z.labels.csv"} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
		os.WriteFile(filepath.Join(dir, name), nil, 0o600)
	}
	for name, want := range map[string]string{"a": "a/x.events.csv.gz", "b/z": "b/z.events.csv.gz", "b": "", "c": ""} {
		got, err := eventsOf(dir, name)
		if want == "" && err == nil || want != "" && got != filepath.Join(dir, want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if found, err := stems(dir, ".events.csv.gz"); err != nil || len(found) != 3 || nameOf(dir, found[0]) != "a/x" {
		t.Errorf("%v, %v", found, err)
	}
}

func TestDelaysOfGeneratedStepsAreCounted(t *testing.T) {
	step := trial{"", 20, at(800), 5, nil}
	o := step.run(2*time.Minute, 20)
	if o.found() != 20 || o.early != 0 || missed(o) != 0 || o.quantile(0.5) < 0.05 || o.quantile(1) > 0.5 {
		t.Errorf("%+v", o)
	}
	none := trial{"", 20, at(20), 5, nil}
	if o := none.run(2*time.Minute, 20); alarmed(o) != 0 || !math.IsInf(o.quantile(0.5), 1) {
		t.Errorf("%+v", o)
	}
}

func TestRatesOfTides(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{line(60, 240, 240)(120), 150},
		{line(60, 240, 240)(999), 240},
		{doubling(60, 240, 240)(120), 120},
		{doubling(60, 240, 240)(300), 240},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	sum := int64(0)
	for range 100_000 {
		sum += poisson(r, 3)
	}
	if math.Abs(float64(sum)/1e5-3) > 0.03 {
		t.Errorf("mean %v, want 3", float64(sum)/1e5)
	}
}
