package gateway

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/console"
)

// nextCensus is the next one that is taken.
func (w *world) nextCensus() *census {
	w.t.Helper()
	last := w.g.census.Load()
	for range 200 {
		if c := w.g.census.Load(); c != last {
			return c
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.t.Fatal("no census within two seconds")
	return nil
}

// callers are all that fit, on one page, of the next census.
func (w *world) callers(q console.CallersQuery) console.CallersPage {
	w.t.Helper()
	w.nextCensus()
	q.Limit = console.MaxPage
	return w.g.callersPage(q)
}

// caller is one of the next census.
func (w *world) caller(id string) console.CallerView {
	w.t.Helper()
	for _, v := range w.callers(console.CallersQuery{}).Callers {
		if v.ID == id {
			return v
		}
	}
	w.t.Fatalf("caller %s is not listed", id)
	return console.CallerView{}
}

// What censuses count together is what was sent, whatever became of it, and nothing twice.
func TestCountsOfAllCensusesAddUpToWhatWasSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, slowly(3*time.Millisecond))
		type sums struct{ arrived, admitted, refused uint64 }
		byFlow, all, passed := map[string]sums{}, sums{}, 0
		c := w.nextCensus()
		add := func() {
			next := w.nextCensus()
			if next.seq != c.seq+1 || next.span != next.at.Sub(c.at) {
				t.Errorf("census %d of %v comes after %d", next.seq, next.span, c.seq)
			}
			c = next
			for i := range c.flows {
				f := &c.flows[i]
				name := f.d.caller + "/" + f.d.semantic + "/" + f.d.tenant
				s := byFlow[name]
				byFlow[name] = sums{s.arrived + f.arrived, s.admitted + f.admitted, s.refused + f.refused}
			}
			all = sums{all.arrived + c.arrived, all.admitted + c.admitted, all.refused + c.refused}
		}
		for i := range 25 {
			w.gather(7, "GET /v1/chat/x", "X-API-Key: ann")
			for _, a := range w.gather(5, "GET /v1/reports/x", "X-API-Key: ann") { // 3/s
				if a.status == 200 {
					passed++
				}
			}
			w.do("GET /v1/chat/x", "X-API-Key: shop", fmt.Sprintf("X-Tenant-Id: t%d", i%2))
			w.do("GET /v1/chat/x", "X-API-Key: wrong")
			w.do("GET /v1/chat/x", "X-API-Key: off")
			add()
		}
		add()
		want := map[string]sums{
			"ann/chat/": {175, 175, 0}, "ann/export/": {125, uint64(passed), 125 - uint64(passed)},
			"shop/chat/t0": {13, 13, 0}, "shop/chat/t1": {12, 12, 0},
		}
		if fmt.Sprint(byFlow) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", byFlow, want)
		}
		if all != (sums{375, 200 + uint64(passed), 175 - uint64(passed)}) { // what had no flow is refused
			t.Errorf("all in all: %+v, with %d exports served", all, passed)
		}
	})
}

