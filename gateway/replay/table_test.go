package replay

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestTheTableSaysWhatBecameOfWhom(t *testing.T) {
	text := strings.Replace(platform, `rate = "2/s"`, "rate = \"2/s\"\nover_rate = \"reject\"", 1)
	s := newPlay(t, text, Play{Service: map[string]time.Duration{"chat": ms(400)}})
	for range 9 {
		s.offer(0, "acme", "chat")
	}
	s.offer(1, "vip", "export")
	for i := range 4 {
		s.offer(100_000, []string{"b", "c", "d", "e"}[i], "page")
	}
	s.finished()
	r := s.engine.Report(3)
	r.Passed = &Passed{Lines: 2, First: []string{"t.csv:5: x", "t.csv:7: y"}, Without: 4}
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"config.toml: 14 requests in 1d 3h",
		"note: callers that the config lacks (4) have plan free, pool shared and all semantics",
		"note: 4 requests of the trace have no caller",
		"note: 2 lines could not be read and were passed over, such as t.csv:5: x t.csv:7: y",
		"caller semantic offered at once waited refused wait p50 p99 max surges",
		"acme chat 9 2 0 7 0 0 0 0 rate_exceeded 7",
		"(3 more) 3 3 0 0 0 0 0 0",
		"total 14",
		"shared 4 4 0 20ms",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestWaitsAndSpansAreWrittenShort(t *testing.T) {
	for ms, want := range map[float64]string{0: "0", 0.02: "0.02ms", 12.345: "12.3ms", 999.9: "1000ms", 1500: "1.5s", 59_900: "59.9s", 90_000: "1m 30s"} {
		if got := waitText(ms); got != want {
			t.Errorf("%v ms: %s, want %s", ms, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", 90 * time.Minute: "1h 30m", 49 * time.Hour: "2d 1h", 61 * time.Second: "1m 1s", ms(12): "12ms"} {
		if got := durationText(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestNamesThatCannotBeSeenAreQuotedInTables(t *testing.T) {
	s := newPlay(t, platform, Play{})
	names := []string{"\x1b[2Jred", "tab\there", "new\nline", "bad\xff", "müller, \"x\""}
	for _, name := range names {
		s.offer(0, name, "chat")
	}
	s.finished()
	var table, diff bytes.Buffer
	if err := s.engine.Report(0).WriteText(&table); err != nil {
		t.Fatal(err)
	}
	other := newPlay(t, platform, Play{})
	other.finished()
	if err := Compare(s.engine, other.engine, 0).WriteText(&diff); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{table.String(), diff.String()} {
		for _, want := range []string{`"\x1b[2Jred"`, `"tab\there"`, `"new\nline"`, `"bad\xff"`, ` müller, "x" `} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is not in\n%q", want, text)
			}
		}
	}
}
