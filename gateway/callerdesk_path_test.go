package gateway

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tidegate/gateway/policy"
	"tidegate/gateway/registration"
)

// However the path is written, what could be taken for the gateway's own never reaches an upstream, though a route takes
// everything; and only its one spelling, and what normalises to that, is served.
func TestNoSpellingOfTheDesksPathReachesAnUpstream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		for _, tc := range []struct {
			target string
			status int
		}{
			{"/.tidegate", 308},
			{"/.tidegate/", 200},
			{"/.tidegate/v1/me", 200},
			{"//.tidegate//v1/me", 200},
			{"/./.tidegate/./v1/me", 200},
			{"/%2etidegate/v1/me", 200},
			{"/%2Etidegate%2Fv1/me", 400},
			{"/.%74idegate/v1/%6de", 200},
			{"/v1/../.tidegate/v1/me", 200},
			{"/.tidegate/../.tidegate/v1/me", 200},
			{"/v1/chat/%2e%2e/.tidegate/v1/me", 400},
			{"http://api.example/.tidegate/v1/me", 200},
			{"http://api.example//.tidegate/v1/me", 200},
			{"/.tidegate/v1/me?a=/v1/chat/x", 200},
			{"/.TIDEGATE/v1/me", 404},
			{"/.Tidegate", 404},
			{"/.tidegate;x=y/v1/me", 404},
			{"/.tidegate%3Bx/v1/me", 404},
			{"/.tidegate%3bx", 404},
			{"/.tidegate/v1/me/", 404},
			{"/.tidegate/v1", 404},
			{"/.tidegate/v1/", 404},
			{"/.tidegate/V1/me", 404},
			{"/.tidegate/../v1/chat/x", 200}, // is not the desk's
			{"/.tidegates/x", 200},           // nor is this
			{"/.well-known/x", 200},
			{"/.", 200},
			{"/", 200},
		} {
			before := w.calls.Load()
			a := w.do("GET "+tc.target, "X-API-Key: ann", "X-Semantic: chat")
			if a.status != tc.status {
				t.Errorf("%s: %d %s, want %d", tc.target, a.status, a.body, tc.status)
			}
			passed := w.calls.Load() != before
			others := strings.HasSuffix(tc.target, "/../v1/chat/x") || strings.Contains(tc.target, ".tidegates") || !strings.Contains(strings.ToLower(tc.target), "tidegate") && !strings.Contains(tc.target, "%74")
			if passed != others {
				t.Errorf("%s: reached the upstream: %v, want %v", tc.target, passed, others)
			}
		}
		w.idle()
	})
}

// Where nothing of the desk is in use, it is still nobody else's.
func TestADeskThatIsClosedIsNotFound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		closed := strings.NewReplacer(`"auto"`, `"off"`, `"approve"`, `"off"`).Replace(registering)
		w := newWorldIn(t, t.TempDir(), "[server]\ncallers_page = false\n"+closed, mirror)
		for _, path := range []string{"/.tidegate", "/.tidegate/", "/.tidegate/page.js", "/.tidegate/v1/me"} {
			expectAnswer(t, path, w.desk("ann", "GET "+path), 404, "route_unknown")
		}
		// The API is there for the sake of either.
		w.reload("[server]\ncallers_page = false\n" + registering)
		expectAnswer(t, "the page alone is closed", w.desk("ann", "GET /.tidegate/"), 404, "route_unknown")
		expectAnswer(t, "and the API open", w.desk("ann", "GET /.tidegate/v1/me"), 200, "")
		w.reload(closed)
		expectAnswer(t, "the page is open again", w.desk("ann", "GET /.tidegate/"), 200, "")
		expectAnswer(t, "and the API, too", w.desk("ann", "GET /.tidegate/v1/me"), 200, "")
		if n := w.calls.Load(); n != 0 {
			t.Errorf("%d requests went to the upstream", n)
		}
	})
}

// A path that servers behind us could read as the desk's is the desk's: as it came, decoded, in another case, with
// empty segments and parameters left out.
func FuzzThePathOfTheDesk(f *testing.F) {
	for _, path := range []string{"/.tidegate/v1/me", "//.TideGate;a/x", "/%2etidegate", "/a/../.tidegate/", "/.tidegate%3b", "/.tidegat%65/", "/.tidegates"} {
		f.Add([]byte(path))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		path, ok := policy.NormalisePath(nil, raw)
		if !ok || len(path) < 2 {
			return
		}
		lenient := strings.ToLower(string(path))
		for _, pair := range [][2]string{{"%2e", "."}, {"%3b", ";"}, {"//", "/"}} {
			lenient = strings.ReplaceAll(lenient, pair[0], pair[1])
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(lenient, "/"), "/")
		first, _, _ = strings.Cut(first, ";")
		if got, want := path[1] == '.' && isDesk(path), first == ".tidegate"; got != want {
			t.Errorf("%q is normalised to %q: the desk's is %v, want %v", raw, path, got, want)
		}
	})
}

// Whatever is sent to register, the answer is one of the few that there are, only a good one changes anything, and nothing of
// it reaches an upstream.
func FuzzWhatIsSentToRegister(f *testing.F) {
	for _, seed := range [][2]string{
		{"export", someWords},
		{"default", someWords},
		{"Video", "{}"},
		{"a/b", "\x00"},
		{"%65xport", `{"description":"x","description":"y"}`},
		{"%2fexport", someWords},
		{"export", strings.Repeat(" ", registration.MaxBody+1)},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	w := newWayIn(f, registering)
	target := regexp.MustCompile(`^[!-~]*$`)
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		if !target.MatchString(name) || len(name) > 500 || len(body) > 4*registration.MaxBody || strings.Contains(name, "..") || strings.Contains(name, "#") {
			return
		}
		before := len(w.g.registrations())
		w.g.desk.writes.mu.Lock()
		w.g.desk.writes.by = nil // how often is tested elsewhere
		w.g.desk.writes.mu.Unlock()
		a, got, _ := w.send(t, fmt.Sprintf("PUT /.tidegate/v1/semantics/%s HTTP/1.1\r\nHost: x\r\nX-API-Key: ann\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", name, len(body), body))
		all := w.g.registrations()
		switch a.status {
		case 200, 201, 202:
			if _, err := registration.ParseWords(body); err != nil {
				t.Errorf("%q %q: %d for %v", name, body, a.status, err)
			}
			for _, v := range all {
				if _, _, err := w.g.desk.registrations.TakeBack(v.Caller, v.Semantic); err != nil {
					t.Error(err)
				}
			}
		case 400, 404, 405, 413, 415, 422, 308:
			if len(all) != before {
				t.Errorf("%q %q: %d, and %d became %d", name, body, a.status, before, len(all))
			}
		default:
			t.Errorf("%q %q: %d %s", name, body, a.status, a.body)
		}
		if len(got) > 0 {
			t.Errorf("%q reached the upstream", name)
		}
	})
}
