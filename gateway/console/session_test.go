package console

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidegate/gateway/config"
)

// logIn is the cookie that a login with a token gives, "" where it gives none, and its answer.
func (d *desk) logIn(t *testing.T, secret string, headers ...string) (cookie, status string, v SessionView) {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"token": secret})
	a := d.ask(write("POST", "/api/v1/session", asJSON, string(body), headers...))
	status = code(t, a)
	if status == "200" {
		if err := json.Unmarshal(a.Body(), &v); err != nil {
			t.Fatal(err)
		}
	}
	return string(a.Header.Peek("Set-Cookie")), status, v
}

// pair is the name and value of a cookie, as a browser sends it.
func pair(cookie string) string {
	value, _, _ := strings.Cut(cookie, ";")
	return "Cookie: " + value
}

func (d *desk) with(t *testing.T, headers ...string) string {
	t.Helper()
	return code(t, d.ask(request{path: "/api/v1/snapshot", headers: headers}))
}

func TestALoginIsACookieThatIsNotTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("127.0.0.1:8081", tokenOf("s3cret", "operator"))
		cookie, status, v := d.logIn(t, "s3cret")
		if status != "200" || v.Name != "operator" || v.Role != "operator" || !v.Login || v.Until == nil || time.Until(*v.Until) != 12*time.Hour || v.Gateway != "127.0.0.1:8080" {
			t.Fatalf("%s %+v", status, v)
		}
		for _, want := range []string{"tidegate_session=", "; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=43200"} {
			if !strings.Contains(cookie, want) {
				t.Errorf("the cookie %q lacks %s", cookie, want)
			}
		}
		sum := tokenOf("s3cret", "").SHA256
		raw, _ := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(pair(cookie), "Cookie: tidegate_session="))
		if strings.Contains(cookie, "s3cret") || strings.Contains(fmt.Sprintf("%x", raw), sum) || strings.Contains(cookie, "Secure") {
			t.Errorf("the cookie says too much: %q", cookie)
		}
		if overTLS, _, _ := d.logIn(t, "s3cret", "Origin: https://localhost:8081"); !strings.HasSuffix(overTLS, "; Secure") {
			t.Errorf("behind TLS: %q", overTLS)
		}
		if got := d.with(t, pair(cookie)); got != "200" {
			t.Errorf("with the cookie: %s", got)
		}
		var me SessionView
		a := d.ask(request{path: "/api/v1/session", headers: []string{pair(cookie)}})
		if err := json.Unmarshal(a.Body(), &me); err != nil || me.Name != "operator" || me.Until == nil || !me.Until.Equal(*v.Until) {
			t.Errorf("who am I: %s", a.Body())
		}
		// What is changed in a session goes under the token's name and role.
		if got := code(t, d.ask(write("POST", "/api/v1/reload", asJSON, "{}", pair(cookie)))); got != "200" || d.control.last.Actor != "operator" || d.control.last.Role != "operator" {
			t.Errorf("a reload in a session: %s by %+v", got, d.control.last)
		}
		// A token in the header counts before the cookie.
		if got := d.with(t, pair(cookie), "Authorization: Bearer wrong"); got != "401 token_unknown" {
			t.Errorf("with a wrong token beside the cookie: %s", got)
		}
		time.Sleep(12*time.Hour - time.Second)
		if got := d.with(t, pair(cookie)); got != "200" {
			t.Errorf("in the last second: %s", got)
		}
		time.Sleep(time.Second)
		if got := d.with(t, pair(cookie)); got != "401 token_missing" {
			t.Errorf("after 12 h: %s", got)
		}
	})
}

