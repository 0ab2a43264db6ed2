package stage

import (
	"bytes"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestConfigIsWrittenAsTOML(t *testing.T) {
	config := Config{
		Listen: "127.0.0.1:1", Admin: "127.0.0.1:2", StateDir: `/tmp/a "b\c`, MaxConns: 9000, Upstream: "127.0.0.1:3",
		Levels: []string{"realtime", "batch"},
		Pools:  []Pool{{"shared", 64, 0.8, 0.5}, {"vip", 32, 0.8, 0.5}},
		Semantics: []Semantic{
			{Name: "chat", Level: "realtime", Rate: "200/s", MaxWait: "2s"},
			{Name: "default", Level: "batch", Rate: "5/s", MaxWait: "5s", Burst: 10, MaxInFlight: 2, OverRate: "reject"},
		},
		Plans: []Plan{
			{Name: "standard"},
			{Name: "ordinary", CountBy: "tenant", Rules: []Rule{{Semantic: "chat", Rate: "20/s"}, {Semantic: "export", Rate: "5/s", Route: "mixed"}}},
		},
		Routes: []Route{{"mixed", "/v1/mixed/*", []string{"chat", "export"}}},
		Callers: []Caller{
			{ID: "vip-1", Key: "test", Plan: "standard", Pool: "vip", Semantics: []string{"chat"}},
			{ID: "b", Key: "promo-b", Second: "test", Plan: "ordinary", Pool: "shared"},
		},
	}
	var got bytes.Buffer
	if err := config.Write(&got); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/config.golden.toml"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the config differs from %s (go test -update rewrites it):\n%s", golden, got.Bytes())
	}
}

var read = time.Unix(2000000000, 0)

func TestSurgesAreFoundInTheLog(t *testing.T) {
	at := time.Date(2026, 11, 29, 10, 0, 1, 250e6, time.UTC)
	for _, step := range []struct {
		name, line string
		want       *Surge
	}{
		{"seconds", `{"level":"info","ts":1795946401.25,"msg":"surge","caller":"a","semantic":"export","rate":800}`, &Surge{"a", "export", at}},
		{"RFC 3339", `{"ts":"2026-11-29T10:00:01.25Z","msg":"surge","caller":"a","semantic":"export"}`, &Surge{"a", "export", at}},
		{"zap's ISO 8601", `{"ts":"2026-11-29T11:00:01.250+0100","msg":"surge","caller":"a","semantic":"export"}`, &Surge{"a", "export", at}},
		{"as an event, with time", `{"time":"2026-11-29T10:00:01.25Z","msg":"detector","event":"surge","caller":"a","semantic":"export"}`, &Surge{"a", "export", at}},
		{"no stamp", `{"msg":"surge","caller":"a","semantic":"export"}`, &Surge{"a", "export", read}},
		{"no stamp that can be read", `{"ts":"noon","msg":"surge","caller":"a","semantic":"export"}`, &Surge{"a", "export", read}},
		{"calm", `{"ts":1795946401.25,"msg":"calm","caller":"a","semantic":"export"}`, nil},
		{"another message about it", `{"msg":"refused","band":"surge","caller":"a"}`, nil},
		{"nobody", `{"msg":"surge"}`, nil},
		{"half a line", `{"msg":"surge","caller":"a"`, nil},
		{"no JSON", `level=info msg="surge" caller=a`, nil},
	} {
		got, ok := parseSurge([]byte(step.line), read)
		if ok != (step.want != nil) || (ok && (got.Caller != step.want.Caller || got.Semantic != step.want.Semantic || !got.At.Equal(step.want.At))) {
			t.Errorf("%s: %+v %v, want %+v", step.name, got, ok, step.want)
		}
	}
}

