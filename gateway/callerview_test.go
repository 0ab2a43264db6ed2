package gateway

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/console"
)

// ids are the callers of a page in order.
func ids(p console.CallersPage) string {
	var list []string
	for _, v := range p.Callers {
		list = append(list, v.ID)
	}
	return strings.Join(list, " ")
}

func TestCallersAreFoundSortedCountedAndPaged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `id = "bob"`, "id = \"bob\"\nname = \"Robert's Shop\"", `rate = "100/s"`, `rate = "10/60s"`, "seats = 2", "seats = 5")
		w := newWorld(t, text, func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/v1/chat/slow" {
				time.Sleep(1500 * time.Millisecond)
			}
		})
		w.nextCensus()
		var answers sync.WaitGroup
		for range 2 { // of one seat
			answers.Go(func() { w.do("GET /v1/chat/slow", "X-API-Key: vip") })
		}
		w.gather(4, "GET /v1/reports/x", "X-API-Key: ann")                  // 3/s
		w.gather(5, "GET /v1/chat/x", "X-API-Key: bob")                     // half of what it may
		w.gather(4, "GET /v1/chat/x", "X-API-Key: shop", "X-Tenant-Id: t1") // four tenths
		w.gather(1, "GET /v1/chat/x", "X-API-Key: shop", "X-Tenant-Id: t2") // a tenth
		answers.Go(func() { w.do("GET /v1/chat/slow", "X-API-Key: shop", "X-Tenant-Id: t3") })
		w.nextCensus()
		for _, tc := range []struct {
			q    console.CallersQuery
			want string
		}{
			{console.CallersQuery{}, "ann vip off shop bob visitors"},
			{console.CallersQuery{Sort: "caller"}, "ann bob off shop vip visitors"},
			{console.CallersQuery{Sort: "rate"}, "shop bob ann vip off visitors"},
			{console.CallersQuery{Sort: "occupancy"}, "ann bob shop vip off visitors"},
			{console.CallersQuery{Sort: "waiting"}, "vip ann bob off shop visitors"},
			{console.CallersQuery{Sort: "in_flight"}, "shop vip ann bob off visitors"},
			{console.CallersQuery{Sort: "refused"}, "ann bob off shop vip visitors"},
			{console.CallersQuery{Query: "SHOP"}, "shop bob"}, // by name, by id
			{console.CallersQuery{Query: "Exp"}, "ann"},       // by what it sends
			{console.CallersQuery{Pool: "vip"}, "vip"},
			{console.CallersQuery{Plan: "tenants"}, "shop"},
			{console.CallersQuery{Level: "batch"}, "ann"},
			{console.CallersQuery{Level: "realtime", Pool: "shared"}, "shop bob"},
			{console.CallersQuery{Standing: "paused"}, "off"},
			{console.CallersQuery{Standing: "surging"}, ""},
			{console.CallersQuery{Standing: "calm", Query: "o"}, "shop bob visitors"},
		} {
			tc.q.Limit = 100
			p := w.g.callersPage(tc.q)
			if got := ids(p); got != tc.want || p.Total != len(strings.Fields(tc.want)) {
				t.Errorf("%+v: %s, %d in all; want %s", tc.q, got, p.Total, tc.want)
			}
			n := 0
			for _, word := range console.Standings {
				of, is := p.Standings[word]
				if n += of; !is {
					t.Errorf("%+v: how many are %s is not said", tc.q, word)
				}
			}
			if tc.q.Standing == "" && n != p.Total || tc.q.Standing != "" && p.Standings[tc.q.Standing] != p.Total || len(p.Standings) != len(console.Standings) {
				t.Errorf("%+v: %v, %d in all", tc.q, p.Standings, p.Total)
			}
			var paged []string
			for q := tc.q; q.Offset < p.Total+2; q.Offset += 2 {
				q.Limit = 2
				part := w.g.callersPage(q)
				if part.Total != p.Total {
					t.Errorf("%+v: %d in all, want %d", q, part.Total, p.Total)
				}
				paged = append(paged, strings.Fields(ids(part))...)
			}
			if got := strings.Join(paged, " "); got != tc.want {
				t.Errorf("%+v in pages of two: %s", tc.q, got)
			}
		}
		p := w.g.callersPage(console.CallersQuery{Query: "o", Standing: "paused", Limit: 1})
		if fmt.Sprint(p.Standings) != "map[calm:3 excess:0 paused:1 surging:0 throttled:1 waiting:0]" {
			t.Errorf("the counts are of those that fit the rest of the query: %v", p.Standings)
		}
		if p := w.g.callersPage(console.CallersQuery{Offset: -3, Limit: -1}); len(p.Callers) != 0 || p.Total != 6 {
			t.Errorf("%+v", p)
		}
		answers.Wait()
	})
}

