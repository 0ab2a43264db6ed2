package gateway

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"tidegate/detector"
	"tidegate/gateway/config"
)

var sampled = config.Log{Level: "info", Format: "json", Access: "sampled", AccessSamplePerSecond: 3}

// openTo opens a log whose lines can be read.
func openTo(t *testing.T, c config.Log) (*logs, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	l, err := logsTo(zapcore.Lock(zapcore.AddSync(&out)), c)
	if err != nil {
		t.Fatal(err)
	}
	return l, &out
}

// lines takes what was written so far, without the times.
func lines(t *testing.T, out *bytes.Buffer) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(out.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, err := time.Parse(time.RFC3339, fields["time"].(string)); err != nil {
			t.Errorf("time: %v", err)
		}
		delete(fields, "time")
		all = append(all, fields)
	}
	out.Reset()
	return all
}

func expectLine(t *testing.T, got map[string]any, want string) {
	t.Helper()
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Errorf("line\n%s, want\n%s", text, want)
	}
}

func TestSurgesAndCalmsAreLogged(t *testing.T) {
	l, out := openTo(t, sampled)
	since := time.Date(2026, 11, 2, 9, 30, 3, 120e6, time.UTC)
	why := detector.Report{Observed: 801.503, Expected: 15, Ratio: 53.433, Score: 207.25, Needed: 11.5, Since: since, Slot: 9, Seasonal: true}
	l.surge(surgeEvent{Caller: "spider-77", Semantic: "export", Report: why, Waiting: 412})
	l.calm(surgeEvent{Caller: "spider-77", Semantic: "export", Report: detector.Report{Observed: 14, Expected: 15, Ratio: .93, Slot: 10, Learning: true}})
	got := lines(t, out)
	if len(got) != 2 {
		t.Fatalf("%d lines", len(got))
	}
	expectLine(t, got[0], `{"caller":"spider-77","event":"surge","expected":15,"learning":false,"level":"info","needed":11.5,"rate":801.5,"ratio":53.43,"score":207.25,"season":"Mon 09h","seasonal":true,"semantic":"export","since":"2026-11-02T09:30:03.120Z","waiting":412}`)
	expectLine(t, got[1], `{"caller":"spider-77","event":"calm","expected":15,"learning":true,"level":"info","needed":0,"rate":14,"ratio":0.93,"score":0,"season":"Mon 10h","seasonal":false,"semantic":"export","waiting":0}`)
}

func TestTheLevelChangesWhileItRuns(t *testing.T) {
	l, out := openTo(t, sampled)
	child := l.Named("x") // made before the change
	child.Debug("hidden")
	if err := l.setLevel("debug"); err != nil {
		t.Fatal(err)
	}
	child.Debug("shown")
	if err := l.setLevel("error"); err != nil {
		t.Fatal(err)
	}
	child.Warn("hidden")
	if err := l.setLevel("loud"); err == nil || !strings.Contains(err.Error(), `log.level = "loud"`) {
		t.Errorf("level loud: %v", err)
	}
	child.Error("shown")
	for _, line := range lines(t, out) {
		if line["event"] != "shown" {
			t.Errorf("line %v", line)
		}
	}
}

func TestTheLogNeedsALevelAndAFormat(t *testing.T) {
	for _, c := range []config.Log{{Level: "loud", Format: "json"}, {Level: "info", Format: "xml"}, {}} {
		if _, err := logsTo(zapcore.AddSync(&bytes.Buffer{}), c); err == nil || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	l, out := openTo(t, config.Log{Level: "info", Format: "console"})
	l.surge(surgeEvent{Caller: "spider\n77"})
	if got := out.String(); !strings.Contains(got, "info\tsurge\t") || strings.Count(got, "\n") != 1 {
		t.Errorf("console line %q", got)
	}
}
