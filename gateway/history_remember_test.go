package gateway

import (
	"math"
	"testing"
	"time"

	"tidegate/gateway/console"
)

// What was stands there by the second, after a restart too, and what is not known is not told as nothing.
func TestWhatWasIsThereAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), basic, mirror)
		for range 60 {
			w.do("GET /v1/chat/x", "X-API-Key: ann")
			time.Sleep(500 * time.Millisecond)
		}
		look := func(kind, name string) console.HistoryView {
			t.Helper()
			v, err := w.g.historyView(console.HistoryQuery{Kind: kind, Name: name, Span: time.Minute})
			if err != nil {
				t.Fatalf("%s %s: %v", kind, name, err)
			}
			return v
		}
		check := func() {
			t.Helper()
			for _, of := range []struct{ kind, name string }{{"total", ""}, {"caller", "ann"}, {"caller", "ann/chat"}} {
				var sum float64
				for _, perSecond := range look(of.kind, of.name).Fields["rate"] {
					if !math.IsNaN(perSecond) {
						sum += perSecond
					}
				}
				if sum < 50 || sum > 61 {
					t.Errorf("%s %s: %.0f in a minute, want nearly 60", of.kind, of.name, sum)
				}
			}
			if seats := look("pool", "shared").Fields["seats"]; len(seats) == 0 || seats[len(seats)/2] != 2 {
				t.Errorf("seats were %v", seats)
			}
			if v := look("level", "shared/realtime"); v.StepMS != 1000 || v.Fields["dispatched_per_s"] == nil {
				t.Errorf("%+v", v)
			}
		}
		check()
		w = w.afterRestart(basic, time.Second)
		check()
		for _, q := range []console.HistoryQuery{{Kind: "pool", Name: "nothing"}, {Kind: "level", Name: "shared"}, {Kind: "caller"}, {Kind: "total", Name: "x"}, {Kind: "caller", Name: "ann/nothing"}} {
			if v, err := w.g.historyView(q); err == nil {
				t.Errorf("%s %q: %+v", q.Kind, q.Name, v)
			}
		}
	})
}
