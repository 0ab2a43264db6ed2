//go:build e2e

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidegate/loadtest/browser"
)

// One caller's promotion script fills the gateway, and the operator sees it, turns him down and back again.
func TestAnOperatorSeesTheIncidentAndTurnsTheCallerDown(t *testing.T) {
	i := openIncident(t, pageTimeline, nil)
	v := i.look(openBrowser(t), operator)
	v.until(`document.body.innerText.includes("curl")`, 5*time.Second) // what to do first, as nothing has come yet
	v.picture("empty")

	jump := i.play()
	v.Shown("caller-vip-1", 10*time.Second)
	time.Sleep(time.Until(jump) - 2*time.Second)
	v.picture("quiet")
	bar := fmt.Sprintf(`parseFloat(%s?.querySelector(".use-share").innerText || "0")`, browser.By("caller-"+spider+"-bar-export")) // percent
	surging := browser.By("caller-"+spider) + `?.dataset.standing === "surging"`
	waits := fmt.Sprintf(`Number(%s?.innerText.replace(/\D/g, "")) >= 100`, browser.By("strip-waiting"))
	if err := v.Shown("caller-"+spider, 5*time.Second); err != nil {
		t.Error(err)
	}
	var before float64
	v.eval(bar, &before)
	time.Sleep(time.Until(jump))
	v.until(surging, 10*time.Second)
	inTime(t, "the surge is on the page, after the jump", time.Since(jump), 2*time.Second)
	v.until(waits, 10*time.Second)
	inTime(t, "the queue is on the page, after the jump", time.Since(jump), 3*time.Second)
	v.until(bar+` > 95`, 5*time.Second)
	t.Logf("the bar was at %.0f %%, and is full", before)
	v.picture("surge")
	v.click("lang")
	v.until(`document.documentElement.lang.startsWith("zh") && `+surging, 5*time.Second)
	v.picture("surge-zh")
	v.click("lang")
	v.until(`document.documentElement.lang === "en"`, 5*time.Second)

	// He is turned down to 5/s, on his own: nobody else's rate changes.
	v.goTo("#/callers/" + spider)
	v.click("action-rate")
	v.fill("rate-number", "5")
	v.fill("action-reason", "promotion script, asked them to slow down")
	v.picture("lower-a-rate")
	began := time.Now()
	v.click("dialog-submit")
	v.shows("flow-export-limit", `^5\/s`, 5*time.Second)
	inTime(t, "the lowered rate is in force and on the page", time.Since(began), time.Second)
	var detail struct {
		Flows []struct{ Semantic, Limit string }
	}
	i.api(viewer, "GET", "/api/v1/caller?id="+spider, nil, &detail)
	if len(detail.Flows) == 0 || detail.Flows[0].Limit != "5/s" {
		t.Errorf("the gateway says %+v", detail.Flows)
	}
	var other struct{ Rate string }
	i.api(viewer, "GET", "/api/v1/explain?caller=exporter&route=reports&semantic=export", nil, &other)
	if other.Rate != "20/s" {
		t.Errorf("exporter's rate is %s now", other.Rate)
	}
	v.picture("caller")
	// And back, with one click.
	began = time.Now()
	v.click("toast-undo")
	v.shows("flow-export-limit", `^20\/s`, 5*time.Second)
	inTime(t, "the rate is back", time.Since(began), time.Second)

	// Paused, he is told so at once, and takes nothing any more.
	v.click("action-pause")
	v.fill("action-reason", "until they have stopped it")
	began = time.Now()
	v.click("dialog-submit")
	v.until(browser.By("caller-standing")+`?.dataset.standing === "paused"`, 5*time.Second)
	inTime(t, "the pause is in force and on the page", time.Since(began), 2*time.Second) // a census, then a look: each once a second
	v.goTo("#/overrides")
	v.Shown("override-undo", 5*time.Second)
	v.picture("overrides")
	v.click("override-undo")
	v.until(`!`+browser.By("override-undo"), 5*time.Second)

	v.goTo("#/surges")
	v.until(`document.querySelector("main").innerText.includes("`+spider+`")`, 5*time.Second)
	v.picture("surges")
	v.goTo("#/refusals")
	v.until(`document.querySelector("main").innerText.includes("`+spider+`")`, 5*time.Second)
	v.picture("refusals")
	v.goTo("#/audit")
	v.until(`document.querySelector("main").innerText.includes("promotion script")`, 5*time.Second)
	v.picture("audit")
	v.clean()
}

func TestAViewerLooksAndCannotAct(t *testing.T) {
	i := openIncident(t, pageTimeline, nil)
	i.play()
	v := i.look(openBrowser(t), viewer)
	v.goTo("#/callers/vip-1")
	v.until(`document.querySelector("main").innerText.includes("chat")`, 10*time.Second)
	for _, id := range []string{"action-rate", "action-pause", "action-pool", "action-resume"} {
		var there bool
		v.eval(`((e) => Boolean(e && !e.disabled && e.getClientRects().length))(`+browser.By(id)+`)`, &there)
		if there {
			t.Errorf("a viewer sees %s", id)
		}
	}
	for path, body := range map[string]string{
		"/api/v1/overrides":       `{"name":"callers.vip-1.enabled","value":false}`,
		"/api/v1/config/rollback": `{"version":1}`, "/api/v1/reload": `{}`,
		"/api/v1/registrations": `{"caller":"vip-1","semantic":"chat","decision":"approve"}`, "/api/v1/alerts/test": `{}`,
	} {
		// As the page itself would: with the cookie, from its own origin.
		var status int
		v.eval(fmt.Sprintf(`fetch(%q, {method: "POST", headers: {"Content-Type": "application/json"}, body: %q}).then((a) => a.status)`, path, body), &status)
		if status != 403 {
			t.Errorf("POST %s as a viewer: %d", path, status)
		}
	}
	var cookie string
	v.eval("document.cookie", &cookie)
	if cookie != "" {
		t.Errorf("scripts see the cookie %q", cookie)
	}
	v.picture("viewer")
}

// Whoever waits for the gateway to come back sees that what stands there is old, and has to do nothing.
func TestThePageComesBackAfterTheGatewayHas(t *testing.T) {
	i := openIncident(t, pageTimeline, nil)
	v := i.look(openBrowser(t), viewer)
	i.stage.KillGateway()
	took := v.until(`document.querySelector('[data-testid="conn-state"]').dataset.state !== "connected"`, 10*time.Second)
	t.Logf("the page says so after %v", took.Round(time.Millisecond))
	v.picture("disconnected")
	if err := i.stage.RestartGateway(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	v.until(`document.querySelector('[data-testid="conn-state"]').dataset.state === "connected"`, 20*time.Second)
	inTime(t, "the page is back after the gateway", time.Since(began), 5*time.Second)
	for _, c := range v.Complaints() {
		if !strings.Contains(c, "ERR_CONNECTION_REFUSED") && !strings.Contains(c, "ERR_INCOMPLETE_CHUNKED_ENCODING") && !strings.Contains(c, "ERR_EMPTY_RESPONSE") && !strings.Contains(c, "ERR_CONNECTION_RESET") {
			t.Errorf("the browser complains: %s", c)
		}
	}
}
