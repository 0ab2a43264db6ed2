package gateway

import (
	"fmt"
	"testing"
	"time"

	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// Of many flows the busiest are shown as they are now, though which they are is known from the last census; and one that has
// only begun is shown at once.
func TestASnapshotShowsTheBusiestOfManyFlows(t *testing.T) {
	c := newCrowd(t, 1000)
	held := map[string]int{}
	hold := func(i, n int) {
		for range n {
			it := &scheduler.Item{Flow: c.g.scheduler.Meter(time.Now(), c.flows[i].flow.Key, c.terms[i])}
			if v := c.g.scheduler.Arrive(time.Now(), it); v != scheduler.Granted {
				t.Fatalf("%v", v)
			}
			held[c.flows[i].caller]++
		}
	}
	for i := range 250 {
		hold(3*i%1000, 1+i/125)
	}
	c.second()
	c.g.takeCensus(c.now)
	hold(3, 9)  // it was among the busiest
	hold(2, 12) // it was not, and is used now
	s := c.g.snapshot()
	if len(s.Flows) != console.MaxFlows || s.FlowsTotal != 1000 {
		t.Fatalf("%d flows of %d", len(s.Flows), s.FlowsTotal)
	}
	if first, second := s.Flows[0], s.Flows[1]; first.Caller != "caller-2" || first.InFlight != 12 || second.Caller != "caller-3" || second.InFlight != 10 {
		t.Errorf("first %+v, second %+v", first, second)
	}
	least, two := 99, 0
	for i, f := range s.Flows {
		if f.InFlight != held[f.Caller] || i > 0 && f.InFlight > s.Flows[i-1].InFlight || f.Rule != "paid/*/chat" && f.Rule != "semantic/chat" {
			t.Errorf("%d: %+v, holds %d", i, f, held[f.Caller])
		}
		if least = min(least, f.InFlight); f.InFlight >= 2 {
			two++
		}
	}
	if least != 1 || two != 127 {
		t.Errorf("%d hold two seats or more, the last holds %d", two, least)
	}
	if s.Totals.InFlight != 250+125+21 || s.Pools[0].InUse != s.Totals.InFlight {
		t.Errorf("%+v", s.Totals)
	}
}

func TestTotalsAndTargetsOfASnapshot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		w.nextCensus()
		w.gather(8, "GET /v1/chat/x", "X-API-Key: ann")
		w.gather(5, "GET /v1/reports/x", "X-API-Key: ann") // 3/s
		w.gather(4, "GET /v1/chat/x", "X-API-Key: wrong")
		w.nextCensus()
		s := w.snapshot()
		want := console.TotalsView{RequestsPerS: 17, AdmittedPerS: 11, RefusedPerS: 6}
		if s.Totals != want {
			t.Errorf("%+v, want %+v", s.Totals, want)
		}
		if fmt.Sprint(s.Targets) != "[{api http://api true}]" {
			t.Errorf("%+v", s.Targets)
		}
		if f := w.flow("ann", "export", ""); f.AdmittedPerS != 3 || f.RefusedPerS != 2 {
			t.Errorf("%+v", f)
		}
		c := w.g.census.Load()
		if len(c.pools) != 2 || len(c.levels) == 0 || fmt.Sprint(c.targets) != fmt.Sprint(s.Targets) {
			t.Errorf("%+v %+v %+v", c.pools, c.levels, c.targets)
		}
	})
}

// A list by attention begins with those that stand worst, and goes on by what they hold.
func TestFlowsByAttention(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, changed(t, basic, `rate = "100/s"`, `rate = "1/s"`), mirror)
		w.do("GET /v1/chat/x", "X-API-Key: vip")
		w.gather(4, "GET /v1/reports/x", "X-API-Key: ann") // 3/s
		for range 3 {
			w.do("GET /v1/chat/x", "X-API-Key: bob")
		}
		w.nextCensus()
		p := w.flowList(console.FlowsQuery{Sort: "attention", Limit: 10})
		if fmt.Sprint(names(p)) != "[ann/export/ bob/chat/ vip/chat/]" {
			t.Errorf("%v", names(p))
		}
		if p := w.flowList(console.FlowsQuery{Standing: "excess", Limit: 10}); fmt.Sprint(names(p)) != "[bob/chat/]" {
			t.Errorf("%v", names(p))
		}
	})
}
