package callerpage

import (
	"bytes"
	"go/format"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var facts = Facts{Key: "X-API-Key", Semantic: "X-Semantic", Tenant: "X-Tenant-Id", Refusals: []Refusal{
	{"rate_exceeded", 429, "later", "Wait <b>."}, {"upstream_error", 502, "safe", "Check."}, {"bad_request", 400, "never", "Correct it."},
}}

var (
	tags     = regexp.MustCompile(`<(/?[a-z0-9]+)`)
	ids      = regexp.MustCompile(` id="([^"]+)"`)
	coded    = regexp.MustCompile(`(?s)<code>(.*?)</code>`)
	word     = regexp.MustCompile(`(?m)^  "([a-z.A-Z]+)": "(.*)",$`)
	inScript = regexp.MustCompile(`\bt\((?:[^"(]*\? )?"([a-zA-Z.]+)"(?: : "([a-zA-Z.]+)")?`)
)

func found(r *regexp.Regexp, in string) (all []string) {
	for _, m := range r.FindAllStringSubmatch(in, -1) {
		all = append(all, m[1])
	}
	return all
}

// Whoever changes one language changes the other: the same elements in the same order, and the same code.
func TestBothLanguagesSayTheSame(t *testing.T) {
	en, zh := string(Page("en", facts)), string(Page("zh", facts))
	if a, b := found(ids, en), found(ids, zh); !slices.Equal(a, b) {
		t.Errorf("ids\n%q\n%q", a, b)
	}
	for _, part := range []string{"send", "wait", "left", "refused", "back-off", "register", "you"} {
		cut := func(page string) string {
			_, rest, _ := strings.Cut(page, `<h2 id="`+part+`"`)
			rest, _, _ = strings.Cut(rest, "<h2")
			return rest
		}
		count := func(page string) map[string]int {
			n := map[string]int{}
			for _, tag := range found(tags, cut(page)) {
				n[tag]++
			}
			return n
		}
		a, b := count(en), count(zh)
		for _, tag := range []string{"tr", "th", "td", "li", "p", "pre", "input", "label", "button", "form"} {
			if a[tag] != b[tag] || len(a) == 0 {
				t.Errorf("%s: %d %s in English, %d in Chinese", part, a[tag], tag, b[tag])
			}
		}
		for _, code := range found(coded, cut(en)) {
			if !strings.Contains(zh, "<code>"+code+"</code>") && !strings.Contains(code, "KEY") {
				t.Errorf("%s: the Chinese page does not have %q", part, code)
			}
		}
	}
	if strings.Contains(en, "href=\"?lang=en") || strings.Contains(zh, "href=\"?lang=zh") || !strings.Contains(zh, `<html lang="zh">`) {
		t.Error("the switch does not lead to the other language")
	}
}

func TestThePageHasNothingInlineAndNothingFromElsewhere(t *testing.T) {
	for _, lang := range Languages {
		page := string(Page(lang, facts))
		if regexp.MustCompile(`(?i)<script[^>]*>[^<]|<style|\sstyle=|\son[a-z]+=|javascript:`).MatchString(page) {
			t.Errorf("%s: something inline", lang)
		}
		for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if strings.Contains(m[1], "//") || strings.HasPrefix(m[1], "/") {
				t.Errorf("%s: loads %s", lang, m[1])
			}
		}
		if !strings.Contains(page, "Wait &lt;b&gt;.") {
			t.Errorf("%s: what is given is not taken as text", lang)
		}
	}
	for name, f := range Files {
		if f.Type == "" || f.ETag == "" || bytes.Contains(f.Content, []byte("innerHTML")) || bytes.Contains(f.Content, []byte("http")) {
			t.Errorf("%s: %q %q", name, f.Type, f.ETag)
		}
	}
}

func TestThePageNamesTheHeadersOfTheGateway(t *testing.T) {
	f := Facts{Key: "Authorization", Bearer: true, Semantic: "X-Kind", Tenant: "X-Customer"}
	page := string(Page("en", f))
	for _, want := range []string{`data-key-header="Authorization" data-bearer="true"`, "<code>X-Kind: chat</code>", "<code>X-Customer: customer-17</code>", "Authorization: Bearer your-key"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(page, usualKey) || strings.Contains(page, usualSemantic) {
		t.Error("the usual names are there, and this gateway has others")
	}
	if page := string(Page("zh", Facts{})); strings.Contains(page, "key-form") || strings.Contains(page, "page.js") {
		t.Error("a form for a key that cannot be sent")
	}
}

func TestTheCodeOnThePageIsTheCodeThatIsRun(t *testing.T) {
	page := string(Page("zh", facts))
	for _, c := range Codes(facts) {
		_, rest, _ := strings.Cut(page, `<pre id="code-`+c.ID+`" tabindex="0"><code>`)
		text, _, _ := strings.Cut(rest, "</code>")
		if html.UnescapeString(text) != c.Text || len(c.Text) < 500 {
			t.Errorf("%s: the page has another text", c.Name)
		}
		if c.ID == "go" {
			if text, err := format.Source([]byte(c.Text)); err != nil || string(text) != c.Text {
				t.Errorf("the Go code is not formatted: %v", err)
			}
		}
	}
}

// Each word of the script is there in both languages, with the same values in it, and is used.
func TestTheScriptsWordsAreThereInBothLanguages(t *testing.T) {
	en, zh, _ := strings.Cut(string(Files["words.js"].Content), "const zh")
	script := string(Files["page.js"].Content)
	texts := func(in string) map[string]string {
		all := map[string]string{}
		for _, m := range word.FindAllStringSubmatch(in, -1) {
			all[m[1]] = m[2]
		}
		return all
	}
	a, b := texts(en), texts(zh)
	values := regexp.MustCompile(`\{\w+\}`)
	for name, text := range a {
		used, other := values.FindAllString(text, -1), values.FindAllString(b[name], -1)
		slices.Sort(used)
		slices.Sort(other)
		if b[name] == "" || !slices.Equal(used, other) {
			t.Errorf("%s: %q and %q", name, text, b[name])
		}
		prefix, rest, _ := strings.Cut(name, ".")
		if !strings.Contains(script, `"`+name+`"`) && prefix != "status" && !(prefix == "refusal" && strings.Contains(script, `"`+rest+`"`)) {
			t.Errorf("%s is not used", name)
		}
	}
	if len(a) < 30 || len(a) != len(b) {
		t.Errorf("%d words in English, %d in Chinese", len(a), len(b))
	}
	for _, m := range inScript.FindAllStringSubmatch(script, -1) {
		for _, name := range m[1:] {
			if name != "" && a[name] == "" {
				t.Errorf("the script says %s, which is no word", name)
			}
		}
	}
}
