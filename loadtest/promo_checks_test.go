package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

const ms = tally.Millis(time.Millisecond)

// good is the evidence of a run in which everything holds. The jump is from 10 s to 20 s.
func good() *evidence {
	row := func(name string, callers, offered int, p99 tally.Millis) Row {
		f := func(n int, p99 tally.Millis) tally.Figures {
			return tally.Figures{
				Offered: n, AtOnce: n, Refused: map[string]int{}, Failed: map[string]int{},
				P50: 21 * ms, P99: p99, Max: p99 + ms,
			}
		}
		return Row{Name: name, Callers: callers, Whole: f(offered, p99), Quiet: f(offered/4, p99), Jump: f(offered/2, p99+ms), After: f(offered/4, p99)}
	}
	e := &evidence{
		rows: []Row{
			row("vip-1", 1, 3000, 24*ms), row("ordinary", 20, 4800, 30*ms), row("exporter", 1, 150, 210*ms), row("morning", 1, 700, 30*ms),
			row("steady-over", 1, 660, 31*ms), row("untagged", 1, 180, 35*ms), row(spider, 1, 9000, 5000*ms),
		},
		surges:           []sighted{{spider, "export", 10300 * ms}},
		jumpFrom:         10 * time.Second,
		jumpTo:           20 * time.Second,
		spider:           slices.Repeat([]int{130}, 30),
		share:            110,
		brokenBySemantic: map[string]float64{"chat": 0, "export": 0},
		counts: upstream.Counts{
			Served: 12000, Peak: 70,
			Groups: map[string]upstream.Group{"vip": {Served: 3000, Peak: 6}, upstream.Rest: {Served: 9000, Peak: 64}},
			Tags:   map[string]map[string]int64{"untagged": {"default": 180}},
		},
	}
	over := e.row(spider)
	over.Whole.AtOnce, over.Whole.Waited, over.Whole.LongestWait = 500, 3500, 4900*ms
	over.Whole.Refused["queue_full"], over.Whole.Refused["wait_too_long"] = 4900, 100
	return e
}

func TestEachCheckHoldsToItsBoundAndNoFurther(t *testing.T) {
	const (
		promise  = "nobody but"
		vip      = "the VIP's p99"
		verdict  = "a surge verdict"
		noFalse  = "no surge verdict"
		over     = "steady-over"
		quota    = "spider-77 gets its"
		share    = "spider-77 also gets"
		comeBack = "every refusal"
		seats    = "in flight"
		answered = "every request is answered"
		tagless  = "who never tags"
		ended    = "the gateway ends"
	)
	for _, step := range []struct {
		name  string
		alter func(*evidence)
		fails string // "": all hold
	}{
		{"good", func(*evidence) {}, ""},

		{"a promise broken to an ordinary one", func(e *evidence) { e.row("ordinary").Whole.Broken = 1 }, promise},
		{"a promise broken to the offender", func(e *evidence) { e.row(spider).Whole.Broken = 9 }, ""},
		{"the gateway knows of one of chat", func(e *evidence) { e.brokenBySemantic["chat"] = 1 }, promise},
		{"the gateway knows of one of default", func(e *evidence) { e.brokenBySemantic["default"] = 1 }, promise},
		{"the gateway knows of one of export, and the exporter had none", func(e *evidence) { e.brokenBySemantic["export"] = 1 }, ""},
		{"the gateway knows of one of export, and the exporter was refused", func(e *evidence) {
			e.brokenBySemantic["export"] = 1
			e.row("exporter").Whole.Refused["wait_too_long"] = 1
		}, promise},

		// Quiet 24 ms: the bound is 1.2 x 24 + 3 = 31.8 ms.
		{"VIP at the bound in the jump", func(e *evidence) { e.row("vip-1").Jump.P99 = 31800 * ms / 1000 }, ""},
		{"VIP above it in the jump", func(e *evidence) { e.row("vip-1").Jump.P99 = 31900 * ms / 1000 }, vip},
		{"VIP above it overall", func(e *evidence) { e.row("vip-1").Whole.P99 = 31900 * ms / 1000 }, vip},
		{"VIP refused", func(e *evidence) { e.row("vip-1").Whole.Refused["queue_full"] = 1 }, vip},
		{"VIP not served at all in the jump", func(e *evidence) { e.row("vip-1").Jump = tally.Figures{Offered: 100} }, vip},

		{"verdict after a second", func(e *evidence) { e.surges[0].At = 11000 * ms }, ""},
		{"verdict later", func(e *evidence) { e.surges[0].At = 11001 * ms }, verdict},
		{"no verdict", func(e *evidence) { e.surges = nil }, verdict},
		{"verdict on the morning", func(e *evidence) { e.surges = append(e.surges, sighted{"morning", "chat", 25000 * ms}) }, noFalse},
		{"verdict on the offender in the quiet part", func(e *evidence) {
			e.surges = append([]sighted{{spider, "export", 5000 * ms}}, e.surges...)
		}, noFalse},
		{"a second verdict in the jump", func(e *evidence) { e.surges = append(e.surges, sighted{spider, "export", 19000 * ms}) }, ""},

		{"steady-over refused once", func(e *evidence) {
			e.row("steady-over").Whole.AtOnce--
			e.row("steady-over").Whole.Refused["wait_too_long"] = 1
		}, over},
		{"steady-over partly after waiting", func(e *evidence) {
			e.row("steady-over").Whole.AtOnce -= 100
			e.row("steady-over").Whole.Waited += 100
		}, ""},

		{"offender below its quota for 2 s", func(e *evidence) { e.spider[10], e.spider[11] = 20, 18 }, quota},
		{"offender at its quota for 2 s", func(e *evidence) { e.spider[10], e.spider[11] = 20, 20 }, ""},
		{"nothing for a second, double the next", func(e *evidence) { e.spider[14], e.spider[13], e.spider[15] = 0, 260, 260 }, ""},
		{"below its quota after the jump", func(e *evidence) { e.spider[25], e.spider[26] = 15, 15 }, ""},
		// Beyond its 20/s the offender gets 88 to 132 of the calculated 110, from 2 s after the jump.
		{"share at the lower bound", func(e *evidence) { fill(e.spider[12:20], 108) }, ""},
		{"share below", func(e *evidence) { fill(e.spider[12:20], 107) }, share},
		{"share at the upper bound", func(e *evidence) { fill(e.spider[12:20], 152) }, ""},
		{"share above", func(e *evidence) { fill(e.spider[12:20], 153) }, share},
		{"more in the first two seconds", func(e *evidence) { fill(e.spider[10:12], 250) }, ""},

		{"a refusal without Retry-After", func(e *evidence) { e.row(spider).Whole.NoRetry = 1 }, comeBack},
		{"65 shared", func(e *evidence) { e.counts.Groups[upstream.Rest] = upstream.Group{Peak: 65} }, seats},
		{"33 vip", func(e *evidence) { e.counts.Groups["vip"] = upstream.Group{Served: 1, Peak: 33} }, seats},
		{"97 in all", func(e *evidence) { e.counts.Peak = 97 }, seats},
		{"all seats", func(e *evidence) { e.counts.Peak = 96 }, ""},
		{"the gateway does not say who calls", func(e *evidence) { e.counts.Groups["vip"] = upstream.Group{} }, seats},

		{"a broken connection", func(e *evidence) { e.row("ordinary").Whole.Failed["broken"] = 1 }, answered},
		{"an ordinary one without an answer at the end", func(e *evidence) { e.row("ordinary").Whole.GivenUp = 1 }, answered},
		{"the offender hung up at the end", func(e *evidence) { e.row(spider).Whole.GivenUp = 500 }, ""},

		{"the untagged one counted as chat", func(e *evidence) { e.counts.Tags["untagged"]["chat"] = 1 }, tagless},
		{"the untagged one never seen", func(e *evidence) { delete(e.counts.Tags, "untagged") }, tagless},
		{"the gateway was killed", func(e *evidence) { e.stopped = errors.New("killed") }, ended},
	} {
		e := good()
		step.alter(e)
		var failed []string
		for _, c := range judge(e) {
			if !c.Held {
				failed = append(failed, c.Name)
			}
		}
		switch {
		case step.fails == "" && failed != nil:
			t.Errorf("%s: failed: %q", step.name, failed)
		case step.fails != "" && (len(failed) != 1 || !strings.HasPrefix(failed[0], step.fails)):
			t.Errorf("%s: failed: %q, want only %q", step.name, failed, step.fails)
		}
	}
}

