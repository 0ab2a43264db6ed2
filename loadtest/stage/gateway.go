package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Build builds the gateway from the module that the working directory lies in, into dir.
func Build(ctx context.Context, dir string) (program string, err error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("cannot find the gateway's module: go env GOMOD: %w; name a built gateway with -gateway", err)
	}
	file := strings.TrimSpace(string(out))
	if filepath.Base(file) != "go.mod" {
		return "", errors.New("cannot find the gateway's module: this is not inside it; change there, or name a built gateway with -gateway")
	}
	program = filepath.Join(dir, "tidegate")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir = filepath.Dir(file)
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the gateway in %s: %w\n%s", build.Dir, err, text)
	}
	return program, nil
}

// Stage is a running gateway and its upstream.
type Stage struct {
	Config Config
	Log    *Log

	logFile  *os.File
	gateway  *Process
	upstream *Process
}

// Open starts the upstream, then the gateway, and waits until the gateway is ready. config needs no addresses
// and no directory: they are chosen here. groups are the upstream's. All files go into dir.
func Open(ctx context.Context, dir, program string, config Config, groups map[string][]string) (*Stage, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return nil, err
	}
	config.Listen, config.Admin, config.Upstream = ports[0], ports[1], ports[2]
	config.StateDir = filepath.Join(dir, "state")
	s := &Stage{Config: config}
	if err := s.open(ctx, dir, program, groups); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stage) open(ctx context.Context, dir, program string, groups map[string][]string) error {
	var text bytes.Buffer
	if err := s.Config.Write(&text); err != nil {
		return err
	}
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("cannot write the gateway's config: %w", err)
	}
	logFile, err := os.Create(filepath.Join(dir, "gateway.log"))
	if err != nil {
		return fmt.Errorf("cannot keep the gateway's log: %w", err)
	}
	s.logFile, s.Log = logFile, NewLog(logFile)

	self, err := executable()
	if err != nil {
		return err
	}
	args := []string{"upstream", "-listen", s.Config.Upstream}
	for group, callers := range groups {
		args = append(args, "-group", group+"="+strings.Join(callers, ","))
	}
	upstreamLog := NewLog(io.Discard)
	if s.upstream, err = Start("upstream", upstreamLog, self, args...); err != nil {
		return err
	}
	if err := await(ctx, s.upstream, upstreamLog, s.statsURL()); err != nil {
		return err
	}
	if s.gateway, err = Start("gateway", s.Log, program, "run", "-config", file); err != nil {
		return err
	}
	return await(ctx, s.gateway, s.Log, "http://"+s.Config.Admin+"/readyz")
}

// readyIn is the time a process has to answer.
const readyIn = 15 * time.Second

// await asks url until it answers 200.
func await(ctx context.Context, p *Process, log *Log, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyIn)
	defer cancel()
	for {
		_, err := fetch(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-p.done:
			return fmt.Errorf("cannot use the %s: it ended before it was ready: %w; its last words:\n%s", p.name, orClean(p.err), log.Tail())
		case <-ctx.Done():
			return fmt.Errorf("cannot use the %s: not ready within %v: %w; its last words:\n%s", p.name, readyIn, err, log.Tail())
		}
	}
}

// Watch ends a run whose gateway or upstream has ended: cancel gets the reason. It returns when ctx is done.
func (s *Stage) Watch(ctx context.Context, cancel context.CancelCauseFunc) {
	ended := s.gateway
	select {
	case <-s.gateway.done:
	case <-s.upstream.done:
		ended = s.upstream
	case <-ctx.Done():
		return
	}
	cancel(fmt.Errorf("the %s ended during it: %w; the gateway's last words:\n%s", ended.name, orClean(ended.err), s.Log.Tail()))
}

// KillGateway ends the gateway at once, as a crash would.
func (s *Stage) KillGateway() { s.gateway.cmd.Process.Kill() }

// Close stops both processes, the gateway first. What was not started is passed over.
func (s *Stage) Close() error {
	var errs []error
	for _, p := range []*Process{s.gateway, s.upstream} {
		if p != nil {
			errs = append(errs, p.Stop(10*time.Second))
		}
	}
	if s.logFile != nil {
		errs = append(errs, s.logFile.Close())
	}
	return errors.Join(errs...)
}

func (s *Stage) statsURL() string { return "http://" + s.Config.Upstream + "/loadtest/stats" }

// Stats decodes the upstream's counts into v.
func (s *Stage) Stats(ctx context.Context, v any) error { return fetchJSON(ctx, s.statsURL(), v) }

// Snapshot is the part of the gateway's read model that a scenario looks at.
type Snapshot struct {
	Surges []struct {
		Caller   string    `json:"caller"`
		Semantic string    `json:"semantic"`
		Start    time.Time `json:"start"`
	} `json:"surges"`
}

// Snapshot asks the gateway for it.
func (s *Stage) Snapshot(ctx context.Context) (snapshot Snapshot, err error) {
	err = fetchJSON(ctx, "http://"+s.Config.Admin+"/api/v1/snapshot", &snapshot)
	return snapshot, err
}

// Metrics asks the gateway for its metrics.
func (s *Stage) Metrics(ctx context.Context) (Metrics, error) {
	text, err := fetch(ctx, "http://"+s.Config.Admin+"/metrics")
	if err != nil {
		return nil, err
	}
	return ParseMetrics(text), nil
}

func fetchJSON(ctx context.Context, url string, v any) error {
	text, err := fetch(ctx, url)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("cannot read the answer of %s: %w", url, err)
	}
	return nil
}

// fetch is a GET that wants a 200 within 5 s.
func fetch(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %.300s", url, answer.Status, text)
	}
	return text, nil
}