// However much changes meanwhile, the pages of one second fit together: they are of one census, and a list is made once for all.
func TestPagesOfOneSecondFitTogether(t *testing.T) {
	c := newCrowd(t, 500)
	for range 3 {
		c.second()
		c.g.takeCensus(c.now)
		for _, sort := range console.CallerSorts {
			seen := map[string]bool{}
			for at := 0; at < 502; at += 50 {
				for _, v := range c.g.callersPage(console.CallersQuery{Sort: sort, Offset: at, Limit: 50}).Callers {
					if seen[v.ID] {
						t.Fatalf("by %s: %s comes twice", sort, v.ID)
					}
					seen[v.ID] = true
				}
				c.arrive()
			}
			if len(seen) != 502 {
				t.Errorf("by %s: %d callers of 502", sort, len(seen))
			}
		}
		now := c.g.census.Load()
		a, b := now.find(console.CallersQuery{Query: "Caller-1", Limit: 7}), now.find(console.CallersQuery{Query: "caller-1", Offset: 70, Limit: 50})
		if a != b {
			t.Error("two pages of one list have it made twice")
		}
		if v := now.viewOf(&now.callers[3]); v != now.viewOf(&now.callers[3]) {
			t.Error("a caller's view is made twice")
		}
		for i := range 3 * maxFound {
			now.find(console.CallersQuery{Query: fmt.Sprint(i)})
		}
		if n := len(now.orders.found); n > maxFound {
			t.Errorf("%d lists are remembered", n)
		}
	}
}

func TestAReloadBringsAndTakesCallers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, slowly(3500*time.Millisecond))
		var answers sync.WaitGroup
		answers.Go(func() { w.do("GET /v1/chat/x", "X-API-Key: bob") })
		if v := w.caller("bob"); v.InFlight != 1 {
			t.Errorf("%+v", v)
		}
		next := changed(t, basic, "[[callers]]\nid = \"bob\"\nkeys = [\"HASH-bob\"]\nsemantics = [\"chat\"]\n",
			"[[callers]]\nid = \"aaa\"\nkeys = [\"HASH-aaa\"]\npool = \"vip\"\nsemantics = [\"chat\"]\n")
		w.reload(next)
		if d, ok := w.g.callerDetail("aaa"); !ok || d.Caller.ID != "aaa" || d.Caller.Pool != "vip" || d.Caller.Standing != "calm" || len(d.Rules) == 0 {
			t.Errorf("before a census has met him: %+v", d)
		}
		if _, ok := w.g.callerDetail("bob"); ok {
			t.Error("who is no longer in the configuration is told of")
		}
		if p := w.callers(console.CallersQuery{Sort: "caller"}); ids(p) != "aaa ann off shop vip visitors" {
			t.Errorf("%s", ids(p))
		}
		c := w.g.census.Load()
		if len(c.flows) != 1 || c.flows[0].caller != -1 || c.totals.InFlight != 1 || c.flows[0].d.caller != "bob" {
			t.Errorf("what he still has under way is counted all the same: %+v", c.flows)
		}
		answers.Wait()
		w.reload(basic)
		w.gather(2, "GET /v1/chat/x", "X-API-Key: bob")
		if p := w.callers(console.CallersQuery{Sort: "caller"}); ids(p) != "ann bob off shop vip visitors" {
			t.Errorf("%s", ids(p))
		}
		if v := w.caller("bob"); v.FlowsTotal != 1 || v.Pool != "shared" {
			t.Errorf("%+v", v)
		}
		w.reload(changed(t, basic, `id = "bob"`, "id = \"bob\"\npool = \"vip\""))
		if d, _ := w.g.callerDetail("bob"); d.Caller.Pool != "vip" {
			t.Errorf("moved a moment ago: %+v", d.Caller)
		}
		if p := w.callers(console.CallersQuery{Pool: "vip"}); ids(p) != "bob vip" {
			t.Errorf("%s", ids(p))
		}
	})
}
