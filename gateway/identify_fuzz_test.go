package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// fuzzText is basic with rates that nobody reaches and with what is there twice or never in other tests.
func fuzzText(t testing.TB, identify string) string {
	text := basic
	for _, pair := range [][2]string{
		{"[identify]\n", "[identify]\n" + identify},
		{`rate = "100/s"`, `rate = "1000000/s"`},
		{`rate = "2/s"`, `rate = "1000000/s"`},
		{`rate = "20/s"`, `rate = "1000000/s"`},
		{`rate = "3/s"`, `rate = "1000000/s"`},
		{"seats = 2", "seats = 64"},
	} {
		next := strings.Replace(text, pair[0], pair[1], 1)
		if next == text {
			t.Fatalf("%q is not there", pair[0])
		}
		text = next
	}
	for _, name := range []string{"ann", "bob", "vip", "off", "shop"} {
		text = strings.ReplaceAll(text, "HASH-"+name, hashOf(fuzzKey(name)))
	}
	return text
}

// fuzzKey is a caller's key, which is like nothing else in a request.
func fuzzKey(name string) string { return "tg-" + name + "-5dJ9vQ2mX8" }

var (
	headName   = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	headValue  = regexp.MustCompile(`^[^\x00-\x08\x0a-\x1f\x7f]*$`)
	tenantForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
)

// meant is what a request's header says, read in the plainest way.
type meant struct {
	code                     Code // CodeNone: it goes on, as
	caller, semantic, tenant string
	bearer                   bool // Authorization holds a key
}

var fuzzCallers = map[string]struct {
	id        string
	semantics []string
	disabled  bool
	byTenant  bool
}{
	fuzzKey("ann"):  {id: "ann", semantics: []string{"chat", "export"}},
	fuzzKey("bob"):  {id: "bob", semantics: []string{"chat"}},
	fuzzKey("vip"):  {id: "vip", semantics: []string{"chat"}},
	fuzzKey("off"):  {id: "off", semantics: []string{"chat"}, disabled: true},
	fuzzKey("shop"): {id: "shop", semantics: []string{"chat"}, byTenant: true},
}

var fuzzRoutes = []struct {
	path    string
	accepts []string
	public  bool
}{
	{"/v1/chat/x", []string{"chat"}, false}, {"/v1/mixed/x", []string{"chat", "export"}, false}, {"/open/x", []string{"chat"}, true}, {"/none", nil, false},
}

func meaning(lines []headLine, route int) (m meant) {
	for _, name := range []string{"host", "x-api-key", "x-semantic", "x-tenant-id", "x-max-wait", "x-queue-ticket", "authorization"} {
		if _, times := first(lines, name); times > 1 {
			return meant{code: CodeBadRequest}
		}
	}
	if wait, times := first(lines, "x-max-wait"); times > 0 {
		if d, err := time.ParseDuration(wait); err != nil || d < 0 || d > 24*time.Hour {
			return meant{code: CodeBadRequest}
		}
	}
	r := fuzzRoutes[route]
	if r.accepts == nil {
		return meant{code: CodeRouteUnknown}
	}
	key, _ := first(lines, "x-api-key")
	authorization, _ := first(lines, "authorization")
	token := ""
	if len(authorization) > len("bearer ") && lower(authorization[:len("bearer ")]) == "bearer " {
		token = strings.TrimLeft(authorization[len("bearer "):], " ")
	}
	_, m.bearer = fuzzCallers[token]
	if key == "" && m.bearer {
		key = token
	}
	caller, known := fuzzCallers[key]
	switch {
	case key == "" && r.public:
		m.caller, caller.semantics = "visitors", []string{"chat"}
	case !known:
		return meant{code: CodeCallerUnknown}
	case caller.disabled:
		return meant{code: CodeCallerDisabled}
	default:
		m.caller = caller.id
	}
	m.tenant, _ = first(lines, "x-tenant-id")
	switch {
	case m.tenant == "" && caller.byTenant:
		return meant{code: CodeTenantMissing}
	case m.tenant != "" && !tenantForm.MatchString(m.tenant):
		return meant{code: CodeBadRequest}
	}
	tag, _ := first(lines, "x-semantic")
	if tag == "" && len(r.accepts) == 1 {
		tag = r.accepts[0]
	}
	m.semantic = "default"
	if slices.Contains(r.accepts, tag) && slices.Contains(caller.semantics, tag) {
		m.semantic = tag
	}
	return m
}

