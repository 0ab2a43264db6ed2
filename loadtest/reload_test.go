package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

func TestTheReloadCastKeepsBothPoolsBusyToSixtyPercent(t *testing.T) {
	for pool, seats := range map[string]int{"shared": 64, "vip": 32} {
		if load := reloadLoad(reloadCast(), pool, seats); math.Abs(load-0.6) > 0.01 {
			t.Errorf("%s is busy to %.3f", pool, load)
		}
	}
}

func perSecond(t *testing.T, rate string) float64 {
	n, err := strconv.Atoi(strings.TrimSuffix(rate, "/s"))
	if err != nil {
		t.Fatal(err)
	}
	return float64(n)
}

// promisedTo is the rate that a config gives a caller of a plan for a semantic, a second.
func promisedTo(t *testing.T, c *stage.Config, plan, semantic string) float64 {
	rate := ""
	for _, s := range c.Semantics {
		if s.Name == semantic {
			rate = s.Rate
		}
	}
	for _, r := range c.Plans[slices.IndexFunc(c.Plans, func(p stage.Plan) bool { return p.Name == plan })].Rules {
		if r.Semantic == semantic && (r.Route == "" || rate == "") {
			rate = r.Rate
		}
	}
	return perSecond(t, rate)
}

func TestEveryConfigPromisesMoreThanIsSent(t *testing.T) {
	cast := reloadCast()
	for n := range 1000 {
		c := reloadConfig(n)
		for _, p := range c.Pools {
			if load := reloadLoad(cast, p.Name, p.Seats); load > 0.67 {
				t.Fatalf("step %d: %s is busy to %.2f", n, p.Name, load)
			}
		}
		sent := map[string]float64{} // by flow, as the config counts
		for _, s := range cast {
			tag, tenant := s.tag, ""
			if tag == "digest" && digestGone(n) {
				tag = "default"
			}
			if c.Plans[1].CountBy == "tenant" {
				tenant = s.tenant
			}
			flow := s.caller + " " + tag + " " + tenant
			sent[flow] += s.rate
			// A Poisson process has more than this in a second less than once in a million seconds.
			most := sent[flow] + 5*math.Sqrt(sent[flow])
			if s.spread == schedule.Even {
				most = 1.1 * sent[flow]
			}
			if promised := promisedTo(t, &c, s.plan, tag); promised < most {
				t.Fatalf("step %d: %s sends up to %.0f/s of %s and is promised %.0f/s", n, s.caller, most, tag, promised)
			}
		}
	}
}

func TestNoConfigPromisesMoreThanItsSeatsCanDo(t *testing.T) {
	for n := range 1000 {
		c := reloadConfig(n)
		need := map[string]float64{}
		for _, caller := range c.Callers {
			for _, semantic := range append([]string{"default"}, caller.Semantics...) {
				service := upstream.ExportTime
				if semantic == "chat" {
					service = upstream.ChatTime
				}
				need[caller.Pool] += promisedTo(t, &c, caller.Plan, semantic) * service.Seconds()
			}
		}
		for _, p := range c.Pools {
			if need[p.Name] > float64(p.Seats) {
				t.Fatalf("step %d: %.1f of %d seats of %s are promised", n, need[p.Name], p.Seats, p.Name)
			}
		}
	}
}

func TestEachStepDiffersFromItsNeighboursAndFromTheFirst(t *testing.T) {
	first := reloadConfig(0)
	last := first
	for n := 1; n < 1300; n++ { // all that is turned comes round in 1,200
		now := reloadConfig(n)
		if reflect.DeepEqual(now, last) || reflect.DeepEqual(now, first) {
			t.Fatalf("step %d is the one before it, or the first", n)
		}
		last = now
	}
}

// Within a short run everything is turned that the scenario says it turns.
func TestFortyStepsTurnEverything(t *testing.T) {
	var shrunk, grown, removed, tenant, caller, burst, window, level, second, guest, routed bool
	for n := 1; n <= 40; n++ {
		before, now := reloadConfig(n-1), reloadConfig(n)
		for i := range now.Pools {
			shrunk = shrunk || now.Pools[i].Seats < before.Pools[i].Seats
			grown = grown || now.Pools[i].Seats > before.Pools[i].Seats
		}
		removed = removed || digestGone(n) && !digestGone(n-1)
		tenant = tenant || now.Plans[1].CountBy == "tenant"
		caller = caller || now.Plans[1].CountBy == "caller"
		burst = burst || now.Semantics[0].Burst > 0
		window = window || now.Semantics[0].Burst == 0
		level = level || now.Semantics[1].Level != before.Semantics[1].Level && len(now.Levels) != len(before.Levels)
		second = second || slices.ContainsFunc(now.Callers, func(c stage.Caller) bool { return c.Second != "" })
		guest = guest || len(now.Callers) > len(before.Callers)
		routed = routed || slices.ContainsFunc(now.Plans[1].Rules, func(r stage.Rule) bool { return r.Route != "" })
	}
	for i, turned := range []bool{shrunk, grown, removed, tenant, caller, burst, window, level, second, guest, routed} {
		if !turned {
			t.Errorf("number %d of the list is never turned", i)
		}
	}
}

