package gateway

import (
	"fmt"
	"testing"
	"testing/synctest"

	"tidegate/gateway/console"
)

// names are the flows of a page, and the page's total.
func names(p console.FlowsPage) (list []string) {
	for _, f := range p.Flows {
		list = append(list, f.Caller+"/"+f.Semantic+"/"+f.Tenant)
	}
	return list
}

func (w *world) flowList(q console.FlowsQuery) console.FlowsPage {
	w.t.Helper()
	p, err := w.g.flowList(q)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func TestFlowsAreFoundSortedAndPaged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, changed(t, basic, "seats = 2", "seats = 3", `rate = "100/s"`, `rate = "100/60s"`), mirror)
		for i, n := range []int{3, 1, 4, 1, 5} {
			for range n {
				w.do("GET /v1/chat/x", "X-API-Key: shop", fmt.Sprintf("X-Tenant-Id: t%d", i))
			}
		}
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		for range 4 {
			w.do("GET /v1/reports/x", "X-API-Key: ann") // 3/s, and the fourth is refused
		}
		synctest.Wait()
		for _, tc := range []struct {
			name string
			q    console.FlowsQuery
			want []string
		}{
			{"by name", console.FlowsQuery{Sort: "caller"}, []string{"ann/chat/", "ann/export/", "shop/chat/t0", "shop/chat/t1", "shop/chat/t2", "shop/chat/t3", "shop/chat/t4"}},
			{"by admitted", console.FlowsQuery{Sort: "admitted", Query: "shop"}, []string{"shop/chat/t4", "shop/chat/t2", "shop/chat/t0", "shop/chat/t1", "shop/chat/t3"}},
			{"by tenant", console.FlowsQuery{Query: "T3"}, []string{"shop/chat/t3"}},
			{"by level", console.FlowsQuery{Query: "batch"}, []string{"ann/export/"}},
			{"refused", console.FlowsQuery{State: "refused"}, []string{"ann/export/"}},
			{"waiting", console.FlowsQuery{State: "waiting"}, nil},
			{"fullest first", console.FlowsQuery{Sort: "occupancy", Query: "chat"}, []string{"shop/chat/t4", "shop/chat/t2", "shop/chat/t0", "ann/chat/", "shop/chat/t1", "shop/chat/t3"}},
		} {
			tc.q.Limit = 100
			p := w.flowList(tc.q)
			if got := names(p); fmt.Sprint(got) != fmt.Sprint(tc.want) || p.Total != len(tc.want) || p.Next != "" {
				t.Errorf("%s: %v of %d, next %q; want %v", tc.name, got, p.Total, p.Next, tc.want)
			}
			// The same in pages of two.
			var paged []string
			tc.q.Limit = 2
			for pages := 0; ; pages++ {
				p := w.flowList(tc.q)
				paged = append(paged, names(p)...)
				if p.Total != len(tc.want) || pages > len(tc.want) {
					t.Fatalf("%s: page %d of %d in all", tc.name, pages, p.Total)
				}
				if tc.q.Cursor = p.Next; p.Next == "" {
					break
				}
			}
			if fmt.Sprint(paged) != fmt.Sprint(tc.want) {
				t.Errorf("%s, paged: %v, want %v", tc.name, paged, tc.want)
			}
		}
		for _, q := range []console.FlowsQuery{{Limit: 1, Cursor: "nonsense!"}, {Limit: 1, Cursor: "bm8"}, {Limit: 1, Sort: "colour"}} {
			if _, err := w.g.flowList(q); err == nil {
				t.Errorf("%+v was answered", q)
			}
		}
	})
}