// A flow stands as what is worst about it, for as long as is promised.
func TestAFlowStandsAsWhatHappensToIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `rate = "100/s"`, `rate = "4/s"`)
		w := newWorld(t, text, func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/v1/chat/slow" {
				time.Sleep(3500 * time.Millisecond)
			}
		})
		stands := func(when, caller, want string) {
			t.Helper()
			v := w.caller(caller)
			if v.Standing != want || len(v.Semantics) > 0 && v.Semantics[0].Standing != want {
				t.Errorf("%s: %s stands as %s %+v, want %s", when, caller, v.Standing, v.Semantics, want)
			}
			if len(v.Semantics) > 0 {
				if f := w.flow(caller, v.Semantics[0].Semantic, ""); f.Standing != want {
					t.Errorf("%s: the snapshot says %q, want %s", when, f.Standing, want)
				}
				if p := w.flowList(console.FlowsQuery{Standing: want, Query: caller, Limit: 10}); p.Total != 1 {
					t.Errorf("%s: %d flows are listed as %s", when, p.Total, want)
				}
			}
		}
		after := func(d time.Duration) { time.Sleep(d - time.Second) } // the census comes within the next
		stands("without traffic", "bob", "calm")
		stands("disabled", "off", "paused")
		w.gather(3, "GET /v1/chat/x", "X-API-Key: bob")
		stands("within its rate", "bob", "calm")
		for range 6 {
			w.do("GET /v1/chat/x", "X-API-Key: bob")
		}
		stands("above its rate, and served", "bob", "excess")
		after(2 * time.Second)
		stands("two seconds later", "bob", "excess")
		after(3 * time.Second)
		stands("five seconds later", "bob", "calm")

		var answers sync.WaitGroup
		for range 3 { // of two seats
			answers.Go(func() { w.do("GET /v1/chat/slow", "X-API-Key: bob") })
		}
		stands("more than there are seats", "bob", "waiting")
		time.Sleep(1500 * time.Millisecond) // the third has waited for as long as it may, and was refused
		stands("refused", "bob", "throttled")
		answers.Wait()
		after(7 * time.Second)
		stands("at most ten seconds later", "bob", "throttled")
		after(4 * time.Second)
		stands("at least twelve seconds later", "bob", "calm")

		w.do("GET /v1/chat/x", "X-API-Key: bob")
		w.reload(changed(t, text, "keys = [\"HASH-bob\"]", "keys = [\"HASH-bob\"]\nenabled = false"))
		stands("paused", "bob", "paused")
		w.reload(text)
		stands("resumed", "bob", "calm")
	})
}

func TestASurgeIsSeenInTheListOfCallersAndInItsCallersDetail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldBehind(t, "10.0.0.1", roomy, slowly(20*time.Millisecond))
		var answers sync.WaitGroup
		answers.Go(func() { w.pace(&answers, 10, 40*time.Second, "GET /open/x", "X-API-Key: bob") })
		answers.Go(func() { w.pace(&answers, 15, 22*time.Second, "GET /open/x", "X-API-Key: ann") })
		time.Sleep(20 * time.Second)
		v := w.caller("ann")
		if v.Standing != "calm" || v.Rate < 13 || v.Rate > 16 || len(v.Semantics) != 1 || v.Semantics[0].SurgeSince != nil {
			t.Errorf("before: %+v", v)
		}
		jump := time.Now()
		answers.Go(func() { w.pace(&answers, 300, 5*time.Second, "GET /open/x", "X-API-Key: ann") })
		time.Sleep(2500 * time.Millisecond)
		p := w.callers(console.CallersQuery{})
		v = p.Callers[0]
		if v.ID != "ann" || v.Standing != "surging" || v.Rate < 250 || v.Rate > 310 || p.Standings["surging"] != 1 {
			t.Errorf("during: %+v of %v", v, p.Standings)
		}
		u := v.Semantics[0]
		if u.Standing != "surging" || u.Expected < 12 || u.Expected > 18 || u.SurgeSince == nil || u.SurgeSince.Sub(jump).Abs() > time.Second || u.InFlight == 0 || u.Waiting == 0 {
			t.Errorf("during: %+v, jump at %v", u, jump)
		}
		if n := len(v.Recent); v.Recent[n-1] != v.Rate || v.Recent[n-6] > 16 || v.Recent[n-6] < 13 {
			t.Errorf("its last minute: %v", v.Recent)
		}
		if s := w.snapshot(); s.Totals.Surging != 1 || s.Totals.RequestsPerS < 250 || s.Totals.Waiting < u.Waiting/2 || s.Totals.InFlight == 0 {
			t.Errorf("%+v", s.Totals)
		}
		d, _ := w.g.callerDetail("ann")
		if len(d.Surges) != 1 || d.Surges[0].End != nil || d.Surges[0].Peak < 150 || d.Caller.Standing != "surging" || len(d.Flows) != 1 || d.Flows[0].Standing != "surging" {
			t.Errorf("%+v", d)
		}
		if d, _ := w.g.callerDetail("bob"); len(d.Surges) != 0 || d.Caller.Standing == "surging" {
			t.Errorf("another's surge is told of bob: %+v", d)
		}
		answers.Wait()
		if v := w.caller("bob"); v.Standing == "surging" {
			t.Errorf("%+v", v)
		}
	})
}

