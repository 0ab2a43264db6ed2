package policy

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"unsafe"
)

func TestNormalisePathResolvesWhatMeansTheSame(t *testing.T) {
	for raw, want := range map[string]string{
		"/":                            "/",
		"/v1/chat":                     "/v1/chat",
		"/v1/chat/":                    "/v1/chat/",
		"//v1///chat//":                "/v1/chat/",
		"/.":                           "/",
		"/./a/./b/.":                   "/a/b/",
		"/a/../b":                      "/b",
		"/a/b/..":                      "/a/",
		"/a/..":                        "/",
		"/a/b/../../c":                 "/c",
		"/a//../b":                     "/b",
		"/...":                         "/...",
		"/.well-known/x":               "/.well-known/x",
		"/a..b/..c":                    "/a..b/..c",
		"/%61%62%7E%5f":                "/ab~_",
		"/%2ewell-known":               "/.well-known",
		"/%2e%2e%2e":                   "/...",
		"/a%2ejson":                    "/a.json",
		"/a%3ab":                       "/a%3Ab",
		"/a%3Ab":                       "/a%3Ab",
		"/a%20b":                       "/a%20b",
		"/a%25b":                       "/a%25b",
		"/a%3fb%23c":                   "/a%3Fb%23c",
		"/a%252fb":                     "/a%252fb", // an encoded percent sign: decoded once it is text
		"/\xe4\xb8\xad":                "/%E4%B8%AD",
		"/%c3%A9":                      "/%C3%A9",
		"/%e4%b8%ad":                   "/%E4%B8%AD",
		"/caf\xe9":                     "/caf%E9", // an older encoding
		"/a\"<>^`{|}[]":                "/a%22%3C%3E%5E%60%7B%7C%7D%5B%5D",
		"/!$&'()*+,;=:@-._~":           "/!$&'()*+,;=:@-._~",
		"/a;v=1/b":                     "/a;v=1/b",
		"/" + strings.Repeat("a/", 50): "/" + strings.Repeat("a/", 50),
	} {
		got, ok := NormalisePath(nil, []byte(raw))
		if !ok || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", raw, got, ok, want)
		}
	}
}

func TestNormalisePathRefusesWhatIsReadInTwoWays(t *testing.T) {
	for what, raws := range map[string][]string{
		"no path":                   {"", "a", "a/b", "*", "http://h/a", "%2Fa"},
		"encoded slash":             {"/a%2Fb", "/a%2fb", "/%2F", "/..%2f.."},
		"backslash":                 {`/a\b`, `/..\..`, "/a%5Cb", "/a%5cb"},
		"control bytes":             {"/a\x00", "/a\tb", "/a\r\nb", "/a\x7f", "/%00", "/a%0d%0aX:1", "/%7f", "/%1F"},
		"broken escapes":            {"/%", "/a%", "/a%2", "/%zz", "/%2g", "/%u002e", "/%%32e"},
		"encoded dot segments":      {"/%2e", "/a/%2e%2e", "/a/%2E./b", "/a/.%2e/b", "/%2e/a"},
		"dot segments with more":    {"/a/..;/b", "/a/.;x=1/b", "/a/..;", "/a/..%3b/b", "/a/%2e%2e;/b"},
		"above the root":            {"/..", "/../a", "/a/../..", "/a/../../b", "//..", "/./.."},
		"overlong UTF-8":            {"/%c0%af", "/a%C0%AE%c0%ae/b", "/\xc0\xaf", "/%e0%80%af", "/%c1%9c", "/%f0%80%80%af", "/\xc0%af"},
		"space, query and fragment": {"/a b", "/a?b", "/a#b"},
	} {
		for _, raw := range raws {
			if got, ok := NormalisePath(nil, []byte(raw)); ok {
				t.Errorf("%s: %q became %q", what, raw, got)
			}
		}
	}
}

func TestNormalisePathCopiesNothingThatIsCanonical(t *testing.T) {
	dst := make([]byte, 0, 300)
	raw := []byte("/v1/chat/%E4%B8%AD/a;b=%3B")
	got, ok := NormalisePath(dst, raw)
	if !ok || unsafe.SliceData(got) != unsafe.SliceData(raw) {
		t.Errorf("%q was copied", raw)
	}
	other := []byte("/v1//ch%61t/../x/\xe4\xb8\xad")
	if n := testing.AllocsPerRun(100, func() {
		NormalisePath(dst, raw)
		NormalisePath(dst, other)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzNormalisePath(f *testing.F) {
	for _, raw := range []string{
		"/", "/v1/chat", "//a/./../b", "/%2e%2e/a", "/a/..;/b", "/%61", "/a%3ab", "/%c0%af", "/\xff%", "/..", "/%2e%2e%2e/..", "/.%2e%3b",
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		path, ok := NormalisePath(nil, raw)
		if !bytes.Equal(before, raw) {
			t.Fatalf("%q was written to", before)
		}
		if !ok {
			return
		}
		again, ok := NormalisePath(nil, path)
		if !ok || !bytes.Equal(path, again) {
			t.Fatalf("%q became %q and then %q, %v", raw, path, again, ok)
		}
		if len(path) > 3*len(raw) {
			t.Fatalf("%q grew to %q", raw, path)
		}
		// The standard library as a second reader: what it decodes has no dot segment, no empty one, no control byte,
		// and as many segments as before decoding.
		u, err := url.ParseRequestURI(string(path))
		if err != nil || u.EscapedPath() != string(path) && u.RawPath != "" && u.RawPath != string(path) {
			t.Fatalf("%q became %q, read as %v: %v", raw, path, u, err)
		}
		segments := strings.Split(u.Path, "/")
		if len(segments) != bytes.Count(path, []byte("/"))+1 {
			t.Fatalf("%q became %q with other segments when decoded: %q", raw, path, segments)
		}
		for i, s := range segments {
			if s == "." || s == ".." || s == "" && i > 0 && i < len(segments)-1 || strings.ContainsAny(s, "\\\x00\r\n\t\x7f") {
				t.Fatalf("%q became %q: segment %q", raw, path, s)
			}
		}
		if want := resolve(string(raw)); want != u.Path {
			t.Fatalf("%q became %q = %q; resolved one by one it is %q", raw, path, u.Path, want)
		}
	})
}

// resolve decodes and resolves a path in the plainest way.
func resolve(raw string) string {
	var kept []string
	slash := false
	for _, s := range strings.Split(raw, "/")[1:] {
		slash = true
		switch s {
		case "", ".":
		case "..":
			kept = kept[:len(kept)-1]
		default:
			decoded, err := url.PathUnescape(s)
			if err != nil {
				return err.Error()
			}
			kept = append(kept, decoded)
			slash = false
		}
	}
	path := "/" + strings.Join(kept, "/")
	if slash && len(kept) > 0 {
		path += "/"
	}
	return path
}
