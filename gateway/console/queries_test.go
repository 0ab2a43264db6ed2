package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
)

func TestParametersOfThePagesListsReachTheirQuery(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	for _, path := range []string{
		"/api/v1/callers?query=spi+der&pool=vip&plan=paid&level=batch&standing=waiting&sort=rate&offset=200&limit=1000",
		"/api/v1/history?kind=level&name=shared/batch&span=168h&until=2026-11-02T09:30:00Z",
		"/api/v1/audit?actor=ann&action=reload&query=night&before=18446744073709551615&limit=1",
	} {
		body(t, d, path)
	}
	if want := (CallersQuery{Query: "spi der", Pool: "vip", Plan: "paid", Level: "batch", Standing: "waiting", Sort: "rate", Offset: 200, Limit: 1000}); d.callersQuery != want {
		t.Errorf("callers %+v", d.callersQuery)
	}
	if want := (HistoryQuery{Kind: "level", Name: "shared/batch", Span: 168 * time.Hour, Until: t0}); d.historyQuery != want {
		t.Errorf("history %+v", d.historyQuery)
	}
	if want := (AuditQuery{Actor: "ann", Action: "reload", Query: "night", Before: 1<<64 - 1, Limit: 1}); d.auditQuery != want {
		t.Errorf("audit %+v", d.auditQuery)
	}
	body(t, d, "/api/v1/callers")
	body(t, d, "/api/v1/history?kind=total")
	body(t, d, "/api/v1/audit")
	if (d.callersQuery != CallersQuery{Limit: 100}) || (d.historyQuery != HistoryQuery{Kind: "total", Span: 15 * time.Minute}) || (d.auditQuery != AuditQuery{Limit: 100}) {
		t.Errorf("without parameters: %+v %+v %+v", d.callersQuery, d.historyQuery, d.auditQuery)
	}
}

func TestListsOfThePageAreNeverNullNorTooLong(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	o := &d.options
	o.Callers = func(CallersQuery) CallersPage { return CallersPage{Callers: make([]CallerView, 9)} }
	o.Caller = func(string) (CallerDetail, bool) {
		return CallerDetail{Rules: make([]CallerRule, 1), Flows: make([]FlowView, 2*MaxFlows), Refusals: make([]RefusalView, 2*MaxRefusals)}, true
	}
	o.History = func(HistoryQuery) (HistoryView, error) { return HistoryView{}, nil }
	o.Registrations = func() []RegistrationView { return nil }
	o.Audit = func(AuditQuery) []AuditEntry { return nil }
	o.Alerts = func() AlertsView { return AlertsView{} }
	o.Check = func([]byte) CheckView { return CheckView{} }
	o.Preview = func([]byte) (*PreviewView, error) { return &PreviewView{Rows: make([]PreviewRow, 2*maxRows)}, nil }
	for path, want := range map[string]string{
		"/api/v1/callers?limit=2":      `"standings":{"calm":0,"excess":0,"paused":0,"surging":0,"throttled":0,"waiting":0}`,
		"/api/v1/caller?id=x":          `"surges":[],"refusals":[{`,
		"/api/v1/history?kind=total":   `"fields":{}`,
		"/api/v1/registrations":        `[]`,
		"/api/v1/audit":                `[]`,
		"/api/v1/alerts":               `{"webhook":false,"alerts":[]}`,
		"POST /api/v1/config/check":    `{"ok":false,"problems":[],"diff":"","restart_needed":[],"asides":[]}`,
		"POST /api/v1/config/preview":  `"pools":[],"notes":[]`,
		"/api/v1/caller?id=everything": `"overrides":[],"registrations":[]`,
	} {
		r := request{path: path}
		if rest, ok := strings.CutPrefix(path, "POST "); ok {
			r = write("POST", rest, asTOML, "a = 1")
		}
		got := string(d.ask(r).Body())
		if !strings.Contains(got, want) || strings.Contains(got, ":null,\"flows\"") || strings.Contains(got, `"recent":null`) || strings.Contains(got, `"semantics":null`) || strings.Contains(got, `"overrides":null`) {
			t.Errorf("%s lacks %s: %.500s", path, want, got)
		}
	}
	var page CallersPage
	var detail CallerDetail
	var preview PreviewView
	for _, of := range []struct {
		text []byte
		into any
	}{
		{body(t, d, "/api/v1/callers?limit=2"), &page},
		{body(t, d, "/api/v1/caller?id=x"), &detail},
		{d.ask(write("POST", "/api/v1/config/preview", asTOML, "a = 1")).Body(), &preview},
	} {
		if err := json.Unmarshal(of.text, of.into); err != nil {
			t.Fatal(err)
		}
	}
	if len(page.Callers) != 2 || len(detail.Flows) != MaxFlows || len(detail.Refusals) != MaxRefusals || len(preview.Rows) != maxRows {
		t.Errorf("%d callers, %d flows, %d refusals, %d rows", len(page.Callers), len(detail.Flows), len(detail.Refusals), len(preview.Rows))
	}
}

