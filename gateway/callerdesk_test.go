package gateway

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
	"tidegate/gateway/policy"
	"tidegate/gateway/registration"
)

// registering is basic with a plan of each kind: ann's says auto, bob's approve, vip's off. A route takes everything,
// and there is a semantic that nobody has.
var registering = strings.NewReplacer(
	`name = "plain"`, "name = \"plain\"\nregistration = \"off\"",
	`name = "tenants"`, "name = \"tenants\"\nregistration = \"approve\"",
	"[[upstreams]]", `[[plans]]
name = "open"
registration = "auto"
rules = [ { semantic = "export", rate = "5/s", over_rate = "reject", max_wait = "7s" }, { route = "mixed", semantic = "export", rate = "1/s", level = "realtime" } ]
[[plans]]
name = "asking"
registration = "approve"
[[upstreams]]`,
	"keys = [\"HASH-ann\"]\nsemantics = [\"chat\", \"export\"]", "name = \"Ann & Co\"\nplan = \"open\"\nkeys = [\"HASH-ann\"]\nsemantics = [\"chat\"]",
	`keys = ["HASH-bob"]`, "plan = \"asking\"\nkeys = [\"HASH-bob\"]",
	"[[callers]]\nid = \"ann\"", "[[routes]]\nname = \"all\"\npath = \"/*\"\nupstream = \"api\"\nsemantics = [\"chat\"]\n[[callers]]\nid = \"ann\"",
).Replace(basic)

const someWords = `{"description":"Nightly export","expected_rate":"5/min"}`

func (w *world) put(key, semantic, body string) reply {
	w.t.Helper()
	return w.do("PUT /.tidegate/v1/semantics/"+semantic, "X-API-Key: "+key, "Content-Type: application/json", "", body)
}

func (w *world) desk(key, request string) reply {
	w.t.Helper()
	return w.do(request, "X-API-Key: "+key)
}

// told decodes an answer.
func told[T any](t *testing.T, a reply) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%d %q: %v", a.status, a.body, err)
	}
	return v
}

// expectAnswer fails unless an answer has the status and, where it is a refusal, the code.
func expectAnswer(t *testing.T, what string, a reply, status int, code string) {
	t.Helper()
	if a.status != status || a.code() != code {
		t.Errorf("%s: %d %s, want %d %s", what, a.status, a.body, status, code)
	}
}

// semanticOf is what the upstream is told of a request.
func (w *world) tagged(key, tag string) string {
	w.t.Helper()
	a := w.do("GET /v1/mixed/x", "X-API-Key: "+key, "X-Semantic: "+tag)
	_, rest, _ := strings.Cut(a.body, "X-Tidegate-Semantic: ")
	semantic, _, _ := strings.Cut(rest, "\n")
	return semantic
}

func (w *world) decides(caller, semantic string, approve bool) console.RegistrationView {
	w.t.Helper()
	v, err := w.g.decideRegistration(console.Change{Actor: "olga", Role: "owner", From: "127.0.0.1", Reason: "agreed"}, caller, semantic, &approve)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func TestARegistrationUnderAutoActsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		if got := w.tagged("ann", "export"); got != "default" {
			t.Fatalf("before it is registered the work is %q", got)
		}
		a := w.put("ann", "export", someWords)
		expectAnswer(t, "registering", a, 201, "")
		got := told[deskSemantic](t, a)
		if got.Status != "active" || got.Source != fromRegistration || got.Kept == nil || !*got.Kept || got.Description != "Nightly export" || got.ExpectedRate != "5/min" {
			t.Errorf("%s", a.body)
		}
		// The level is the business's, and so are rate and wait.
		if got.Level != "batch" || got.Rule != "open/*/export" || got.Rate != "5/s" || got.MaxWaitMS != 7000 || len(got.Rules) != 2 || got.Rules[1].Level != "realtime" {
			t.Errorf("%s", a.body)
		}
		if got := w.tagged("ann", "export"); got != "export" {
			t.Errorf("the work is %q", got)
		}
		if e, err := w.g.explain(console.ExplainQuery{Caller: "ann", Route: "reports", Semantic: "export"}); err != nil || !strings.Contains(e.(*policy.Explanation).Why, "itself") {
			t.Errorf("explain: %+v %v", e, err)
		}
		expectAnswer(t, "the same again", w.put("ann", "export", someWords), 200, "")
		expectAnswer(t, "taking it back", w.desk("ann", "DELETE /.tidegate/v1/semantics/export"), 204, "")
		if got := w.tagged("ann", "export"); got != "default" {
			t.Errorf("taken back, and the work is %q", got)
		}
		expectAnswer(t, "taking it back again", w.desk("ann", "DELETE /.tidegate/v1/semantics/export"), 404, "registration_unknown")
		w.idle()
	})
}

