package gateway

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tidegate/gateway/audit"
	"tidegate/gateway/config"
)

func TestWhatWaitsForAnUpstreamThatIsRemovedIsStillServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		other := basic + "[[upstreams]]\nname = \"other\"\ntargets = [{ url = \"http://other\" }]\n[[routes]]\nname = \"other\"\npath = \"/other\"\nupstream = \"other\"\nsemantics = [\"chat\"]\n"
		const healthy = `tidegate_upstream_healthy{upstream="other",target="http://other"}`
		w := newWorld(t, basic, slowly(time.Second))
		if a := w.do("GET /other", "X-API-Key: ann"); a.status != 404 {
			t.Errorf("before it is there: %d", a.status)
		}
		w.reload(other)
		if a := w.do("GET /other", "X-API-Key: ann"); a.status != 200 || w.metric(healthy) != 1 {
			t.Errorf("added: %d, healthy %v", a.status, w.metric(healthy))
		}
		answers := make(chan reply, 4)
		for range 4 { // two in flight, two wait
			go func() { answers <- w.do("GET /other", "X-API-Key: ann") }()
		}
		time.Sleep(100 * time.Millisecond)
		w.reload(basic)
		if w.metric(healthy) != 0 {
			t.Error("removed, and still in the metrics")
		}
		if a := w.do("GET /other", "X-API-Key: ann"); a.status != 404 {
			t.Errorf("removed: %d", a.status)
		}
		for range 4 {
			if a := <-answers; a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		w.reload(other)
		if a := w.do("GET /other", "X-API-Key: ann"); a.status != 200 {
			t.Errorf("there again: %d", a.status)
		}
		w.idle()
	})
}

func TestConnectionsToAnUpstreamOutliveReloads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		for i, text := range []string{basic, basic + "# again\n", changed(t, basic, `timeout = "10s"`, `timeout = "5s"`), changed(t, basic, "seats = 2", "seats = 3")} {
			w.reload(text)
			if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 || w.dials.Load() != 1 {
				t.Errorf("step %d: %d, by connection %d", i, a.status, w.dials.Load())
			}
		}
		w.reload(changed(t, basic, `"http://api"`, `"http://api2"`))
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 || w.dials.Load() != 2 {
			t.Errorf("another target: %d, by connection %d", a.status, w.dials.Load())
		}
	})
}

// without is basic without exports.
func without(t *testing.T) string {
	return changed(t, basic,
		"[[semantics]]\nname = \"export\"\nlevel = \"batch\"\nrate = \"20/s\"\nmax_wait = \"60s\"\n", "",
		`rules = [ { semantic = "export", rate = "3/s", over_rate = "reject", message = "Exports are three a second." } ]`, "",
		`semantics = ["export"]`, "", `semantics = ["chat", "export"]`, `semantics = ["chat"]`, `semantics = ["chat", "export"]`, `semantics = ["chat"]`)
}

func TestWhatWaitsOfASemanticThatIsRemovedFinishesUnderItsRule(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `rules = [ { semantic = "export", rate = "3/s", over_rate = "reject", message = "Exports are three a second." } ]`, "")
		w := newWorld(t, text, slowly(100*time.Millisecond))
		answers := make([]reply, 102)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = w.do("GET /v1/reports/x", "X-API-Key: ann") })
		}
		time.Sleep(50 * time.Millisecond)
		if n := w.snapshot().Pools[0].Waiting; n != 100 {
			t.Fatalf("%d wait", n)
		}
		w.reload(without(t))
		if a := w.do("GET /v1/reports/x", "X-API-Key: ann"); a.code() != "wait_too_long" || a.member("rule") != "semantic/default" {
			t.Errorf("what comes now is default, which does not wait: %d %s", a.status, a.body)
		}
		wg.Wait()
		for i, a := range answers {
			if a.status != 200 || !strings.HasPrefix(a.header.Get("RateLimit-Policy"), `"semantic/export";q=20;`) {
				t.Errorf("%d: %d %s %s", i, a.status, a.header.Get("RateLimit-Policy"), a.body)
			}
		}
		if n := w.metric(`tidegate_requests_total{caller="ann",semantic="export",outcome="served"}`); n != 102 {
			t.Errorf("%v exports served", n)
		}
		if n := w.metric(`tidegate_refused_within_rate_total{semantic="export"}`); n != 0 {
			t.Errorf("%v promises broken", n)
		}
		w.idle()
	})
}

func TestReloadsUnderLoadLoseNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, slowly(10*time.Millisecond))
		even := configOf(t, basic)
		odd := configOf(t, changed(t, basic, "seats = 2", "seats = 3", `rate = "100/s"`, `rate = "150/s"`, `"http://api"`, `"http://api2"`))
		var wg sync.WaitGroup
		answers := make([]reply, 3000)
		for i := range answers {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				answers[i] = w.do("GET /v1/chat/x", "X-API-Key: "+[]string{"ann", "bob"}[i%2])
			})
		}
		for i := range 300 { // ten a second
			time.Sleep(100 * time.Millisecond)
			w.reloadParsed([]*config.Config{odd, even}[i%2])
		}
		wg.Wait()
		for i, a := range answers {
			if a.status != 200 {
				t.Errorf("%d: %d %v %s", i, a.status, a.err, a.body)
			}
		}
		if n := w.metric(`tidegate_requests_total{caller="ann",semantic="chat",outcome="served"}`); n != 1500 {
			t.Errorf("%v counted", n)
		}
		w.idle()
	})
}

func TestReloadsLeaveGoroutinesAndMemoryWhereTheyWere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		c := []*config.Config{configOf(t, basic), configOf(t, changed(t, basic, "seats = 2", "seats = 3", `rate = "100/s"`, `rate = "150/s"`, `name = "vip"`, `name = "very-important"`, `pool = "vip"`, `pool = "very-important"`))}
		for _, tc := range []struct {
			name    string
			version func(from, i int) int
			next    func(i int) *config.Config
		}{
			{"the same", func(from, _ int) int { return from }, func(int) *config.Config { return c[0] }},
			{"one and the other", func(from, i int) int { return from + i }, func(i int) *config.Config { return c[(i+1)%2] }},
		} {
			measure := func(rounds int) (goroutines int, objects uint64) {
				from := w.g.live.Load().version
				for i := range rounds {
					w.reloadParsed(tc.next(i))
					if i%10 == 0 {
						w.do("GET /v1/chat/x", "X-API-Key: ann")
					}
				}
				if got, want := w.g.live.Load().version, tc.version(from, rounds); got != want {
					t.Errorf("%s: version %d, want %d", tc.name, got, want)
				}
				var trail uint64 // subjects that it keeps, within bounds of its own
				for _, e := range w.g.audit.Find(audit.Query{Limit: 10_000}) {
					if e.Subject != "" {
						trail++ // its diff is empty: both have no text
					}
				}
				time.Sleep(2 * time.Minute)
				runtime.GC()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return runtime.NumGoroutine(), m.HeapObjects - trail
			}
			g0, o0 := measure(100)
			g1, o1 := measure(1000)
			if g1 > g0 {
				t.Errorf("%s: %d goroutines, then %d", tc.name, g0, g1)
			}
			if o1 > o0+900 {
				t.Errorf("%s: %d objects, then %d: about %d are left of each reload", tc.name, o0, o1, (o1-o0)/1000)
			}
		}
	})
}