// endsHere are the headers that never go on as they came: what is the gateway's, and what belongs to one connection.
var endsHere = []string{
	"x-api-key", "x-semantic", "x-tenant-id", "x-max-wait", "x-queue-ticket", "x-request-id", "traceparent", "tracestate", "authorization",
	"host", "te", "via", "expect", "upgrade", "trailer", "forwarded", "x-real-ip", "connection", "keep-alive", "content-length", "http2-settings",
	"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "proxy-connection", "transfer-encoding", "proxy-authorization",
}

// Whatever a header says of key, tag, tenant, wait and ticket: it is read as a plain reading has it, or refused in
// words; and the upstream gets what is its own, and from the gateway only what the gateway has found out.
func FuzzIdentify(f *testing.F) {
	w := newWayIn(f, fuzzText(f, "key = [\"header:X-API-Key\", \"bearer\"]\n"))
	const all = 0b111111
	ann, off := fuzzKey("ann"), fuzzKey("off")
	for _, seed := range []struct {
		key, authorization, tag, tenant, wait, ticket, extra string
		there, twice, route                                  uint8
	}{
		{key: ann, tag: "chat", tenant: "t.1:A_-", wait: "1.5s", ticket: "x", there: all},
		{authorization: "Bearer " + ann, there: 0b10},
		{authorization: "bEaReR   " + ann, key: "", there: 0b11},
		{authorization: "Basic " + ann, there: 0b10, route: 2},
		{authorization: "Bearer\t" + ann, there: 0b10},
		{authorization: "Bearer other", there: 0b10, route: 2},
		{key: ann, authorization: "Bearer " + fuzzKey("bob"), there: 0b11},
		{key: "nobody", authorization: "Bearer " + ann, there: 0b11},
		{key: off, there: 1},
		{authorization: "Bearer " + off, there: 0b10, route: 2},
		{key: ann + " ", there: 1},
		{key: "\t " + ann, there: 1},
		{key: ann + "\x00", there: 1},
		{key: ann + ann, there: 1},
		{key: fuzzKey("shop"), there: 1},
		{key: fuzzKey("shop"), tenant: "a b", there: 0b1001},
		{key: fuzzKey("shop"), tenant: strings.Repeat("t", 129), there: 0b1001},
		{key: fuzzKey("shop"), tenant: "t\xc3\xa9", there: 0b1001},
		{key: ann, tenant: "\xff", there: 0b1001, route: 2},
		{key: ann, tag: "export", there: 0b101, route: 1},
		{key: ann, tag: "Chat", there: 0b101, route: 1},
		{key: ann, tag: "chat, export", there: 0b101, route: 1},
		{key: ann, wait: "-0s", there: 0b10001},
		{key: ann, wait: "soon", there: 0b10001},
		{key: ann, wait: "", there: 0b10001},
		{key: ann, wait: "25h", there: 0b10001},
		{key: ann, there: 1, twice: 1},
		{authorization: "Bearer x", there: 0b10, twice: 2, route: 2},
		{there: all, twice: 6, route: 2},
		{key: ann, there: 1, extra: "X-Tidegate-Caller: root\nx_tidegate_tenant: t\nX-TIDEGATE-Semantic: export\nx-tidegate: kept"},
		{key: ann, there: 1, extra: "Connection: X-Tidegate-Caller, X-API-Key, X-Request-Id\nX-Own: 1"},
		{key: ann, there: 1, extra: strings.Repeat("X-Filler: 1\n", 70) + "X-Tidegate-Caller: root\nX-Queue-Ticket: late\nX-Last: 1"},
		{key: ann, there: 1, extra: "X-Request-Id: mine\nTraceparent: " + parent + "\nTracestate: a=b\nAccept-Language: zh"},
		{there: 0, extra: "x-api-key: " + ann},
		{key: ann, there: 1, extra: "X-API-KEY: " + ann},
		{key: ann, there: 1, extra: "X_API_Key: other\nX-API-Keys: other"},
		{key: ann, there: 1, extra: "Host: other"},
		{key: ann, there: 1, extra: " folded"},
		{key: ann, there: 1, extra: "X Y: z"},
		{key: ann, there: 1, extra: ": z"},
	} {
		f.Add(seed.key, seed.authorization, seed.tag, seed.tenant, seed.wait, seed.ticket, seed.extra, seed.there, seed.twice, seed.route)
	}
	f.Fuzz(func(t *testing.T, key, authorization, tag, tenant, wait, ticket, extra string, there, twice, route uint8) {
		route %= uint8(len(fuzzRoutes))
		raw := []string{"Host: api.example"}
		for i, l := range []headLine{
			{"X-API-Key", key}, {"Authorization", authorization}, {"X-Semantic", tag}, {"X-Tenant-Id", tenant}, {"X-Max-Wait", wait}, {"X-Queue-Ticket", ticket},
		} {
			if there>>i&1 == 0 {
				continue
			}
			raw = append(raw, l.name+": "+l.value)
			if int(twice) == i+1 {
				raw = append(raw, l.name+": "+l.value)
			}
		}
		own := len(raw)
		if extra != "" {
			raw = append(raw, strings.Split(extra, "\n")...)
		}
		wellFormed := true
		for _, line := range raw {
			if line == "" || strings.ContainsAny(line, "\r\n") {
				return // it would end there, and something else begin
			}
			name, value, found := strings.Cut(line, ":")
			if !found || !headName.MatchString(name) || !headValue.MatchString(value) {
				wellFormed = false
			}
			switch lower(name) {
			case "content-length", "transfer-encoding", "expect":
				return // there would have to be a body
			}
		}
		head := fmt.Sprintf("GET %s HTTP/1.1\r\n%s\r\n\r\n", fuzzRoutes[route].path, strings.Join(raw, "\r\n"))
		if len(head) > 12<<10 {
			return
		}
		want := meant{code: CodeBadRequest}
		sent := linesOf(head)
		if wellFormed {
			want = meaning(sent, int(route))
		}
		a, got, logged := w.send(t, head)
		if fault := faultOf(a); fault != "" {
			t.Errorf("%s: %d %v\n%s", fault, a.status, a.header, a.body)
		}
		if want.code != CodeNone {
			if a.status != want.code.Status() || a.code() != want.code.String() || len(got) > 0 {
				t.Errorf("%d %s, want %s; the upstream got %q", a.status, a.body, want.code, got)
			}
		} else if a.status != 200 || len(got) != 1 {
			t.Fatalf("%d %s, want it served as %+v; the upstream got %q", a.status, a.body, want, got)
		}
		elsewhere := strings.Join(raw[own:], "\n") + tag + tenant + wait + ticket
		for secret := range fuzzCallers {
			if strings.Contains(logged, secret) && !strings.Contains(elsewhere, secret) {
				t.Errorf("a key is in the log: %s", logged)
			}
		}
		if want.code != CodeNone {
			return
		}

		lines := linesOf(got[0])
		var ours []headLine
		for _, l := range lines {
			if strings.HasPrefix(strings.ReplaceAll(l.name, "_", "-"), ownPrefix) {
				ours = append(ours, l)
			}
		}
		wanted := []headLine{{"x-tidegate-caller", want.caller}, {"x-tidegate-semantic", want.semantic}}
		if want.tenant != "" {
			wanted = append(wanted, headLine{"x-tidegate-tenant", want.tenant})
		}
		if !slices.Equal(ours, wanted) {
			t.Errorf("the upstream is told %q, want %q", ours, wanted)
		}
		for _, name := range []string{"x-api-key", "x-semantic", "x-tenant-id", "x-max-wait", "x-queue-ticket"} {
			if _, times := first(lines, name); times > 0 {
				t.Errorf("the upstream got %s:\n%s", name, got[0])
			}
		}
		mine, _ := first(sent, "x-request-id")
		if id, times := first(lines, "x-request-id"); times != 1 || id != a.header.Get("X-Request-Id") || id == mine {
			t.Errorf("X-Request-Id: %q %d times, the client is told %q, and had said %q", id, times, a.header.Get("X-Request-Id"), mine)
		}
		if trace, times := first(lines, "traceparent"); times != 1 || !validTraceparent([]byte(trace)) {
			t.Errorf("traceparent: %q %d times", trace, times)
		}
		if _, named := first(sent, "connection"); named > 0 {
			return // what else goes on depends on what it names
		}
		if sentAuthorization, times := first(sent, "authorization"); times > 0 {
			if passed, times := first(lines, "authorization"); want.bearer != (times == 0) || times > 0 && passed != sentAuthorization {
				t.Errorf("Authorization %q: %q went on %d times, it holds a key: %v", sentAuthorization, passed, times, want.bearer)
			}
		}
		passes := func(all []headLine) (kept []headLine) {
			for _, l := range all {
				if !slices.Contains(endsHere, l.name) && !strings.HasPrefix(strings.ReplaceAll(l.name, "_", "-"), ownPrefix) {
					kept = append(kept, l)
				}
			}
			return kept
		}
		if was, is := passes(sent), passes(lines); !slices.Equal(was, is) {
			t.Errorf("of the client's own lines\n%q\ncame\n%q", was, is)
		}
	})
}
