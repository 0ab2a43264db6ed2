package gateway

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

// reload brings another configuration into force.
func (w *world) reload(text string) {
	w.t.Helper()
	w.reloadParsed(configOf(w.t, text))
}

// reloadParsed is reload for those who do it often: reading the text takes most of the time.
func (w *world) reloadParsed(c *config.Config) {
	w.t.Helper()
	if err := w.g.reload(c); err != nil {
		w.t.Fatal(err)
	}
}

// changed is a text with each pair's first replaced by its second; both must make a difference.
func changed(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		next := strings.Replace(text, pairs[i], pairs[i+1], 1)
		if next == text {
			t.Fatalf("%q is not there to be changed", pairs[i])
		}
		text = next
	}
	return text
}

// left is what a RateLimit field says is left of the rate.
func (a reply) left() int {
	_, r, _ := strings.Cut(a.header.Get("RateLimit"), ";r=")
	r, _, _ = strings.Cut(r, ";")
	n, err := strconv.Atoi(r)
	if err != nil {
		return -1
	}
	return n
}

func TestEveryCounterKeepsItsValueAcrossReloads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `rate = "100/s"`, `rate = "100/60s"`)
		w := newWorld(t, text, mirror)
		key := "ann"
		for i := range 40 {
			if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 || a.left() != 99-i {
				t.Fatalf("request %d: %d, %s", i, a.status, a.header.Get("RateLimit"))
			}
		}
		used := 40
		for _, step := range []struct {
			name  string
			pairs []string
			key   string // from then on
			n     int    // the rate from then on
			rule  string
			pool  string
		}{
			{"a new rate", []string{`rate = "100/60s"`, `rate = "80/60s"`}, "ann", 80, "semantic/chat", "shared"},
			{"the caller in another pool", []string{`keys = ["HASH-ann"]`, "keys = [\"HASH-ann\"]\npool = \"vip\""}, "ann", 80, "semantic/chat", "vip"},
			{"a rule of another plan", []string{`count_by = "tenant"`, "count_by = \"tenant\"\nrules = [{ semantic = \"chat\", rate = \"7/s\" }]"}, "ann", 80, "semantic/chat", "vip"},
			{"a rule of its own before the others", []string{"rules = [ {", "rules = [ { semantic = \"chat\", rate = \"90/60s\" }, {"}, "ann", 90, "plain/*/chat", "vip"},
			{"the rules in another order", []string{
				`{ semantic = "chat", rate = "90/60s" }, `, ``,
				`message = "Exports are three a second." } ]`, `message = "Exports are three a second." }, { semantic = "chat", rate = "90/60s" } ]`,
			}, "ann", 90, "plain/*/chat", "vip"},
			{"a new key", []string{`"HASH-ann"`, `"HASH-anna"`}, "anna", 90, "plain/*/chat", "vip"},
			{"another level", []string{`{ semantic = "chat", rate = "90/60s" }`, `{ semantic = "chat", rate = "90/60s", level = "batch" }`}, "anna", 90, "plain/*/chat", "vip"},
			{"a semantic, a route, a level, a pool and a caller before all others", []string{
				"[[semantics]]\n", "[[semantics]]\nname = \"early\"\nlevel = \"first\"\nrate = \"1/s\"\n[[semantics]]\n",
				"[[routes]]\n", "[[routes]]\nname = \"early\"\npath = \"/early\"\nupstream = \"api\"\n[[routes]]\n",
				"[[levels]]\n", "[[levels]]\nname = \"first\"\n[[levels]]\n",
				"[[pools]]\n", "[[pools]]\nname = \"zeroth\"\nseats = 1\n[[pools]]\n",
				"[[callers]]\n", "[[callers]]\nid = \"aaron\"\n[[callers]]\n",
			}, "anna", 90, "plain/*/chat", "vip"},
			{"a plan of another name", []string{`name = "plain"`, `name = "simple"`}, "anna", 90, "simple/*/chat", "vip"},
			{"a wider rate", []string{`rate = "90/60s"`, `rate = "1000/60s"`}, "anna", 1000, "simple/*/chat", "vip"},
		} {
			text = changed(t, text, step.pairs...)
			w.reload(text)
			if step.key != key {
				if a := w.do("GET /v1/chat/x", "X-API-Key: "+key); a.status != 401 {
					t.Errorf("%s: the old key: %d", step.name, a.status)
				}
				key = step.key
			}
			used++
			a := w.do("GET /v1/chat/x", "X-API-Key: "+key)
			if want := fmt.Sprintf(`"%s";r=%d`, step.rule, step.n-used); a.status != 200 || a.header.Get("RateLimit") != want {
				t.Errorf("%s: %d, RateLimit: %s, want %s", step.name, a.status, a.header.Get("RateLimit"), want)
			}
			flow := w.flow("ann", "chat", "")
			if flow.Pool != step.pool || flow.Admitted != uint64(used) {
				t.Errorf("%s: the flow is in pool %s and was admitted %d times, want %s, %d", step.name, flow.Pool, flow.Admitted, step.pool, used)
			}
		}
		// Below what is counted: what comes is unpaid, and what was counted stays so.
		narrow := changed(t, text, `rate = "1000/60s"`, `rate = "30/60s"`)
		w.reload(narrow)
		if a := w.do("GET /v1/chat/x", "X-API-Key: "+key); a.status != 200 || a.left() != 0 {
			t.Errorf("a rate below what was used: %d, %s", a.status, a.header.Get("RateLimit"))
		}
		w.reload(text)
		if a := w.do("GET /v1/chat/x", "X-API-Key: "+key); a.left() != 1000-used-1 {
			t.Errorf("and back: %s; want %d left", a.header.Get("RateLimit"), 1000-used-1)
		}
		time.Sleep(time.Minute)
		if a := w.do("GET /v1/chat/x", "X-API-Key: "+key); a.left() != 999 {
			t.Errorf("a minute later: %s", a.header.Get("RateLimit"))
		}
		w.idle()
	})
}

