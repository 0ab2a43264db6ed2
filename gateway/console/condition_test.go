package console

import (
	"regexp"
	"strings"
	"testing"
)

func TestIfMatchIsReadAsTheStandardSays(t *testing.T) {
	const malformed, missing = "400 bad_request", "428 precondition_required"
	const yes, no = "200", "412 precondition_failed"
	d := newDesk("127.0.0.1:8081")
	_, tag := d.control.Text()
	for _, c := range []struct {
		put      string   // what a PUT with these fields comes to
		rollback string   // and a rollback, which needs none
		fields   []string // each an If-Match
	}{
		{missing, yes, nil},
		{yes, yes, []string{tag}},
		{yes, yes, []string{"*"}},
		{yes, yes, []string{" * "}},
		{yes, yes, []string{`"a", ` + tag + `, "b"`}},
		{yes, yes, []string{`"a"` + "\t,\t" + tag}},
		{yes, yes, []string{`"a",` + tag}},
		{yes, yes, []string{`,, "a" ,,` + tag + `,`}},
		{yes, yes, []string{`"a"`, tag}},
		{yes, yes, []string{`W/"a", ` + tag}},
		{no, no, []string{`"a"`}},
		{no, no, []string{`"a", "b"`}},
		{no, no, []string{"W/" + tag}}, // a weak tag is not the same, whatever is in it
		{no, no, []string{`""`}},
		{no, no, []string{`"a,b"`}},
		{no, no, []string{strings.ToUpper(tag[:len(tag)-1]) + `x"`}},
		{no, no, []string{`"\"`}}, // a backslash escapes nothing
		{no, no, []string{`"*"`}},
		{no, no, []string{""}}, // a list of no tags
		{no, no, []string{" , ,"}},
		{malformed, malformed, []string{strings.Trim(tag, `"`)}},
		{malformed, malformed, []string{"*, " + tag}},
		{malformed, malformed, []string{"*", tag}},
		{malformed, malformed, []string{"**"}},
		{malformed, malformed, []string{tag + " " + tag}},
		{malformed, malformed, []string{tag + tag}},
		{malformed, malformed, []string{"w/" + tag}},
		{malformed, malformed, []string{"W/ " + tag}},
		{malformed, malformed, []string{"W/"}},
		{malformed, malformed, []string{`"a`}},
		{malformed, malformed, []string{`"a b"`}},
		{malformed, malformed, []string{`"a", b`}},
	} {
		var fields []string
		for _, f := range c.fields {
			fields = append(fields, "If-Match: "+f)
		}
		for _, of := range []struct {
			r    request
			want string
		}{
			{write("PUT", "/api/v1/config", asTOML, "a = 1", fields...), c.put},
			{write("POST", "/api/v1/config/rollback", asJSON, `{"version":1}`, fields...), c.rollback},
		} {
			d := newDesk("127.0.0.1:8081")
			a := d.ask(of.r)
			if got := code(t, a); got != of.want {
				t.Errorf("%s with If-Match %q = %s, want %s", of.r.method, c.fields, got, of.want)
			}
			_, now := d.control.Text()
			if of.want == yes && now == tag || of.want != yes && now != tag {
				t.Errorf("%s with If-Match %q: %s is in force", of.r.method, c.fields, now)
			}
			wantTag := ""
			if of.want == yes || of.want == no {
				wantTag = now
			}
			if got := string(a.Header.Peek("ETag")); got != wantTag {
				t.Errorf("%s with If-Match %q comes with the tag %q, want %q", of.r.method, c.fields, got, wantTag)
			}
		}
	}
}

func TestAConfigReadCanBeWritten(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	read := d.ask(request{path: "/api/v1/config"})
	if got := string(read.Header.ContentType()); got != "application/toml" || string(read.Body()) != firstText {
		t.Fatalf("%s %q", got, read.Body())
	}
	first := "If-Match: " + string(read.Header.Peek("ETag"))
	wrote := d.ask(write("PUT", "/api/v1/config", asTOML, "second = 1\n", first))
	if got := code(t, wrote); got != "200" {
		t.Fatal(got)
	}
	// Whoever read before that cannot undo it by accident; who has its tag goes on.
	stale := d.ask(write("PUT", "/api/v1/config", asTOML, "third = 1\n", first))
	if got := code(t, stale); got != "412 precondition_failed" || string(stale.Header.Peek("ETag")) != string(wrote.Header.Peek("ETag")) {
		t.Fatalf("%s %s", got, stale.Header.Peek("ETag"))
	}
	if got := code(t, d.ask(write("PUT", "/api/v1/config", asTOML, "third = 1\n", "If-Match: "+string(wrote.Header.Peek("ETag"))))); got != "200" {
		t.Fatal(got)
	}
	for version, want := range map[string]string{"1": firstText, "2": "second = 1\n", "3": "third = 1\n"} {
		if got := string(body(t, d, "/api/v1/config?version="+version)); got != want {
			t.Errorf("version %s is %q", version, got)
		}
	}
	if got := string(body(t, d, "/api/v1/config")); got != "third = 1\n" {
		t.Errorf("in force is %q", got)
	}
}

