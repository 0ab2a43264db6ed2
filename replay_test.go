package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dayTrace is a caller who sends 5 a second, and 60 for ten seconds of it.
func dayTrace(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# caller=ann start_ms=0 bin_ms=1000\ncount\n")
	for i := range 400 {
		if i >= 300 && i < 310 {
			b.WriteString("60\n")
		} else {
			b.WriteString("5\n")
		}
	}
	return logFile(t, "trace.csv", b.String())
}

func TestReplayTellsWhatBecomesOfATrace(t *testing.T) {
	trace, config := dayTrace(t), file(t, small)
	r := run(t, "replay", "-config", config, "-trace", trace, "-semantic", "chat")
	if r.code != 0 || !strings.Contains(r.err, "2550 requests in ") || !strings.Contains(r.err, "requests/s") {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{config + ": 2550 requests in 6m 39s\n", "ann", "chat", "wait_too_long", "pool", "shared"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	if again := run(t, "replay", "-config", config, "-trace", trace, "-semantic", "chat"); again.out != r.out {
		t.Error("the same replay comes out in another way")
	}
	var doc struct {
		Requests int64 `json:"requests"`
		Total    struct {
			Offered int64            `json:"offered"`
			AtOnce  int64            `json:"passed_at_once"`
			Waited  int64            `json:"waited"`
			Refused int64            `json:"refused"`
			Codes   map[string]int64 `json:"refused_by_code"`
		} `json:"total"`
		Rows  []json.RawMessage `json:"rows"`
		Pools []json.RawMessage `json:"pools"`
	}
	j := run(t, "replay", "-config", config, "-trace", trace, "-semantic", "chat", "-json")
	if err := json.Unmarshal([]byte(j.out), &doc); err != nil || doc.Requests != 2550 || doc.Total.Offered != 2550 || len(doc.Rows) != 1 || len(doc.Pools) != 1 ||
		doc.Total.AtOnce+doc.Total.Waited+doc.Total.Refused != 2550 || doc.Total.Codes["wait_too_long"] == 0 {
		t.Errorf("%v: %s", err, j.out)
	}
}

func TestReplayWritesEventsAndLeavesTheStateAlone(t *testing.T) {
	trace, config := dayTrace(t), file(t, small)
	events := filepath.Join(t.TempDir(), "events.jsonl")
	r := run(t, "replay", "-config", config, "-trace", trace, "-semantic", "chat", "-events", events, "-events-only", "surge,calm", "-service", "chat=50ms", "-bench")
	if r.code != 0 || !strings.Contains(r.err, "through the scheduler alone in ") {
		t.Fatalf("%+v", r)
	}
	text := read(t, events)
	if strings.Count(text, `"event":"surge"`) != 1 || strings.Count(text, `"event":"calm"`) != 1 || strings.Count(text, "\n") != 2 {
		t.Errorf("events:\n%s", text)
	}
	entries, err := os.ReadDir(filepath.Dir(config))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the config there are %v now, %v", entries, err)
	}
}

func TestReplayComparesTwoConfigs(t *testing.T) {
	trace, before := dayTrace(t), file(t, small)
	after := file(t, strings.Replace(small, `rate = "10/s"`, `rate = "100/s"`, 1))
	same := run(t, "replay", "-config", before, "-diff", after, "-trace", trace, "-semantic", "chat") // another rule holds
	if same.code != 0 || !strings.Contains(same.out, "nothing changes: every caller and semantic (1) fares as before") {
		t.Errorf("%+v", same)
	}
	after = file(t, strings.Replace(small, `rate = "5/60s", over_rate = "pace"`, `rate = "100/s"`, 1))
	r := run(t, "replay", "-config", before, "-diff", after, "-trace", trace, "-semantic", "chat")
	if r.code != 0 || !strings.Contains(r.out, before+" -> "+after) || !strings.Contains(r.out, "wait_too_long -") || !strings.Contains(r.err, "through 2 configs") {
		t.Errorf("%+v", r)
	}
	events := filepath.Join(t.TempDir(), "events.jsonl")
	j := run(t, "replay", "-config", before, "-diff", after, "-trace", trace, "-semantic", "chat", "-json", "-events", events)
	var doc struct {
		Changes []struct {
			Caller string `json:"caller"`
			Size   int64  `json:"size"`
			Before struct {
				Refused int64 `json:"refused"`
			} `json:"before"`
			After struct {
				Refused int64 `json:"refused"`
			} `json:"after"`
		} `json:"changes"`
	}
	if err := json.Unmarshal([]byte(j.out), &doc); err != nil || len(doc.Changes) != 1 || doc.Changes[0].Caller != "ann" ||
		doc.Changes[0].Before.Refused <= doc.Changes[0].After.Refused || doc.Changes[0].Size == 0 {
		t.Errorf("%v: %s", err, j.out)
	}
	text := read(t, events)
	for _, path := range []string{before, after} {
		if name, _ := json.Marshal(path); !strings.Contains(text, `"config":`+string(name)) {
			t.Errorf("no event says that it is of %s", path)
		}
	}
}

func TestReplaySaysWhatIsWrongWithItsFlags(t *testing.T) {
	trace, config := dayTrace(t), file(t, small)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 1, "-trace: give a file or a directory"},
		{[]string{"-trace", trace, "-spread", "odd"}, 1, `-spread: spread "odd": must be "random" or "even"`},
		{[]string{"-trace", trace, "-service", "chat=0s"}, 1, `"chat=0s" is not of the form`},
		{[]string{"-trace", trace, "-service", "chat=1s,chat=2s"}, 1, "-service: chat is given twice"},
		{[]string{"-trace", trace, "-service", "talk=1s"}, 1, `-service: the config has no semantic "talk"`},
		{[]string{"-trace", trace, "-semantic", "talk"}, 1, `-semantic: the config has no semantic "talk"`},
		{[]string{"-trace", trace, "-plan", "gold"}, 1, `-plan: the config has no plan "gold"`},
		{[]string{"-trace", trace, "-events-only", "surge"}, 1, "-events-only: give the file"},
		{[]string{"-trace", trace, "-events", filepath.Join(t.TempDir(), "e"), "-events-only", "cool"}, 1, `-events-only: event "cool": must be among surge`},
		{[]string{"-trace", trace, "-events", filepath.Join(t.TempDir(), "no", "e")}, 1, "cannot write the events"},
		{[]string{"-trace", trace, "-rows", "-1"}, 1, "-rows -1: must be at least 0"},
		{[]string{"-trace", config}, 1, "is no trace: a trace is CSV"},
		{[]string{"-trace", filepath.Join(t.TempDir(), "none")}, 1, "cannot read the trace"},
		{[]string{"-trace", trace, "-diff", trace}, 1, "problem(s)"},
		{[]string{"-trace", trace, "more"}, 2, `replay takes no "more"`},
		{[]string{"-seed", "x"}, 2, "invalid value"},
		{[]string{"-h"}, 0, "-events-only"},
	} {
		if r := run(t, append([]string{"replay", "-config", config}, c.args...)...); r.code != c.code || !strings.Contains(r.err, c.want) || r.out != "" {
			t.Errorf("%v: %+v, want %q", c.args, r, c.want)
		}
	}
}

