package console

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
)

const asJSON, asTOML = "Content-Type: application/json", "Content-Type: application/toml"

// write is a request with a body and what else a write needs.
func write(method, path, contentType, body string, headers ...string) request {
	if contentType != "" {
		headers = append(headers, contentType)
	}
	return request{method: method, path: path, body: body, headers: headers}
}

func TestAnswersAreTheContract(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.snapshot = observing()
	end := t0.Add(time.Hour)
	first := config.Override{Name: "rules.free/*/chat.rate", Value: "5/s", Actor: "ann", Role: "owner", Reason: "promotion", Made: t0, Until: &end}
	d.control.overrides = []OverrideView{{Override: first}, {Override: config.Override{Name: "callers.gone.enabled", Value: "false", Made: t0}, Aside: "there is no caller gone"}}
	d.control.keep("override", Change{Actor: "ann", From: "10.0.0.1", Reason: "promotion"}, firstText, "")
	d.control.kept[1].Overrides = []config.Override{first}
	for _, c := range []struct {
		golden string
		r      request
	}{
		{"observed.json", request{path: "/api/v1/snapshot"}},
		{"explain.json", request{path: "/api/v1/explain?caller=acme&path=/v1/chat/x"}},
		{"flows.json", request{path: "/api/v1/flows"}},
		{"refusals.json", request{path: "/api/v1/refusals"}},
		{"queue.json", request{path: "/api/v1/queue"}},
		{"versions.json", request{path: "/api/v1/config/versions"}},
		{"overrides.json", request{path: "/api/v1/overrides"}},
		{"changed.json", write("POST", "/api/v1/reload", "", "")},
		{"config_invalid.json", write("PUT", "/api/v1/config", asTOML, "fault", "If-Match: *")},
		{"precondition_failed.json", write("PUT", "/api/v1/config", asTOML, "a = 1", `If-Match: "0-other"`)},
	} {
		var indented bytes.Buffer
		if err := json.Indent(&indented, d.ask(c.r).Body(), "", "  "); err != nil {
			t.Fatalf("%s: %v", c.golden, err)
		}
		golden(t, c.golden, indented.Bytes())
	}
}

func TestListsAreNeverNull(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.snapshot = &Snapshot{Observed: &ObservedView{}}
	d.options.Flows = func(FlowsQuery) (FlowsPage, error) { return FlowsPage{}, nil }
	d.options.Refusals = func(RefusalsQuery) []RefusalView { return nil }
	d.options.Queue = func(int) *QueueView { return &QueueView{} }
	for path, want := range map[string]string{
		"/api/v1/snapshot":        `"by_code":{},"pools":[],"levels":[]`,
		"/api/v1/flows":           `"flows":[]`,
		"/api/v1/refusals":        `[]`,
		"/api/v1/queue":           `"waiting":[],"flows":[],"levels":[]`,
		"/api/v1/overrides":       `[]`,
		"/api/v1/config/versions": `"overrides":[]`,
	} {
		if got := string(body(t, d, path)); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s: %s", path, want, got)
		}
	}
	d.options.Queue = func(int) *QueueView { return nil }
	if got := code(t, d.ask(request{path: "/api/v1/queue"})); got != "503 no_snapshot" {
		t.Errorf("a queue that is not there yet: %s", got)
	}
}

// What a source gives too much of is cut, as the request asked.
func TestListsAreCutToTheLimit(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.options.Queue = func(int) *QueueView { return &QueueView{Total: 9, Waiting: make([]WaitingView, 9)} }
	var page FlowsPage
	var refusals []RefusalView
	var queue QueueView
	for path, into := range map[string]any{
		"/api/v1/flows?limit=2": &page, "/api/v1/refusals?limit=2": &refusals, "/api/v1/queue?limit=2": &queue,
	} {
		if err := json.Unmarshal(body(t, d, path), into); err != nil {
			t.Fatal(err)
		}
	}
	if len(page.Flows) != 2 || len(refusals) != 2 || len(queue.Waiting) != 2 || queue.Total != 9 || page.Total != 23 {
		t.Errorf("%d flows, %d refusals, %d waiting of %d", len(page.Flows), len(refusals), len(queue.Waiting), queue.Total)
	}
}