func TestARegistrationUnderApproveWaitsForAnOwner(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		w := newWorldIn(t, dir, registering, mirror)
		var trail []console.AuditEntry
		w.g.auditRegistration = func(e console.AuditEntry) { trail = append(trail, e) }
		a := w.put("bob", "export", someWords)
		expectAnswer(t, "registering", a, 202, "")
		if got := told[deskSemantic](t, a); got.Status != "waiting" || got.Level != "batch" || got.Rule != "semantic/export" {
			t.Errorf("%s", a.body)
		}
		if w.tagged("bob", "export") != "default" {
			t.Error("it acts before anybody has approved it")
		}
		all := w.g.registrations()
		if len(all) != 1 || all[0].Caller != "bob" || all[0].Status != "waiting" || all[0].Level != "batch" || all[0].Decided != nil || !all[0].Configured {
			t.Errorf("%+v", all)
		}
		if v := w.decides("bob", "export", true); v.Status != "active" || v.By != "olga" || v.Reason != "agreed" || v.Decided == nil {
			t.Errorf("%+v", v)
		}
		if w.tagged("bob", "export") != "export" {
			t.Error("approved, and it does not act")
		}
		w.decides("bob", "export", false)
		if w.tagged("bob", "export") != "default" {
			t.Error("refused, and it acts")
		}
		a = w.desk("bob", "GET /.tidegate/v1/semantics/export")
		if got := told[deskSemantic](t, a); got.Status != "refused" || got.Reason != "agreed" || got.AskAgain == nil || strings.Contains(a.body, "olga") {
			t.Errorf("%s", a.body)
		}
		a = w.put("bob", "export", someWords)
		expectAnswer(t, "asking again at once", a, 409, "registration_refused")
		if after := a.member("retry_after_ms").(float64); after < 23*3600e3 || after > 24*3600e3 || a.member("retryable") != true {
			t.Errorf("%s", a.body)
		}
		if _, err := w.g.decideRegistration(console.Change{Actor: "olga"}, "bob", "export", nil); err != nil {
			t.Error(err)
		}
		if len(w.g.registrations()) != 0 {
			t.Error("forgotten, and it is there")
		}
		expectAnswer(t, "asking after it was forgotten", w.put("bob", "chats", someWords), 202, "")
		_, err := w.g.decideRegistration(console.Change{Actor: "olga"}, "bob", "export", nil)
		if f, ok := err.(*console.Failure); !ok || f.Code != console.CodeRegistrationUnknown {
			t.Errorf("%v", err)
		}
		var did []string
		for _, e := range trail {
			did = append(did, e.Actor+" "+e.Action+" "+e.Subject+" "+e.Outcome+e.Code)
		}
		want := []string{
			"caller:bob registration_asked bob/export done", "olga registration_approved bob/export done", "olga registration_refused bob/export done",
			"olga registration_forgotten bob/export done", "caller:bob registration_asked bob/chats done", "olga registration_forgotten bob/export refusedregistration_unknown",
		}
		if strings.Join(did, "\n") != strings.Join(want, "\n") {
			t.Errorf("the trail has\n%s", strings.Join(did, "\n"))
		}
	})
}

