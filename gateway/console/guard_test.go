package console

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidegate/gateway/config"
)

func TestOnlyAHostThatIsThisListenerIsAnswered(t *testing.T) {
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	const yes, no = "200", "403 host_forbidden"
	for _, c := range []struct{ listen, host, want string }{
		{"127.0.0.1:8081", "127.0.0.1:8081", yes},
		{"127.0.0.1:8081", "127.0.0.1", yes},
		{"127.0.0.1:8081", "127.9.9.9:1", yes},
		{"127.0.0.1:8081", "[::1]:8081", yes},
		{"127.0.0.1:8081", "[::1]", yes},
		{"127.0.0.1:8081", "LocalHost:8081", yes},
		{"127.0.0.1:8081", "localhost.:8081", yes},
		{"127.0.0.1:8081", "evil.example:8081", no},
		{"127.0.0.1:8081", "127.0.0.1.evil.example", no},
		{"127.0.0.1:8081", "localhost.evil.example", no},
		{"127.0.0.1:8081", "evil.localhost", no},
		{"127.0.0.1:8081", "10.0.0.7:8081", no},
		{"127.0.0.1:8081", "localhost:evil", no},
		{"127.0.0.1:8081", "a:b:c", no},
		{"127.0.0.1:8081", ":8081", no},
		{"127.0.0.1:8081", "[fe80::1%evil]:8081", no},
		{"gate.internal:8081", "gate.internal:8081", yes},
		{"gate.internal:8081", "Gate.Internal", yes},
		{"gate.internal:8081", "localhost:9999", yes}, // through a tunnel
		{"gate.internal:8081", "other.internal:8081", no},
		{"10.0.0.7:8081", "10.0.0.7:8081", yes},
		{"10.0.0.7:8081", "10.0.0.8:8081", no},
		{":8081", "10.0.0.7:8081", yes}, // what was connected to
		{"0.0.0.0:8081", "10.0.0.7", yes},
		{"[::]:8081", "[::ffff:10.0.0.7]:8081", yes},
		{":8081", "10.0.0.8:8081", no},
		{":8081", machine + ":8081", yes},
		{":8081", "evil.example:8081", no},
	} {
		d := newDesk(c.listen, tokenOf("s3cret", "viewer"))
		answer := d.ask(request{path: "/api/v1/snapshot", host: c.host, local: "10.0.0.7", headers: []string{"Authorization: Bearer s3cret"}})
		if got := code(t, answer); got != c.want {
			t.Errorf("listening on %s, asked for %q: %s, want %s", c.listen, c.host, got, c.want)
		}
	}
}