func TestOnlyOurOwnSealLetsIn(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("v", "viewer"), tokenOf("w", "owner"))
	other := newDesk("127.0.0.1:8081", tokenOf("w", "owner"))
	foreign, _, _ := other.logIn(t, "w")
	cookie, _, _ := d.logIn(t, "v")
	value := strings.TrimPrefix(pair(cookie), "Cookie: tidegate_session=")
	b, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b { // any other bit is another session
		b[i] ^= 1
		if got := d.with(t, "Cookie: tidegate_session="+base64.RawURLEncoding.EncodeToString(b)); got != "401 token_missing" {
			t.Errorf("byte %d changed: %s", i, got)
		}
		b[i] ^= 1
	}
	for _, forged := range []string{"", "x", value[1:], value + "A", value[:len(value)-1] + "=", "w", strings.TrimPrefix(pair(foreign), "Cookie: tidegate_session=")} {
		if got := d.with(t, "Cookie: tidegate_session="+forged); got != "401 token_missing" {
			t.Errorf("%q: %s", forged, got)
		}
	}
	if got := d.with(t, "Cookie: other=1; tidegate_session="+value); got != "200" {
		t.Errorf("the real one: %s", got)
	}
	if d.guard.attempts.lockedFor(source(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}), time.Now()) > 0 {
		t.Error("cookies count as guesses")
	}
}

func TestASessionDiesWithItsToken(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("a", "owner"), tokenOf("b", "viewer"))
	cookie, _, _ := d.logIn(t, "a")
	d.Update([]config.Token{tokenOf("b", "viewer")})
	if got := d.with(t, pair(cookie)); got != "401 token_missing" {
		t.Errorf("without its token: %s", got)
	}
	// Its role is the token's as it is now.
	lowered := tokenOf("a", "viewer")
	d.Update([]config.Token{lowered})
	if got := code(t, d.ask(write("POST", "/api/v1/reload", asJSON, "", pair(cookie)))); got != "403 role_insufficient" {
		t.Errorf("as a viewer now: %s", got)
	}
	// While no token is needed a cookie changes nothing, off loopback it does not open the door.
	d.Update(nil)
	if got := d.with(t, pair(cookie)); got != "200" {
		t.Errorf("without tokens: %s", got)
	}
	open := newDesk("0.0.0.0:8081")
	if got := open.with(t, pair(cookie)); got != "403 token_required" {
		t.Errorf("off loopback: %s", got)
	}
	if _, got, _ := open.logIn(t, "a"); got != "403 token_required" {
		t.Errorf("a login off loopback without tokens: %s", got)
	}
}