func TestTheLogIsReadInPartsOfAnyLengthAndPassedOn(t *testing.T) {
	text := `{"msg":"start"}` + "\n" + `{"msg":"surge","caller":"a"}` + "\n\n" + `{"msg":"surge","caller":"b"}` + "\n" + "the end"
	for size := 1; size <= len(text); size++ {
		var passed bytes.Buffer
		log := NewLog(&passed)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			io.WriteString(log, rest[:n])
			rest = rest[n:]
		}
		if got := log.Surges(); len(got) != 2 || got[0].Caller != "a" || got[1].Caller != "b" {
			t.Fatalf("in parts of %d: %+v", size, got)
		}
		if passed.String() != text {
			t.Fatalf("in parts of %d it was passed on as %q", size, passed.String())
		}
		if !bytes.HasSuffix(log.Tail(), []byte("the end")) {
			t.Fatalf("in parts of %d the tail is %q", size, log.Tail())
		}
	}
}

func TestTheTailOfTheLogIsShort(t *testing.T) {
	log := NewLog(io.Discard)
	for range 1000 {
		io.WriteString(log, "a line\n")
	}
	if n := bytes.Count(log.Tail(), []byte("a line")); n != tailLines {
		t.Errorf("%d lines, want %d", n, tailLines)
	}
}

func TestASurgeThatLogAndSnapshotTellOfIsOne(t *testing.T) {
	logged := []Surge{{"a", "export", read}}
	var snapshot Snapshot
	for _, s := range []Surge{{"a", "export", read.Add(-300 * time.Millisecond)}, {"b", "chat", read.Add(-time.Minute)}, {"a", "chat", read}} {
		snapshot.Surges = append(snapshot.Surges, struct {
			Caller   string    `json:"caller"`
			Semantic string    `json:"semantic"`
			Start    time.Time `json:"start"`
		}{s.Caller, s.Semantic, s.At})
	}
	got := MergeSurges(logged, snapshot)
	if len(got) != 3 || got[0].Caller != "b" || got[1] != logged[0] || got[2].Semantic != "chat" {
		t.Errorf("%+v", got)
	}
}

func TestMetricsAreReadAndAddedUp(t *testing.T) {
	before := ParseMetrics([]byte("x_total{semantic=\"chat\"} 1\n"))
	after := ParseMetrics([]byte(strings.Join([]string{
		"# HELP x_total help", "# TYPE x_total counter", "",
		`x_total{semantic="chat"} 3`,
		`x_total{semantic="export",code="a b}"} 4.5`,
		`x_total{semantic="export",code="c"} 1e1 1795946401`,
		`x_total_more{semantic="chat"} 100`,
		`y 7`, "broken", `z{a="b"} x`, "\r",
	}, "\n")))
	if after["y"] != 7 || len(after) != 5 {
		t.Errorf("%v", after)
	}
	got := after.Since(before).By("x_total", "semantic")
	if len(got) != 2 || got["chat"] != 2 || got["export"] != 14.5 {
		t.Errorf("%v", got)
	}
	if got := after.By("absent", "semantic"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestFreePortsDiffer(t *testing.T) {
	ports, err := FreePorts(5)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, p := range ports {
		if !strings.HasPrefix(p, "127.0.0.1:") || seen[p] {
			t.Errorf("%v", ports)
		}
		seen[p] = true
	}
}

func FuzzParseSurge(f *testing.F) {
	f.Add([]byte(`{"ts":1795946401.25,"msg":"surge","caller":"a","semantic":"export"}`))
	f.Add([]byte(`{"ts":"2026-11-29T11:00:01.250+0100","event":"surge","caller":"a"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if surge, ok := parseSurge(line, read); ok && (surge.Caller == "" || surge.At.IsZero()) {
			t.Errorf("%q: %+v", line, surge)
		}
	})
}

func FuzzParseMetrics(f *testing.F) {
	f.Add([]byte("x_total{a=\"b c}\"} 3 4\n# no\ny 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for series := range ParseMetrics(text) {
			if strings.Contains(series, "\n") {
				t.Errorf("series %q of %q", series, text)
			}
		}
	})
}
