package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bound only ends a test that has failed: what is waited for comes in milliseconds.
const bound = 30 * time.Second

// serving is a gateway in a process of its own.
type serving struct {
	t           *testing.T
	cmd         *exec.Cmd
	config      string
	greeting    []string
	data, admin string // addresses
	log         chan string
}

// start runs the gateway on a copy of the reference config, at ports that the system chooses.
func start(t *testing.T) *serving {
	t.Helper()
	text, err := os.ReadFile("config.toml")
	if err != nil {
		t.Fatal(err)
	}
	s := &serving{t: t, config: file(t, string(text)), log: make(chan string, 1)}
	s.cmd = program([]string{"TIDEGATE__SERVER__LISTEN=127.0.0.1:0", "TIDEGATE__ADMIN__LISTEN=127.0.0.1:0"}, "-config", s.config)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(bound, func() { _ = s.cmd.Process.Kill() })
	t.Cleanup(func() {
		timer.Stop()
		_ = s.cmd.Process.Kill()
	})
	go func() {
		b, _ := io.ReadAll(errs)
		s.log <- string(b)
	}()
	lines := bufio.NewScanner(out)
	for len(s.greeting) < 5 && lines.Scan() {
		s.greeting = append(s.greeting, lines.Text())
	}
	m := regexp.MustCompile(`serves http://([0-9.:]+), operators at http://([0-9.:]+)/$`).FindStringSubmatch(strings.Join(s.greeting[:min(len(s.greeting), 1)], ""))
	if m == nil {
		t.Fatalf("the greeting is %q", s.greeting)
	}
	s.data, s.admin = m[1], m[2]
	return s
}

func (s *serving) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// metrics is what /metrics says.
func (s *serving) metrics() string {
	s.t.Helper()
	resp, err := http.Get("http://" + s.admin + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// until waits for a line in the metrics.
func (s *serving) until(line string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), bound)
	defer cancel()
	for !strings.Contains(s.metrics(), "\n"+line+"\n") {
		select {
		case <-ctx.Done():
			s.t.Fatalf("never saw %q in\n%s", line, s.metrics())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestTheProgramServesReloadsAndEnds(t *testing.T) {
	s := start(t)
	if len(s.greeting) != 5 || s.greeting[1] != "try:" {
		t.Fatalf("%q", s.greeting)
	}
	for i, want := range []int{200, 200, 401} {
		// The three lines to try do what they say.
		m := regexp.MustCompile(`^  curl (?:-i|-sD - -o /dev/null) -H '(.*): (.*)' (http://\S+)$`).FindStringSubmatch(s.greeting[2+i])
		if m == nil || !strings.HasPrefix(m[3], "http://"+s.data+"/") {
			t.Fatalf("line %q", s.greeting[2+i])
		}
		req, err := http.NewRequest("GET", m[3], nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(m[1], m[2])
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", s.greeting[2+i], resp.StatusCode, want)
		}
	}
	if info, err := os.Stat(filepath.Join(filepath.Dir(s.config), "data")); err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("state.dir: %v, %v", info, err)
	}

	reloads := func(n int) string { return fmt.Sprintf(`tidegate_config_reloads_total{result="success"} %d`, n) }
	s.until(reloads(1))
	s.signal(syscall.SIGHUP) // the same file again is read, and is fine
	s.until(reloads(2))
	if err := os.WriteFile(s.config, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.until("tidegate_config_last_reload_successful 0")
	resp, err := http.Get("http://" + s.admin + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("a bad file made it unready: %d", resp.StatusCode)
	}

	s.signal(syscall.SIGTERM)
	log := <-s.log
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	for _, event := range []string{`"event":"listening"`, `"event":"draining"`, `"event":"drained"`} {
		if !strings.Contains(log, event) {
			t.Errorf("no %s in\n%s", event, log)
		}
	}
	if _, err := http.Get("http://" + s.admin + "/healthz"); err == nil {
		t.Error("it still answers")
	}
}