func TestALogoutEndsTheSessionForGood(t *testing.T) {
	dir := t.TempDir()
	start := func() *desk { return newDeskIn(dir, tokenOf("s3cret", "owner")) }
	d := start()
	first, _, _ := d.logIn(t, "s3cret")
	second, _, _ := d.logIn(t, "s3cret")
	a := d.ask(write("DELETE", "/api/v1/session", asJSON, "", pair(first)))
	if got := code(t, a); got != "200" || !strings.Contains(string(a.Header.Peek("Set-Cookie")), "tidegate_session=; Max-Age=0;") {
		t.Errorf("%s %s", got, a.Header.String())
	}
	for i, d := range []*desk{d, start()} { // also after a restart
		if got := d.with(t, pair(first)); got != "401 token_missing" {
			t.Errorf("%d: the session that was ended: %s", i, got)
		}
		if got := d.with(t, pair(second)); got != "200" {
			t.Errorf("%d: the other session: %s", i, got)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "session.key"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	// A file that is damaged is replaced; who was logged in has to log in again.
	for _, damage := range []string{"", "{}", `{"key":"00"}`, `{"key":"` + strings.Repeat("00", 32) + `","ended":{"x":"2026-01-01T00:00:00Z"}}`} {
		if err := os.WriteFile(filepath.Join(dir, "session.key"), []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		d := start()
		if got := d.with(t, pair(second)); got != "401 token_missing" || d.logged.FilterMessage("sessions").Len() != 1 {
			t.Errorf("%q: %s, %d lines", damage, got, d.logged.Len())
		}
		again, _, _ := d.logIn(t, "s3cret")
		if got := start().with(t, pair(again)); got != "200" {
			t.Errorf("%q, after the next login: %s", damage, got)
		}
	}
}

func TestWithoutADiskSessionsAreKeptInMemory(t *testing.T) {
	d := newDeskIn(filepath.Join(t.TempDir(), "not", "there"), tokenOf("s3cret", "owner"))
	cookie, status, _ := d.logIn(t, "s3cret")
	if status != "200" || d.with(t, pair(cookie)) != "200" {
		t.Errorf("%s", status)
	}
	if got := code(t, d.ask(write("DELETE", "/api/v1/session", asJSON, "", pair(cookie)))); got != "200" || d.with(t, pair(cookie)) != "401 token_missing" {
		t.Errorf("logout: %s", got)
	}
	if d.logged.FilterMessage("sessions").Len() == 0 {
		t.Error("nothing was said of it")
	}
}

func TestGuessesAtTheLoginCountAsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("127.0.0.1:8081", tokenOf("s3cret", "owner"))
		cookie, _, _ := d.logIn(t, "s3cret")
		for i := range maxAttempts / 2 {
			if c, got, _ := d.logIn(t, fmt.Sprint("guess", i)); got != "401 token_unknown" || c != "" {
				t.Errorf("a wrong one: %s", got)
			}
			if got := d.with(t, fmt.Sprint("Authorization: Bearer guess1", i)); got != "401 token_unknown" {
				t.Errorf("a wrong one: %s", got)
			}
		}
		if _, got, _ := d.logIn(t, "s3cret"); got != "429 too_many_attempts" {
			t.Errorf("the right one after ten wrong: %s", got)
		}
		if got := d.with(t, "Authorization: Bearer s3cret"); got != "429 too_many_attempts" {
			t.Errorf("the right one in the header: %s", got)
		}
		if got := d.with(t, pair(cookie)); got != "200" {
			t.Errorf("who was logged in: %s", got)
		}
		if got := d.with(t); got != "401 token_missing" {
			t.Errorf("without a token: %s", got)
		}
		time.Sleep(attemptSpan)
		if _, got, _ := d.logIn(t, "s3cret"); got != "200" {
			t.Errorf("after a minute: %s", got)
		}
		want := []string{"login done ", "login refused token_unknown", "locked_out refused too_many_attempts", "login done "}
		got := d.trail()
		if len(got) != 3+maxAttempts/2 || got[0] != want[0] || got[1] != want[1] || got[len(got)-2] != want[2] || got[len(got)-1] != want[3] {
			t.Errorf("the trail has %q", got)
		}
		for _, e := range d.logged.All() {
			if line := fmt.Sprint(e.Entry, e.ContextMap()); strings.Contains(line, "guess") || strings.Contains(line, "s3cret") {
				t.Errorf("a token is in the log: %s", line)
			}
		}
		if text := fmt.Sprintf("%+v", d.audited); strings.Contains(text, "guess") || strings.Contains(text, "s3cret") {
			t.Errorf("a token is in the trail: %s", text)
		}
	})
}

// trail is action, outcome and code of each entry.
func (d *desk) trail() (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.audited {
		lines = append(lines, e.Action+" "+e.Outcome+" "+e.Code)
	}
	return lines
}

func TestTheTrailOfRefusalsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("127.0.0.1:8081", tokenOf("v", "viewer"), tokenOf("o", "operator"))
		spam := func(secret string, n int) {
			for range n {
				d.ask(write("PUT", "/api/v1/config", asTOML, "a", "Authorization: Bearer "+secret))
			}
		}
		spam("v", 10*maxNoted)
		spam("o", 1)
		if n := len(d.audited); n != maxNoted+1 {
			t.Errorf("%d entries, want %d", n, maxNoted+1)
		}
		if _, got, _ := d.logIn(t, "v"); got != "200" || d.trail()[maxNoted+1] != "login done " {
			t.Errorf("refusals took the place of a login: %s", got)
		}
		for range 3 * maxNoted {
			d.logIn(t, "v")
		}
		if n := len(d.audited); n != maxNoted+1+maxNoted {
			t.Errorf("%d entries with the logins, want %d", n, maxNoted+1+maxNoted)
		}
		time.Sleep(notedSpan)
		spam("v", 1)
		if n := len(d.audited); n != 2*maxNoted+2 {
			t.Errorf("%d entries after the span", n)
		}
		d.ask(write("DELETE", "/api/v1/overrides?name="+strings.Repeat("%01", 4000), "", "", "Authorization: Bearer v"))
		if e := d.audited[len(d.audited)-1]; len(e.Subject) != maxTried {
			t.Errorf("%d bytes of what was tried", len(e.Subject))
		}
	})
}