func TestTenantsAreAddedUpBySemantic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, changed(t, basic, "seats = 2", "seats = 9", `rate = "100/s"`, `rate = "10/60s"`, `plan = "tenants"
semantics = ["chat"]`, `plan = "tenants"
semantics = ["chat", "export"]`), slowly(50*time.Millisecond))
		w.nextCensus()
		for i, n := range []int{1, 5, 3} {
			for range n {
				w.do("GET /v1/chat/x", "X-API-Key: shop", fmt.Sprintf("X-Tenant-Id: t%d", i))
			}
		}
		w.do("GET /v1/reports/x", "X-API-Key: shop", "X-Tenant-Id: t0")
		v := w.caller("shop")
		if v.FlowsTotal != 4 || v.Rate != 10 || v.AdmittedPerS != 10 || len(v.Semantics) != 2 {
			t.Fatalf("%+v", v)
		}
		chat, export := v.Semantics[0], v.Semantics[1]
		if chat.Semantic != "chat" || chat.Flows != 3 || chat.Rate != 9 || chat.Occupancy != 0.5 || chat.Limit != "10/60s" || chat.Level != "realtime" {
			t.Errorf("%+v", chat)
		}
		if export.Semantic != "export" || export.Flows != 1 || export.Rate != 1 || export.Limit != "20/s" || export.Level != "batch" {
			t.Errorf("%+v", export)
		}
	})
}

func TestAFlowThatIsForgottenLeavesTheCensus(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		w.do("GET /v1/chat/x", "X-API-Key: shop", "X-Tenant-Id: t0")
		if c := w.nextCensus(); len(c.flows) != 2 || w.caller("shop").FlowsTotal != 1 {
			t.Fatalf("%d flows", len(c.flows))
		}
		time.Sleep(5 * time.Minute)
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(7 * time.Minute)
		if c := w.nextCensus(); len(c.flows) != 1 || c.flows[0].d.caller != "ann" || w.caller("shop").FlowsTotal != 0 || len(w.caller("shop").Semantics) != 0 {
			t.Errorf("%+v", c.flows)
		}
		for i, r := range w.g.taker.recent {
			if r != nil {
				t.Errorf("the rates of caller %d are kept, and nothing has come for minutes", i)
			}
		}
		if v := w.caller("ann"); len(v.Recent) != 60 || v.Recent[59] != 0 {
			t.Errorf("%+v", v)
		}
	})
}

func TestEachSecondsRateIsRemembered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, changed(t, basic, "seats = 2", "seats = 9"), mirror)
		w.nextCensus()
		var want []float64
		for i := range 80 {
			n := i * i % 7
			w.gather(n, "GET /v1/chat/x", "X-API-Key: ann")
			want = append(want, float64(n))
			v := w.caller("ann")
			recent := v.Recent
			if known := min(60, i+3); len(recent) != known { // two censuses came before
				t.Fatalf("after %d seconds %d are known", i, len(recent))
			}
			seen := want[max(0, len(want)-60):]
			if got := recent[len(recent)-len(seen):]; fmt.Sprint(got) != fmt.Sprint(seen) {
				t.Fatalf("%v, want %v", got, seen)
			}
		}
	})
}

// A flow that nobody steps any more is not looked at again, but it is once when that begins.
func TestAFlowThatHasGoneQuietIsShownAsItsLastStepLeftIt(t *testing.T) {
	c := newCrowd(t, 50)
	for i := range c.rates {
		c.rates[i] = 20
	}
	for range 20 {
		c.second()
	}
	before := c.g.takeCensus(c.now)
	for range 200 {
		c.step()
	}
	for range 2 {
		after := c.g.takeCensus(c.now)
		for i := range after.flows {
			was, is := &before.flows[i], &after.flows[i]
			if was.still || was.rate == 0 || was.expected == 0 {
				t.Errorf("with traffic: %+v", was)
			}
			if !is.still || is.rate != 0 || is.expected == 0 || is.state != was.d.watch.State.State() || is.expected != was.d.watch.State.Expected() {
				t.Errorf("without: %+v", is)
			}
		}
	}
	c.second()
	for i := range c.g.takeCensus(c.now).flows {
		if f := &c.g.census.Load().flows[i]; f.still || f.rate == 0 {
			t.Errorf("with traffic again: %+v", f)
		}
	}
}
