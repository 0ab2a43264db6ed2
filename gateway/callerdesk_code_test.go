package gateway

import (
	"bytes"
	"context"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/console"
)

// codeWorld is a gateway at whose page the code is found, and against which it is run: one export at a time, so that whoever
// comes while one is under way is refused for certain.
type codeWorld struct {
	*socketWorld
	mu      sync.Mutex
	arrived []time.Time // at the upstream, of what the code sends
	tags    []string
	busy    int // answers of the upstream's own that it is busy, still to come
	let     chan struct{}
}

var coding = strings.Replace(basic, `rate = "3/s", over_rate = "reject", message = "Exports are three a second."`, `rate = "100/s", max_in_flight = 1, over_in_flight = "reject"`, 1)

func newCodeWorld(t *testing.T) *codeWorld {
	t.Helper()
	w := &codeWorld{let: make(chan struct{})}
	w.socketWorld = newSocketWorld(t, coding, func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/v1/reports/held" {
			<-w.let
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.arrived = append(w.arrived, time.Now())
		w.tags = append(w.tags, string(ctx.Request.Header.Peek(headerSemantic)))
		if w.busy > 0 {
			w.busy--
			ctx.Error("busy behind the gateway", 503) // which forgets what was set before
			ctx.Response.Header.Set("Retry-After", "1")
			return
		}
		ctx.SetBodyString("the report")
	})
	return w
}

// atUpstream is what has arrived there so far.
func (w *codeWorld) atUpstream() (arrived []time.Time, tags []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.arrived), slices.Clone(w.tags)
}

// code is a client as the page shows it, written to a file.
func (w *codeWorld) code(id, lang, name string) (path string) {
	w.t.Helper()
	page := w.do("GET /.tidegate/?lang=" + lang).body
	m := regexp.MustCompile(`(?s)<pre id="code-` + id + `"[^>]*><code>(.*?)</code></pre>`).FindStringSubmatch(page)
	if m == nil {
		w.t.Fatalf("the page has no code in %s", id)
	}
	path = filepath.Join(w.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(html.UnescapeString(m[1])), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// run runs a client to its end.
func (w *codeWorld) run(key, path string, command ...string) (out, errs string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), socketBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], path, "export")...)
	cmd.Env = append(os.Environ(), "TIDEGATE_URL=http://"+w.addr, "TIDEGATE_KEY="+key, "no_proxy=127.0.0.1", "NO_PROXY=127.0.0.1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// keepsTheRules holds a client to what the page says of backing off.
func (w *codeWorld) keepsTheRules(command ...string) {
	w.t.Helper()
	// Refused by the gateway: it comes back when it was told to, with its key and its tag, and is served.
	ended := make(chan reply, 1)
	go func() { ended <- w.do("GET /v1/reports/held", "X-API-Key: ann") }()
	until(w.t, "an export to be under way", func() bool { return w.inUse("shared") == 1 })
	type result struct {
		out, errs string
		err       error
	}
	done := make(chan result, 1)
	go func() {
		out, errs, err := w.run("ann", "/v1/reports/x", command...)
		done <- result{out, errs, err}
	}()
	refusal := func() []console.RefusalView {
		return w.g.lookUpRefusals(console.RefusalsQuery{Caller: "ann", Code: "too_many_in_flight", Limit: 10})
	}
	until(w.t, "the client to be refused", func() bool { return len(refusal()) > 0 })
	close(w.let)
	<-ended
	if r := <-done; r.err != nil || r.out != "the report" {
		w.t.Fatalf("%v: %q %q", r.err, r.out, r.errs)
	}
	arrived, tags := w.atUpstream()
	if n := len(refusal()); n != 1 || len(arrived) != 1 || tags[0] != "export" {
		w.t.Fatalf("%d refusals, %d at the upstream, tagged %q", n, len(arrived), tags)
	}
	refused := refusal()[0]
	if early := refused.Time.Add(time.Duration(refused.RetryAfterMS) * time.Millisecond).Sub(arrived[0]); early > 0 {
		w.t.Errorf("it came back %v before it was told to", early)
	}

	// Refused by who stands behind: Retry-After is all there is.
	w.mu.Lock()
	w.busy = 1
	w.mu.Unlock()
	if out, errs, err := w.run("ann", "/v1/reports/x", command...); err != nil || out != "the report" {
		w.t.Errorf("%v: %q %q", err, out, errs)
	}
	if arrived, _ := w.atUpstream(); len(arrived) != 3 || arrived[2].Sub(arrived[1]) < time.Second {
		w.t.Errorf("they arrived at %v", arrived)
	}

	// What will not succeed is sent once, and said.
	before := w.ends(outcomeRefused)
	out, errs, err := w.run("wrong", "/v1/reports/x", command...)
	if err == nil || out != "" || !strings.Contains(errs, "caller_unknown") || w.ends(outcomeRefused) != before+1 {
		w.t.Errorf("a wrong key: %v %q %q, sent %d times", err, out, errs, w.ends(outcomeRefused)-before)
	}
	if strings.Contains(w.log.String(), `"wrong"`) {
		w.t.Error("the key is in the log")
	}
}

func TestTheCurlCodeOfThePageKeepsTheRules(t *testing.T) {
	w := newCodeWorld(t)
	w.keepsTheRules("sh", w.code("sh", "en", "send.sh"))
}

func TestTheGoCodeOfThePageKeepsTheRules(t *testing.T) {
	w := newCodeWorld(t)
	source := w.code("go", "zh", "send.go")
	program := filepath.Join(filepath.Dir(source), "send")
	build := exec.Command("go", "build", "-o", program, source)
	build.Dir = filepath.Dir(source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.keepsTheRules(program)
}