func TestARemovedSemanticLeavesNothingThatNamesIt(t *testing.T) {
	p := &putter{config: reloadConfig}
	for n := range 32 {
		b, err := p.render(n)
		if err != nil {
			t.Fatal(err)
		}
		if named := bytes.Contains(b, []byte(`"digest"`)); named == digestGone(n) {
			t.Errorf("step %d: gone %v, named %v", n, digestGone(n), named)
		}
	}
}

// goodReload is the evidence of a run in which everything holds.
func goodReload() *reloadEvidence {
	row := func(name string, n int, p99 tally.Millis) reloadRow {
		f := func(n int) tally.Figures {
			return tally.Figures{Offered: n, AtOnce: n, Refused: map[string]int{}, Failed: map[string]int{}, P50: 21 * ms, P99: p99, Max: p99 + ms}
		}
		return reloadRow{Name: name, Whole: f(2 * n), Without: f(n), With: f(n)}
	}
	e := &reloadEvidence{
		rows:    []reloadRow{row("chat, shared", 1000, 30*ms), row("export, shared", 500, 210*ms)},
		kinds:   []reloadRow{row("chat", 1000, 30*ms), row("export", 500, 210*ms)},
		planned: 20, versions: 20, waitedThrough: 3, sent: 3100, counts: upstream.Counts{Served: 3100},
		before: memory{Goroutines: 40, Heap: 10 << 20, Resident: 60 << 20},
		after:  memory{Goroutines: 42, Heap: 11 << 20, Resident: 70 << 20},
	}
	for i := range 20 {
		e.puts = append(e.puts, put{At: time.Duration(i) * putGap, Took: 5 * time.Millisecond, Version: 7 + i, removed: i%5 == 0})
	}
	return e
}

