package knee

import (
	"math"
	"testing"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
)

const ms = time.Millisecond

func TestAStepIsMeasuredInItsMeasuredPartOnly(t *testing.T) {
	load := Load{Rate: 4, Settle: time.Second, Length: time.Second}
	var arrivals []schedule.Arrival
	var results []openloop.Result
	for _, r := range []struct {
		at     time.Duration
		result openloop.Result
	}{
		{500 * ms, openloop.Result{Sent: 500 * ms, Done: 600 * ms, Status: 200}},                  // before: counts nowhere
		{900 * ms, openloop.Result{Sent: 900 * ms, Done: 1100 * ms, Status: 200}},                 // an answer in it, 100 ms out
		{1100 * ms, openloop.Result{Sent: 1102 * ms, Done: 1130 * ms, Status: 200}},               // 30 ms from the intended moment
		{1200 * ms, openloop.Result{Sent: 1200 * ms, Done: 1210 * ms, Status: 429}},               // turned away
		{1300 * ms, openloop.Result{Sent: 1300 * ms, Done: 1310 * ms, Status: 500}},               // failed
		{1400 * ms, openloop.Result{Sent: 1400 * ms, Done: 1900 * ms, Failure: openloop.Timeout}}, // failed
		{1500 * ms, openloop.Result{Sent: 1500 * ms, Done: 1500 * ms, Failure: openloop.Unsent}},  // no connection
		{1900 * ms, openloop.Result{Sent: 1900 * ms, Done: 2100 * ms, Status: 200}},               // counts as offered, its answer is outside
		{1950 * ms, openloop.Result{Failure: openloop.Skipped}},                                   // not at all
		{2100 * ms, openloop.Result{Sent: 2100 * ms, Done: 2110 * ms, Status: 200}},               // after
	} {
		arrivals, results = append(arrivals, schedule.Arrival{At: r.at}), append(results, r.result)
	}
	s := Measure(load, arrivals, results, NewGuard(load), 0.99)
	if s.Requests != 6 || s.Offered != 6 || s.Goodput != 2 || s.TurnedAway != 1 || s.Failed != 2 || s.Unsent != 1 {
		t.Errorf("%+v", s)
	}
	if s.P50 != 30*ms || s.High != 200*ms || s.Mean != 115*ms {
		t.Errorf("p50 %v, p99 %v, mean %v; want 30, 200 and 115 ms", s.P50, s.High, s.Mean)
	}
	if want := 0.1 + 0.028 + 0.01 + 0.01 + 0.5 + 0.1; math.Abs(s.InFlight-want) > 1e-9 {
		t.Errorf("%v in flight, want %v", s.InFlight, want)
	}
	if s.LagMax != 2*ms || s.Reasons["http_429"] != 1 || s.Reasons["http_500"] != 1 || s.Reasons["timeout"] != 1 || s.Reasons["unsent"] != 1 {
		t.Errorf("lag %v, reasons %v", s.LagMax, s.Reasons)
	}
	load.Seats = 2
	if s := Measure(load, arrivals, results, NewGuard(load), 0.99); s.P50 != 28*ms || s.LagMax != 0 {
		t.Errorf("behind seats p50 is %v and lag %v; want 28ms from the sending, and none", s.P50, s.LagMax)
	}
}

func TestACutStepIsMeasuredFromItsFirstAnswer(t *testing.T) {
	// One worker of 10 ms, overrun: an answer each 10 ms from the first on, cut at 100 ms with most still to come.
	load := Load{Rate: 1000, Settle: time.Second, Length: time.Second, MaxOut: 90}
	guard := NewGuard(load)
	var arrivals []schedule.Arrival
	var results []openloop.Result
	for i := range 120 {
		at := time.Duration(i) * ms
		arrivals = append(arrivals, schedule.Arrival{At: at})
		if guard.Stop(at, i-i/10) {
			results = append(results, openloop.Result{Failure: openloop.Skipped})
		} else {
			results = append(results, openloop.Result{Sent: at, Done: time.Duration(i+1) * 10 * ms, Status: 200})
		}
	}
	s := Measure(load, arrivals, results, guard, 0.99)
	if s.Cut != Overrun || s.CutAt < 98*ms || s.CutAt > 119*ms || s.Goodput < 95 || s.Goodput > 105 {
		t.Errorf("cut %v at %v, %v/s; want 100/s", s.Cut, s.CutAt, s.Goodput)
	}
}

