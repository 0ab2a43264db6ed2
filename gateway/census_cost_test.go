package gateway

import (
	"context"
	"sync"
	"testing"
	"time"

	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// A census makes a few lists, however many flows there are: nothing is allocated for a flow.
func TestACensusAllocatesNothingForAFlow(t *testing.T) {
	allocs := func(flows int) float64 {
		c := newCrowd(t, flows)
		for range 3 {
			c.second()
			c.g.takeCensus(c.now)
		}
		return testing.AllocsPerRun(20, func() {
			c.arrive()
			c.g.takeCensus(c.now)
		})
	}
	few, many := allocs(100), allocs(2000)
	if many > few+3 || few > 60 {
		t.Errorf("%v allocations for 100 flows, %v for 2000", few, many)
	}
}

// Whoever shows the same list after the same census allocates the page, and nothing for the callers.
func TestAPageOfCallersIsSharedByAllWhoShowIt(t *testing.T) {
	c := newCrowd(t, 500)
	c.second()
	c.g.takeCensus(c.now)
	q := console.CallersQuery{Query: "number 1", Sort: "rate", Limit: 50}
	c.g.callersPage(q)
	if n := testing.AllocsPerRun(100, func() { c.g.callersPage(q) }); n > 1 {
		t.Errorf("%v allocations for a page that is there", n)
	}
}

func TestCensusesAreTakenWhileOthersReadThemAndFlowsComeAndGo(t *testing.T) {
	c := newCrowd(t, 300)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	reads := func(read func(i int)) {
		readers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				read(i)
			}
		})
	}
	g := c.g
	reads(func(i int) {
		sort := console.CallerSorts[i%len(console.CallerSorts)]
		for _, v := range g.callersPage(console.CallersQuery{Sort: sort, Offset: i % 300, Limit: 20}).Callers {
			if len(v.Recent) > recentSeconds {
				t.Errorf("%d seconds", len(v.Recent))
			}
		}
	})
	reads(func(int) { g.snapshot() })
	reads(func(int) { g.callerDetail("caller-7") })
	reads(func(int) {
		if _, err := g.flowList(console.FlowsQuery{Sort: "attention", Standing: "excess", Limit: 5}); err != nil {
			t.Error(err)
		}
	})
	reads(func(i int) { // others come
		key := scheduler.Key{Caller: g.names.Callers.Index("acme"), Semantic: 1, Route: scheduler.NoRoute, Tenant: string(rune('a' + i%26))}
		g.scheduler.Unpin(g.scheduler.Meter(time.Now(), key, c.terms[0]))
	})
	told := 0
	g.onCensus = append(g.onCensus, func(of *census) {
		if told++; g.census.Load() != of {
			t.Error("a listener is told of another census than there is")
		}
	})
	for range 20 {
		c.second()
		g.takeCensus(c.now)
	}
	stop()
	readers.Wait()
	if told != 20 {
		t.Errorf("told %d times of 20 censuses", told)
	}
}
