//go:build e2e

package main

import (
	"fmt"
	"testing"
	"time"
)

var pages = []string{"#/", "#/callers/" + spider, "#/surges", "#/refusals", "#/config", "#/overrides", "#/registrations", "#/alerts", "#/audit"}

// Every view, in both languages and both themes, on a desk and on a phone: axe finds nothing serious, nothing has to be
// scrolled sideways, and nothing is left without its words.
func TestEveryViewIsReadable(t *testing.T) {
	axe := axeSource(t)
	i := openIncident(t, pageTimeline, nil)
	jump := i.play()
	b := openBrowser(t)
	v := i.look(b, owner)
	time.Sleep(time.Until(jump) + 4*time.Second)
	for _, language := range []string{"en", "zh"} {
		if language != "en" {
			v.click("lang")
		}
		v.until(fmt.Sprintf(`document.documentElement.lang.startsWith(%q)`, language), 5*time.Second)
		for _, dark := range []bool{false, true} {
			v.must(v.Dark(dark))
			for n, page := range pages {
				v.goTo(page)
				time.Sleep(700 * time.Millisecond)
				found, err := v.Axe(axe)
				v.must(err)
				for _, f := range found {
					if f.Impact == "serious" || f.Impact == "critical" {
						t.Errorf("%s %s dark=%v: %s", page, language, dark, f)
					} else {
						t.Logf("%s: %s", page, f)
					}
				}
				v.picture(fmt.Sprintf("looks-%s-%s-%d", language, map[bool]string{false: "light", true: "dark"}[dark], n))
			}
		}
	}
	v.must(v.Dark(false))
	v.must(v.Size(360, 740, true))
	for n, page := range pages {
		v.goTo(page)
		time.Sleep(700 * time.Millisecond)
		var wide float64
		v.eval(`document.documentElement.scrollWidth - window.innerWidth`, &wide)
		if wide > 0 {
			t.Errorf("%s is %v points too wide for a phone", page, wide)
		}
		v.picture(fmt.Sprintf("looks-phone-%d", n))
	}
	v.clean()

	// The login page, and the page for callers.
	tab, err := b.Tab()
	v.must(err)
	defer tab.Close()
	for name, url := range map[string]string{"login": i.url("/"), "callers-page": "http://" + i.stage.Config.Listen + "/.tidegate/"} {
		v.must(tab.Go(url))
		time.Sleep(500 * time.Millisecond)
		found, err := tab.Axe(axe)
		v.must(err)
		for _, f := range found {
			if f.Impact == "serious" || f.Impact == "critical" {
				t.Errorf("%s: %s", name, f)
			}
		}
		v.must(tab.Picture(outDir(t) + "/" + name + ".png"))
	}
}