func fill(s []int, n int) {
	for i := range s {
		s[i] = n
	}
}

func TestTheReportIsPrintedAndWrittenAsAgreed(t *testing.T) {
	e := good()
	e.row("steady-over").Whole.AtOnce--
	e.row("steady-over").Whole.Refused["wait_too_long"] = 1
	e.row(spider).After = tally.Figures{Offered: 150, GivenUp: 150} // all hung up at the end: no latency to show
	delay := 300 * ms
	r := &Report{
		Scenario: "promo", Seed: 7, Start: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC), Rows: e.rows, Surges: e.surges, VerdictAfter: &delay,
		Phases: []phase{
			{"warm", 0, 2000 * ms, ms, 2 * ms, 0},
			{"quiet", 2000 * ms, 10000 * ms, ms, 4 * ms, 0},
			{"jump", 10000 * ms, 20000 * ms, 2 * ms, 9 * ms, 0},
			{"after", 20000 * ms, 30000 * ms, ms, 3 * ms, 0},
		},
		SpiderServed: e.spider, SpiderPlanned: e.share, SpiderMeasured: e.beyondQuota(),
		Upstream: e.counts, BrokenBySemantic: e.brokenBySemantic, Checks: judge(e),
	}
	if r.held() {
		t.Error("a report with a failed check holds")
	}
	var printed bytes.Buffer
	r.print(&printed)
	compare(t, "testdata/report.golden.txt", printed.Bytes())

	file := t.TempDir() + "/promo.json"
	if err := writeJSON(r, file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !json.Valid(text) {
		t.Fatal(err)
	}
	compare(t, "testdata/report.golden.json", text)

	r.Void = "it was late"
	printed.Reset()
	r.print(&printed)
	if !strings.HasSuffix(printed.String(), "VOID: nothing above counts.\n") {
		t.Errorf("a void run ends with %q", printed.String()[printed.Len()-60:])
	}
	if err := writeJSON(r, "/nowhere/promo.json"); err == nil || !strings.Contains(err.Error(), "cannot write the report to /nowhere/promo.json") {
		t.Errorf("%v", err)
	}
}

func compare(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("it differs from %s (go test -update rewrites it):\n%s", golden, got)
	}
}
