package gateway

import (
	"strings"
	"testing"
	"time"

	"tidegate/gateway/console"
	"tidegate/gateway/recent"
)

func (w *world) preview(text string) *console.PreviewView {
	w.t.Helper()
	v, err := w.g.previewConfig([]byte(hashed(text)))
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// previewRow is what a preview tells of a caller's semantic; the zero one if it does not change.
func previewRow(v *console.PreviewView, caller, semantic string) console.PreviewRow {
	for _, r := range v.Rows {
		if r.Caller == caller && r.Semantic == semantic {
			return r
		}
	}
	return console.PreviewRow{}
}

// remembers gives the log seconds that are all the same.
func (w *world) remembers(seconds, arrivals int, seat time.Duration, flows ...recent.Flow) {
	for s := range seconds {
		w.g.recent.Add(time.Now().Add(time.Duration(s-seconds)*time.Second), time.Second, func(yield func(recent.Flow, int, time.Duration)) {
			for _, f := range flows {
				yield(f, arrivals, seat)
			}
		})
	}
}

// With fewer seats it is waits that change, and the pool's peak.
func TestAPreviewSaysWhoWouldWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, slowly(600*time.Millisecond))
		answers := make(chan reply, 120)
		for range 60 {
			for _, key := range []string{"ann", "bob"} {
				go func() { answers <- w.do("GET /v1/chat/x", "X-API-Key: "+key) }()
			}
			time.Sleep(time.Second)
		}
		for range 120 {
			if a := <-answers; a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		time.Sleep(2 * time.Second)
		v := w.preview(changed(t, basic, "seats = 2", "seats = 1"))
		ann := previewRow(v, "ann", "chat")
		if len(v.Rows) != 2 || ann.Before.Waited > 30 || ann.After.Waited < 40 || ann.Before.Offered != 60 || ann.After.Offered != 60 || ann.After.WaitP99MS < 2*ann.Before.WaitP99MS || ann.After.WaitP99MS < 500 {
			t.Errorf("%+v", v.Rows)
		}
		if p := v.Pools[0]; p != (console.PreviewPool{Name: "shared", SeatsBefore: 2, PeakBefore: 2, SeatsAfter: 1, PeakAfter: 1}) {
			t.Errorf("%+v", p)
		}
		for _, change := range []string{"", "\n# a comment\n"} { // the same requests, at the same moments, decided by the same code
			if v := w.preview(basic + change); len(v.Rows) != 0 || v.Same != 2 || v.Requests != 120 {
				t.Errorf("nothing changes: %+v", v)
			}
		}
	})
}

// Work that is over at once takes no seats to speak of, and tenants and addresses have a rate each.
func TestAPreviewCountsAsTheGatewayDoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `rate = "100/s"`, "rate = \"8/s\"\nover_rate = \"reject\"")
		w := newWorld(t, text, mirror)
		w.remembers(60, 5, 20*time.Microsecond,
			recent.Flow{Caller: "visitors", Semantic: "chat", Tenant: "192.0.2.1"}, recent.Flow{Caller: "visitors", Semantic: "chat", Tenant: "192.0.2.2"},
			recent.Flow{Caller: "shop", Semantic: "chat", Tenant: "one"}, recent.Flow{Caller: "shop", Semantic: "chat", Tenant: "two"},
			recent.Flow{Caller: "ann", Semantic: "chat"}, recent.Flow{Caller: "gone", Semantic: "chat"})
		v := w.preview(changed(t, text, `rate = "8/s"`, `rate = "3/s"`))
		for _, c := range []struct {
			caller  string
			offered int64
		}{{"visitors", 600}, {"shop", 600}, {"ann", 300}} {
			r := previewRow(v, c.caller, "chat")
			if r.Before.Offered != c.offered || r.Before.Refused > c.offered/10 || r.After.Refused < c.offered/4 || r.After.Refused > c.offered*6/10 {
				t.Errorf("%s: %+v", c.caller, r)
			}
		}
		if p := v.Pools[0]; p.PeakBefore > 2 {
			t.Errorf("work of 20 us had %d seats", p.PeakBefore)
		}
		if len(v.Rows) != 3 || v.Same != 1 { // of those who are in neither configuration nothing passes
			t.Errorf("%+v", v)
		}
		for _, note := range v.Notes {
			if strings.Contains(note, "seat time of some work is not known") || strings.Contains(note, "observes (") || strings.Contains(note, "nothing has come yet") {
				t.Errorf("a note of what is not so: %s", note)
			}
		}
	})
}

// What a census brings late is spread over all the time that it is of, and not a burst.
func TestAPreviewPlaysLateSecondsAtTheirSpeed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `rate = "100/s"`, "rate = \"20/s\"\nover_rate = \"reject\"")
		w := newWorld(t, text, mirror)
		for s := range 10 {
			w.g.recent.Add(time.Now().Add(time.Duration(s)*10*time.Second), 10*time.Second, func(yield func(recent.Flow, int, time.Duration)) {
				yield(recent.Flow{Caller: "ann", Semantic: "chat"}, 50, time.Millisecond) // five a second
			})
		}
		v := w.preview(changed(t, text, `rate = "20/s"`, `rate = "1/s"`))
		r := previewRow(v, "ann", "chat")
		if r.Before.Refused != 0 || r.Before.Passed != 500 || r.After.Refused < 300 || v.To.Sub(v.From) != 100*time.Second {
			t.Errorf("%+v from %v to %v", r, v.From, v.To)
		}
	})
}

func TestAPreviewSaysWhatItCannotKnow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		w.remembers(3, 2, 0, recent.Flow{Caller: "ann", Semantic: "chat"})
		v := w.preview(changed(t, basic, "[identify]", "[server]\nmode = \"observe\"\n[identify]",
			"[[semantics]]\nname = \"export\"", "[[semantics]]\nname = \"video\"\nlevel = \"batch\"\nrate = \"1/s\"\n[[semantics]]\nname = \"export\""))
		notes := strings.Join(v.Notes, "\n")
		for _, want := range []string{"nothing has come yet as video", "observes (*)", "20 ms are taken", "came in 3s"} {
			if !strings.Contains(notes, want) {
				t.Errorf("the notes do not say %q: %s", want, notes)
			}
		}
	})
}
