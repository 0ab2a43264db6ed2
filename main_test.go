package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
	"tidegate/gateway/policy"
)

// asProgram makes the test binary be the program: what is tested is what a user runs, exit codes and
// streams included, and nothing has to be built for it.
const asProgram = "TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Unsetenv(asProgram)
		main()
		return
	}
	os.Exit(m.Run())
}

// program is the program with arguments; env are further variables.
func program(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	// The race detector would have each run wait a second at its end.
	cmd.Env = append(append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0"), env...)
	return cmd
}

// ran is what a command left behind.
type ran struct {
	code     int
	out, err string
}

func run(t *testing.T, args ...string) ran { return runWith(t, nil, args...) }

func runWith(t *testing.T, env []string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := program(env, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// file writes a config file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// small is a platform of one of each.
const small = `[[levels]]
name = "realtime"

[[pools]]
name = "shared"
seats = 4

[[semantics]]
name = "chat"
level = "realtime"
rate = "100/s"

[[semantics]]
name = "default"
level = "realtime"
rate = "5/s"

[[plans]]
name = "free"
rules = [
  { rate = "20/60s" },
  { semantic = "chat", rate = "10/s" },
  { route = "chat", semantic = "chat", rate = "5/60s", over_rate = "pace" },
]

[[upstreams]]
name = "api"
targets = [{ url = "builtin:sample" }]

[[routes]]
name = "chat"
path = "/v1/chat/*"
upstream = "api"
semantics = ["chat"]

[[callers]]
id = "ann"
semantics = ["chat"]
`

func TestCheckSaysThatAFileIsFine(t *testing.T) {
	path := file(t, small)
	r := run(t, "check", "-config", path)
	if want := path + ": ok (1 callers, 1 routes, 1 plans, 1 pools)\n"; r.code != 0 || r.out != want || r.err != "" {
		t.Errorf("%+v, want %q", r, want)
	}
}

func TestCheckSaysEveryProblemWithItsPlace(t *testing.T) {
	bad := strings.NewReplacer(
		`seats = 4`, `seats = -4`,
		"level = \"realtime\"\nrate = \"100/s\"", "level = \"realtimee\"\nrate = \"100/fortnight\"",
		`upstream = "api"`, `upstraem = "api"`,
	).Replace(small)
	path := file(t, bad)
	r := run(t, "check", "-config", path)
	if r.code != 1 || r.out != "" {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	for _, want := range []string{":6:1: pools.shared.seats = -4", ":10:1: semantics.chat.level", ":11:1: semantics.chat.rate", ":30:3: routes.chat.upstream", ":33:1: routes.chat.upstraem"} {
		if !strings.Contains(r.err, path+want) {
			t.Errorf("no problem at %s in\n%s", want, r.err)
		}
	}
	for _, want := range []string{`did you mean "realtime"?`, "100/fortnight", `did you mean "upstream"?`, "\n5 problem(s)\n"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("%q is not in\n%s", want, r.err)
		}
	}
	if n := strings.Count(r.err, "tidegate:"); n != 0 {
		t.Errorf("the failure is said once more:\n%s", r.err)
	}
}

func TestCheckOfWhatIsNoFile(t *testing.T) {
	r := run(t, "check", "-config", filepath.Join(t.TempDir(), "none.toml"))
	if r.code != 1 || !strings.Contains(r.err, "none.toml") || !strings.Contains(r.err, "no such file") {
		t.Errorf("%+v", r)
	}
}

func TestCheckSaysWhetherTheRatesFitTheSeats(t *testing.T) {
	path := file(t, small)
	for _, tc := range []struct {
		service, out, err string
		code              int
	}{
		// 5 a minute of chat, and 5/s of what is not registered, of which no time is given.
		{"chat=6s", "pool shared: all rates together need 0.5 of 4 seats: fits\n", "", 0},
		{"chat=6s,default=1s", "pool shared: all rates together need 5.5 of 4 seats: does not fit\n", "", 1},
		{"chta=20ms", "", `the config has no semantic "chta"`, 1},
		{"chat", "", `"chat" is not of the form chat=20ms`, 1},
		{"chat=-1s", "", "is not of the form", 1},
	} {
		r := run(t, "check", "-config", path, "-service", tc.service)
		if r.code != tc.code || !strings.Contains(r.out, tc.out) || !strings.Contains(r.err, tc.err) || tc.err == "" && r.err != "" {
			t.Errorf("%s: %+v", tc.service, r)
		}
	}
}

func TestExplainInWords(t *testing.T) {
	path := file(t, small)
	r := run(t, "explain", "-config", path, "-caller", "ann", "-method", "POST", "-path", "/v1/chat/x?y")
	want := strings.ReplaceAll(`caller    ann (plan free, pool shared)
route     chat (any method /v1/chat/* -> api)
semantic  chat: without a tag, route chat implies chat, the one semantic that it accepts
flow      caller=ann semantic=chat route=chat
rule      free/chat/chat (FILE:23)
  rate            5/60s, a sliding window      from free/chat/chat
  over_rate       pace                         from free/chat/chat
  cost            1                            from semantic/chat
  max_wait        2s                           from semantic/chat
  max_in_flight   no limit                     from semantic/chat
  over_in_flight  queue                        from semantic/chat
  level           realtime                     from semantic/chat
  observe         no                           from semantic/chat
  message         ""                           from semantic/chat
overrode  free/*/chat (FILE:22)
          free/*/* (FILE:21)
          semantic/chat (FILE:8)
`, "FILE", path)
	if r.code != 0 || r.out != want {
		t.Errorf("exit %d\n%s\nwant\n%s%s", r.code, r.out, want, r.err)
	}
}

func TestExplainAsJSON(t *testing.T) {
	path := file(t, small)
	r := run(t, "explain", "-json", "-config", path, "-caller", "ann", "-route", "chat")
	golden, err := os.ReadFile(filepath.Join("testdata", "explain.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(r.out, path, "config.toml"); r.code != 0 || got != string(golden) {
		t.Fatalf("exit %d\n%s%s\nwant\n%s", r.code, got, r.err, golden)
	}
	// Each place is where the rule stands.
	var e map[string]any
	if err := json.Unmarshal([]byte(r.out), &e); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(small, "\n")
	for _, o := range append(e["overrode"].([]any), map[string]any{"rule": e["rule"], "at": e["at"]}) {
		rule := o.(map[string]any)["rule"].(string)
		name, at, ok := strings.Cut(o.(map[string]any)["at"].(string), ".toml:")
		line := 0
		if _, err := fmt.Sscan(at, &line); err != nil || !ok || name+".toml" != path {
			t.Errorf("%s: at %v", rule, o)
			continue
		}
		want := map[string]string{
			"free/chat/chat": `{ route = "chat"`, "free/*/chat": `{ semantic = "chat"`, "free/*/*": `{ rate = "20/60s" }`, "semantic/chat": "[[semantics]]",
		}[rule]
		if !strings.Contains(lines[line-1], want) {
			t.Errorf("%s: line %d is %q", rule, line, lines[line-1])
		}
	}
}

// What operators have set holds for a request, and so it does for its explanation; what is over does not.
func TestExplainKnowsTheOverridesThatAreKept(t *testing.T) {
	path := file(t, small)
	past := time.Now().Add(-time.Minute)
	dir := filepath.Join(filepath.Dir(path), "data")
	store, _, err := config.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = store.SetOverrides([]config.Override{
		{Name: "rules.free/chat/chat.rate", Value: "7/60s", Actor: "ops", Reason: "trying", Made: past},
		{Name: "rules.free/chat/chat.max_wait", Value: "9s", Actor: "ops", Made: past, Until: &past},
		{Name: "callers.ann.pool", Value: "nowhere", Actor: "ops", Made: past},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, "explain", "-config", path, "-caller", "ann", "-path", "/v1/chat/x")
	if r.code != 0 || !strings.Contains(r.out, "7/60s") || !strings.Contains(r.out, "trying") || strings.Contains(r.out, "9s") ||
		!strings.Contains(r.err, "override callers.ann.pool is set aside") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overrides.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run(t, "explain", "-config", path, "-caller", "ann", "-path", "/v1/chat/x"); r.code != 1 || !strings.Contains(r.err, "cannot read the overrides") {
		t.Errorf("%+v", r)
	}
}

func TestExplainOfWhatIsNotThere(t *testing.T) {
	path := file(t, small)
	r := run(t, "explain", "-config", path, "-caller", "bob", "-route", "chat")
	if r.code != 1 || r.out != "" || !strings.Contains(r.err, `caller "bob" is none of [[callers]]`) {
		t.Errorf("%+v", r)
	}
	if r = run(t, "explain", "-config", path, "-caller", "ann"); r.code != 1 || !strings.Contains(r.err, "give -route, or -path") {
		t.Errorf("%+v", r)
	}
}

func TestAKeyAndItsHash(t *testing.T) {
	printed := regexp.MustCompile(`^key:    (tg-[A-Z2-7]{32})\nconfig: "sha256:([0-9a-f]{64})"\n$`)
	seen := map[string]bool{}
	for range 2 {
		r := run(t, "key")
		m := printed.FindStringSubmatch(r.out)
		if r.code != 0 || m == nil {
			t.Fatalf("%+v", r)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(m[1]))); sum != m[2] {
			t.Errorf("the hash of %s is %s, not %s", m[1], sum, m[2])
		}
		if seen[m[1]] {
			t.Error("the same key twice")
		}
		seen[m[1]] = true
		// The line can be put into the config as it is.
		hash := "sha256:" + m[2]
		c, err := config.LoadBytes("config.toml", []byte(small+"keys = [\""+hash+"\"]\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Compile(c, &policy.Names{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if caller := p.CallerByKey([]byte(m[1])); caller == nil || caller.ID != "ann" {
			t.Errorf("the key finds %v", caller)
		}
	}
}

func TestVersion(t *testing.T) {
	if r := run(t, "version"); r.code != 0 || !regexp.MustCompile(`^tidegate \S+\n$`).MatchString(r.out) {
		t.Errorf("%+v", r)
	}
	old := version
	defer func() { version = old }()
	version = "1.2.3"
	if got := programVersion(); got != "1.2.3" {
		t.Errorf("what the linker set is not the version: %s", got)
	}
}

func TestWhatIsNoCommandIsAnsweredByWhatIs(t *testing.T) {
	r := run(t, "chekc")
	if r.code != 2 || r.out != "" || !strings.Contains(r.err, `there is no command "chekc"`) {
		t.Errorf("%+v", r)
	}
	for _, c := range commands {
		if !strings.Contains(r.err, "\n  "+c.name+" ") {
			t.Errorf("the usage does not name %s:\n%s", c.name, r.err)
		}
	}
	for _, word := range []string{"help", "-h", "--help"} {
		if r = run(t, word); r.code != 0 || r.err != "" || !strings.Contains(r.out, "usage: ") || !strings.Contains(r.out, "\n  explain ") {
			t.Errorf("%s: %+v", word, r)
		}
	}
	if r = run(t, "--version"); r.code != 0 || r.out != run(t, "version").out {
		t.Errorf("--version: %+v", r)
	}
	if r = run(t, "check", "-h"); r.code != 0 || !strings.Contains(r.err, "-service") {
		t.Errorf("check -h: %+v", r)
	}
}

func TestAWordTooManyIsAnError(t *testing.T) {
	for _, args := range [][]string{{"check", "other.toml"}, {"run", "other.toml"}, {"explain", "-caller", "ann", "x"}, {"key", "x"}, {"version", "x"}, {"check", "-nonsense"}} {
		if r := run(t, args...); r.code != 2 || r.out != "" || r.err == "" {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func TestTheReferenceConfigRunsAsItIs(t *testing.T) {
	if r := run(t, "check"); r.code != 0 || !strings.HasPrefix(r.out, "config.toml: ok (") {
		t.Errorf("%+v", r)
	}
	c, err := config.Load("config.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Compile(c, &policy.Names{}, 1); err != nil {
		t.Fatal(err)
	}
}

func TestDemoKeysAreRefusedWhereOthersCouldUseThem(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:8080", ":8080", "192.0.2.1:8080"} {
		r := runWith(t, []string{"TIDEGATE__SERVER__LISTEN=" + listen}, "run")
		if r.code != 1 || r.out != "" || strings.Count(r.err, "refused off loopback") != 5 {
			t.Errorf("%s: exit %d %q\n%s", listen, r.code, r.out, r.err)
		}
	}
}