func TestEachReloadCheckHoldsToItsBoundAndNoFurther(t *testing.T) {
	for _, step := range []struct {
		name  string
		alter func(*reloadEvidence)
		fails string // "": all hold
	}{
		{"good", func(*reloadEvidence) {}, ""},
		{"one never answered", func(e *reloadEvidence) { e.rows[0].Whole.GivenUp = 1 }, "every request is answered"},
		{"a connection closed early", func(e *reloadEvidence) { e.rows[0].Whole.Failed["broken"] = 1 }, "no connection,no answer is a 5xx"},
		{"no connection made", func(e *reloadEvidence) { e.rows[1].Whole.Failed["dial"] = 1 }, "no connection,no answer is a 5xx"},
		{"a timeout", func(e *reloadEvidence) { e.rows[1].Whole.Failed["timeout"] = 1 }, "every request is answered,no answer is a 5xx"},
		{"a 502", func(e *reloadEvidence) { e.rows[1].Whole.Failed["upstream_error"] = 1 }, "no answer is a 5xx"},
		{"a refusal", func(e *reloadEvidence) { e.rows[1].Whole.Refused["tenant_missing"] = 1 }, "nobody is refused"},
		{"a promise broken, as the gateway counts", func(e *reloadEvidence) { e.broken = 1 }, "nobody is refused"},
		{"one sent twice", func(e *reloadEvidence) { e.counts.Served++ }, "the upstream sees"},
		{"one still in flight", func(e *reloadEvidence) { e.counts.InFlight = 1 }, "the upstream sees"},
		{"a PUT refused", func(e *reloadEvidence) { e.puts[3].Err = errors.New("412") }, "every changed config"},
		{"nothing put", func(e *reloadEvidence) { e.puts, e.versions = nil, 0 }, "every changed config,ten configs"},
		{"two fewer than ten a second", func(e *reloadEvidence) { e.puts, e.versions = e.puts[:18], 18 }, ""},
		{"three fewer", func(e *reloadEvidence) { e.puts, e.versions = e.puts[:17], 17 }, "ten configs"},
		{"a version too many", func(e *reloadEvidence) { e.versions = 21 }, "each change"},
		{"a version left out", func(e *reloadEvidence) { e.puts[5].Version = 6 }, "each change"},
		{"nothing waited", func(e *reloadEvidence) { e.waitedThrough = 0 }, "a semantic is removed"},
		{"chat 3 ms later", func(e *reloadEvidence) { e.kinds[0].With.P99 = 33 * ms }, ""},
		{"chat more than 3 ms later", func(e *reloadEvidence) { e.kinds[0].With.P99 = 33*ms + 1 }, "the p99 of chat"},
		{"export 10 % later", func(e *reloadEvidence) { e.kinds[1].With.P99 = 231 * ms }, ""},
		{"export more than 10 % later", func(e *reloadEvidence) { e.kinds[1].With.P99 = 232 * ms }, "the p99 of export"},
		{"nothing to compare with", func(e *reloadEvidence) { e.kinds[1].Without = tally.Figures{P99: 210 * ms} }, "the p99 of export"},
		{"20 goroutines more", func(e *reloadEvidence) { e.after.Goroutines = 60 }, ""},
		{"21 goroutines more", func(e *reloadEvidence) { e.after.Goroutines = 61 }, "goroutines"},
		{"no figure of goroutines", func(e *reloadEvidence) { e.before.Goroutines = 0 }, "goroutines"},
		// 4 MiB, and 20 times 2 KiB.
		{"the heap at its bound", func(e *reloadEvidence) { e.after.Heap = 14<<20 + 40<<10 }, ""},
		{"the heap above it", func(e *reloadEvidence) { e.after.Heap = 14<<20 + 41<<10 }, "the heap"},
		{"the process at its bound", func(e *reloadEvidence) { e.after.Resident = 92 << 20 }, ""},
		{"the process above it", func(e *reloadEvidence) { e.after.Resident = 93 << 20 }, "so is the process"},
		{"killed in the end", func(e *reloadEvidence) { e.stopped = errors.New("was killed") }, "the gateway ends"},
	} {
		e := goodReload()
		step.alter(e)
		var failing []string
		for _, c := range slices.Concat(judgeReload(e), judgeQuickness(e)) {
			if !c.Held {
				failing = append(failing, c.Name+": "+c.Figure)
			}
		}
		want := strings.Split(step.fails, ",")
		if step.fails == "" {
			want = nil
		}
		for _, name := range want {
			if !slices.ContainsFunc(failing, func(f string) bool { return strings.HasPrefix(f, name) }) {
				t.Errorf("%s: %q holds", step.name, name)
			}
		}
		if len(failing) != len(want) {
			t.Errorf("%s: failing are %q, want %q", step.name, failing, want)
		}
	}
}

// blocksOf is a run of two pairs, 1 s each, with an export every 10 ms that takes took, and leaves late late.
func blocksOf(pairs int, took func(at time.Duration) time.Duration, late func(at time.Duration) time.Duration) *reloaded {
	r := &reloaded{plan: blocks{start: time.Second, block: time.Second, pairs: pairs}, cast: []steady{{caller: "a", row: "export, shared", tag: "export"}}}
	for at := time.Duration(0); at < r.plan.length(); at += 10 * time.Millisecond {
		r.arrivals = append(r.arrivals, schedule.Arrival{At: at})
		r.results = append(r.results, openloop.Result{Sent: at + late(at), Done: at + took(at), Status: 200})
	}
	return r
}

// near allows for the histogram's digits.
func near(a, b tally.Millis) bool { return time.Duration(a-b).Abs() < time.Millisecond }

func never(time.Duration) time.Duration { return 0 }

