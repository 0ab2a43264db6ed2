package scheduler

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tidegate/pools"
)

// process is one life of a gateway: a scheduler, and requests that end at once.
type process struct {
	t *testing.T
	*Scheduler
}

func (p process) left(k Key, tm Terms) int64 {
	f := p.Meter(time.Now(), k, tm)
	defer p.Unpin(f)
	return p.Quota(time.Now(), f).Remaining
}

func (p process) pays(k Key, tm Terms, n int) {
	p.t.Helper()
	for range n {
		it := &Item{Flow: p.Meter(time.Now(), k, tm)}
		if p.Arrive(time.Now(), it); it.Verdict != Granted || !it.Paid {
			p.t.Fatalf("%v, paid %v", it.Verdict, it.Paid)
		}
		p.Release(time.Now(), it)
	}
}

// saved is what a process would write down, one entry for each key.
func (p process) saved(atLeast time.Duration) (flows []SavedFlow, callers []SavedCaller) {
	p.SaveMeters(atLeast, func(s SavedFlow) { flows = append(flows, s) }, func(s SavedCaller) { callers = append(callers, s) })
	return flows, callers
}

// restart ends the process and begins the next one ago later.
func (p process) restart(ago time.Duration, set Setup) process {
	flows, callers := p.saved(0)
	time.Sleep(ago)
	next := process{p.t, New(set)}
	next.Restore(flows, callers, ago)
	return next
}

func inBubble(t *testing.T, set Setup, run func(t *testing.T, p process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(t, process{t, New(set)}) })
}

func TestARestartInTheMiddleOfAWindowGivesNothingBack(t *testing.T) {
	window := func(n int64, per time.Duration) *Rule { return rule(n, per, "batch", 0) }
	bucket := func(n int64, per time.Duration, burst int64) *Rule {
		r := rule(n, per, "batch", 0)
		r.Limit.Burst = burst
		return r
	}
	// 50 are paid, nine and a half minutes later 40 more, and the process ends ten seconds after those.
	was := window(100, 10*time.Minute)
	for _, tc := range []struct {
		name     string
		was, now *Rule
		down     time.Duration
		left     int64
	}{
		{"at once", was, was, 0, 10},
		{"after a minute: the first 50 have left", was, was, time.Minute, 60},
		{"after all of it", was, was, 11 * time.Minute, 100},
		{"cells", window(200, 10*time.Minute), window(200, 10*time.Minute), time.Minute, 160},
		{"a bucket", bucket(6, time.Minute, 100), bucket(6, time.Minute, 100), time.Minute, 67},
		{"a bucket, after all of it", bucket(6, time.Minute, 100), bucket(6, time.Minute, 100), 11 * time.Minute, 100},
		{"a wider window by then", was, window(300, 10*time.Minute), 0, 210},
		{"a narrower one", was, window(20, 10*time.Minute), 0, 0},
		{"a wider one, after a minute", was, window(300, 10*time.Minute), time.Minute, 260},
		{"over another span: as full as the share that was left", was, window(1000, time.Hour), 0, 100},
		{"over another span, after a minute", was, window(1000, time.Hour), time.Minute, 600},
		{"a bucket by then", was, bucket(1, time.Minute, 50), 0, 5},
		{"a bucket by then, after a minute", was, bucket(1, time.Minute, 50), time.Minute, 30},
		{"a deeper bucket", bucket(6, time.Minute, 100), bucket(1, time.Minute, 150), 0, 111},
		{"a window that was a bucket", bucket(6, time.Minute, 100), window(10, time.Minute), 0, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, onePool(10, 3), func(t *testing.T, p process) {
				k := key(1, chat)
				p.pays(k, terms(tc.was), 50)
				time.Sleep(9*time.Minute + 30*time.Second)
				p.pays(k, terms(tc.was), 40)
				time.Sleep(10 * time.Second)
				p = p.restart(tc.down, onePool(10, 3))
				if left := p.left(k, terms(tc.now)); left != tc.left {
					t.Errorf("%d left, want %d", left, tc.left)
				}
				p.pays(k, terms(tc.now), int(tc.left))
				if left := p.left(k, terms(tc.now)); left != 0 {
					t.Errorf("%d left after all was paid", left)
				}
			})
		})
	}
}

func TestACallerRateOutlivesARestart(t *testing.T) {
	tm := terms(rule(1000, time.Hour, "batch", 0))
	tm.CallerRate = &pools.Limit{N: 100, Per: 10 * time.Minute}
	for _, tc := range []struct {
		down time.Duration
		rate *pools.Limit
		left int64
	}{
		{0, tm.CallerRate, 10},
		{11 * time.Minute, tm.CallerRate, 100},
		{0, &pools.Limit{N: 300, Per: 10 * time.Minute}, 210},
		{0, nil, 1000}, // of the flow's own
	} {
		inBubble(t, onePool(10, 3), func(t *testing.T, p process) {
			p.pays(key(1, chat), tm, 50)
			p.pays(key(1, export), tm, 40)
			p = p.restart(tc.down, onePool(10, 3))
			next := tm
			next.CallerRate = tc.rate
			if left := p.left(key(1, stream), next); left != tc.left {
				t.Errorf("down for %v, then %+v: %d left, want %d", tc.down, tc.rate, left, tc.left)
			}
			if left := p.left(key(2, stream), next); left < 100 {
				t.Errorf("another caller has %d left", left)
			}
		})
	}
}

