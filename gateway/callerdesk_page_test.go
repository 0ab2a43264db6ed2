package gateway

import (
	"html"
	"strings"
	"testing"
)

func TestThePageForCallers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		for _, tc := range []struct{ path, accept, lang string }{
			{"/.tidegate/", "", "en"},
			{"/.tidegate/", "zh-CN,zh;q=0.9,en;q=0.8", "zh"},
			{"/.tidegate/", "fr", "en"},
			{"/.tidegate/?lang=zh", "en", "zh"},
			{"/.tidegate/?lang=en", "zh", "en"},
			{"/.tidegate/?lang=xx", "zh", "zh"},
		} {
			a := w.do("GET "+tc.path, "Accept-Language: "+tc.accept)
			if a.status != 200 || !strings.Contains(a.body, `<html lang="`+tc.lang+`">`) || a.header.Get("Content-Language") != tc.lang || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("%s for %q: %d %v", tc.path, tc.accept, a.status, a.header)
			}
			csp := a.header.Get("Content-Security-Policy")
			if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || a.header.Get("X-Frame-Options") != "DENY" || a.header.Get("Referrer-Policy") != "no-referrer" || a.header.Get("Vary") != "Accept-Language" {
				t.Errorf("%v", a.header)
			}
			again := w.do("GET "+tc.path, "Accept-Language: "+tc.accept, "If-None-Match: "+a.header.Get("ETag"))
			if again.status != 304 || again.body != "" {
				t.Errorf("%s again: %d", tc.path, again.status)
			}
			// What the page says of refusals is what refusals say.
			lang := map[string]language{"en": english, "zh": chinese}[tc.lang]
			for code := CodeBadRequest; code < codeEnd; code++ {
				if has := strings.Contains(a.body, "<code>"+code.String()+"</code>") && strings.Contains(html.UnescapeString(a.body), codeTable[code].words[lang].detail); has == notTold[code] {
					t.Errorf("%s: the page has %s: %v", tc.lang, code, has)
				}
			}
			for _, file := range []string{"page.css", "page.js"} {
				if !strings.Contains(a.body, `"`+file+`"`) {
					t.Errorf("%s is not loaded", file)
				}
			}
		}
		for file, kind := range map[string]string{"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "words.js": "text/javascript; charset=utf-8"} {
			if a := w.do("GET /.tidegate/" + file); a.status != 200 || a.header.Get("Content-Type") != kind || a.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d %v", file, a.status, a.header)
			}
		}
		if a := w.do("HEAD /.tidegate/"); a.status != 200 || a.body != "" {
			t.Errorf("HEAD: %d %q", a.status, a.body)
		}
		if a := w.do("GET /.tidegate"); a.status != 308 || !strings.HasSuffix(a.header.Get("Location"), ".tidegate/") {
			t.Errorf("%d %v", a.status, a.header)
		}
		expectAnswer(t, "another method", w.do("POST /.tidegate/"), 405, "method_not_allowed")
		expectAnswer(t, "no such file", w.do("GET /.tidegate/code/client.sh"), 404, "route_unknown")
		expectAnswer(t, "no such file", w.do("GET /.tidegate/page.html"), 404, "route_unknown")
	})
}

func TestThePageFollowsTheConfiguration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		if a := w.do("GET /.tidegate/"); !strings.Contains(a.body, `data-key-header="X-API-Key" data-bearer="false"`) {
			t.Error("the usual header is not named")
		}
		w.reload(changed(t, registering, "anonymous = \"visitors\"", "anonymous = \"visitors\"\nkey = [\"query:k\", \"bearer\"]\nsemantic = [\"header:X-Kind\"]"))
		a := w.do("GET /.tidegate/")
		if !strings.Contains(a.body, `data-key-header="Authorization" data-bearer="true"`) || !strings.Contains(a.body, "<code>X-Kind: chat</code>") {
			t.Error("another header is not named")
		}
		expectAnswer(t, "a bearer token", w.do("GET /.tidegate/v1/me", "Authorization: Bearer ann"), 200, "")
	})
}