func TestBlocksWithAndWithoutReloadsAreComparedInPairs(t *testing.T) {
	// Blocks without begin at 1 s, 3 s, ...: those with are 100 ms slower.
	slower := func(at time.Duration) time.Duration {
		if at >= time.Second && (at-time.Second)/time.Second%2 == 1 {
			return 300 * time.Millisecond
		}
		return 200 * time.Millisecond
	}
	for _, step := range []struct {
		name     string
		late     func(at time.Duration) time.Duration
		compared int
		void     bool
	}{
		{"on time", never, 4, false},
		{"late before the first block", func(at time.Duration) time.Duration {
			if at < time.Second {
				return time.Second
			}
			return 0
		}, 4, false},
		{"late in one block", func(at time.Duration) time.Duration {
			if at > 3*time.Second && at < 3500*time.Millisecond {
				return 50 * time.Millisecond
			}
			return 0
		}, 3, false},
		{"late in three pairs", func(at time.Duration) time.Duration {
			if at > 3500*time.Millisecond {
				return 50 * time.Millisecond
			}
			return 0
		}, 1, true},
	} {
		r := blocksOf(4, slower, step.late)
		report := newReloadReport(r, "")
		if report.Compared != step.compared || (report.Void != "") != step.void {
			t.Errorf("%s: %d pairs, void %q; want %d, %v", step.name, report.Compared, report.Void, step.compared, step.void)
		}
		row := report.Rows[0]
		if row.Without.Offered != 100*step.compared || row.With.Offered != 100*step.compared {
			t.Errorf("%s: %d without, %d with", step.name, row.Without.Offered, row.With.Offered)
		}
		if !near(row.Without.P99, 200*ms) || !near(row.With.P99, 300*ms) {
			t.Errorf("%s: p99 %v and %v", step.name, row.Without.P99, row.With.P99)
		}
	}
}

func TestWhatIsLostInTheWarmUpIsLost(t *testing.T) {
	r := blocksOf(1, func(time.Duration) time.Duration { return 200 * time.Millisecond }, never)
	r.plan.warm = 3 * time.Second
	r.warm = tally.Run{
		Quotas:   make([]tally.Quota, 1),
		Arrivals: []schedule.Arrival{{At: 0}, {At: time.Second}},
		Results:  []openloop.Result{{Status: 200}, {Status: 429, Code: "wait_too_long", RetryAfter: 1}},
	}
	for _, c := range newReloadReport(r, "").Checks {
		if strings.HasPrefix(c.Name, "nobody is refused") && (c.Held || !strings.Contains(c.Figure, "1 refused (all, warm-up: 1 wait_too_long)")) {
			t.Errorf("%s: %v", c.Figure, c.Held)
		}
	}
}

func TestDigestsThatWaitWhileTheirSemanticIsRemovedAreFound(t *testing.T) {
	r := &reloaded{
		cast: []steady{{tag: "digest"}, {tag: "chat"}},
		puts: []put{
			{At: time.Second, Took: 10 * time.Millisecond, removed: true},
			{At: 2 * time.Second, Took: 10 * time.Millisecond},
			{At: 3 * time.Second, Took: 10 * time.Millisecond, removed: true, Err: errors.New("412")},
		},
	}
	for _, one := range []struct {
		who        int
		sent, wait time.Duration
	}{
		{0, 900 * time.Millisecond, 200 * time.Millisecond}, // this one, and
		{0, 990 * time.Millisecond, 30 * time.Millisecond},  // this one
		{0, 990 * time.Millisecond, 15 * time.Millisecond},  // over before the answer
		{0, 1001 * time.Millisecond, time.Second},           // came too late to be sure
		{0, 1900 * time.Millisecond, time.Second},           // nothing was removed
		{0, 2900 * time.Millisecond, time.Second},           // the removal failed
		{0, 900 * time.Millisecond, 0},
		{1, 900 * time.Millisecond, 200 * time.Millisecond},
	} {
		r.arrivals = append(r.arrivals, schedule.Arrival{At: one.sent, Who: one.who})
		r.results = append(r.results, openloop.Result{Sent: one.sent, Wait: one.wait, Waited: one.wait > 0, Status: 200})
	}
	if n := waitedThrough(r); n != 2 {
		t.Errorf("%d, want 2", n)
	}
}

func TestTheBlocksFollowEachOther(t *testing.T) {
	for _, o := range []reloadOptions{{short: true}, {seconds: 10}, {seconds: 60}, {seconds: 600}} {
		b, err := o.plan()
		if err != nil {
			t.Fatal(err)
		}
		without, with := b.phases()
		at := b.start
		for i := range without {
			if without[i].From != at || without[i].To != with[i].From || without[i].To-without[i].From != with[i].To-with[i].From {
				t.Errorf("%+v: %v then %v", o, without[i], with[i])
			}
			at = with[i].To
		}
		if at != b.length() || !o.short && at-b.start != 2*time.Duration(o.seconds)*time.Second {
			t.Errorf("%+v: %v, the last block ends at %v", o, b.length(), at)
		}
	}
	for _, seconds := range []int{0, 9, 601} {
		if _, err := (&reloadOptions{seconds: seconds}).plan(); err == nil || !strings.Contains(err.Error(), fmt.Sprint(seconds)) {
			t.Errorf("%d s: %v", seconds, err)
		}
	}
}