func TestReplayTellsOfWhatItPassedOver(t *testing.T) {
	trace := logFile(t, "t.csv", "timestamp_ms,caller,type,size\n1,ann,chat,\nx,ann,chat,\n2,,chat,\n3,zoe,talk,\n")
	r := run(t, "replay", "-config", file(t, small), "-trace", trace)
	for _, want := range []string{"2 requests in 2ms", "1 lines could not be read", trace + ":3: timestamp_ms", "1 requests of the trace have no caller", "lacks (1) have plan free", `type "talk" counts as default`} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
}

func TestReplayWritesItsEventsOverNothingThatItReads(t *testing.T) {
	trace, before, after := dayTrace(t), file(t, small), file(t, small+"\n")
	link := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.Symlink(trace, link); err != nil {
		t.Fatal(err)
	}
	for _, events := range []string{trace, before, after, link} {
		was := read(t, events)
		r := run(t, "replay", "-config", before, "-diff", after, "-trace", filepath.Dir(trace), "-events", events)
		if r.code != 1 || !strings.Contains(r.err, "which is read: name another file") || read(t, events) != was {
			t.Errorf("%s: %+v", events, r)
		}
	}
	old := filepath.Join(t.TempDir(), "old.jsonl")
	if err := os.WriteFile(old, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run(t, "replay", "-config", before, "-trace", before, "-events", old); r.code != 1 || read(t, old) != "kept" {
		t.Errorf("a trace that is none: %+v, and the events of before are %q", r, read(t, old))
	}
}

func TestReplayTakesNoPipeForATrace(t *testing.T) {
	if r := run(t, "replay", "-config", file(t, small), "-trace", os.DevNull); r.code != 1 || !strings.Contains(r.err, "is no regular file") {
		t.Errorf("%+v", r)
	}
}