func TestWhatTheConfigurationDoesNotHaveYetWaitsForIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		a := w.put("ann", "video", someWords)
		expectAnswer(t, "registering", a, 202, "")
		if got := told[deskSemantic](t, a); got.Status != "waiting" || got.Configured || got.Level != "" {
			t.Errorf("%s", a.body)
		}
		expectAnswer(t, "under approve", w.put("bob", "video", someWords), 202, "")
		yes := true
		_, err := w.g.decideRegistration(console.Change{}, "bob", "video", &yes)
		if f, ok := err.(*console.Failure); !ok || f.Code != console.CodeSemanticUnknown {
			t.Errorf("approved what is not there: %v", err)
		}
		w.reload(changed(t, registering, "[[plans]]", "[[semantics]]\nname = \"video\"\nlevel = \"batch\"\nrate = \"9/s\"\n[[plans]]", `semantics = ["chat", "export"]`, `semantics = ["chat", "export", "video"]`))
		if w.tagged("ann", "video") != "video" || w.tagged("bob", "video") != "default" {
			t.Error("under auto it acts now, under approve it does not")
		}
		w.decides("bob", "video", true)
		if w.tagged("bob", "video") != "video" {
			t.Error("approved, and it does not act")
		}
		// And is off, and kept, while the plan says so.
		w.reload(changed(t, registering, `registration = "auto"`, `registration = "off"`))
		if got := told[deskSemantic](t, w.desk("ann", "GET /.tidegate/v1/semantics/video")); got.Status != "off" {
			t.Errorf("%+v", got)
		}
		expectAnswer(t, "registering under off", w.put("ann", "video", someWords), 403, "registration_off")
	})
}

func TestWhatCannotBeDoneAtTheDesk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		for _, tc := range []struct {
			name    string
			request string
			lines   []string
			status  int
			code    string
		}{
			{"no key", "GET /.tidegate/v1/me", nil, 401, "caller_unknown"},
			{"a wrong key", "GET /.tidegate/v1/me", []string{"X-API-Key: wrong"}, 401, "caller_unknown"},
			{"two keys", "GET /.tidegate/v1/me", []string{"X-API-Key: ann", "X-API-Key: bob"}, 400, "bad_request"},
			{"a key in the query", "GET /.tidegate/v1/me?api_key=ann", nil, 401, "caller_unknown"},
			{"a caller that is switched off", "GET /.tidegate/v1/me", []string{"X-API-Key: off"}, 403, "caller_disabled"},
			{"a bearer token", "GET /.tidegate/v1/me", []string{"Authorization: Bearer ann"}, 200, ""},
			{"no such address", "GET /.tidegate/v1/nothing", []string{"X-API-Key: ann"}, 404, "route_unknown"},
			{"no name", "PUT /.tidegate/v1/semantics/", []string{"X-API-Key: ann"}, 404, "route_unknown"},
			{"a longer path", "GET /.tidegate/v1/semantics/a/b", []string{"X-API-Key: ann"}, 404, "route_unknown"},
			{"another method", "POST /.tidegate/v1/semantics/export", []string{"X-API-Key: ann"}, 405, "method_not_allowed"},
			{"another method for me", "DELETE /.tidegate/v1/me", []string{"X-API-Key: ann"}, 405, "method_not_allowed"},
			{"no content type", "PUT /.tidegate/v1/semantics/export", []string{"X-API-Key: ann", "", someWords}, 415, "media_type_unsupported"},
			{"a form", "PUT /.tidegate/v1/semantics/export", []string{"X-API-Key: ann", "Content-Type: application/x-www-form-urlencoded", "", "a=b"}, 415, "media_type_unsupported"},
			{"another charset", "PUT /.tidegate/v1/semantics/export", []string{"X-API-Key: ann", "Content-Type: application/json; charset=gbk", "", someWords}, 415, "media_type_unsupported"},
			{"the plan says off", "PUT /.tidegate/v1/semantics/export", []string{"X-API-Key: vip", "Content-Type: application/json", "", someWords}, 403, "registration_off"},
			{"taking back what the configuration gives", "DELETE /.tidegate/v1/semantics/chat", []string{"X-API-Key: ann"}, 409, "registration_given"},
			{"looking at nothing", "GET /.tidegate/v1/semantics/export", []string{"X-API-Key: ann"}, 404, "registration_unknown"},
		} {
			a := w.do(tc.request, tc.lines...)
			expectAnswer(t, tc.name, a, tc.status, tc.code)
			if a.header.Get("X-Request-Id") == "" || tc.status >= 400 && a.member("instance") != a.header.Get("X-Request-Id") {
				t.Errorf("%s: no id: %v %s", tc.name, a.header, a.body)
			}
		}
		for _, tc := range []struct{ name, semantic, body, code string }{
			{"nothing", "export", "", "bad_request"},
			{"an unknown member", "export", `{"description":"x","level":"realtime"}`, "bad_request"},
			{"no description", "export", `{}`, "registration_invalid"},
			{"no rate", "export", `{"description":"x","expected_rate":"much"}`, "registration_invalid"},
			{"default", "default", someWords, "registration_invalid"},
			{"no name", "Export", someWords, "registration_invalid"},
			{"too long a body", "export", `{"description":"` + strings.Repeat("x", registration.MaxBody) + `"}`, "body_too_large"},
		} {
			status := map[string]int{"bad_request": 400, "registration_invalid": 422, "body_too_large": 413}[tc.code]
			expectAnswer(t, tc.name, w.put("ann", tc.semantic, tc.body), status, tc.code)
		}
		if len(w.g.registrations()) != 0 {
			t.Errorf("%+v", w.g.registrations())
		}
		if a := w.put("ann", "chat", someWords); a.status != 200 || told[deskSemantic](t, a).Source != fromConfiguration {
			t.Errorf("what the configuration gives: %d %s", a.status, a.body)
		}
		if n := w.calls.Load(); n != 0 {
			t.Errorf("%d of it went to the upstream", n)
		}
		w.idle()
	})
}

