package config

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestPlaces(t *testing.T) {
	for text, want := range map[string]Place{
		"header:X-API-Key": {"header", "X-API-Key"},
		"query:apikey":     {"query", "apikey"},
		"bearer":           {"bearer", ""},
	} {
		if p, err := ParsePlace(text); err != nil || p != want {
			t.Errorf("%q = %+v, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "header", "header:", "header:a b", "bearer:x", "Header:X", "query:a=b", "header:X-Tidegate-Caller", "header:x-max-wait", "header:content-length"} {
		if p, err := ParsePlace(text); err == nil {
			t.Errorf("%q = %+v, want an error", text, p)
		}
	}
}

func TestLoopback(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:80": false, "127.9.9.9:80": false, "[::1]:80": false, "localhost:80": false, "[::ffff:127.0.0.1]:80": false,
		":80": true, "0.0.0.0:80": true, "[::]:80": true, "10.0.0.1:80": true,
	} {
		if offLoopback(listen) != want {
			t.Errorf("%s: off loopback = %v", listen, !want)
		}
	}
}

// Whatever is accepted must be of use to those who take it further; nothing may panic.
func FuzzSyntax(f *testing.F) {
	for _, s := range []string{
		"header:X-Key", "query:a", "bearer", "127.0.0.1:80", "[::1]:0", "10.0.0.0/8", "fe80::1%eth0", "http://a:80", "http://[::1]:80", "http://[::1]",
		"builtin:sample", "/v1/chat/*", "/%E6%8A%A5", "/*", "/a/%2F", "api.example.com", "sha256:" + strings.Repeat("0a", 32), "/a/./b", "http://a:", "http://:80",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := ParsePlace(s); err == nil && p.Kind == "header" && http.CanonicalHeaderKey(p.Name) == "" {
			t.Errorf("place %q has no header name", s)
		}
		if _, err := parseListen(s); err == nil && strings.ContainsAny(s, " \n/") {
			t.Errorf("listen address %q", s)
		}
		if p, err := parsePrefix(s); err == nil && (!p.IsValid() || p != p.Masked()) {
			t.Errorf("range %q = %v", s, p)
		}
		if sum, err := ParseHash(s); err == nil && len(s) < 64 || err != nil && sum != [32]byte{} {
			t.Errorf("hash %q = %x, %v", s, sum, err)
		}
		if err := checkTarget(s); err == nil && s != "builtin:sample" {
			u, err := url.Parse(s)
			if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" {
				t.Errorf("target %q = %+v, %v", s, u, err)
			}
			if _, err := netip.ParseAddr(u.Hostname()); err != nil && !validHost(u.Hostname()) {
				t.Errorf("target %q has the host %q", s, u.Hostname())
			}
		}
		if checkPath(s) == nil {
			u, err := url.ParseRequestURI(s)
			if err != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(s, "//") || strings.Contains(strings.TrimSuffix(s, "/*"), "*") {
				t.Errorf("path %q = %+v, %v", s, u, err)
			}
		}
	})
}

// A variable is either a value of its key or one problem that names it.
func FuzzEnvironment(f *testing.F) {
	f.Add("SERVER__LISTEN", "127.0.0.1:80")
	f.Add("SERVER__MAX_CONNECTIONS", "99999999999999999999")
	f.Add("DETECTOR__RATIO", "1e400")
	f.Add("POOLS__0__SEATS", "1")
	f.Add("__", "")
	f.Fuzz(func(t *testing.T, name, value string) {
		if strings.Contains(name, "=") {
			return
		}
		r := newReport(&origin{env: map[string]string{}})
		tree := environment([]string{envPrefix + name + "=" + value, "PATH=/bin"}, r)
		if (len(tree) == 1) == (len(r.list) == 1) || len(tree) > 1 {
			t.Fatalf("%v and %v", tree, r.list)
		}
		if len(r.list) == 1 && r.list[0].File != envPrefix+name {
			t.Fatalf("%+v", r.list[0])
		}
		if len(tree) == 1 {
			if _, err := merge(map[string]any{}, tree); err != nil {
				t.Fatal(err)
			}
		}
	})
}