func TestParametersReachTheirQuery(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	for _, path := range []string{
		"/api/v1/explain?caller=acme&method=POST&host=api.example&path=%2Fv1%2Fchat%2Fa%26b&semantic=chat&tenant=t-1",
		"/api/v1/flows?query=spi+der&state=surge&standing=waiting&sort=rate&cursor=c1&limit=1000",
		"/api/v1/refusals?caller=acme&request_id=7f3c-000091&code=wait_too_long&limit=1",
		"/api/v1/queue?limit=10000",
	} {
		body(t, d, path)
	}
	if want := (ExplainQuery{Caller: "acme", Method: "POST", Host: "api.example", Path: "/v1/chat/a&b", Semantic: "chat", Tenant: "t-1"}); d.explainQuery != want {
		t.Errorf("explain %+v", d.explainQuery)
	}
	if want := (FlowsQuery{Query: "spi der", State: "surge", Standing: "waiting", Sort: "rate", Cursor: "c1", Limit: 1000}); d.flowsQuery != want {
		t.Errorf("flows %+v", d.flowsQuery)
	}
	if want := (RefusalsQuery{Caller: "acme", RequestID: "7f3c-000091", Code: "wait_too_long", Limit: 1}); d.refusalsQuery != want {
		t.Errorf("refusals %+v", d.refusalsQuery)
	}
	if d.queueLimit != 10_000 {
		t.Errorf("queue %d", d.queueLimit)
	}
	body(t, d, "/api/v1/explain?route=chat")
	body(t, d, "/api/v1/flows")
	body(t, d, "/api/v1/refusals")
	body(t, d, "/api/v1/queue")
	if (d.explainQuery != ExplainQuery{Route: "chat"}) || (d.flowsQuery != FlowsQuery{Limit: 100}) || (d.refusalsQuery != RefusalsQuery{Limit: 100}) || d.queueLimit != 1000 {
		t.Errorf("without parameters: %+v %+v %+v %d", d.explainQuery, d.flowsQuery, d.refusalsQuery, d.queueLimit)
	}
}

func TestWhatIsWrongWithAQueryIsSaid(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	for _, c := range []struct{ path, want, says string }{
		{"/api/v1/snapshot?limit=3", "400 bad_request", "none is taken"},
		{"/api/v1/flows?quer=x", "400 bad_request", "query, state, standing, sort, cursor, limit"},
		{"/api/v1/flows?Query=x", "400 bad_request", `"Query"`},
		{"/api/v1/flows?=x", "400 bad_request", `""`},
		{"/api/v1/flows?query=a&query=b", "400 bad_request", "twice"},
		{"/api/v1/flows?state=angry", "400 bad_request", "learning, calm, rising, surge, cooling, waiting, refused, observed"},
		{"/api/v1/flows?sort=size", "400 bad_request", "busiest, rate, occupancy"},
		{"/api/v1/flows?limit=0", "400 bad_request", "1 to 1000"},
		{"/api/v1/flows?limit=1001", "400 bad_request", "1 to 1000"},
		{"/api/v1/flows?limit=", "400 bad_request", "1 to 1000"},
		{"/api/v1/flows?limit=%2B5", "400 bad_request", "1 to 1000"},
		{"/api/v1/flows?limit=99999999999999999999", "400 bad_request", "1 to 1000"},
		{"/api/v1/flows?state=&sort=&query=&cursor=", "200", ""},
		{"/api/v1/flows?cursor=old", "400 cursor_unknown", "begin again"},
		{"/api/v1/refusals?limit=-1", "400 bad_request", "1 to 1000"},
		{"/api/v1/refusals?tenant=x", "400 bad_request", "caller, request_id, code, limit"},
		{"/api/v1/queue?limit=10001", "400 bad_request", "1 to 10000"},
		{"/api/v1/flows?standing=standing", "400 bad_request", "surging, throttled, waiting, excess, paused, calm"},
		{"/api/v1/callers?state=surge", "400 bad_request", "query, pool, plan, level, standing, sort, offset, limit"},
		{"/api/v1/callers?standing=busy", "400 bad_request", "surging, throttled"},
		{"/api/v1/callers?sort=busiest", "400 bad_request", "attention, rate, occupancy"},
		{"/api/v1/callers?offset=-1", "400 bad_request", "from 0 to"},
		{"/api/v1/callers?limit=1001", "400 bad_request", "1 to 1000"},
		{"/api/v1/caller", "400 bad_request", "id must be given"},
		{"/api/v1/caller?id=nobody", "404 caller_unknown", "no caller of this id"},
		{"/api/v1/history", "400 bad_request", "kind must be given"},
		{"/api/v1/history?kind=pool", "400 bad_request", "name"},
		{"/api/v1/history?kind=total&name=x", "400 bad_request", "name"},
		{"/api/v1/history?kind=flow&name=x", "400 bad_request", "total, pool, level, caller"},
		{"/api/v1/history?kind=total&span=169h", "400 bad_request", "1s to 168h"},
		{"/api/v1/history?kind=total&span=0s", "400 bad_request", "1s to 168h"},
		{"/api/v1/history?kind=total&span=soon", "400 bad_request", "1s to 168h"},
		{"/api/v1/history?kind=total&until=now", "400 bad_request", "2006-01-02T15:04:05Z"},
		{"/api/v1/history?kind=pool&name=gone", "404 history_unknown", "no pool"},
		{"/api/v1/registrations?caller=x", "400 bad_request", "none is taken"},
		{"/api/v1/audit?before=0", "400 bad_request", "id of an entry"},
		{"/api/v1/audit?before=-1", "400 bad_request", "id of an entry"},
		{"/api/v1/audit?limit=0", "400 bad_request", "1 to 1000"},
		{"/api/v1/alerts?kind=x", "400 bad_request", "none is taken"},
		{"/api/v1/stream?x=1", "400 bad_request", "none is taken"},
		{"/api/v1/session?token=x", "400 bad_request", "none is taken"},
		{"/api/v1/openapi.json?x=1", "400 bad_request", "none is taken"},
		{"/live/nothing.js", "404 not_found", "no file"},
		{"/live/", "404 not_found", "no file"},
		{"/live", "404 not_found", "There is"},
		{"/live/../index.html", "404 not_found", "There is"},
		{"/api/v1/explain", "400 bad_request", "either route, or path"},
		{"/api/v1/explain?caller=acme", "400 bad_request", "either route, or path"},
		{"/api/v1/explain?route=chat&path=/v1", "400 bad_request", "either route, or path"},
		{"/api/v1/explain?route=chat&method=GET", "400 bad_request", "either route, or path"},
		{"/api/v1/explain?caller=nobody&route=chat", "422 not_explained", `there is no caller "nobody"`},
		{"/api/v1/config?version=0", "400 bad_request", "1 to"},
		{"/api/v1/config?version=x", "400 bad_request", "1 to"},
		{"/api/v1/config?version=2", "404 version_unknown", "Version 2"},
		{"/api/v1/config?number=2", "400 bad_request", "version"},
		{"/api/v1/config/versions?limit=2", "400 bad_request", "none is taken"},
		{"/api/v1/overrides?name=x", "400 bad_request", "none is taken"},
		{"/api/v1", "404 not_found", "/api/v1/config (GET, HEAD, PUT), /api/v1/config/versions, /api/v1/config/check (POST)"},
	} {
		a := d.ask(request{path: c.path})
		if got := code(t, a); got != c.want || !strings.Contains(detail(t, a.Body()), c.says) {
			t.Errorf("GET %s = %s %s, want %s %q", c.path, got, a.Body(), c.want, c.says)
		}
	}
}