func TestABucketKeepsWhatIsMissingFromItsDepth(t *testing.T) {
	bubble(t, func(t *testing.T) {
		bucket := func(n int) string {
			return changed(t, basic, `rate = "100/s"`, fmt.Sprintf("rate = \"1/1h\"\nburst = %d", n))
		}
		w := newWorld(t, bucket(100), mirror)
		for range 40 {
			w.do("GET /v1/chat/x", "X-API-Key: ann")
		}
		w.reload(bucket(150))
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.left() != 109 {
			t.Errorf("100 to 150 with 60 left: %d left after one more, want 109", a.left())
		}
		w.reload(bucket(100))
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.left() != 58 {
			t.Errorf("and back: %d left after one more, want 58", a.left())
		}
		w.reload(bucket(30))
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.left() != 0 {
			t.Errorf("100 to 30 with 58 left: %d left, want 0", a.left())
		}
	})
}

func TestABadConfigLeavesTheOldOneInForce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		before := w.g.live.Load()
		bad := []struct{ name, text, says string }{
			{"empty", "", "levels"},
			{"half-written", basic[:len(basic)/2], ""},
			{"no TOML", "[server\nlisten", ""},
			{"a number that is none", changed(t, basic, "seats = 2", "seats = 2\nexcess_ceiling = nan"), "excess_ceiling"},
			{"negative", changed(t, basic, "seats = 2", "seats = -2"), "seats"},
			{"an unknown key", changed(t, basic, "seats = 2", "seats = 2\nsaets = 2"), "saets"},
			{"a duplicate", basic + "[[pools]]\nname = \"vip\"\nseats = 1\n", "vip"},
			{"a tie of routes", basic + "[[routes]]\nname = \"again\"\npath = \"/v1/chat/*\"\nupstream = \"api\"\n", "/v1/chat/*"},
			{"a cost that its rate never has", changed(t, basic, `rate = "3/s"`, `rate = "3/s", cost = 4`), "cost"},
		}
		check := func(name, says string, failures int) {
			t.Helper()
			s := w.snapshot().Config
			if s.Error == "" || !strings.Contains(s.Error, says) || s.Version != 1 || s.Hash != before.config.Hash {
				t.Errorf("%s: the snapshot has %+v, want an error with %q", name, s, says)
			}
			if n := w.metric("tidegate_config_last_reload_successful"); n != 0 {
				t.Errorf("%s: last reload successful %v", name, n)
			}
			if n := w.metric(`tidegate_config_reloads_total{result="failure"}`); n != float64(failures) {
				t.Errorf("%s: %v failures counted, want %d", name, n, failures)
			}
			if ok, why := w.g.ready(); !ok {
				t.Errorf("%s: not ready: %s", name, why)
			}
			if w.g.live.Load() != before {
				t.Errorf("%s: something was changed", name)
			}
			if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		for i, tc := range bad {
			w.g.take([]byte(hashed(tc.text)), nil)
			check(tc.name, tc.says, i+1)
		}
		w.g.take(nil, errors.New("the file is gone"))
		check("unreadable", "the file is gone", len(bad)+1)
		if n := len(w.log.lines("config")); n < len(bad)+1 {
			t.Errorf("%d lines in the log:\n%s", n, w.log)
		}

		// The one in force again ends the error, and is no new version.
		good := configOf(t, basic)
		if err := w.g.reload(good); err != nil {
			t.Fatal(err)
		}
		lines := w.log.lines("config")
		if last := lines[len(lines)-1]; !strings.Contains(last, `"version":1,`) || !strings.Contains(last, `"changed":false`) {
			t.Errorf("the log does not say that the file is right again: %v", last)
		}
		if s := w.snapshot().Config; s.Error != "" || s.Version != 1 || w.metric("tidegate_config_last_reload_successful") != 1 || w.g.live.Load() != before {
			t.Errorf("%+v", s)
		}
		w.reload(basic + "# another\n")
		if s := w.snapshot().Config; s.Error != "" || s.Version != 2 || s.Hash == before.config.Hash {
			t.Errorf("%+v", s)
		}
		if n := w.metric(`tidegate_config_reloads_total{result="success"}`); n != 3 {
			t.Errorf("%v loads counted, want 3", n)
		}
	})
}

