package config

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
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
