package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidegate/gateway/console"
)

const observing = "[server]\nmode = \"observe\"\n" + basic

// exports sends n requests of ann's that her rule lets pass three a second of.
func (w *world) exports(n int) (statuses []int, ids []string) {
	for range n {
		a := w.do("GET /v1/reports/x", "X-API-Key: ann")
		statuses, ids = append(statuses, a.status), append(ids, a.header.Get("X-Request-Id"))
	}
	time.Sleep(200 * time.Millisecond) // until the gateway has looked
	synctest.Wait()
	return statuses, ids
}

func TestObservedRequestsAreServedAndCountedAsTheyWouldHaveBeen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, observing, mirror)
		statuses, ids := w.exports(5)
		if !slices.Equal(statuses, []int{200, 200, 200, 200, 200}) {
			t.Errorf("answers %v", statuses)
		}
		s := w.snapshot()
		o := s.Observed
		if s.Mode != "observe" || o == nil || fmt.Sprint(o.Rules) != "[*]" || o.Passed != 3 || o.Refused != 2 || o.ByCode["rate_exceeded"] != 2 || o.Waited != 0 || o.RefusedWithinRate != 0 || len(o.Pools) != 2 {
			t.Errorf("mode %s, observed %+v", s.Mode, o)
		}
		if f := w.flow("ann", "export", ""); !f.Observed || f.WouldRefuse != 2 || f.Refused != 0 || f.Admitted != 5 {
			t.Errorf("%+v", f)
		}
		for series, want := range map[string]float64{
			`tidegate_observed_total{caller="ann",semantic="export",verdict="rate_exceeded"}`: 2,
			`tidegate_observed_total{caller="ann",semantic="export",verdict="passed"}`:        3,
			`tidegate_refusals_total{code="rate_exceeded",semantic="export"}`:                 0,
			`tidegate_requests_total{caller="ann",semantic="export",outcome="served"}`:        5,
			`tidegate_observing`: 1,
		} {
			if got := w.metric(series); got != want {
				t.Errorf("%s is %v, want %v", series, got, want)
			}
		}
		found := w.g.lookUpRefusals(console.RefusalsQuery{Caller: "ann", Limit: 10})
		if len(found) != 2 {
			t.Fatalf("%+v", found)
		}
		for i, v := range found { // newest first
			if !v.Observed || v.RequestID != ids[4-i] || v.Code != "rate_exceeded" || v.Rule != "plain/*/export" || v.RuleAt == "" || v.Limit != 3 || v.Remaining != 0 ||
				v.Band != "excess" || v.WithinRate || v.Pool != "shared" || v.Seats != 2 || v.RetryAfterMS == 0 || v.Version != 1 {
				t.Errorf("%+v", v)
			}
		}
		if lines := w.log.lines("would_refuse"); len(lines) != 2 || !strings.Contains(lines[0], ids[3]) {
			t.Errorf("the log says %v", lines)
		}
		if lines := w.log.lines("refused"); len(lines) != 0 {
			t.Errorf("the log says that something was refused: %v", lines)
		}
	})
}

func TestOneRuleCanBeObservedBesideOthersThatAreEnforced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `rate = "3/s", over_rate = "reject"`, `rate = "3/s", over_rate = "reject", observe = true`)
		w := newWorld(t, text, mirror)
		if statuses, _ := w.exports(4); !slices.Equal(statuses, []int{200, 200, 200, 200}) {
			t.Errorf("answers %v", statuses)
		}
		for i, want := range []int{200, 200, 429} { // default, 2/s, is enforced
			if a := w.do("GET /v1/mixed/x", "X-API-Key: ann"); a.status != want {
				t.Errorf("%d: %d, want %d", i, a.status, want)
			}
		}
		synctest.Wait()
		s := w.snapshot()
		if s.Mode != "enforce" || fmt.Sprint(s.Observed.Rules) != "[plain/*/export]" || s.Observed.Refused != 1 || s.Observed.Passed != 3 {
			t.Errorf("mode %s, observed %+v", s.Mode, s.Observed)
		}
		if w.metric(`tidegate_refusals_total{code="rate_exceeded",semantic="default"}`) != 1 {
			t.Error("the enforced refusal is not counted")
		}

		// Enforcing begins with what was counted while observing.
		w.reload(basic)
		if a := w.do("GET /v1/reports/x", "X-API-Key: ann"); a.status != 429 {
			t.Errorf("enforced: %d", a.status)
		}
		time.Sleep(time.Second)
		if a := w.do("GET /v1/reports/x", "X-API-Key: ann"); a.status != 200 {
			t.Errorf("a second later: %d", a.status)
		}
		if n := w.metric("tidegate_observing"); n != 0 {
			t.Errorf("observing: %v", n)
		}
		if o := w.snapshot().Observed; o == nil || len(o.Rules) != 0 || o.Refused != 1 {
			t.Errorf("what was observed is forgotten: %+v", o)
		}
	})
}

