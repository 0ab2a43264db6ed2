package console

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"tidegate/dashboards"
)

func TestThePageIsServedAsItsFiles(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	files := 0
	err := fs.WalkDir(dashboards.Live(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		want, err := fs.ReadFile(dashboards.Live(), name)
		if err != nil {
			return err
		}
		a := d.ask(request{path: livePrefix + name})
		if got := code(t, a); got != "200" || string(a.Body()) != string(want) {
			t.Errorf("GET /live/%s = %s, %d bytes", name, got, len(a.Body()))
		}
		if got := string(a.Header.Peek("Content-Security-Policy")); got != policyPage {
			t.Errorf("/live/%s has the policy %q", name, got)
		}
		if strings.HasPrefix(string(a.Header.ContentType()), "text/plain") && !strings.HasSuffix(name, ".LICENSE") {
			t.Errorf("/live/%s is %s: its kind is not known", name, a.Header.ContentType())
		}
		tag := string(a.Header.Peek("ETag"))
		for field, status := range map[string]string{tag: "304", "W/" + tag: "304", `"other", ` + tag: "304", "*": "304", `"other"`: "200", "": "200", "nonsense": "200"} {
			again := d.ask(request{path: livePrefix + name, headers: []string{"If-None-Match: " + field}})
			if got := code(t, again); got != status || string(again.Header.Peek("ETag")) != tag || (status == "304") != (len(again.Body()) == 0 && len(want) > 0) {
				t.Errorf("/live/%s with If-None-Match %q: %s", name, field, got)
			}
		}
		return nil
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
	page := d.ask(request{path: "/"})
	if index, _ := fs.ReadFile(dashboards.Live(), "index.html"); string(page.Body()) != string(index) || string(page.Header.ContentType()) != "text/html; charset=utf-8" || string(page.Header.Peek("Content-Security-Policy")) != policyPage {
		t.Errorf("/ is %s", page.Header.String())
	}
}

// What the policy forbids would be silently without effect, so none of it may be there.
func TestThePageKeepsToItsPolicy(t *testing.T) {
	text, err := fs.ReadFile(dashboards.Live(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, forbidden := range []string{" style=", "<style", "<form", "<iframe", " onclick=", " onload=", "javascript:", "http://", "https://"} {
		if strings.Contains(string(text), forbidden) {
			t.Errorf("the page has %s", forbidden)
		}
	}
	for _, m := range regexp.MustCompile(`(?is)<script([^>]*)>(.*?)</script>`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(m[1], "src=") || strings.TrimSpace(m[2]) != "" {
			t.Errorf("the page has a script in it: %s", m[0])
		}
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
		if _, err := fs.Stat(dashboards.Live(), strings.TrimPrefix(strings.TrimPrefix(m[1], "/"), "live/")); err != nil {
			t.Errorf("the page loads %s, which is not there", m[1])
		}
	}
}

func TestABrowserWithoutATokenIsAskedForOne(t *testing.T) {
	const html, chrome = "Accept: text/html", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	d := newDesk("0.0.0.0:8081", tokenOf("s3cret", "viewer"))
	for _, c := range []struct {
		want    string
		page    bool
		r       request
		headers []string
	}{
		{"401", true, request{path: "/"}, []string{html}},
		{"401", true, request{path: "/"}, []string{chrome, "Sec-Fetch-Site: none"}},
		{"401", true, request{path: "/"}, []string{chrome, "Cookie: tidegate_session=over"}},
		{"401", true, request{path: "/"}, []string{chrome, "Authorization: Bearer wrong"}},
		{"401 token_missing", false, request{path: "/"}, nil},
		{"401 token_missing", false, request{path: "/"}, []string{"Accept: */*"}},
		{"401 token_missing", false, request{path: "/live/index.html"}, []string{html}},
		{"401 token_missing", false, request{path: "/api/v1/snapshot"}, []string{html}},
		{"401 token_missing", false, request{path: "/", method: "POST"}, []string{html, asJSON}},
		{"403 cross_site", false, request{path: "/"}, []string{html, "Sec-Fetch-Site: cross-site"}},
		{"200", false, request{path: "/"}, []string{html, "Authorization: Bearer s3cret"}},
	} {
		c.r.headers = c.headers
		a := d.ask(c.r)
		if got := code(t, a); got != c.want {
			t.Errorf("%+v = %s, want %s", c.r, got, c.want)
		}
		if got := string(a.Body()) == string(dashboards.Login()); got != c.page {
			t.Errorf("%+v is the page that asks for a token: %v", c.r, got)
		}
		// A window of the browser's own would hide the page's.
		if got := string(a.Header.Peek("WWW-Authenticate")); strings.Contains(got, "Basic") || strings.HasPrefix(c.want, "401") && got == "" {
			t.Errorf("%+v is challenged by %q", c.r, got)
		}
	}
}

func TestThePageThatAsksRunsNothingButItself(t *testing.T) {
	p := newLoginPage(dashboards.Login())
	for _, want := range []string{"default-src 'none'; script-src 'sha256-", "; style-src 'sha256-", "; connect-src 'self'", "; form-action 'none'", "; frame-ancestors 'none'"} {
		if !strings.Contains(p.policy, want) {
			t.Errorf("the policy %q lacks %q", p.policy, want)
		}
	}
	if strings.Contains(p.policy, "unsafe") || strings.Contains(p.policy, "*") || strings.Contains(p.policy, "script-src 'self'") {
		t.Errorf("the policy is %q", p.policy)
	}
	text := string(dashboards.Login())
	for _, forbidden := range []string{" style=", " src=", " onclick=", " onsubmit=", "javascript:", "http://", "https://"} {
		if strings.Contains(text, forbidden) {
			t.Errorf("the page that asks has %s", forbidden)
		}
	}
	// The hashes are of what stands between the tags, as a browser takes it.
	q := newLoginPage([]byte("<style>\na</style><SCRIPT type=\"module\">b\n</SCRIPT><script>c</script>"))
	const want = "script-src 'sha256-AmOCmYm2/ZVPcrqvL8ZLwuLwHWktTecphuqAj26ZgT8=' 'sha256-Ln0sA6lQeuJl7PW1NWiFpTOTogKdJBOUmXJloaJa78Y='; style-src 'sha256-c2Gm9LN0dF3q+Jascoh9VeBBB9Gh/xTl5Ngp+0foJCY=';"
	if !strings.Contains(q.policy, want) {
		t.Errorf("the policy is %q", q.policy)
	}
	if none := newLoginPage([]byte("<p>")); !strings.Contains(none.policy, "script-src 'none'; style-src 'none'") {
		t.Errorf("the policy is %q", none.policy)
	}
}

func TestKindsOfFiles(t *testing.T) {
	files := liveFiles(fstest.MapFS{"a/b.js": {Data: []byte("x")}, "c.unknown": {Data: []byte("y")}, "d": {}})
	if len(files) != 3 || files["a/b.js"].contentType != "text/javascript; charset=utf-8" || files["c.unknown"].contentType != "text/plain; charset=utf-8" || files["a/b.js"].etag == files["c.unknown"].etag {
		t.Errorf("%+v", files)
	}
}
