//go:build e2e

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidegate/loadtest/browser"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/upstream"
)

// These tests drive a real Chromium against a real gateway: `make e2e` builds what they need. E2E_OUT is where pictures go,
// AXE is axe's file. With E2E_TIMES=report moments that come too late are told and are no fault: a machine that
// builds and draws at the same time says nothing about them.

const (
	viewer   = "viewer-token-of-the-page-test"
	operator = "operator-token-of-the-page-test"
	owner    = "owner-token-of-the-page-test"
)

// pageTimeline is the incident as the page sees it: after the jump there is time to look around.
var pageTimeline = timeline{warm: 3 * time.Second, quiet: 17 * time.Second, jump: 25 * time.Second, after: 15 * time.Second}

// incident is a stage with the promo cast, its page, and whoever may look.
type incident struct {
	t     *testing.T
	stage *stage.Stage
	p     *played
	end   func() // of the traffic
}

func outDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("E2E_OUT"); dir != "" {
		return dir
	}
	return t.TempDir()
}

func axeSource(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(os.Getenv("AXE"))
	if err != nil {
		t.Fatalf("AXE must name axe's file, as `make e2e` does: %v", err)
	}
	return string(text)
}

var program string // the gateway, built once

func gatewayProgram(t *testing.T) string {
	t.Helper()
	if program != "" {
		return program
	}
	dir, err := os.MkdirTemp("", "page-")
	if err != nil {
		t.Fatal(err)
	}
	if program, err = stage.Build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return program
}

// openIncident starts the gateway and its upstream. Nothing is sent yet.
func openIncident(t *testing.T, when timeline, adapt func(*stage.Config)) *incident {
	t.Helper()
	p, err := newPlayed(1, when)
	if err != nil {
		t.Fatal(err)
	}
	config := promoConfig(p.cast)
	config.Tokens = []stage.Token{{Name: "olive", Role: "owner", Secret: owner}, {Name: "otto", Role: "operator", Secret: operator}, {Name: "vera", Role: "viewer", Secret: viewer}}
	for i := range config.Plans {
		config.Plans[i].Registration = "approve"
	}
	if adapt != nil {
		adapt(&config)
	}
	s, err := stage.Open(t.Context(), t.TempDir(), gatewayProgram(t), config, upstream.Options{Groups: poolGroups(p.cast), Backlog: upstream.Backlog})
	if err != nil {
		t.Fatal(err)
	}
	i := &incident{t: t, stage: s, p: p, end: func() {}}
	t.Cleanup(func() {
		i.end()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

// play begins the traffic; jump is when the offender jumps.
func (i *incident) play() (jump time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- i.p.send(ctx, i.stage, time.Second) }()
	i.end = func() {
		cancel()
		<-done
		i.end = func() {}
	}
	return began.Add(i.p.when.jumpPhase().From)
}

func (i *incident) url(path string) string { return "http://" + i.stage.Config.Admin + path }

// api asks the operators' API as a program does; body nil is a GET.
func (i *incident) api(token, method, path string, body any, out any) int {
	i.t.Helper()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			i.t.Fatal(err)
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(i.t.Context(), method, i.url(path), content)
	if err != nil {
		i.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		i.t.Fatal(err)
	}
	defer a.Body.Close()
	if out != nil {
		if err := json.NewDecoder(a.Body).Decode(out); err != nil {
			i.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return a.StatusCode
}

// view is a tab with the expectations of a test.
type view struct {
	*browser.Tab
	t *testing.T
	i *incident
}

func openBrowser(t *testing.T) *browser.Browser {
	t.Helper()
	b, err := browser.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// look opens the page as whoever has the token, who logs in as a person does.
func (i *incident) look(b *browser.Browser, token string) *view {
	i.t.Helper()
	tab, err := b.Tab()
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(tab.Close)
	v := &view{Tab: tab, t: i.t, i: i}
	v.must(tab.Go(i.url("/")))
	v.must(tab.Fill("login-token", token))
	v.must(tab.Click("login-submit"))
	v.until(`document.querySelector('[data-testid="conn-state"][data-state="connected"]')`, 15*time.Second)
	v.Complaints() // the 401 that the login page came with is one
	return v
}

func (v *view) must(err error) {
	v.t.Helper()
	if err != nil {
		_ = v.Picture(filepath.Join(outDir(v.t), "failed-"+v.t.Name()+".png"))
		v.t.Fatal(err)
	}
}

// until waits for an expression to hold.
func (v *view) until(expression string, within time.Duration) time.Duration {
	v.t.Helper()
	took, err := v.Wait(expression, within)
	v.must(err)
	return took
}

// shows waits for an element to show a text.
func (v *view) shows(id, pattern string, within time.Duration) time.Duration {
	v.t.Helper()
	return v.until(fmt.Sprintf(`((e) => e && /%s/.test(e.innerText || e.value || ""))(%s)`, pattern, browser.By(id)), within)
}

func (v *view) click(id string)      { v.t.Helper(); v.must(v.Click(id)) }
func (v *view) fill(id, text string) { v.t.Helper(); v.must(v.Fill(id, text)) }
func (v *view) picture(name string) {
	v.t.Helper()
	v.must(v.Picture(filepath.Join(outDir(v.t), name+".png")))
}

func (v *view) goTo(hash string) {
	v.t.Helper()
	v.must(v.Eval(fmt.Sprintf("location.hash = %q", hash), nil))
}

func (v *view) eval(expression string, out any) { v.t.Helper(); v.must(v.Eval(expression, out)) }

// clean is that the browser had nothing to complain about, and that nobody else was asked.
func (v *view) clean() {
	v.t.Helper()
	for _, c := range v.Complaints() {
		v.t.Errorf("the browser complains: %s", c)
	}
	for _, host := range v.Hosts() {
		if host != v.i.stage.Config.Admin && host != v.i.stage.Config.Listen {
			v.t.Errorf("the page asked %s", host)
		}
	}
}

// inTime says that something was quick enough.
func inTime(t *testing.T, what string, took, bound time.Duration) {
	t.Helper()
	t.Logf("%s: %v (at most %v)", what, took.Round(time.Millisecond), bound)
	if took > bound {
		if os.Getenv("E2E_TIMES") == "report" {
			t.Logf("LATE: %s", what)
			return
		}
		t.Errorf("%s took %v, want at most %v", what, took, bound)
	}
}
