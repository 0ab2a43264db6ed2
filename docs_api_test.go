package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway"
)

// The examples of docs/api.md are run against a gateway, one after the other in one shell, and what comes back
// is held against what stands below each.

const (
	docsToken = "docs-owner-token-7f3c"
	docsKey   = "test" // of the caller acme in config.toml
)

// example is a command of the document and what is said to come of it.
type example struct {
	line    int
	command string
	status  string // empty: it asks nobody
	media   string
	body    string // a part of what is answered
}

// examples are what stands in a document's blocks of console.
func examples(text string) (list []example) {
	inside := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			list = append(list, example{line: i + 1, command: line[2:]})
		case len(list) == 0:
		case list[len(list)-1].status == "":
			e := &list[len(list)-1]
			e.status, e.media, _ = strings.Cut(line, " ")
		default:
			list[len(list)-1].body += line + "\n"
		}
	}
	return list
}

func TestTheExamplesOfTheAPIAreTrue(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal("curl is missing, and with it what the examples of docs/api.md are run by: apt-get install curl")
	}
	list := examples(read(t, "docs/api.md"))
	dir := t.TempDir()
	tg, gw := serveForDocs(t, dir)
	ran := runExamples(t, dir, curl, list, "TG=http://"+tg, "GW=http://"+gw, "TOKEN="+docsToken, "KEY="+docsKey)
	described := documentOf(t, tg)
	curls := 0
	for i, e := range list {
		if e.status == "" {
			continue
		}
		curls++
		if problem := ran[i].fits(e); problem != "" {
			t.Errorf("docs/api.md:%d: %s\n%s", e.line, e.command, problem)
		}
		if err := described.validate(e, ran[i].out); err != nil {
			t.Errorf("docs/api.md:%d: %s\nis answered %s\nand the OpenAPI document has: %v", e.line, e.command, ran[i].out, err)
		}
	}
	if described.held < 30 {
		t.Errorf("only %d answers were held against the OpenAPI document", described.held)
	}
	if curls < 40 {
		t.Errorf("only %d examples were read", curls)
	}
}