// What differs from the file in force is told by that file, of which a viewer sees no hashes.
func TestACheckTellsViewersNoHashes(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("v", "viewer"), tokenOf("o", "operator"))
	for secret, whole := range map[string]bool{"v": false, "o": true} {
		for _, r := range []request{
			write("POST", "/api/v1/config/check", asTOML, "a = 1", "Authorization: Bearer "+secret),
			write("POST", "/api/v1/config/check", asJSON, `{"config":"a = 1"}`, "Authorization: Bearer "+secret),
		} {
			got := string(d.ask(r).Body())
			if strings.Contains(got, "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8") != whole || !strings.Contains(got, "5e884898") || !strings.Contains(got, "+a = 1") {
				t.Errorf("as %s: %s", secret, got)
			}
		}
	}
}

func TestADecisionIsMadeAsItWasSent(t *testing.T) {
	for _, c := range []struct{ body, want, decided string }{
		{`{"caller":"acme","semantic":"chat","decision":"approve","reason":"fine"}`, "200", "[acme chat true]"},
		{`{"caller":"acme","semantic":"chat","decision":"refuse"}`, "200", "[acme chat false]"},
		{`{"caller":"acme","semantic":"chat","decision":"forget"}`, "200", "[acme chat forget]"},
		{`{"caller":"nobody","semantic":"chat","decision":"forget"}`, "404 registration_unknown", "[nobody chat forget]"},
		{`{"caller":"acme","semantic":"gone","decision":"approve"}`, "422 semantic_unknown", "[acme gone true]"},
		{`{"caller":"acme","semantic":"chat"}`, "400 bad_request", "[]"},
		{`{"caller":"acme","semantic":"chat","decision":"maybe"}`, "400 bad_request", "[]"},
		{`{"caller":"acme","decision":"approve"}`, "400 bad_request", "[]"},
		{`{"semantic":"chat","decision":"approve"}`, "400 bad_request", "[]"},
		{`{"caller":1,"semantic":"chat","decision":"approve"}`, "400 bad_request", "[]"},
	} {
		d := newDesk("127.0.0.1:8081", tokenOf("w", "owner"))
		got := code(t, d.ask(write("POST", "/api/v1/registrations", asJSON, c.body, "Authorization: Bearer w")))
		if got != c.want || fmt.Sprint(d.decided) != c.decided {
			t.Errorf("%s = %s, decided %v", c.body, got, d.decided)
		}
		if c.want == "200" && (d.control.last.Actor != "owner" || d.control.last.Role != "owner" || d.control.last.From != "127.0.0.1") {
			t.Errorf("%s by %+v", c.body, d.control.last)
		}
	}
}

func TestATestOfTheWebhookHasItsActor(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("o", "operator"))
	if got := code(t, d.ask(write("POST", "/api/v1/alerts/test?reason=new+webhook", "", "", "Authorization: Bearer o"))); got != "200" || (d.tested != Change{Actor: "operator", Role: "operator", From: "127.0.0.1", Reason: "new webhook"}) {
		t.Errorf("%s by %+v", got, d.tested)
	}
	if got := code(t, d.ask(write("POST", "/api/v1/alerts/test", asJSON, `{"reason":"again"}`, "Authorization: Bearer o"))); got != "429 alert_busy" {
		t.Errorf("again: %s", got)
	}
}

// Whatever part of the gateway does not run yet, the rest is answered.
func TestWhatIsNotThereYetIsSaid(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.Console = New(Options{
		Listen: "127.0.0.1:8081", Snapshot: busy, Ready: d.options.Ready, WriteMetrics: d.options.WriteMetrics, Control: d.control, Redact: config.RedactHashes, Log: d.options.Log,
	})
	for _, c := range accessTable {
		want := "503 not_ready"
		switch path, _, _ := strings.Cut(c.path, "?"); path {
		case "/api/v1/callers", "/api/v1/caller", "/api/v1/history", "/api/v1/explain", "/api/v1/flows", "/api/v1/refusals", "/api/v1/queue", "/api/v1/registrations",
			"/api/v1/audit", "/api/v1/alerts", "/api/v1/alerts/test", "/api/v1/config/check", "/api/v1/config/preview":
		case "/api/v1/overrides":
			continue
		default:
			want = "200"
		}
		if got := code(t, d.ask(write(c.method, c.path, asJSON, c.body, "If-Match: *"))); got != want {
			t.Errorf("%s %s = %s, want %s", c.method, c.path, got, want)
		}
	}
}