// detail is what a problem says; the whole body where it is none.
func detail(t *testing.T, body []byte) string {
	t.Helper()
	var p problem
	if err := json.Unmarshal(body, &p); err != nil {
		return string(body)
	}
	return p.Detail
}

func TestHeadIsAGetWithoutItsBody(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	for _, e := range endpoints {
		if e.method != get || e.path == profiles {
			continue
		}
		path := e.path
		switch path {
		case "/api/v1/explain":
			path += "?route=chat"
		case "/api/v1/caller":
			path += "?id=acme"
		case "/api/v1/history":
			path += "?kind=total"
		case livePrefix:
			path += "live.css"
		case streamPath:
			if head := d.ask(request{method: "HEAD", path: path}); head.StatusCode() != 200 || string(head.Header.ContentType()) != "text/event-stream" || len(d.streams.open) != 0 {
				t.Errorf("HEAD %s: %s", path, head.Header.String())
			}
			continue
		}
		head, full := d.ask(request{method: "HEAD", path: path}), d.ask(request{path: path})
		if head.StatusCode() != 200 || string(head.Header.ContentType()) != string(full.Header.ContentType()) || string(head.Header.Peek("ETag")) != string(full.Header.Peek("ETag")) {
			t.Errorf("HEAD %s: %s", path, head.Header.String())
		}
	}
}

func TestAWrongMethodIsToldTheRightOnes(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	for _, c := range []struct{ method, path, allow string }{
		{"PUT", "/", "GET, HEAD"},
		{"POST", "/healthz", "GET, HEAD"},
		{"POST", "/debug/pprof/heap", "GET, HEAD"},
		{"OPTIONS", "/api/v1/flows", "GET, HEAD"},
		{"POST", "/api/v1/config", "GET, HEAD, PUT"},
		{"DELETE", "/api/v1/config", "GET, HEAD, PUT"},
		{"GET", "/api/v1/config/rollback", "POST"},
		{"HEAD", "/api/v1/reload", "POST"},
		{"GET", "/api/v1/reload", "POST"},
		{"PUT", "/api/v1/overrides", "GET, HEAD, POST, DELETE"},
		{"TRACE", "/api/v1/overrides", "GET, HEAD, POST, DELETE"},
	} {
		a := d.ask(write(c.method, c.path, asJSON, ""))
		if got := code(t, a); got != "405 method_not_allowed" || string(a.Header.Peek("Allow")) != c.allow {
			t.Errorf("%s %s = %s, allows %q, want %q", c.method, c.path, got, a.Header.Peek("Allow"), c.allow)
		}
	}
}

// One fault in what is shown must end neither the process nor the answer.
func TestAFaultIsAnsweredAndLogged(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.options.Explain = func(ExplainQuery) (any, error) { panic("fault") }
	a := d.ask(request{path: "/api/v1/explain?route=chat"})
	if got := code(t, a); got != "500 internal" || string(a.Header.Peek("X-Content-Type-Options")) != "nosniff" || strings.Contains(string(a.Body()), "fault") {
		t.Errorf("%s %s", got, a.Body())
	}
	if d.logged.FilterMessage("console_failed").Len() != 1 {
		t.Error("nothing was logged")
	}
}