func TestTheDeskSpeaksBothLanguages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		a := w.do("PUT /.tidegate/v1/semantics/export", "X-API-Key: vip", "Accept-Language: zh-CN", "Content-Type: application/json", "", someWords)
		if a.member("title") != "未开放登记" || a.header.Get("Content-Language") != "zh" || a.header.Get("Content-Type") != problemType {
			t.Errorf("%v %s", a.header, a.body)
		}
		a = w.put("ann", "export", `{"description":"x","expected_rate":1}`)
		if detail := a.member("detail").(string); !strings.HasSuffix(detail, "[expected_rate]") || strings.Contains(detail, "%") {
			t.Errorf("%s", a.body)
		}
		for i, f := range deskFaultTable {
			if f.code == "" || f.status < 400 || f.words[english].title == "" || f.words[chinese].detail == "" {
				t.Errorf("fault %d: %+v", i, f)
			}
		}
	})
}

// The names of semantics here are those that a configuration takes.
func TestNamesAreThoseOfTheConfiguration(t *testing.T) {
	for _, name := range []string{"a", "a.b_c-9", "A", "a b", "a/b", "ä", "-", ".", strings.Repeat("a", 64), strings.Repeat("a", 65), "a%", "a:b"} {
		text := changed(t, basic, "[[plans]]", fmt.Sprintf("[[semantics]]\nname = %q\nlevel = \"batch\"\nrate = \"1/s\"\n[[plans]]", name))
		_, err := config.LoadBytes("config.toml", []byte(hashed(text)), nil)
		if registration.ValidName(name) != (err == nil) {
			t.Errorf("%q: valid is %v, and the configuration says %v", name, registration.ValidName(name), err)
		}
	}
}

func TestTheDeskIsUsedInMeasure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		for i := range 11 {
			a := w.desk("ann", "GET /.tidegate/v1/me")
			if i < 10 && a.status != 200 || i == 10 && (a.status != 429 || a.code() != "rate_exceeded" || a.header.Get("Retry-After") == "" || a.member("retry_after_ms") == nil) {
				t.Errorf("look %d: %d %s", i, a.status, a.body)
			}
		}
		expectAnswer(t, "somebody else", w.desk("bob", "GET /.tidegate/v1/me"), 200, "")
		for i := range 31 {
			a := w.put("ann", fmt.Sprintf("s%d", i%3), someWords)
			if i < 30 && a.status >= 300 || i == 30 && a.status != 429 {
				t.Errorf("change %d: %d %s", i, a.status, a.body)
			}
		}
		time.Sleep(time.Second)
		expectAnswer(t, "looking a second later", w.desk("ann", "GET /.tidegate/v1/me"), 200, "")
		expectAnswer(t, "changing a second later", w.put("ann", "s1", someWords), 429, "rate_exceeded")
		time.Sleep(time.Minute)
		expectAnswer(t, "changing a minute later", w.put("ann", "s1", someWords), 202, "")
	})
}