func TestWhileObservingNobodyWaitsButForASeat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, changed(t, observing, "max_wait = \"2s\"", "max_wait = \"0s\""), slowly(time.Second))
		answers := make(chan reply, 5)
		for range 5 {
			go func() { answers <- w.do("GET /v1/chat/x", "X-API-Key: ann") }()
		}
		waited := map[bool]int{}
		for range 5 {
			a := <-answers
			if a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
			waited[a.header.Get("Server-Timing") != ""]++
		}
		if waited[false] != 2 || waited[true] != 3 {
			t.Errorf("%d went at once, %d waited; want 2 (the seats) and 3", waited[false], waited[true])
		}
		time.Sleep(200 * time.Millisecond)
		if o := w.snapshot().Observed; o.ByCode["wait_too_long"] != 3 || o.Passed != 2 || o.RefusedWithinRate != 3 {
			t.Errorf("%+v", o)
		}
		// They were told before anything of the flow had been answered.
		for _, v := range w.g.lookUpRefusals(console.RefusalsQuery{Caller: "ann", Limit: 10}) {
			if v.Rule != "semantic/chat" || v.RuleAt == "" || v.Version != 1 {
				t.Errorf("the rule of a would-be refusal is not told: %+v", v)
			}
		}
		w.idle()
	})
}

// How long a caller wants to wait is his own word, and holds whatever is observed.
func TestARequestsOwnWaitHoldsWhileObserving(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, observing, slowly(20*time.Second))
		for range 2 {
			go w.do("GET /v1/chat/x", "X-API-Key: ann")
		}
		time.Sleep(time.Second)
		for _, own := range []string{"0s", "1s", "5s"} { // the rule's would be 2 s
			want, err := time.ParseDuration(own)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			a := w.do("GET /v1/chat/x", "X-API-Key: ann", "X-Max-Wait: "+own)
			if took := time.Since(start); a.status != 429 || took != want {
				t.Errorf("X-Max-Wait %s: %d after %v", own, a.status, took)
			}
		}
		time.Sleep(20 * time.Second)
		w.idle()
	})
}

func TestTheAddressLimitIsObservedToo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, observing, "mode = \"observe\"", "mode = \"observe\"\nrate_per_ip = \"2/s\"")
		w := newWorldBehind(t, "192.0.2.7", text, mirror)
		for range 5 {
			if a := w.do("GET /v1/chat/x", "X-API-Key: bob"); a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		if o := w.snapshot().Observed; o.ByCode["address_limited"] != 3 {
			t.Errorf("%+v", o)
		}
	})
}

func TestWhatWouldHaveWaitedIsCountedAsThat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, observing, slowly(time.Second))
		answers := make(chan reply, 3)
		for range 3 {
			go func() { answers <- w.do("GET /v1/chat/x", "X-API-Key: ann") }()
		}
		for range 3 {
			if a := <-answers; a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		time.Sleep(200 * time.Millisecond)
		if o := w.snapshot().Observed; o.Passed != 2 || o.Waited != 1 || o.Refused != 0 {
			t.Errorf("%+v", o)
		}
		if f := w.flow("ann", "chat", ""); f.WouldWait != 1 || f.WouldRefuse != 0 {
			t.Errorf("%+v", f)
		}
		if n := w.metric(`tidegate_observed_total{caller="ann",semantic="chat",verdict="waited"}`); n != 1 {
			t.Errorf("%v counted as waited, want 1", n)
		}
		w.idle()
	})
}