func TestWhatNeedsARestartIsSaidUntilItIsUndone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		server := "[server]\nmax_header_bytes = \"16KiB\"\nmax_connections = 1000\nlisten = \"127.0.0.1:8080\"\n[admin]\nlisten = \"127.0.0.1:8081\"\n[state]\ndir = \"data\"\n"
		text := changed(t, server+basic, "[log]\n", "[log]\nformat = \"json\"\n")
		w := newWorld(t, text, mirror)
		for _, tc := range []struct{ from, to, key string }{
			{`"127.0.0.1:8080"`, `"127.0.0.1:9090"`, "server.listen"},
			{`"127.0.0.1:8081"`, `"127.0.0.1:9091"`, "admin.listen"},
			{`"16KiB"`, `"32KiB"`, "server.max_header_bytes"},
			{`max_connections = 1000`, `max_connections = 2000`, "server.max_connections"},
			{`max_connections = 1000`, `max_connections = 500`, ""},
			{`format = "json"`, `format = "console"`, "log.format"},
			{`dir = "data"`, `dir = "other"`, "state.dir"},
			{`access = "all"`, `access = "off"`, ""},
		} {
			next := changed(t, text, tc.from, tc.to)
			for range 2 { // still true when something else changes
				w.reload(next)
				next += "# and a comment\n"
				note := w.snapshot().Config.Error
				if tc.key == "" && note != "" || tc.key != "" && !strings.HasSuffix(note, ": "+tc.key) {
					t.Errorf("%s to %s: the snapshot says %q, want %q", tc.from, tc.to, note, tc.key)
				}
			}
			if w.metric("tidegate_config_last_reload_successful") != 1 {
				t.Errorf("%s: it was taken all the same", tc.to)
			}
			w.reload(text)
			if note := w.snapshot().Config.Error; note != "" {
				t.Errorf("undone: %q", note)
			}
		}
	})
}

func TestTheBoundOfOpenFilesHoldsAcrossReloads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror)
		w.g.options.MaxConnections = 10
		w.reload(basic + "# again\n")
		if n := w.g.edge.limits.Load().maxConnections; n != 10 {
			t.Errorf("%d connections are taken, want 10", n)
		}
	})
}

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
				time.Sleep(2 * time.Minute)
				runtime.GC()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return runtime.NumGoroutine(), m.HeapObjects
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

func TestLimitsOfBodiesAndAddressesChangeWithAReload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		server := func(lines string) string { return "[server]\ntrusted_proxies = [\"10.0.0.1\"]\n" + lines + basic }
		w := newWorldBehind(t, "10.0.0.1", server(`max_body_bytes = "1KiB"`+"\n"), func(ctx *fasthttp.RequestCtx) {
			n := len(ctx.Request.Body())
			fmt.Fprintf(ctx, "%d", n)
		})
		post := func() reply {
			return w.do("POST /v1/chat/x", "X-API-Key: ann", "X-Forwarded-For: 192.0.2.7", "", strings.Repeat("x", 2000))
		}
		if a := post(); a.code() != "body_too_large" {
			t.Errorf("%d %s", a.status, a.body)
		}
		w.reload(server(`max_body_bytes = "1MiB"` + "\n"))
		if a := post(); a.status != 200 || a.body != "2000" {
			t.Errorf("a larger body may come now: %d %s", a.status, a.body)
		}
		w.reload(server("max_body_bytes = \"1KiB\"\nbody_buffer = \"1KiB\"\nmax_body_memory = \"1KiB\"\n"))
		if a := post(); a.code() != "body_too_large" {
			t.Errorf("and now it may not: %d %s", a.status, a.body)
		}
		if n := w.g.bodies.max.Load(); n != 1<<10 {
			t.Errorf("all bodies together may hold %d bytes", n)
		}
		w.reload(server("rate_per_ip = \"2/s\"\n"))
		codes := []string{post().code(), post().code(), post().code()}
		if !slices.Equal(codes, []string{"", "", "address_limited"}) {
			t.Errorf("an address may send 2/s now: %q", codes)
		}
		w.reload(server(""))
		if a := post(); a.status != 200 {
			t.Errorf("and now any number: %d", a.status)
		}
		w.idle()
	})
}