func TestTheGuardEndsAStepThatDoesHarm(t *testing.T) {
	load := Load{Settle: time.Second, Length: time.Second, MaxOut: 50}
	answer := func(g *Guard, n, status int) {
		for range n {
			g.Seen(&openloop.Result{Status: status})
		}
	}
	for _, step := range []struct {
		name              string
		served, away, bad int
		at                time.Duration
		out               int
		stop              bool
		cut               Cut
	}{
		{"all is well", 1000, 0, 0, time.Second, 49, false, Whole},
		{"the end", 1000, 0, 0, 2 * time.Second, 0, true, Whole},
		{"overrun", 1000, 0, 0, time.Second, 50, true, Overrun},
		{"few bad ones", 0, 10, 9, time.Second, 0, false, Whole},
		{"one in eleven", 200, 10, 10, time.Second, 0, false, Whole},
		{"one in ten turned away", 180, 20, 0, time.Second, 0, true, Refusals},
		{"one in ten failed", 180, 5, 15, time.Second, 60, true, Failures},
	} {
		g := NewGuard(load)
		answer(g, step.served, 200)
		answer(g, step.away, 503)
		answer(g, step.bad, 502)
		stop := g.Stop(step.at, step.out)
		if cut, _ := g.Cut(); stop != step.stop || cut != step.cut {
			t.Errorf("%s: stop %v, cut %v; want %v, %v", step.name, stop, cut, step.stop, step.cut)
		}
	}
}

func TestVerdicts(t *testing.T) {
	good := func() Step {
		return Step{Requests: 500, Offered: 100, Goodput: 99, High: 60 * ms, InFlight: 2, Measured: 5 * time.Second, LagP99: 1 * ms, LagMax: 5 * ms}
	}
	for _, step := range []struct {
		name   string
		change func(s *Step)
		want   Verdict
	}{
		{"good", func(*Step) {}, Carried},
		{"at the limit", func(s *Step) { s.High = 100 * ms }, Carried},
		{"above it", func(s *Step) { s.High = 101 * ms }, Late},
		{"95 % are served", func(s *Step) { s.Goodput = 95 }, Carried},
		{"94 % are", func(s *Step) { s.Goodput = 94 }, Short},
		{"94 %, and many are always out", func(s *Step) { s.Goodput, s.InFlight = 94, 60 }, Carried},
		{"cut", func(s *Step) { s.Cut = Overrun }, Short},
		{"5 of 500 bad", func(s *Step) { s.TurnedAway, s.Failed = 3, 2 }, Carried},
		{"6 of 500 turned away", func(s *Step) { s.TurnedAway = 6 }, Refused},
		{"6 of 500 failed", func(s *Step) { s.Failed = 6 }, Failing},
		{"no connection", func(s *Step) { s.Unsent = 1 }, Full},
		{"late by a tenth of the limit", func(s *Step) { s.LagP99 = 10 * ms }, Carried},
		{"later", func(s *Step) { s.LagP99 = 11 * ms }, Void},
		{"stood still for 1 % of it", func(s *Step) { s.LagMax = 51 * ms }, Void},
		{"late and slow", func(s *Step) { s.LagP99, s.High, s.Cut = 50*ms, time.Second, Overrun }, Void},
		{"late, and errors", func(s *Step) { s.LagP99, s.Failed = 50*ms, 100 }, Failing},
	} {
		s := good()
		step.change(&s)
		if got := judge(&s, 100*ms); got != step.want {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
	}
}
