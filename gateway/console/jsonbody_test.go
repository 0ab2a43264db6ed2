package console

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzJSONBodies(f *testing.F) {
	for _, s := range []string{
		`{"config":"a = 1","reason":"x"}`, `{"name":"a","value":1.5,"until":null,"for":"1m"}`, `{"version":1}`, `{}`, ``, ` `, `null`, `[]`, `{"name":"a","name":"b"}`,
		`{"Name":"a"}`, "{\"name\":\"\xff\"}", `{"name":"\ud800"}`, `{"name":{"name":"a"}}`, `{"name":`, `{"name":"a"}x`, `{"version":1e2}`, `{"version":-1}`, "\ufeff{}", `{"na\u006de":"a"}`,
	} {
		f.Add([]byte(s))
	}
	allowed := []string{"config", "reason", "name", "value", "until", "for", "version"}
	d := newDesk("127.0.0.1:8081")
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := parseObject(body, allowed...)
		var want map[string]json.RawMessage
		standard := json.Unmarshal(body, &want)
		if blank := strings.Trim(string(body), " \t\r\n") == ""; blank {
			standard, want = nil, nil
		}
		if err == nil {
			if standard != nil {
				t.Fatalf("%q is taken, and is no JSON: %v", body, standard)
			}
			given := 0
			for name, value := range want {
				if string(value) != "null" {
					given++
					if string(got[name]) != string(value) {
						t.Fatalf("%q: %s is %q, want %q", body, name, got[name], value)
					}
				}
			}
			if given != len(got) {
				t.Fatalf("%q has %d members, %d were read", body, given, len(got))
			}
			for _, name := range allowed {
				got.text(name)
				got.plain(name)
				if n, err := got.number(name, 1); err == nil && n < 1 {
					t.Fatalf("%q: %s is %d", body, name, n)
				}
			}
			if end, err := got.end(t0); err == nil && end != nil && !end.After(t0) {
				t.Fatalf("%q ends %v, before it began", body, end)
			}
		}
		for _, r := range []request{
			write("PUT", "/api/v1/config", asJSON, string(body), "If-Match: \"never\""),
			write("POST", "/api/v1/config/rollback", asJSON, string(body), "If-Match: \"never\""),
			write("POST", "/api/v1/overrides", asJSON, string(body)),
			write("POST", "/api/v1/reload", asJSON, string(body)),
		} {
			d.control.overrides = nil
			if got := d.ask(r).StatusCode(); got != 200 && got != 400 && got != 412 {
				t.Fatalf("%s %s with %q = %d", r.method, r.path, body, got)
			}
		}
	})
}
