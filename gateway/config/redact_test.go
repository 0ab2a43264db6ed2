package config

import (
	"bytes"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

func TestHashesAreTakenOutHoweverTheyAreWritten(t *testing.T) {
	const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"seats = 64\n", "seats = 64\n"},
		{`keys = ["sha256:` + hash + `"] # the key`, `keys = ["sha256:9f86d081..."] # the key`},
		{`keys = ["` + hash + `", "` + strings.ToUpper(hash) + `"]`, `keys = ["9f86d081...", "9F86D081..."]`},
		{`{ name = "ops", sha256 = '` + hash + `' }`, `{ name = "ops", sha256 = '9f86d081...' }`},
		{"# " + hash, "# 9f86d081..."},
		{"-keys = [\"" + hash + "\"]\r\n+keys = []\r\n", "-keys = [\"9f86d081...\"]\r\n+keys = []\r\n"},
		{`"` + strings.Replace(hash, "8", `\u0038`, 3) + `"`, `"9f86d081..."`},
		{`"` + strings.Replace(strings.Replace(hash, "f", `\U00000066`, 1), "d", `\x64`, 1) + `"`, `"9f86d081..."`},
		{"\"\"\"\\\n  " + hash[:30] + "\\  \r\n\n\t" + hash[30:] + "\"\"\"", "\"\"\"\\\n  9f86d081...\"\"\""},
		{"+\"\"\"" + hash[:30] + "\\\n+" + hash[30:] + "\"\"\"", "+\"\"\"9f86d081...\"\"\""},
		{"x" + hash + "y", "x9f86d081...y"},
		{hash + hash, "9f86d081..."},
		// No hash.
		{hash[:63], hash[:63]},
		{hash[:32] + "\n" + hash[32:], hash[:32] + "\n" + hash[32:]},
		{hash[:32] + `\` + hash[32:], hash[:32] + `\` + hash[32:]},
		{hash[:32] + `\u0103` + hash[32:], hash[:32] + `\u0103` + hash[32:]},
		{strings.Repeat("deadbeef ", 20), strings.Repeat("deadbeef ", 20)},
		{`\`, `\`},
		{`\u00`, `\u00`},
		{`a\u`, `a\u`},
	} {
		given := []byte(tc.text)
		if got := string(RedactHashes(given)); got != tc.want || string(given) != tc.text {
			t.Errorf("%s\nbecomes %s\nwant    %s", tc.text, got, tc.want)
		}
	}
}

// FuzzRedactHashes: no hash is left, and what is too short for one stays.
func FuzzRedactHashes(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`keys = ["sha256:\u0039f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"]`))
	f.Add([]byte("\\\n+a\\x61"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := RedactHashes(text)
		if regexp.MustCompile(`[0-9A-Fa-f]{64}`).Match(got) {
			t.Fatalf("left in %q", got)
		}
		if !bytes.Equal(RedactHashes(got), got) {
			t.Fatalf("%q is changed once more", got)
		}
		if len(text) < hashDigits && !bytes.Equal(got, text) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// What a viewer is shown is still a file that he can read: the same settings, but for the keys.
func TestTheReferenceWithoutHashesIsStillReadable(t *testing.T) {
	_, data := loadReference(t)
	got := RedactHashes(data)
	if bytes.Count(got, []byte("sha256:")) != bytes.Count(data, []byte("sha256:")) || bytes.Count(got, []byte("\n")) != bytes.Count(data, []byte("\n")) {
		t.Errorf("%s", got)
	}
	_, err := LoadBytes("config.toml", got, nil)
	ps, _ := err.(Problems)
	for _, p := range ps {
		if !strings.Contains(p.Key, ".keys[") {
			t.Errorf("%v", p)
		}
	}
	if len(ps) == 0 {
		t.Error("the keys are still there")
	}
}

func TestOfAWebhookOnlyTheHostIsShown(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{`webhook = "https://hooks.example.com/a/b?c=d"`, `webhook = "https://hooks.example.com/..."`},
		{`webhook = 'https://hooks.example.com/a"b' # now`, `webhook = 'https://hooks.example.com/...' # now`},
		{`alerts = { webhook = "HTTPS://hooks.example.com:8443/a'b", events = [] }`, `alerts = { webhook = "HTTPS://hooks.example.com:8443/...", events = [] }`},
		{`"http://hooks.example.com?token=x"`, `"http://hooks.example.com/..."`},
		{`"http://hooks.example.com#x"`, `"http://hooks.example.com/..."`},
		{`"http://ann:word@hooks.example.com"`, `"http://hooks.example.com/..."`},
		{`"http://ann:wo@rd@hooks.example.com/a"`, `"http://hooks.example.com/..."`},
		{`# webhook = https://hooks.example.com/old and more`, `# webhook = https://hooks.example.com/... and more`},
		{"-webhook = \"https://a.example/x\"\r\n+webhook = \"\"\r\n", "-webhook = \"https://a.example/...\"\r\n+webhook = \"\"\r\n"},
		{`"\u0068ttps\x3a//a.ex\U00000061mple\u002fsecret"`, `"\u0068ttps\x3a//a.ex\U00000061mple/..."`},
		{`"https://a.example/se\"cret"`, `"https://a.example/..."`},
		{"\"\"\"\\\n  https://a.exam\\\n+  ple/secret\\\n  /more\"\"\"", "\"\"\"\\\n  https://a.exam\\\n+  ple/...\"\"\""},
		{`"https://报表.example/秘密"`, `"https://报表.example/..."`},
		// Nothing is hidden where nothing is secret.
		{`url = "http://10.0.0.5:8080"`, `url = "http://10.0.0.5:8080"`},
		{`url = "http://10.0.0.5:8080/"`, `url = "http://10.0.0.5:8080/"`},
		{`"http://host:port", or the sample upstream`, `"http://host:port", or the sample upstream`},
		{`path = "/v1/chat/*" # http`, `path = "/v1/chat/*" # http`},
		{`"https://a.example/..."`, `"https://a.example/..."`},
		{`https:/`, `https:/`},
		{`"https://`, `"https://`},
	} {
		given := []byte(tc.text)
		if got := string(RedactURLs(given)); got != tc.want || string(given) != tc.text {
			t.Errorf("%s\nbecomes %s\nwant    %s", tc.text, got, tc.want)
		}
	}
}

// FuzzRedactURLs: what a TOML reader would take for a webhook is not in the text any more, however it is written.
func FuzzRedactURLs(f *testing.F) {
	f.Add("webhook = \"https://hooks.example/aSecret\"")
	f.Add("webhook = '''https://hooks.example/aSecret'''")
	f.Add("webhook = \"\"\"http\\u0073://hooks.example/aSe\\\n cret\"\"\"")
	f.Fuzz(func(t *testing.T, text string) {
		got := RedactURLs([]byte(text))
		if !bytes.Equal(RedactURLs(got), got) {
			t.Fatalf("%q is changed once more: %q", got, RedactURLs(got))
		}
		var before, after struct {
			Webhook string `toml:"webhook"`
		}
		if toml.Unmarshal([]byte(text), &before) != nil || checkWebhook(before.Webhook) != nil {
			return
		}
		if err := toml.Unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		u, err := url.Parse(before.Webhook)
		if err != nil {
			t.Fatal(err)
		}
		plain := u.Scheme + "://" + u.Host
		if w := after.Webhook; !strings.EqualFold(w, plain) && !strings.EqualFold(w, plain+"/") && !strings.EqualFold(w, plain+"/...") {
			t.Fatalf("%q became %q: of %q there is left %q", text, got, before.Webhook, w)
		}
	})
}