func TestWhatIsNotMetIsSavedAgain(t *testing.T) {
	inBubble(t, onePool(10, 3), func(t *testing.T, p process) {
		tm := terms(rule(100, 10*time.Minute, "batch", 0))
		tm.CallerRate = &pools.Limit{N: 1, Per: 30 * time.Minute, Burst: 95}
		k := Key{Caller: 1, Semantic: chat, Route: 3, Tenant: "t"}
		p.pays(k, tm, 50)
		time.Sleep(time.Minute)
		p.pays(k, tm, 40)
		for range 3 {
			p = p.restart(time.Minute, onePool(10, 3))
			time.Sleep(time.Minute)
		}
		// 50 are 7 minutes old, 40 are 6.
		if left := p.left(k, tm); left != 5 {
			t.Errorf("%d left, want the 5 of the caller's rate", left)
		}
		time.Sleep(3*time.Minute - time.Second)
		free := tm
		free.Version, free.CallerRate = 2, nil
		if left := p.left(k, free); left != 10 {
			t.Errorf("%d left a second before the first 50 leave, want 10", left)
		}
		time.Sleep(time.Second + 10*time.Millisecond)
		if left := p.left(k, free); left != 60 {
			t.Errorf("%d left just after, want 60", left)
		}
	})
}

func TestAClockThatWentBackMovesNoWindow(t *testing.T) {
	inBubble(t, onePool(10, 3), func(t *testing.T, p process) {
		tm := terms(rule(100, 10*time.Minute, "batch", 0))
		p.pays(key(1, chat), tm, 90)
		flows, callers := p.saved(0)
		for _, ago := range []time.Duration{-time.Hour, -1 << 63, 0} {
			next := process{t, New(onePool(10, 3))}
			if n := next.Restore(flows, callers, ago); n != 1 {
				t.Errorf("%d kept", n)
			}
			if left := next.left(key(1, chat), tm); left != 10 {
				t.Errorf("ago %v: %d left, want 10", ago, left)
			}
		}
		next := process{t, New(onePool(10, 3))}
		if n := next.Restore(flows, callers, 1<<63-1); n != 0 {
			t.Errorf("after 292 years %d are kept", n)
		}
	})
}

func TestOnlyRatesOverLongSpansAreSaved(t *testing.T) {
	inBubble(t, onePool(10, 3), func(t *testing.T, p process) {
		minute, second := pools.Limit{N: 100, Per: time.Minute}, pools.Limit{N: 100, Per: time.Second}
		pays := func(caller int32, flow, all pools.Limit) {
			r := rule(1, 1, "batch", 0)
			r.Limit = flow
			tm := terms(r)
			tm.CallerRate = &all
			p.pays(key(caller, chat), tm, 1)
		}
		pays(1, minute, minute)
		pays(2, second, minute)
		pays(3, minute, second)
		pays(4, second, second)
		p.left(key(5, chat), terms(rule(100, time.Minute, "batch", 0))) // has paid nothing
		told := func(p process) string {
			flows, callers := p.saved(time.Minute)
			var f, c []int32
			for _, s := range flows {
				f = append(f, s.Key.Caller)
			}
			for _, s := range callers {
				c = append(c, s.Caller)
			}
			return fmt.Sprint(len(f), len(c), f[0]*f[1], c[0]*c[1])
		}
		if got := told(p); got != "2 2 3 2" {
			t.Errorf("told %v", got)
		}
		if got := told(p.restart(0, onePool(10, 3))); got != "2 2 3 2" {
			t.Errorf("after a restart told %v", got)
		}
		time.Sleep(2 * time.Minute)
		if flows, callers := p.saved(0); len(flows)+len(callers) > 0 {
			t.Errorf("all is idle, and told are %v, %v", flows, callers)
		}
	})
}