// serveForDocs runs a gateway on the reference configuration with an owner's token, to whom some requests were made.
func serveForDocs(t *testing.T, dir string) (admin, data string) {
	t.Helper()
	text := strings.Replace(read(t, "config.toml"), "\ntokens = []", fmt.Sprintf("\ntokens = [{ name = \"ops\", role = \"owner\", sha256 = \"%x\" }]", sha256.Sum256([]byte(docsToken))), 1)
	path := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TIDEGATE__SERVER__LISTEN", "127.0.0.1:0")
	t.Setenv("TIDEGATE__ADMIN__LISTEN", "127.0.0.1:0")
	read, c, err := readConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan [2]net.Addr, 1)
	g, err := gateway.New(c, gateway.Options{
		Path: path, Text: read, State: c.StateDir(), Environ: os.Environ(), Version: "docs", Log: zap.NewNop(),
		Started: func(data, admin net.Addr) { started <- [2]net.Addr{data, admin} },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	at := <-started
	data, admin = at[0].String(), at[1].String()
	ask := func(url, field, value string) []byte {
		req, err := http.NewRequest("GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(field, value)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var b bytes.Buffer
		if _, err := b.ReadFrom(resp.Body); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for range 20 {
		ask("http://"+data+"/v1/chat/hello", "X-API-Key", docsKey)
	}
	ask("http://"+data+"/v1/chat/hello", "X-API-Key", "wrong")
	for deadline := time.Now().Add(bound); ; time.Sleep(50 * time.Millisecond) { // what is shown is looked at once a second
		var page struct {
			Callers []struct {
				Flows     int               `json:"flows_total"`
				Recent    []float64         `json:"recent"`
				Semantics []json.RawMessage `json:"semantics"`
			}
		}
		answered := ask("http://"+admin+"/api/v1/callers?query=acme", "Authorization", "Bearer "+docsToken)
		if json.Unmarshal(answered, &page) == nil && len(page.Callers) == 1 && page.Callers[0].Flows > 0 && len(page.Callers[0].Recent) > 0 && len(page.Callers[0].Semantics) > 0 {
			return admin, data
		}
		if time.Now().After(deadline) {
			t.Fatalf("the gateway never showed its callers: %s", answered)
		}
	}
}

// outcome is what came of a command.
type outcome struct{ head, out, errs, code string }

// runExamples runs all commands in one shell. A curl of ours in front of the real one notes the header of each answer.
func runExamples(t *testing.T, dir, curl string, list []example, environ ...string) []outcome {
	t.Helper()
	notes := t.TempDir()
	shim := "#!/bin/sh\nexec " + curl + " -sS --max-time 30 -D \"$NOTES/head\" \"$@\"\n"
	if err := os.Mkdir(filepath.Join(notes, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(notes, "bin", "curl"), []byte(shim), 0o700); err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for i, e := range list {
		fmt.Fprintf(&script, ": >\"$NOTES/head\"\n{ %s\n} >\"$NOTES/%d.out\" 2>\"$NOTES/%[2]d.errs\"\necho $? >\"$NOTES/%[2]d.code\"\ncp \"$NOTES/head\" \"$NOTES/%[2]d.head\"\n", e.command, i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*bound)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-s")
	bash.Dir, bash.Stdin = dir, strings.NewReader(script.String())
	bash.Env = append(os.Environ(), append(environ, "NOTES="+notes, "PATH="+filepath.Join(notes, "bin")+":"+os.Getenv("PATH"))...)
	if said, err := bash.CombinedOutput(); err != nil {
		t.Fatalf("bash: %v\n%s", err, said)
	}
	ran := make([]outcome, len(list))
	for i := range list {
		note := func(kind string) string { return read(t, filepath.Join(notes, fmt.Sprint(i, ".", kind))) }
		ran[i] = outcome{head: note("head"), out: note("out"), errs: note("errs"), code: strings.TrimSpace(note("code"))}
	}
	return ran
}

// fits says what of an outcome is not as the document has it; "": all is.
func (o outcome) fits(e example) string {
	if late := o.code == "28" && strings.Contains(e.command, "--max-time"); o.code != "0" && !late { // a stream is left, and does not end
		return fmt.Sprintf("curl ended with %s: %s", o.code, o.errs)
	}
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(o.head)), nil)
	if err != nil {
		return fmt.Sprintf("the header is %q: %v", o.head, err)
	}
	resp.Body.Close()
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if got := strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", media)); got != strings.TrimSpace(e.status+" "+e.media) {
		return fmt.Sprintf("is answered %s: %s\nand the document says %s %s", got, o.out, e.status, e.media)
	}
	if !strings.HasSuffix(media, "json") {
		for _, want := range strings.Split(strings.TrimSpace(e.body), "\n") {
			if !strings.Contains(o.out, want) {
				return fmt.Sprintf("the answer lacks %q: %s", want, o.out)
			}
		}
		return ""
	}
	var want, got any
	if err := json.Unmarshal([]byte(e.body), &want); err != nil {
		if strings.TrimSpace(e.body) == "" {
			return ""
		}
		return fmt.Sprintf("the document's answer is no JSON: %v", err)
	}
	if err := json.Unmarshal([]byte(o.out), &got); err != nil {
		return fmt.Sprintf("the answer is no JSON: %v: %s", err, o.out)
	}
	if problem := partOf(want, got, "the answer"); problem != "" {
		return problem + "\n" + o.out
	}
	return ""
}

// told are members of which not only the kind is said, but what they are.
var told = []string{
	"code", "status", "role", "login", "caller", "semantic", "changed", "ok", "webhook", "kind", "action", "outcome", "actor", "registered", "standing",
	"openapi", "operationId", "x-role", "source", "current", "version", "reason", "step_ms",
}

// partOf says what of a sample the answer has not; "": nothing. A sample's members are there, of the same kind; a sample's
// elements each fit some element; an empty list fits any list, and null fits anything.
func partOf(want, got any, where string) string {
	switch want := want.(type) {
	case nil:
		return ""
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return where + " is no object"
		}
		for name, of := range want {
			has, there := got[name]
			if !there {
				return fmt.Sprintf("%s has no %s", where, name)
			}
			if slices.Contains(told, name) && scalar(of) && of != has {
				return fmt.Sprintf("%s has %s = %v, and the document says %v", where, name, has, of)
			}
			if problem := partOf(of, has, where+"."+name); problem != "" {
				return problem
			}
		}
	case []any:
		got, ok := got.([]any)
		if !ok {
			return where + " is no list"
		}
		for i, of := range want {
			problem := where + " is empty"
			for _, has := range got {
				if problem = partOf(of, has, fmt.Sprintf("%s[%d]", where, i)); problem == "" {
					break
				}
			}
			if problem != "" {
				return problem
			}
		}
	default:
		if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) {
			return fmt.Sprintf("%s is %v, a %[2]T, and the document has a %[3]T", where, got, want)
		}
	}
	return ""
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any, nil:
		return false
	}
	return true
}

func TestAnAnswerIsHeldAgainstItsSample(t *testing.T) {
	parse := func(text string) (v any) {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		want, got string
		fits      bool
	}{
		{`{"a": 1}`, `{"a": 2, "b": 3}`, true},
		{`{"a": 1}`, `{"b": 3}`, false},
		{`{"a": 1}`, `{"a": "1"}`, false},
		{`{"a": 1}`, `{"a": null}`, false},
		{`{"a": null}`, `{"a": "x"}`, true},
		{`{"a": null}`, `{}`, false},
		{`{"code": "x"}`, `{"code": "y"}`, false},
		{`[{"a": {"b": true}}]`, `[{"a": 1}, {"a": {"b": false}}]`, true},
		{`[{"a": 1}]`, `[]`, false},
		{`[]`, `[1]`, true},
		{`[]`, `{}`, false},
		{`{}`, `[]`, false},
	} {
		if got := partOf(parse(c.want), parse(c.got), "it") == ""; got != c.fits {
			t.Errorf("%s fits %s: %v", c.got, c.want, got)
		}
	}
}
