package config

import (
	"strings"
	"testing"
)

func TestVariablesThatMeanNoScalarAreProblems(t *testing.T) {
	for variable, want := range map[string]string{
		"TIDEGATE__POOLS__0__SEATS=1":            "lists, and what stands in them, cannot be given by the environment",
		"TIDEGATE__IDENTIFY__KEY=bearer":         "lists, and what stands in them, cannot be given by the environment",
		"TIDEGATE__SERVER=x":                     "this is a table; two underscores and one of its keys must follow, e.g. TIDEGATE__SERVER__LISTEN",
		"TIDEGATE__SERVER__LISTEN__PORT=80":      "server.listen holds one value and no keys",
		"TIDEGATE__=x":                           "no such key",
		"TIDEGATE__SERVER__MAX_CONNECTIONS=many": `server.max_connections = "many": a whole number is wanted here`,
		"TIDEGATE__DETECTOR__RATIO=NaN":          `detector.ratio = "NaN": a number is wanted here`,
		"TIDEGATE__DETECTOR__ENABLED=1":          `detector.enabled = "1": true or false is wanted here`,
		"TIDEGATE__SERVER__BODY_TIMEOUT=-1s":     `server.body_timeout = "-1s": a duration cannot be negative`,
	} {
		name, _, _ := strings.Cut(variable, "=")
		_, err := LoadBytes("config.toml", []byte(whole), []string{variable})
		ps, _ := err.(Problems)
		if len(ps) != 1 || ps[0].File != name || !strings.Contains(ps[0].String(), want) {
			t.Errorf("%s: %v\nwant %s", variable, err, want)
		}
	}
	_, err := LoadBytes("config.toml", []byte(whole), []string{"TIDEGATE__LOG__LEVEL=info", "TIDEGATE__log__level=info"})
	if err == nil || !strings.Contains(err.Error(), "it gives the same key as TIDEGATE__LOG__LEVEL") {
		t.Errorf("two variables of one key: %v", err)
	}
}

// Somebody will paste the key where its hash belongs, and problems are logged and shown.
func TestProblemsNeverShowAKey(t *testing.T) {
	const secret = "tg_live_51f0c3"
	for _, edit := range []string{
		"end: keys = [\"" + secret + "\"]",
		"end: keys = \"" + secret + "\"",
		"end: keys = [[\"" + secret + "\"]]",
		"admin: tokens = [{ name = \"ops\", role = \"owner\", sha256 = \"" + secret + "\" }]",
		"end: [alerts]\nwebhook = \"https://" + secret + "@hooks.example:99999/" + secret + "?" + secret + "\"",
		"end: [alerts]\nwebhook = \"https://hooks.example/%zz/" + secret + "\"",
		"end: [alerts]\nwebhook = \"hooks.example/" + secret + "\"",
		"end: [alerts]\nwebhook = [\"https://hooks.example/" + secret + "\"]",
		"end: [alerts]\nwebhook = { url = \"https://hooks.example/" + secret + "\" }",
	} {
		_, err := LoadBytes("config.toml", []byte(put(t, edit)), []string{"TIDEGATE__ADMIN__TOKEN=" + secret})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", edit, err)
		}
	}
}

func TestReportsOfBrokenFilesAreBounded(t *testing.T) {
	_, err := LoadBytes("config.toml", []byte(whole+strings.Repeat("[[callers]]\nid = \"a\"\nplan = \"fre\"\n", 5_000)), nil)
	ps, _ := err.(Problems)
	if len(ps) != maxProblems+1 || !strings.Contains(ps[maxProblems].Message, "only the first 1000") {
		t.Errorf("%d problems", len(ps))
	}
}
