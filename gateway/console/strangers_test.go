package console

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Off loopback nothing but the probes tells anything to somebody without a token.
func TestNothingIsToldWithoutAToken(t *testing.T) {
	for _, e := range endpoints {
		paths := []string{e.path}
		switch e.path {
		case livePrefix:
			paths = []string{"/live/", "/live/index.html", "/live/live.css", "/live/nothing"}
		case profiles:
			paths = []string{"/debug/pprof", "/debug/pprof/", "/debug/pprof/heap"}
		}
		for _, path := range paths {
			for _, method := range []string{e.method, "HEAD"} {
				for _, headers := range [][]string{
					{asJSON}, {asJSON, "Accept: text/html"}, {asJSON, "Cookie: tidegate_session=x"}, {asJSON, "Authorization: Bearer x"}, {asJSON, "Authorization: Basic eDp4"},
				} {
					d := newDesk("0.0.0.0:8081", tokenOf("s3cret", "viewer"))
					a := d.ask(request{method: method, path: path, host: "localhost", headers: headers, body: "{}"})
					got := code(t, a)
					if e.open() {
						if got != "200" {
							t.Errorf("%s %s = %s", method, path, got)
						}
						continue
					}
					if !strings.HasPrefix(got, "401") {
						t.Errorf("%s %s with %q = %s %s", method, path, headers, got, a.Body())
					}
					if (d.control.last != Change{}) || d.asked > 0 || len(d.streams.open) > 0 {
						t.Errorf("%s %s with %q was looked into", method, path, headers)
					}
				}
			}
		}
	}
}

// A page of another origin has the operator's browser, and with it perhaps the cookie; it reads and changes nothing.
func TestAPageOfAnotherOriginReadsAndChangesNothing(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("w", "owner"))
	cookie, _, _ := d.logIn(t, "w")
	before := len(d.trail())
	ways := [][]string{
		{"Origin: http://evil.example"},
		{"Origin: null"},
		{"Origin: http://localhost:3000"},
		{"Origin: https://localhost"},
		{"Sec-Fetch-Site: cross-site"},
		{"Sec-Fetch-Site: same-site"},
		{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"},
		{"Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"},
	}
	for _, c := range accessTable {
		if c.path == "/healthz" || c.path == "/readyz" {
			continue
		}
		for _, way := range ways {
			for _, with := range []string{pair(cookie), "Authorization: Bearer w"} {
				r := write(c.method, c.path, asJSON, c.body, append([]string{with, "If-Match: *"}, way...)...)
				if got := code(t, d.ask(r)); got != "403 cross_site" {
					t.Errorf("%s %s by %q = %s", c.method, c.path, way, got)
				}
			}
		}
		// A name that a stranger points here: to the browser it is the same origin, and it has no cookie of ours.
		rebound := write(c.method, c.path, asJSON, c.body, "Origin: http://evil.example:8081", "Sec-Fetch-Site: same-origin", pair(cookie))
		rebound.host = "evil.example:8081"
		if got := code(t, d.ask(rebound)); got != "403 host_forbidden" {
			t.Errorf("%s %s by a name pointed here = %s", c.method, c.path, got)
		}
		if c.method == get {
			continue
		}
		// A form, in a browser that tells nothing of where it comes from.
		for _, kind := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""} {
			r := write(c.method, c.path, "", c.body, pair(cookie), "If-Match: *")
			if kind != "" {
				r.headers = append(r.headers, "Content-Type: "+kind)
			}
			if got := code(t, d.ask(r)); got != "415 unsupported_media_type" {
				t.Errorf("%s %s as %q = %s", c.method, c.path, kind, got)
			}
		}
	}
	if (d.control.last != Change{}) || len(d.decided) > 0 || (d.tested != Change{}) || len(d.trail()) != before || d.asked > 0 || len(d.streams.open) > 0 {
		t.Errorf("something was read or changed: %+v %v %+v %q", d.control.last, d.decided, d.tested, d.trail())
	}
	if got := d.with(t, pair(cookie), "Sec-Fetch-Site: same-origin", "Origin: http://localhost:8081"); got != "200" {
		t.Errorf("our own page: %s", got)
	}
}

// A stranger's slow logins hold nothing that an operator's write needs.
func TestSlowLoginsKeepNobodyFromWriting(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		const strangers = 500
		for range strangers {
			dial().send(requestHead("POST", sessionPath, asJSON, fmt.Sprint("Content-Length: ", maxLogin)), "{")
		}
		time.Sleep(time.Second)
		l := dial()
		began := time.Now()
		if got, _ := l.send(requestHead("POST", "/api/v1/reload", asJSON, "Content-Length: 2", "Authorization: Bearer w"), "{}").answer(); got != "200" || time.Since(began) > 0 {
			t.Errorf("%s after %v", got, time.Since(began))
		}
		if free, waiting := d.small.state(); free != maxSmall || waiting != 0 {
			t.Errorf("%d bytes are held", maxSmall-free)
		}
		time.Sleep(time.Minute)
	}, tokenOf("w", "owner"))
}
