package console

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"tidegate/gateway/config"
)

// furnish puts everything that a page asks for on the desk.
func (d *desk) furnish() {
	o := &d.options
	o.Callers = func(q CallersQuery) CallersPage {
		d.callersQuery = q
		return CallersPage{Time: t0, Total: 1, Standings: map[string]int{StandingSurging: 1}, Callers: []CallerView{spider()}}
	}
	o.Caller = func(id string) (CallerDetail, bool) {
		if id == "nobody" {
			return CallerDetail{}, false
		}
		s := busy()
		return CallerDetail{
			Time: t0, Caller: spider(), Flows: s.Flows[:1], Surges: s.Surges[:1], Refusals: s.Refusals[:1],
			Rules:         []CallerRule{{Route: "reports", Semantic: "export", Registered: true, Rule: "paid/reports/export", At: "config.toml:120", Rate: "20/s", MaxRate: "30/s", FileRate: "20/s", MaxWaitMS: 60000, OverRate: "queue", Level: "batch"}},
			Registrations: []RegistrationView{registered()},
		}, true
	}
	o.History = func(q HistoryQuery) (HistoryView, error) {
		d.historyQuery = q
		if q.Name == "gone" {
			return HistoryView{}, errors.New("there is no pool \"gone\"")
		}
		return HistoryView{Kind: q.Kind, Name: q.Name, From: t0, StepMS: 1000, Fields: map[string]Series{"rate": {1, math.NaN(), 2.0004}, "waiting": {}}}, nil
	}
	o.Registrations = func() []RegistrationView { return []RegistrationView{registered()} }
	o.DecideRegistration = func(c Change, caller, semantic string, approve *bool) (RegistrationView, error) {
		d.control.last = c
		decision := "forget"
		if approve != nil {
			decision = fmt.Sprint(*approve)
		}
		d.decided = []string{caller, semantic, decision}
		switch {
		case caller == "nobody":
			return RegistrationView{}, &Failure{Code: CodeRegistrationUnknown, Detail: "There is no such registration."}
		case semantic == "gone":
			return RegistrationView{}, &Failure{Code: CodeSemanticUnknown, Detail: "There is no such semantic."}
		}
		return registered(), nil
	}
	o.Audit = func(q AuditQuery) []AuditEntry {
		d.auditQuery = q
		return []AuditEntry{{ID: 7, Time: t0, Actor: "ann", Role: "owner", From: "10.0.0.1", Action: "config_put", Outcome: outcomeDone, Version: 4, Diff: "-a\n+b\n"}}
	}
	o.Audited = func(e AuditEntry) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.audited = append(d.audited, e)
	}
	o.Alerts = func() AlertsView {
		return AlertsView{Webhook: true, Alerts: []AlertView{{ID: "a-1", Time: t0, Kind: "surge", Subject: "spider-77/export", Text: "spider-77/export surges.", Status: "sent", Attempts: 1, SentAt: &t0}}}
	}
	o.TestAlert = func(c Change) (AlertView, error) {
		d.tested = c
		if c.Reason == "again" {
			return AlertView{}, &Failure{Code: CodeAlertBusy, Detail: "A test was sent a second ago."}
		}
		return AlertView{ID: "a-2", Time: t0, Kind: "test", Status: "pending"}, nil
	}
	o.Check = func(text []byte) CheckView {
		v := CheckView{OK: true, Diff: "-" + strings.Split(firstText, "\n")[2] + "\n+" + string(text) + "\n"}
		if strings.Contains(string(text), "fault") {
			v.OK, v.Problems = false, Problems([]config.Problem{{File: "config.toml", Line: 7, Column: 3, Message: "must be at least 1"}})
		}
		return v
	}
	o.Preview = func(text []byte) (*PreviewView, error) {
		switch {
		case strings.Contains(string(text), "fault"):
			return nil, &Failure{Code: CodeConfigInvalid, Detail: "The config has 1 fault.", Problems: []config.Problem{{Line: 7}}}
		case strings.Contains(string(text), "busy"):
			return nil, &Failure{Code: CodePreviewBusy, Detail: "Another one is being played."}
		}
		return &PreviewView{CheckView: o.Check(text), From: t0, To: t0.Add(time.Minute), Requests: 10, Rows: []PreviewRow{{Caller: "acme", Semantic: "chat"}}}, nil
	}
}

func spider() CallerView {
	since := t0.Add(-12 * time.Second)
	return CallerView{
		ID: "spider-77", Plan: "paid", Pool: "shared", Enabled: true, Standing: StandingSurging, Rate: 801, AdmittedPerS: 20, RefusedPerS: 780, InFlight: 20, Waiting: 412, FlowsTotal: 1,
		Semantics: []SemanticUse{{Semantic: "export", Level: "batch", Standing: StandingSurging, Rate: 801, Expected: 15, Limit: "20/s", Occupancy: 1, InFlight: 20, Waiting: 412, Flows: 1, SurgeSince: &since}},
		Recent:    []float64{15, 16, 801},
	}
}

func registered() RegistrationView {
	return RegistrationView{Caller: "acme", Semantic: "chat", Description: "Questions of our customers.", ExpectedRate: "20/s", Status: RegistrationWaiting, Configured: true, Level: "realtime", Asked: t0}
}

// newDeskIn is a desk that keeps its sessions.
func newDeskIn(dir string, tokens ...config.Token) *desk {
	d := newDesk("127.0.0.1:8081", tokens...)
	d.sessions = newSessions(dir, d.options.Log)
	return d
}