func TestTheDeskSharesTheLimitOfAddresses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldBehind(t, "192.0.2.1", "[server]\nrate_per_ip = \"3/s\"\n"+registering, mirror)
		for i, want := range []int{200, 401, 200, 429, 429} {
			request, lines := "GET /.tidegate/", []string(nil)
			if i == 1 {
				request, lines = "GET /.tidegate/v1/me", []string{"X-API-Key: wrong"}
			}
			if a := w.do(request, lines...); a.status != want {
				t.Errorf("request %d: %d, want %d", i, a.status, want)
			}
		}
	})
}

func TestWhatIsRegisteredCostsARequestNoMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		w.put("ann", "export", someWords)
		p := w.g.live.Load().policy
		ann, bob, route, tag := p.Caller("ann"), p.Caller("bob"), p.Route("mixed"), []byte("export")
		if n := testing.AllocsPerRun(100, func() {
			if p.SemanticFor(route, ann, tag, w.g.registry).Name != "export" || p.SemanticFor(route, bob, tag, w.g.registry).Name != "default" {
				t.Error("another semantic")
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func TestWhatHappensAtTheDeskIsLoggedAndIsNoTraffic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		trace := t.TempDir()
		w := newWorldIn(t, t.TempDir(), fmt.Sprintf("[record]\ndir = %q\n", trace)+registering, mirror)
		w.desk("ann", "GET /.tidegate/v1/me?secret=1")
		w.put("vip", "export", someWords)
		w.desk("wrong", "GET /.tidegate/v1/me")
		synctest.Wait()
		lines := strings.Join(append(w.log.lines("access"), w.log.lines("refused")...), "")
		for _, want := range []string{`"caller":"ann"`, `"path":"/.tidegate/v1/me"`, `"route":".tidegate"`, `"status":200`, `"status":403`, `"caller":"vip"`, `"code":"caller_unknown"`} {
			if !strings.Contains(lines, want) {
				t.Errorf("the log has no %s:\n%s", want, lines)
			}
		}
		if log := w.log.String(); strings.Contains(log, "secret") || strings.Contains(log, `"wrong"`) {
			t.Error("what was sent as a key or a query is in the log")
		}
		if n := w.metric(`tidegate_requests_total{caller="",semantic="",outcome="served"}`); n != 1 {
			t.Errorf("%v served, want 1", n)
		}
		if n := w.metric(`tidegate_requests_total{caller="",semantic="",outcome="refused"}`); n != 2 {
			t.Errorf("%v refused, want 2", n)
		}
		if s := w.snapshot(); s.FlowsTotal != 0 {
			t.Errorf("%d flows", s.FlowsTotal)
		}
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(5 * time.Second)
		if st := w.g.recorder.Load().Stats(); st.Written != 1 {
			t.Errorf("%d entries of the trace, want that of the one request that was traffic", st.Written)
		}
		w.idle()
	})
}

func TestTheDeskDrainsAsEverythingDoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, slowly(5*time.Second))
		c := w.client()
		defer c.conn.Close()
		c.do("GET /.tidegate/") // the connection is there before the drain
		go w.do("GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(time.Second)
		w.g.draining.Store(true)
		expectAnswer(t, "while draining", c.do("GET /.tidegate/v1/me", "X-API-Key: ann"), 503, "draining")
	})
}

func TestABrokenDiskLosesNoRegistration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		w := newWorldIn(t, dir, registering, mirror)
		// A directory stands where the file would be: no rename can replace it.
		path := filepath.Join(dir, registration.FileName)
		if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		a := w.put("ann", "export", someWords)
		expectAnswer(t, "registering", a, 201, "")
		if got := told[deskSemantic](t, a); *got.Kept {
			t.Error("kept, it says")
		}
		if w.tagged("ann", "export") != "export" {
			t.Error("it does not act")
		}
		if _, err := w.g.desk.registrations.Trouble(); err == nil {
			t.Error("no trouble is told")
		}
		time.Sleep(10 * time.Second)
		if n := len(w.log.lines("registrations")); n != 1 {
			t.Errorf("said %d times: %v", n, w.log.lines("registrations"))
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if _, err := w.g.desk.registrations.Trouble(); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != fs.FileMode(0o600) {
			t.Errorf("%v %v", info, err)
		}
		after := w.afterRestart(registering, time.Minute)
		if after.tagged("ann", "export") != "export" {
			t.Error("a restart forgot it")
		}
	})
}
