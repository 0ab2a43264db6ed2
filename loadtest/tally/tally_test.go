package tally

import (
	"encoding/json"
	"testing"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
)

const ms = time.Millisecond

func TestPromiseHoldsForWhatTheRateHadSurelyPaid(t *testing.T) {
	quota := Quota{N: 4, Per: time.Second}
	for _, step := range []struct {
		name string
		sent []time.Duration
		want []bool
	}{
		{"as many as the rate at once", []time.Duration{0, 0, 0, 0}, []bool{true, true, true, true}},
		{"one more is beyond", []time.Duration{0, 0, 0, 0, 0}, []bool{true, true, true, true, false}},
		{"evenly at the rate less the margin", []time.Duration{0, 265 * ms, 530 * ms, 795 * ms, 1060 * ms, 1325 * ms}, []bool{true, true, true, true, true, true}},
		{"evenly at the rate: within the margin nothing is sure", []time.Duration{0, 250 * ms, 500 * ms, 750 * ms, 1000 * ms}, []bool{true, true, true, true, false}},
		{"the window is free again after its span and the margin", []time.Duration{0, 0, 0, 0, 1049 * ms}, []bool{true, true, true, true, false}},
		{"and then it is sure", []time.Duration{0, 0, 0, 0, 1050 * ms}, []bool{true, true, true, true, true}},
		// The fifth may wait unpaid to 1050 ms; what comes before then stands behind it.
		{"behind an unpaid one nothing is sure", []time.Duration{0, 0, 0, 0, 10 * ms, 1040 * ms}, []bool{true, true, true, true, false, false}},
		{"once it is paid the next is sure again", []time.Duration{0, 0, 0, 0, 10 * ms, 1051 * ms}, []bool{true, true, true, true, false, true}},
	} {
		got := quota.surelyPaid(step.sent)
		for i := range got {
			if got[i] != step.want[i] {
				t.Errorf("%s: request %d: %v, want %v", step.name, i, got[i], step.want[i])
			}
		}
	}
}

// arrivals of one sender, 1 s apart, whose answers are as given; each leaves on time.
func runOf(results ...openloop.Result) *Run {
	r := &Run{Results: results, Quotas: []Quota{{N: 1, Per: time.Second}}}
	for i := range results {
		at := time.Duration(i) * 2 * time.Second
		r.Arrivals = append(r.Arrivals, schedule.Arrival{At: at})
		results[i].Sent = at
		results[i].Done += at
	}
	return r
}

var whole = openloop.Phase{To: time.Hour}

func TestFiguresTellServedWaitedRefusedAndFailedApart(t *testing.T) {
	run := runOf(
		openloop.Result{Status: 200, Done: 20 * ms},
		openloop.Result{Status: 200, Done: 320 * ms, Waited: true, Wait: 300 * ms},
		openloop.Result{Status: 200, Done: 120 * ms, Waited: true, Wait: 100 * ms},
		openloop.Result{Status: 429, Code: "wait_too_long", RetryAfter: 2},
		openloop.Result{Status: 429, Code: "wait_too_long"},
		openloop.Result{Status: 429, RetryAfter: 1},
		openloop.Result{Status: 502, Code: "upstream_error"},
		openloop.Result{Failure: openloop.Broken},
		openloop.Result{Failure: openloop.Timeout},
		openloop.Result{Failure: openloop.GivenUp},
	)
	f := run.Figures(run.BrokenPromises(), whole, 0)
	if f.Offered != 10 || f.AtOnce != 1 || f.Waited != 2 || f.Served() != 3 || f.GivenUp != 1 {
		t.Errorf("offered %d, at once %d, waited %d, given up %d", f.Offered, f.AtOnce, f.Waited, f.GivenUp)
	}
	if f.Refused["wait_too_long"] != 2 || f.Refused["http_429"] != 1 || f.RefusedTotal() != 3 || f.NoRetry != 1 {
		t.Errorf("refused %v, without Retry-After %d", f.Refused, f.NoRetry)
	}
	if f.Failed["upstream_error"] != 1 || f.Failed["broken"] != 1 || f.Failed["timeout"] != 1 || f.FailedTotal() != 3 {
		t.Errorf("failed %v", f.Failed)
	}
	// Each of the three 429 is 2 s after its predecessor on a quota of 1/s, but one has no code of the promise.
	if f.Broken != 2 {
		t.Errorf("%d promises broken, want 2", f.Broken)
	}
	if f.LongestWait != Millis(300*ms) {
		t.Errorf("longest wait %v", f.LongestWait)
	}
	if near := func(got Millis, want time.Duration) bool { return (time.Duration(got) - want).Abs() < want/500 }; !near(f.P50, 120*ms) || !near(f.P99, 320*ms) || !near(f.Max, 320*ms) {
		t.Errorf("p50 %v, p99 %v, max %v; want 120, 320, 320", f.P50, f.P99, f.Max)
	}
}