func TestAConfigThatIsKnownIsNotSentAgain(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	_, tag := d.control.Text()
	for _, c := range []struct{ field, want string }{
		{tag, "304"},
		{"W/" + tag, "304"},
		{`"a", ` + tag, "304"},
		{"*", "304"},
		{`"a"`, "200"},
		{"", "200"},
		{"nonsense", "200"},
	} {
		a := d.ask(request{path: "/api/v1/config", headers: []string{"If-None-Match: " + c.field}})
		if got := code(t, a); got != c.want || string(a.Header.Peek("ETag")) != tag || (c.want == "304") != (len(a.Body()) == 0) {
			t.Errorf("If-None-Match %q = %s with %d bytes", c.field, got, len(a.Body()))
		}
	}
}

func TestViewersSeeNoHashes(t *testing.T) {
	d := newDesk("127.0.0.1:8081", tokenOf("v", "viewer"), tokenOf("o", "operator"), tokenOf("w", "owner"))
	d.control.keep("file", Change{}, firstText+"more = 1\n", "+"+firstText)
	for _, path := range []string{"/api/v1/config", "/api/v1/config?version=1", "/api/v1/config/versions"} {
		for secret, sees := range map[string]bool{"v": false, "o": true, "w": true} {
			a := d.ask(request{path: path, headers: []string{"Authorization: Bearer " + secret}})
			got := string(a.Body())
			if code(t, a) != "200" || !strings.Contains(got, "sha256:5e884898") || strings.Contains(got, "5e884898da28047151d0") != sees {
				t.Errorf("%s as %s: %s", path, secret, got)
			}
		}
	}
	// The text that a viewer gets must not be written back: it would take everybody's keys away.
	read := d.ask(request{path: "/api/v1/config", headers: []string{"Authorization: Bearer v"}})
	back := write("PUT", "/api/v1/config", asTOML, string(read.Body()), "Authorization: Bearer w", "If-Match: "+string(read.Header.Peek("ETag")))
	if got := code(t, d.ask(back)); got != "412 precondition_failed" {
		t.Errorf("a redacted text written back: %s", got)
	}
	_, tag := d.control.Text()
	if again := d.ask(request{path: "/api/v1/config", headers: []string{"Authorization: Bearer v", "If-None-Match: " + tag}}); again.StatusCode() != 304 {
		t.Errorf("a viewer who knows the text gets it again: %d", again.StatusCode())
	}
}

// What a list of tags is, said once more in another way.
var (
	tagPattern  = `(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`
	listPattern = regexp.MustCompile(`(?s)^(?:[ \t]*\*[ \t]*|[ \t,]*(?:` + tagPattern + `(?:[ \t]*,[ \t,]*` + tagPattern + `)*[ \t,]*)?)$`)
	onlyTags    = regexp.MustCompile(tagPattern)
)

// latin1 has a rune for each byte, since a pattern knows runes only.
func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

func FuzzIfMatch(f *testing.F) {
	for _, s := range []string{"", "*", `"a"`, `W/"a"`, `"a", "b"`, `"a" "b"`, `,,"a",`, `"`, `W/`, `"\"`, `"a,b"`, "*,", "\xff", `"` + "\xff" + `"`, "\t", `""`, `"a"W/"b"`, "\"\x7f\""} {
		f.Add(s, `"a"`)
	}
	f.Fuzz(func(t *testing.T, field, etag string) {
		list, ok := parseTags(field)
		if want := listPattern.MatchString(latin1(field)); ok != want {
			t.Fatalf("%q is a list of tags: %v, want %v", field, ok, want)
		}
		if !ok {
			if MatchTag(field, etag) {
				t.Fatalf("%q is no list, and matches", field)
			}
			return
		}
		sent := onlyTags.FindAllString(latin1(field), -1)
		if list.any {
			sent = nil
		}
		if len(sent) != len(list.tags) {
			t.Fatalf("%q has %d tags, %d were read", field, len(sent), len(list.tags))
		}
		want := list.any
		for i, tag := range list.tags {
			text := tag.opaque
			if tag.weak {
				text = "W/" + text
			}
			if latin1(text) != sent[i] {
				t.Fatalf("tag %d of %q is %q, want %q", i, field, text, sent[i])
			}
			want = want || text == etag && !tag.weak
		}
		if got := MatchTag(field, etag); got != want {
			t.Fatalf("%q matches %q: %v, want %v", field, etag, got, want)
		}
	})
}