func TestWhatNobodyComesForIsForgottenWhenItIsIdle(t *testing.T) {
	inBubble(t, onePool(10, 3), func(t *testing.T, p process) {
		for i := range int32(30) {
			p.pays(key(i, chat), terms(rule(100, 10*time.Minute, "batch", 0)), 10)
			time.Sleep(time.Second)
		}
		flows, callers := p.saved(0)
		small := onePool(10, 3)
		small.MaxFlows = 20
		p = process{t, New(small)}
		if n := p.Restore(flows, callers, 0); n != 20 {
			t.Errorf("%d kept, want no more than flows are", n)
		}
		if left := p.left(key(9, chat), terms(rule(100, 10*time.Minute, "batch", 0))); left != 100 {
			t.Errorf("%d left of one past the bound; those go that are idle first", left)
		}
		if left := p.left(key(10, chat), terms(rule(100, 10*time.Minute, "batch", 0))); left != 90 {
			t.Errorf("%d left of one within it", left)
		}
		time.Sleep(10*time.Minute - 10*time.Second)
		p.Tidy()
		if n := len(p.core.unmet.byKey); n != 9 {
			t.Errorf("%d are not met and not idle, want 9", n)
		}
		if flows, _ := p.saved(0); len(flows) != 9 {
			t.Errorf("%d told, want 9", len(flows))
		}
		time.Sleep(time.Minute)
		p.Tidy()
		if n, m := len(p.core.unmet.byKey), len(p.core.unmet.order); n+m != 0 {
			t.Errorf("%d and %d are not forgotten", n, m)
		}
	})
}

func TestWhatCannotBeRestoredIsPassedOver(t *testing.T) {
	inBubble(t, onePool(10, 3), func(t *testing.T, p process) {
		tm := terms(rule(100, 10*time.Minute, "batch", 0))
		p.pays(key(1, chat), tm, 10)
		early, _ := p.saved(0)
		p.pays(key(1, chat), tm, 10)
		late, _ := p.saved(0)
		damaged := SavedFlow{Key: key(2, chat), Meter: late[0].Meter}
		damaged.Meter.Paid = damaged.Meter.Paid[:1]
		next := process{t, New(onePool(10, 3))}
		if n := next.Restore([]SavedFlow{early[0], damaged, {Key: key(3, chat)}, late[0]}, []SavedCaller{{Caller: 4}}, 0); n != 1 {
			t.Errorf("%d kept, want 1", n)
		}
		if left := next.left(key(1, chat), tm); left != 80 {
			t.Errorf("%d left, want what the later one says: 80", left)
		}
	})
}

func TestAFullTableOfFlowsGivesNoWindowBack(t *testing.T) {
	set := onePool(10, 3)
	set.MaxFlows = 4
	inBubble(t, set, func(t *testing.T, p process) {
		tm := terms(rule(100, 10*time.Minute, "batch", 0))
		k := Key{Caller: 1, Semantic: chat, Route: NoRoute, Tenant: "known"}
		p.pays(k, tm, 90)
		p = p.restart(time.Minute, set)
		crowd := func(from, to int) {
			for i := from; i < to; i++ {
				p.left(Key{Caller: 1, Semantic: chat, Route: NoRoute, Tenant: fmt.Sprint(i)}, tm)
			}
		}
		crowd(0, 20) // idle, so that each makes room for the next
		if left := p.left(k, tm); left != 10 {
			t.Errorf("%d left, want 10", left)
		}
		crowd(20, 40)
		if left := p.left(k, tm); left != 10 {
			t.Errorf("%d left after the others came again, want 10", left)
		}
		p = p.restart(time.Minute, set)
		busy := terms(rule(100, 10*time.Minute, "batch", 0))
		for i := range 4 {
			p.pays(Key{Caller: 2, Semantic: chat, Route: NoRoute, Tenant: fmt.Sprint(i)}, busy, 1)
		}
		if left := p.left(k, tm); left != 100 {
			t.Errorf("%d left, want the whole of the flow that those past the bound share", left)
		}
		if flows, _ := p.saved(0); len(flows) != 5 {
			t.Errorf("%d told, want the four busy ones and the one that has no place", len(flows))
		}
	})
}

func TestAFlowThatComesBackWhileItIsSavedIsToldAsItIs(t *testing.T) {
	inBubble(t, onePool(10, 3), func(t *testing.T, p process) {
		tm := terms(rule(100, 10*time.Minute, "batch", 0))
		for i := range int32(2500) {
			p.pays(key(i, chat), tm, 1)
		}
		p = p.restart(0, onePool(10, 3))
		met := map[Key]bool{}
		told := map[Key]pools.Saved{}
		n := int32(0)
		p.SaveMeters(time.Minute, func(s SavedFlow) {
			if told[s.Key] = s.Meter; len(told) < 2000 && len(told)%3 == 0 {
				k := key(n*7%2500, chat) // told already, or not yet
				p.pays(k, tm, 4)
				met[k] = true
				n++
			}
		}, func(SavedCaller) {})
		if len(told) != 2500 || len(met) < 500 {
			t.Fatalf("%d told, %d met meanwhile", len(told), len(met))
		}
		next := process{t, New(onePool(10, 3))}
		var flows []SavedFlow
		for k, s := range told {
			flows = append(flows, SavedFlow{k, s})
		}
		next.Restore(flows, nil, 0)
		for i := range int32(2500) {
			k, want := key(i, chat), int64(99)
			if met[k] {
				want = 95
			}
			if left := next.left(k, tm); left != want {
				t.Fatalf("flow %d has %d left, want %d", i, left, want)
			}
		}
	})
}
