package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// reload brings another configuration into force.
func (w *world) reload(text string) {
	w.t.Helper()
	w.reloadParsed(configOf(w.t, text))
}

// reloadParsed is reload for those who do it often: reading the text takes most of the time.
func (w *world) reloadParsed(c *config.Config) {
	w.t.Helper()
	if _, err := w.apply(c); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) apply(c *config.Config) (*console.Changed, error) {
	w.g.loading.Lock()
	defer w.g.loading.Unlock()
	return w.g.applyLoaded(change{source: sourceFile, Change: console.Change{Actor: actorFile}}, c, nil)
}

// changed is a text with each pair's first replaced by its second; both must make a difference.
func changed(t testing.TB, text string, pairs ...string) string {
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
		w.reloadParsed(good)
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