func TestLatencyCountsFromTheIntendedMoment(t *testing.T) {
	run := runOf(openloop.Result{Status: 200})
	run.Results[0].Sent, run.Results[0].Done = 500*ms, 520*ms // meant for 0
	f := run.Figures(make([]bool, 1), whole, 0)
	if got := time.Duration(f.P50); (got - 520*ms).Abs() > 2*ms {
		t.Errorf("%v, want 520ms", got)
	}
}

func TestFiguresKeepToTheirPhaseAndSenders(t *testing.T) {
	run := runOf(openloop.Result{Status: 200}, openloop.Result{Status: 200}, openloop.Result{Status: 200})
	run.Quotas = append(run.Quotas, run.Quotas[0])
	run.Arrivals[1].Who = 1 // at 2 s; the others at 0 and 4 s
	none := make([]bool, 3)
	for _, step := range []struct {
		phase   openloop.Phase
		senders []int
		want    int
	}{
		{whole, []int{0}, 2},
		{whole, []int{0, 1}, 3},
		{openloop.Phase{From: 0, To: 4 * time.Second}, []int{0, 1}, 2}, // the end is not part of it
		{openloop.Phase{From: 4 * time.Second, To: 5 * time.Second}, []int{0}, 1},
		{openloop.Phase{From: 4 * time.Second, To: 5 * time.Second}, []int{1}, 0},
	} {
		f := run.Figures(none, step.phase, step.senders...)
		if f.Offered != step.want {
			t.Errorf("%v of %v: %d, want %d", step.senders, step.phase, f.Offered, step.want)
		}
	}
}

func TestServedPerSecondGoesByTheAnswer(t *testing.T) {
	run := runOf(
		openloop.Result{Status: 200, Done: 100 * ms},  // at 0.1
		openloop.Result{Status: 200, Done: 1500 * ms}, // at 3.5
		openloop.Result{Status: 429},
		openloop.Result{Failure: openloop.Timeout},
		openloop.Result{Status: 200, Done: time.Hour}, // after the end
	)
	got := run.ServedPerSecond(0, 5)
	for second, want := range []int{1, 0, 0, 1, 0} {
		if got[second] != want {
			t.Errorf("second %d: %d, want %d", second, got[second], want)
		}
	}
}

func TestMillisAreShownInMilliseconds(t *testing.T) {
	text, err := json.Marshal(Millis(1234567 * time.Nanosecond))
	if err != nil || string(text) != "1.235" {
		t.Errorf("%s, %v", text, err)
	}
	if got := Millis(1260 * time.Microsecond).String(); got != "1.3" {
		t.Errorf("%s", got)
	}
}

func TestWhoKeptToHisQuotaIsWrongedByAnythingButAnAnswer(t *testing.T) {
	run := runOf(
		openloop.Result{Status: 200},
		openloop.Result{Status: 429, Code: "wait_too_long"},
		openloop.Result{Status: 429}, // of no gateway of ours
		openloop.Result{Status: 503},
		openloop.Result{Failure: openloop.Timeout},
		openloop.Result{Failure: openloop.GivenUp},
		openloop.Result{Failure: openloop.Unsent},
	)
	run.Arrivals = append(run.Arrivals, schedule.Arrival{At: 10100 * ms}) // 100 ms after one that had left the quota nothing
	run.Results = append(run.Results, openloop.Result{Sent: 10100 * ms, Status: 429})
	within := run.WithinQuota()
	wronged := run.Wronged(within)
	for i, want := range []struct{ within, wronged bool }{
		{true, false}, {true, true}, {true, true}, {true, true}, {true, true}, {true, true}, {false, false}, {false, false},
	} {
		if within[i] != want.within || wronged[i] != want.wronged {
			t.Errorf("request %d: within %v, wronged %v; want %+v", i, within[i], wronged[i], want)
		}
	}
	if n := run.Count(wronged, openloop.Phase{From: 2 * time.Second, To: 8 * time.Second}, 0); n != 3 {
		t.Errorf("%d wronged from 2 to 8 s, want 3", n)
	}
	if got := run.Reasons(within, whole, 0); len(got) != 6 || got["served"] != 1 || got["wait_too_long"] != 1 || got["http_429"] != 1 ||
		got["http_503"] != 1 || got["timeout"] != 1 || got["given_up"] != 1 {
		t.Errorf("what became of those within: %v", got)
	}
	if n := run.Count(wronged, whole); n != 0 {
		t.Errorf("%d wronged of nobody", n)
	}
}
