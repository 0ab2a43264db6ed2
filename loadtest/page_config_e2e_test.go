//go:build e2e

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tidegate/loadtest/browser"
)

// An owner writes a fault, is shown where it is, mends it, looks at what the change would do, applies it, and goes back.
func TestAnOwnerChangesTheConfigOnThePage(t *testing.T) {
	i := openIncident(t, pageTimeline, nil)
	i.play()
	v := i.look(openBrowser(t), owner)
	time.Sleep(6 * time.Second) // there is traffic to play
	v.goTo("#/config")
	v.until(`(`+browser.By("config-editor")+`?.value || "").includes("[[pools]]")`, 10*time.Second)
	good, err := os.ReadFile(i.stage.File)
	if err != nil {
		t.Fatal(err)
	}
	set := func(text string) {
		t.Helper()
		v.eval(fmt.Sprintf(`((e, text) => { e.value = text; e.dispatchEvent(new Event("input", {bubbles: true})) })(%s, %q)`, browser.By("config-editor"), text), nil)
	}
	bad := strings.Replace(string(good), "seats = 64", `seats = "many"`, 1)
	line := 1 + strings.Count(bad[:strings.Index(bad, `seats = "many"`)], "\n")
	set(bad)
	v.click("config-check")
	v.shows("config-problem", fmt.Sprintf(`\b%d\b`, line), 5*time.Second)
	v.picture("config-problem")

	better := strings.Replace(string(good), "seats = 64", "seats = 60", 1)
	set(better)
	v.click("config-check")
	v.until(`!`+browser.By("config-problem"), 5*time.Second)
	v.shows("config-diff", `seats = 60`, 5*time.Second)
	v.click("config-preview")
	v.shows("config-preview-result", `[0-9]`, 20*time.Second)
	v.picture("config-preview")
	v.fill("config-reason", "four seats for the nightly job")
	v.click("config-apply")
	v.until(browser.By("version-2"), 10*time.Second)
	if now, _ := os.ReadFile(i.stage.File); string(now) != better {
		t.Error("the file is not what was applied")
	}
	v.picture("config-history")
	v.click("version-1-rollback")
	v.click("dialog-submit")
	v.until(browser.By("version-3"), 10*time.Second)
	if now, _ := os.ReadFile(i.stage.File); string(now) != string(good) {
		t.Error("the file is not what it was")
	}
	v.clean()
}
