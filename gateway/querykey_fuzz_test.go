package gateway

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidegate/gateway/policy"
)

// leniently decodes a part of a query as somebody would who takes what is broken as it stands.
func leniently(s string) string {
	s = strings.ReplaceAll(s, "+", " ")
	return regexp.MustCompile(`%[0-9a-fA-F]{2}`).ReplaceAllStringFunc(s, func(escape string) string {
		decoded, _ := url.PathUnescape(escape)
		return decoded
	})
}

// distinct is how many different bytes a text has.
func distinct(s string) int {
	seen := map[byte]bool{}
	for i := range len(s) {
		seen[s[i]] = true
	}
	return len(seen)
}

// A key that a query carries is found however it is written, and neither the upstream nor the log, the metrics or the
// list of refusals hear of it, whatever becomes of the request.
func FuzzQueryKey(f *testing.F) {
	w := newWayIn(f, fuzzText(f, "key = [\"query:apikey\", \"header:X-API-Key\"]\ntenant = [\"query:for\"]\n"))
	ann, bob, off, shop := fuzzKey("ann"), fuzzKey("bob"), fuzzKey("off"), fuzzKey("shop")
	for _, seed := range [][2]string{
		{"/v1/chat/x", "?apikey=" + ann},
		{"/v1/chat/x", "?a=b&apikey=" + ann + "&c=%64"},
		{"/v1/chat/x", "?%61pikey=" + ann},
		{"/v1/chat/x", "?apikey=tg%2Dann%2d5dJ9vQ2mX8&x"},
		{"/v1/chat/x", "?apikey=" + ann + "&apikey=" + bob},
		{"/v1/chat/x", "?apikey=" + ann + "&api%6Bey="},
		{"/v1/chat/x", "?apikey"},
		{"/v1/chat/x", "?apikey="},
		{"/v1/chat/x", "?"},
		{"/v1/chat/x", ""},
		{"/v1/chat/x", "?apikey=" + off},
		{"/v1/chat/x", "?apikey=" + shop},
		{"/v1/chat/x", "?apikey=" + shop + "&for=t1"},
		{"/v1/chat/x", "?for=a+b&apikey=" + shop},
		{"/v1/chat/x", "?for=1&for=2&apikey=" + ann},
		{"/v1/chat/x", "?apikey=somebody-else-000"},
		{"/v1/chat/x", "?apikey=somebody%zzelse-000"},
		{"/v1/chat/x", "?APIKEY=" + ann},
		{"/v1/chat/x", "?apikey =" + ann},
		{"/v1/chat/x", "?x;apikey=" + ann},
		{"/v1/chat/../chat//x", "?apikey=" + ann + "&?&="},
		{"http://api.example/v1/chat/x", "?apikey=" + ann},
		{"http://api.example", "?apikey=" + ann},
		{"/v1/..%2f", "?apikey=" + ann},
		{"/none", "?apikey=" + ann},
		{"/open/x", "?apikey=" + ann},
		{"/open/x", "?x=1"},
		{"/open/x", "?apikey=&x"},
		{"/v1/chat/" + strings.Repeat("x", 2000), "?apikey=" + ann},
		{"/v1/chat/x", "?" + strings.Repeat("a&", 1000) + "apikey=" + ann},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		target := path + query
		if strings.ContainsAny(target, "\r\n") || len(target) > 8<<10 || strings.Contains(path, "?") {
			return
		}
		a, got, logged := w.send(t, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: api.example\r\n\r\n", target))
		if fault := faultOf(a); fault != "" {
			t.Errorf("%s: %d %v\n%s", fault, a.status, a.header, a.body)
		}
		if a.status >= 500 {
			t.Errorf("%d %s", a.status, a.body)
		}

		var keys, tenants, others, secrets []string
		if query, found := strings.CutPrefix(query, "?"); found {
			for _, pair := range strings.Split(query, "&") {
				name, value, _ := strings.Cut(pair, "=")
				switch leniently(name) {
				case "apikey":
					keys = append(keys, leniently(value))
					secrets = append(secrets, value, leniently(value))
				case "for":
					tenants = append(tenants, leniently(value))
				default:
					others = append(others, pair)
				}
			}
		} else if query != "" {
			return // not a query: part of the path
		}

		// Whatever became of it.
		public := strings.Join(append(append([]string{path}, others...), tenants...), "&")
		var metrics bytes.Buffer
		w.g.telemetry.set.WritePrometheus(&metrics)
		kept := fmt.Sprintf("%+v", w.g.refusals.last(1))
		for _, secret := range secrets {
			if distinct(secret) < 8 || strings.Contains(leniently(public), leniently(secret)) || strings.Contains(public, secret) {
				continue // too plain to be told from other words and numbers, or said where it is no secret
			}
			for where, text := range map[string]string{"log": logged, "upstream": strings.Join(got, ""), "metrics": metrics.String(), "refusals": kept, "answer": a.body} {
				if strings.Contains(text, secret) {
					t.Errorf("%q is in the %s:\n%s", secret, where, text)
				}
			}
		}
		if len(keys) > 1 || len(tenants) > 1 {
			if a.status != 400 || len(got) > 0 {
				t.Errorf("%q twice: %d %s", keys, a.status, a.body)
			}
			return
		}

		caller := fuzzCallers[strings.Join(keys, "")]
		canonical, fine := policy.NormalisePath(nil, []byte(path))
		open := strings.HasPrefix(string(canonical), "/open/")
		if !fine || !strings.HasPrefix(string(canonical), "/v1/chat/") && !open {
			return // the path's own affair
		}
		if regexp.MustCompile(`[\x00-\x20\x7f#]`).MatchString(target) {
			if a.status != 400 {
				t.Errorf("%d %s", a.status, a.body)
			}
			return
		}
		code := CodeNone
		anonymous := len(keys) == 0 || keys[0] == ""
		switch {
		case anonymous && open:
			caller.id = "visitors"
		case caller.id == "":
			code = CodeCallerUnknown
		case caller.disabled:
			code = CodeCallerDisabled
		}
		if tenant := strings.Join(tenants, ""); code == CodeNone && tenant == "" && caller.byTenant {
			code = CodeTenantMissing
		} else if code == CodeNone && tenant != "" && !tenantForm.MatchString(tenant) {
			code = CodeBadRequest
		}
		if code != CodeNone {
			if a.code() != code.String() || len(got) > 0 {
				t.Errorf("%d %s, want %s; the upstream got %q", a.status, a.body, code, got)
			}
			return
		}
		if a.status != 200 || len(got) != 1 {
			t.Fatalf("%d %s, want it served; the upstream got %q", a.status, a.body, got)
		}
		line, _, _ := strings.Cut(got[0], "\r\n")
		want := string(canonical)
		switch {
		case len(keys)+len(tenants) == 0:
			want += query
		case len(others) > 0:
			want += "?" + strings.Join(others, "&")
		}
		if line != "GET "+want+" HTTP/1.1" {
			t.Errorf("the upstream got %q, want %q", line, want)
		}
		lines := linesOf(got[0])
		ids := slices.DeleteFunc(slices.Clone(lines), func(l headLine) bool { return l.name != "x-tidegate-caller" })
		if len(ids) != 1 || ids[0].value != caller.id {
			t.Errorf("the upstream is told %q, want %q", ids, caller.id)
		}
	})
}
