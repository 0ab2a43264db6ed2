package console

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
)

func TestWritesAreAnsweredByWhatBecameOfThem(t *testing.T) {
	const any = "If-Match: *"
	object := func(config string) string { return `{"config":"` + config + `","reason":"night"}` }
	for _, c := range []struct {
		name string
		r    request
		want string
		says string // a part of the problem's detail, or of the answer
	}{
		{"TOML", write("PUT", "/api/v1/config", asTOML, "a = 1", any), "200", `"version":2`},
		{"TOML with a charset", write("PUT", "/api/v1/config", asTOML+"; charset=utf-8", "a = 1", any), "200", `"changed":true`},
		{"JSON", write("PUT", "/api/v1/config", asJSON, object("a = 1"), any), "200", `"version":2`},
		{"no If-Match", write("PUT", "/api/v1/config", asTOML, "a = 1"), "428 precondition_required", "Send If-Match"},
		{"faults", write("PUT", "/api/v1/config", asTOML, "fault", any), "422 config_invalid", "1 fault"},
		{"no text", write("PUT", "/api/v1/config", asTOML, "", any), "400 bad_request", "The config is empty"},
		{"blanks", write("PUT", "/api/v1/config", asTOML, " \n", any), "400 bad_request", "The config is empty"},
		{"JSON without the text", write("PUT", "/api/v1/config", asJSON, `{"reason":"x"}`, any), "400 bad_request", "The config is empty"},
		{"text that is none", write("PUT", "/api/v1/config", asJSON, `{"config":{"a":1}}`, any), "400 bad_request", "config must be a string"},
		{"unknown member", write("PUT", "/api/v1/config", asJSON, `{"config":"a","why":"x"}`, any), "400 bad_request", `no member "why"; there is config, reason`},
		{"a member in capitals", write("PUT", "/api/v1/config", asJSON, `{"Config":"a"}`, any), "400 bad_request", `no member "Config"`},
		{"a member twice", write("PUT", "/api/v1/config", asJSON, `{"config":"a","config":"b"}`, any), "400 bad_request", "config is given twice"},
		{"a null and a member", write("PUT", "/api/v1/config", asJSON, `{"config":null,"config":"b"}`, any), "400 bad_request", "config is given twice"},
		{"not an object", write("PUT", "/api/v1/config", asJSON, `["a"]`, any), "400 bad_request", "one JSON object"},
		{"half an object", write("PUT", "/api/v1/config", asJSON, `{"config":"a"`, any), "400 bad_request", "ends too early"},
		{"two objects", write("PUT", "/api/v1/config", asJSON, `{"config":"a"}{}`, any), "400 bad_request", "goes on"},
		{"no UTF-8", write("PUT", "/api/v1/config", asJSON, "{\"config\":\"\xff\"}", any), "400 bad_request", "not UTF-8"},
		{"unknown parameter", write("PUT", "/api/v1/config?force=1", asTOML, "a", any), "400 bad_request", `no parameter "force"; there is reason`},
		{"two reasons", write("PUT", "/api/v1/config?reason=a", asJSON, object("a"), any), "400 bad_request", "given twice"},
		{"a reason of two lines", write("PUT", "/api/v1/config?reason=a%0ab", asTOML, "a", any), "400 bad_request", "one line of at most 500"},
		{"a reason that is none", write("PUT", "/api/v1/config", asJSON, `{"config":"a","reason":1}`, any), "400 bad_request", "reason must be a string"},
		{"a long reason", write("PUT", "/api/v1/config?reason="+strings.Repeat("x", 501), asTOML, "a", any), "400 bad_request", "at most 500"},
		{"compressed", write("PUT", "/api/v1/config", asTOML, "a", any, "Content-Encoding: gzip"), "415 unsupported_media_type", "without Content-Encoding"},

		{"roll back", write("POST", "/api/v1/config/rollback", asJSON, `{"version":1,"reason":"night"}`), "200", `"version":2`},
		{"to what is not kept", write("POST", "/api/v1/config/rollback", asJSON, `{"version":9}`), "404 version_unknown", "Version 9"},
		{"to nothing", write("POST", "/api/v1/config/rollback", asJSON, ``), "400 bad_request", "version must be given"},
		{"to a fraction", write("POST", "/api/v1/config/rollback", asJSON, `{"version":1.5}`), "400 bad_request", "version must be given"},
		{"to the first before the first", write("POST", "/api/v1/config/rollback", asJSON, `{"version":0}`), "400 bad_request", "at least 1"},
		{"to a word", write("POST", "/api/v1/config/rollback", asJSON, `{"version":"1"}`), "400 bad_request", "version must be given"},
		{"to more than there are numbers", write("POST", "/api/v1/config/rollback", asJSON, `{"version":99999999999999999999}`), "400 bad_request", "version must be given"},
		{"in TOML", write("POST", "/api/v1/config/rollback", asTOML, `version = 1`), "415 unsupported_media_type", "must be JSON"},

		{"reload", write("POST", "/api/v1/reload", "", ""), "200", `"restart_needed":["server.listen"]`},
		{"reload with a type", write("POST", "/api/v1/reload", asJSON, ""), "200", ""},
		{"reload with an empty object", write("POST", "/api/v1/reload", asJSON, "{}"), "200", ""},
		{"reload with a reason", write("POST", "/api/v1/reload", asJSON, `{"reason":"night"}`), "200", ""},
		{"reload with a text", write("POST", "/api/v1/reload", asJSON, `{"config":"a"}`), "400 bad_request", `no member "config"; there is reason`},

		{"override", write("POST", "/api/v1/overrides", asJSON, `{"name":"pools.shared.seats","value":"8"}`), "200", ""},
		{"override without a name", write("POST", "/api/v1/overrides", asJSON, `{"value":"8"}`), "400 bad_request", "name and value"},
		{"override without a value", write("POST", "/api/v1/overrides", asJSON, `{"name":"pools.shared.seats"}`), "400 bad_request", "name and value"},
		{"override without a body", write("POST", "/api/v1/overrides", "", ""), "400 bad_request", "name and value"},
		{"override of two kinds", write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":["8"]}`), "400 bad_request", "value must be a string, a number, true or false"},
		{"until and for", write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":"b","for":"1m","until":"2126-01-01T00:00:00Z"}`), "400 bad_request", "not both"},
		{"until what is over", write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":"b","until":"2001-01-01T00:00:00Z"}`), "400 bad_request", "is over"},
		{"until no time", write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":"b","until":"tomorrow"}`), "400 bad_request", "2006-01-02T15:04:05Z"},
		{"until nothing", write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":"b","until":""}`), "400 bad_request", "2006-01-02T15:04:05Z"},
		{"for no span", write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":"b","for":"30"}`), "400 bad_request", "unit"},
		{"for nothing", write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":"b","for":"0s"}`), "400 bad_request", "longer"},
		{"for ever and back", write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":"b","for":"-1m"}`), "400 bad_request", "negative"},
		{"for a number", write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":"b","for":30}`), "400 bad_request", "for must be a string"},

		{"drop", write("DELETE", "/api/v1/overrides?name=rules.free%2F*%2Fchat.rate&reason=over", "", ""), "200", ""},
		{"drop what is not there", write("DELETE", "/api/v1/overrides?name=x", "", ""), "404 override_unknown", `"x"`},
		{"drop nothing", write("DELETE", "/api/v1/overrides", "", ""), "400 bad_request", "name must be given"},
		{"drop by a body", write("DELETE", "/api/v1/overrides?name=x", asJSON, `{"name":"x"}`), "400 bad_request", "No body"},
	} {
		d := newDesk("127.0.0.1:8081")
		d.control.overrides = []OverrideView{{Override: config.Override{Name: "rules.free/*/chat.rate", Value: "5/s"}}}
		a := d.ask(c.r)
		if got := code(t, a); got != c.want || !strings.Contains(detail(t, a.Body()), c.says) && !strings.Contains(string(a.Body()), c.says) {
			t.Errorf("%s: %s %s, want %s %q", c.name, got, a.Body(), c.want, c.says)
		}
		if made := len(d.control.kept) > 1 || d.control.set.Name != "" || len(d.control.overrides) == 0; made && c.want != "200" {
			t.Errorf("%s: refused, and yet made", c.name)
		}
	}
}

func TestFailuresHaveTheirStatus(t *testing.T) {
	writes := []request{
		write("PUT", "/api/v1/config", asTOML, "a", "If-Match: *"),
		write("POST", "/api/v1/config/rollback", asJSON, `{"version":1}`),
		write("POST", "/api/v1/reload", "", ""),
		write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":"b"}`),
		write("DELETE", "/api/v1/overrides?name=a", "", ""),
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&Failure{Code: CodePrecondition, Detail: "cause", ETag: `"9"`}, "412 precondition_failed"},
		{&Failure{Code: CodeConfigInvalid, Detail: "cause"}, "422 config_invalid"},
		{&Failure{Code: CodeNotWritten, Detail: "cause"}, "409 config_not_written"},
		{&Failure{Code: CodeVersionUnknown, Detail: "cause"}, "404 version_unknown"},
		{&Failure{Code: CodeOverrideUnknown, Detail: "cause"}, "404 override_unknown"},
		{&Failure{Code: CodeOverrideInvalid, Detail: "cause"}, "422 override_invalid"},
		{&Failure{Code: CodeStateNotWritten, Detail: "cause"}, "507 state_not_written"},
		{&Failure{Code: "new", Detail: "cause"}, "500 internal"},
		{errors.New("cause"), "500 internal"},
	} {
		for _, r := range writes {
			d := newDesk("127.0.0.1:8081")
			d.control.fails = c.err
			a := d.ask(r)
			if got := code(t, a); got != c.want {
				t.Errorf("%s %s with %v = %s, want %s", r.method, r.path, c.err, got, c.want)
			}
			ours := strings.HasPrefix(c.want, "500")
			if strings.Contains(string(a.Body()), "cause") == ours {
				t.Errorf("%v is told as %s", c.err, a.Body())
			}
			if logged := d.logged.FilterMessage("console_failed").Len() == 1; logged != ours {
				t.Errorf("%v logged: %v", c.err, logged)
			}
			if got := string(a.Header.Peek("ETag")); got == `"9"` != strings.HasPrefix(c.want, "412") {
				t.Errorf("%v comes with the tag %s", c.err, got)
			}
		}
	}
}

func TestAChangeHasItsActorAddressAndReason(t *testing.T) {
	for _, c := range []struct {
		r    request
		want Change
	}{
		{write("PUT", "/api/v1/config?reason=at+night", asTOML, "a", "If-Match: *"), Change{Reason: "at night"}},
		{write("PUT", "/api/v1/config", asJSON, `{"config":"a","reason":" at night "}`, "If-Match: *"), Change{Reason: "at night"}},
		{write("POST", "/api/v1/config/rollback", asJSON, `{"version":1,"reason":"夜"}`), Change{Reason: "夜"}},
		{write("POST", "/api/v1/reload", "", ""), Change{}},
		{write("POST", "/api/v1/reload?reason=night", asJSON, "{}"), Change{Reason: "night"}},
		{write("POST", "/api/v1/overrides", asJSON, `{"name":"a","value":"b","reason":"night"}`), Change{Reason: "night"}},
		{write("DELETE", "/api/v1/overrides?name=a&reason=night", "", ""), Change{Reason: "night"}},
	} {
		d := newDesk("127.0.0.1:8081")
		d.control.overrides = []OverrideView{{Override: config.Override{Name: "a"}}}
		c.r.from = "::ffff:127.0.0.1"
		c.want.Actor, c.want.Role, c.want.From = "loopback", "owner", "127.0.0.1"
		if got := code(t, d.ask(c.r)); got != "200" || d.control.last != c.want {
			t.Errorf("%s %s = %s, by %+v, want %+v", c.r.method, c.r.path, got, d.control.last, c.want)
		}
		d = newDesk("0.0.0.0:8081", tokenOf("s3cret", "owner"))
		d.control.overrides = []OverrideView{{Override: config.Override{Name: "a"}}}
		c.r.from = "2001:db8::7"
		c.r.headers = append(c.r.headers, "Authorization: Bearer s3cret")
		c.want.Actor, c.want.Role, c.want.From = "owner", "owner", "2001:db8::7"
		if got := code(t, d.ask(c.r)); got != "200" || d.control.last != c.want {
			t.Errorf("%s %s with a token = %s, by %+v, want %+v", c.r.method, c.r.path, got, d.control.last, c.want)
		}
	}
}

func TestAnOverrideIsMadeAsItWasSent(t *testing.T) {
	end := time.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		body  string
		value string
		until *time.Time
		span  time.Duration
	}{
		{`{"name":"rules.free/*/chat.rate","value":"5/s"}`, "5/s", nil, 0},
		{`{"name":"rules.free/*/chat.rate","value":12}`, "12", nil, 0},
		{`{"name":"rules.free/*/chat.rate","value":0.25}`, "0.25", nil, 0},
		{`{"name":"rules.free/*/chat.rate","value":false,"until":null}`, "false", nil, 0},
		{`{"name":"rules.free/*/chat.rate","value":"","until":"2126-01-01T08:00:00+08:00"}`, "", &end, 0},
		{`{"name":"rules.free/*/chat.rate","value":"5/s","for":"1h30m"}`, "5/s", nil, 90 * time.Minute},
	} {
		d := newDesk("127.0.0.1:8081")
		before := time.Now()
		if got := code(t, d.ask(write("POST", "/api/v1/overrides", asJSON, c.body))); got != "200" {
			t.Errorf("%s = %s", c.body, got)
			continue
		}
		o := d.control.set
		if o.Name != "rules.free/*/chat.rate" || o.Value != c.value || o.Actor != "loopback" || o.Made.Before(before) || o.Made.After(time.Now()) {
			t.Errorf("%s made %+v", c.body, o)
		}
		switch {
		case c.span > 0:
			if o.Until == nil || o.Until.Sub(o.Made) != c.span {
				t.Errorf("%s ends %v", c.body, o.Until)
			}
		case c.until == nil:
			if o.Until != nil {
				t.Errorf("%s ends %v", c.body, o.Until)
			}
		case o.Until == nil || !o.Until.Equal(*c.until):
			t.Errorf("%s ends %v", c.body, o.Until)
		}
	}
}