func TestOtherWebPagesAreKeptOut(t *testing.T) {
	const yes, no = "200", "403 cross_site"
	for _, c := range []struct {
		header, want string
	}{
		{"Sec-Fetch-Site: none", yes},
		{"Sec-Fetch-Site: same-origin", yes},
		{"Sec-Fetch-Site: same-site", no}, // another port of this machine
		{"Sec-Fetch-Site: cross-site", no},
		{"Sec-Fetch-Site: new-in-2031", no},
		{"Origin: http://localhost:8081", yes},
		{"Origin: https://LOCALHOST:8081", yes}, // behind a proxy that speaks TLS
		{"Origin: http://localhost:3000", no},
		{"Origin: http://localhost", no},
		{"Origin: http://evil.example", no},
		{"Origin: null", no},
		{"Origin: ", no},
		{"Origin: file://localhost:8081", no},
		{"Origin: localhost:8081", no},
	} {
		d := newDesk("127.0.0.1:8081")
		if got := code(t, d.ask(request{path: "/api/v1/snapshot", headers: []string{c.header}})); got != c.want {
			t.Errorf("%q: %s, want %s", c.header, got, c.want)
		}
	}
	// The worse of two counts.
	d := newDesk("127.0.0.1:8081")
	for _, headers := range [][]string{
		{"Origin: http://localhost:8081", "Origin: http://evil.example"},
		{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"},
	} {
		if got := code(t, d.ask(request{path: "/", headers: headers})); got != no {
			t.Errorf("%q: %s", headers, got)
		}
	}
	preflight := request{method: "OPTIONS", path: "/api/v1/snapshot", headers: []string{"Origin: http://evil.example", "Access-Control-Request-Method: PUT"}}
	if got := code(t, d.ask(preflight)); got != no {
		t.Errorf("preflight: %s", got)
	}
}

func TestATokenIsNeededWhereOneIsConfigured(t *testing.T) {
	basic := func(s string) string { return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	prefixed := tokenOf("0ther", "operator")
	prefixed.SHA256 = "sha256:" + strings.ToUpper(prefixed.SHA256)
	d := newDesk("127.0.0.1:8081", tokenOf("s3cret", "owner"), prefixed)
	for _, c := range []struct {
		want    string
		headers []string
	}{
		{"200", []string{"Authorization: Bearer s3cret"}},
		{"200", []string{"Authorization: bearer  s3cret "}},
		{"200", []string{"Authorization: Bearer 0ther"}},
		{"200", []string{basic("anyone:s3cret")}},
		{"401 token_missing", nil},
		{"401 token_missing", []string{"Authorization: Bearer"}},
		{"401 token_missing", []string{"Authorization: Bearer "}},
		{"401 token_missing", []string{"Authorization: Digest s3cret"}},
		{"401 token_missing", []string{"Authorization: Basic not base64"}},
		{"401 token_missing", []string{basic("s3cret")}},
		{"401 token_missing", []string{"Authorization: Bearer s3cret", "Authorization: Bearer s3cret"}},
		{"401 token_missing", []string{"X-API-Key: s3cret"}},
		{"401 token_unknown", []string{"Authorization: Bearer s3cre"}},
		{"401 token_unknown", []string{"Authorization: Bearer s3cretx"}},
		{"401 token_unknown", []string{basic("s3cret:wrong")}},
		{"401 token_unknown", []string{"Authorization: Bearer " + tokenOf("s3cret", "owner").SHA256}},
	} {
		for _, path := range []string{"/", "/live/live.css", "/metrics", "/api/v1/snapshot", "/debug/pprof/", "/nothing"} {
			answer := d.ask(request{path: path, headers: c.headers})
			want := c.want
			if want == "200" && path == "/nothing" {
				want = "404 not_found"
			}
			if got := code(t, answer); got != want {
				t.Errorf("GET %s with %q = %s, want %s", path, c.headers, got, want)
			}
			if challenged := answer.Header.Peek("WWW-Authenticate") != nil; challenged != strings.HasPrefix(want, "401") {
				t.Errorf("GET %s with %q: challenged %v", path, c.headers, challenged)
			}
		}
	}
}

func TestOffLoopbackNobodyIsLetInWithoutATokenConfigured(t *testing.T) {
	for _, listen := range []string{"10.0.0.7:8081", "0.0.0.0:8081", ":8081", "[::]:8081", "gate.internal:8081", ""} {
		d := newDesk(listen)
		for _, path := range []string{"/", "/metrics", "/api/v1/snapshot", "/debug/pprof/"} {
			// Also from the machine itself: a proxy's connections come from there too.
			if got := code(t, d.ask(request{path: path, headers: []string{"Authorization: Bearer x"}})); got != "403 token_required" {
				t.Errorf("listening on %q, GET %s = %s", listen, path, got)
			}
		}
		if got := code(t, d.ask(request{path: "/healthz"})); got != "200" {
			t.Errorf("listening on %q, /healthz = %s", listen, got)
		}
	}
	for _, listen := range []string{"127.0.0.1:8081", "localhost:8081", "[::1]:8081", "127.0.0.2:8081"} {
		if got := code(t, newDesk(listen).ask(request{path: "/"})); got != "200" {
			t.Errorf("listening on %q, GET / = %s", listen, got)
		}
	}
}

func TestABrokenTokenLeavesTheListenerClosed(t *testing.T) {
	for _, sum := range []string{"", "sha256:", "zz", strings.Repeat("0", 63), strings.Repeat("0", 66), strings.Repeat("x", 64)} {
		d := newDesk("127.0.0.1:8081", config.Token{Name: "ops", Role: "owner", SHA256: sum})
		if got := code(t, d.ask(request{path: "/"})); got != "401 token_missing" {
			t.Errorf("sha256 = %q: %s", sum, got)
		}
		if got := code(t, d.ask(request{path: "/", headers: []string{"Authorization: Bearer x"}})); got != "401 token_unknown" {
			t.Errorf("sha256 = %q, with a token: %s", sum, got)
		}
		if _, ok := match(*d.tokens.Load(), [32]byte{}); ok {
			t.Errorf("sha256 = %q matches the hash of zeros", sum)
		}
	}
}

func TestTokensChangeAtOnce(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("old", "owner"))
	with := func(secret string) string {
		return code(t, d.ask(request{path: "/", headers: []string{"Authorization: Bearer " + secret}}))
	}
	d.Update([]config.Token{tokenOf("new", "owner")})
	if got := with("old"); got != "401 token_unknown" {
		t.Errorf("old token: %s", got)
	}
	if got := with("new"); got != "200" {
		t.Errorf("new token: %s", got)
	}
	d.Update(nil)
	if got := code(t, d.ask(request{path: "/"})); got != "200" {
		t.Errorf("without tokens: %s", got)
	}
}

func TestViewersSeeNoProfiles(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("v", "viewer"), tokenOf("o", "operator"), tokenOf("w", "owner"), tokenOf("?", "emperor"))
	for _, c := range []struct{ secret, want string }{
		{"v", "403 role_insufficient"}, {"o", "200"}, {"w", "200"}, {"?", "403 role_insufficient"},
	} {
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
			if got := code(t, d.ask(request{path: path, headers: []string{"Authorization: Bearer " + c.secret}})); got != c.want {
				t.Errorf("GET %s as %q = %s, want %s", path, c.secret, got, c.want)
			}
		}
		if got := code(t, d.ask(request{path: "/metrics", headers: []string{"Authorization: Bearer " + c.secret}})); got != "200" {
			t.Errorf("GET /metrics as %q = %s", c.secret, got)
		}
	}
}

func TestGuessingIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("127.0.0.1:8081", tokenOf("s3cret", "owner"))
		try := func(from, secret string) string {
			r := request{path: "/", from: from}
			if secret != "" {
				r.headers = []string{"Authorization: Bearer " + secret}
			}
			return code(t, d.ask(r))
		}
		expect := func(from, secret, want string) {
			t.Helper()
			if got := try(from, secret); got != want {
				t.Errorf("%q from %s = %s, want %s", secret, from, got, want)
			}
		}
		for i := range maxAttempts {
			expect("10.0.0.1", fmt.Sprint("guess", i), "401 token_unknown")
			time.Sleep(time.Second)
		}
		expect("10.0.0.1", "guess10", "429 too_many_attempts")
		expect("10.0.0.1", "s3cret", "429 too_many_attempts") // else he would have guessed on
		expect("10.0.0.1", "", "401 token_missing")
		expect("10.0.0.2", "s3cret", "200")
		if got := string(d.ask(request{path: "/", from: "10.0.0.1", headers: []string{"Authorization: Bearer x"}}).Header.Peek("Retry-After")); got != "50" {
			t.Errorf("Retry-After = %s, want 50: ten seconds of the minute are over", got)
		}
		time.Sleep(50 * time.Second)
		expect("10.0.0.1", "s3cret", "200")
		expect("10.0.0.1", "guess11", "401 token_unknown")
		expect("10.0.0.1", "s3cret", "200") // the count has started anew

		// An IPv6 guesser has a whole /64 to come from.
		for i := range maxAttempts {
			expect(fmt.Sprintf("2001:db8::%x", i+1), fmt.Sprint("guess", i), "401 token_unknown")
		}
		expect("2001:db8::ffff", "s3cret", "429 too_many_attempts")
		expect("2001:db8:0:1::1", "s3cret", "200")

		if n := d.logged.FilterMessage("console_locked_out").Len(); n != 2 {
			t.Errorf("%d lines of lock-outs, want 2", n)
		}
		for _, entry := range d.logged.All() {
			if line := fmt.Sprint(entry.Entry, entry.ContextMap()); strings.Contains(line, "guess") || strings.Contains(line, "s3cret") {
				t.Errorf("a token is in the log: %s", line)
			}
		}
	})
}

func TestAClientWithAnOutdatedTokenLocksNobodyOut(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("s3cret", "owner"))
	for range 3 * maxAttempts {
		if got := code(t, d.ask(request{path: "/metrics", headers: []string{"Authorization: Bearer outdated"}})); got != "401 token_unknown" {
			t.Fatal(got)
		}
	}
	if got := code(t, d.ask(request{path: "/", headers: []string{"Authorization: Bearer s3cret"}})); got != "200" {
		t.Error(got)
	}
}

func TestGuessersAreRememberedWithinABound(t *testing.T) {
	var a attempts
	t0 := time.Unix(1_800_000_000, 0)
	from := func(i int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
	}
	sum := func(i int) [32]byte { return [32]byte{byte(i), byte(i >> 8), byte(i >> 16), 1} }
	for i := range 5 * maxSources {
		a.judge(from(i), sum(i), false, t0)
	}
	if n := len(a.sources); n > maxSources+1 {
		t.Errorf("%d addresses remembered", n)
	}
	// Those who found no place share one, and are slowed down together.
	if a.lockedFor(from(5*maxSources), t0) == 0 {
		t.Error("a newcomer guesses freely while the table is full")
	}
	if a.lockedFor(from(0), t0) != 0 {
		t.Error("one wrong token locks out")
	}
	later := t0.Add(attemptSpan)
	if a.lockedFor(from(5*maxSources), later) != 0 {
		t.Error("locked out after the minute")
	}
	a.judge(from(7*maxSources), sum(0), false, later)
	if n := len(a.sources); n != 1 {
		t.Errorf("%d addresses remembered, want the new one", n)
	}
}

func FuzzHostOf(f *testing.F) {
	for _, s := range []string{"localhost", "localhost:8081", "[::1]:8081", "[::1]", "::1", "a:b", "", "[", "]:1", "[fe80::1%a]:1", "127.0.0.1.", "%", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		host, ok := hostOf(header)
		if ok && host == "" {
			t.Errorf("hostOf(%q) is an empty host", header)
		}
		if ok && strings.ContainsAny(host, "[]") && !strings.ContainsAny(header, "[]") {
			t.Errorf("hostOf(%q) = %q", header, host)
		}
		if ok && canonical(host) != host && !strings.ContainsAny(host, "[]%") && !strings.HasSuffix(host, ".") {
			t.Errorf("canonical(%q) = %q", host, canonical(host))
		}
		// What is taken for this machine must be written so: a name that merely begins like it is a stranger's.
		if ok && isLoopback(host) && host != "localhost" && !strings.Contains(header, "127.") && !strings.Contains(header, ":") {
			t.Errorf("%q is taken for a loopback address: %q", header, host)
		}
	})
}