func TestAnOwnersOverrideOfAnOperatorIsTakenDown(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("o", "operator"))
	d.ask(write("POST", "/api/v1/overrides", asJSON, `{"name":"server.mode","value":"observe","reason":"quiet"}`, "Authorization: Bearer o"))
	d.ask(write("DELETE", "/api/v1/overrides?name=server.mode&reason=loud", asJSON, "", "Authorization: Bearer o"))
	want := []AuditEntry{
		{Actor: "operator", Role: "operator", From: "127.0.0.1", Action: "override_set", Subject: "server.mode", Reason: "quiet", Outcome: "refused", Code: "role_insufficient"},
		{Actor: "operator", Role: "operator", From: "127.0.0.1", Action: "override_drop", Subject: "server.mode", Reason: "loud", Outcome: "refused", Code: "role_insufficient"},
	}
	if fmt.Sprint(d.audited) != fmt.Sprint(want) {
		t.Errorf("%+v", d.audited)
	}
}

func TestWithoutTokensALoginIsNotNeeded(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	cookie, status, v := d.logIn(t, "anything")
	if status != "200" || cookie != "" || v.Login || v.Name != "loopback" || v.Role != "owner" || v.Until != nil {
		t.Errorf("%s %q %+v", status, cookie, v)
	}
	if got := code(t, d.ask(write("DELETE", "/api/v1/session", "", ""))); got != "200" || len(d.audited) != 0 {
		t.Errorf("logout: %s, %+v", got, d.audited)
	}
}

func TestALoginSaysWhatItLacks(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("s3cret", "owner"))
	for _, c := range []struct{ body, want string }{
		{``, "401 token_missing"},
		{`{}`, "401 token_missing"},
		{`{"token":""}`, "401 token_missing"},
		{`{"token":null}`, "401 token_missing"},
		{`{"token":1}`, "400 bad_request"},
		{`{"tokens":"s3cret"}`, "400 bad_request"},
		{`{"token":"` + strings.Repeat("x", maxLogin) + `"}`, "413 body_too_large"},
	} {
		if got := code(t, d.ask(write("POST", "/api/v1/session", asJSON, c.body))); got != c.want {
			t.Errorf("%.40s = %s, want %s", c.body, got, c.want)
		}
	}
	if got := code(t, d.ask(write("POST", "/api/v1/session", asTOML, `token = "s3cret"`))); got != "415 unsupported_media_type" {
		t.Errorf("as TOML: %s", got)
	}
}

func FuzzOpenSession(f *testing.F) {
	key := make([]byte, keySize)
	tokens := parseTokens([]config.Token{tokenOf("s3cret", "owner")})
	f.Add([]byte(sealSession(key, tokens[0].sum, t0)))
	f.Add([]byte(strings.Repeat("A", 75)))
	f.Fuzz(func(t *testing.T, cookie []byte) {
		who, ok := openSession(key, cookie, tokens)
		if !ok {
			return
		}
		b, err := base64.RawURLEncoding.DecodeString(string(cookie))
		if err != nil || base64.RawURLEncoding.EncodeToString(b) != string(cookie) || who.name != "owner" {
			t.Errorf("%q lets %+v in", cookie, who)
		}
	})
}
