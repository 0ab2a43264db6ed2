package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tidegate/loadtest/flat"
	"tidegate/loadtest/upstream"
)

// Stage is an upstream and what stands before it: a gateway, a flat limit, or nothing.
type Stage struct {
	Address string // host:port that requests go to
	Config  Config // of the gateway, where there is one
	File    string // the gateway's config
	Log     *Log   // of the gateway, or of the flat limit

	program  string // of the gateway
	logFile  *os.File
	front    *Process // nil: requests go straight to the upstream
	upstream *Process
}

// Open starts the upstream, then the gateway, and waits until the gateway is ready. config needs no addresses
// and no directory: they are chosen here. All files go into dir.
func Open(ctx context.Context, dir, program string, config Config, behind upstream.Options) (*Stage, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return nil, err
	}
	config.Listen, config.Admin, config.Upstream = ports[0], ports[1], ports[2]
	config.StateDir = filepath.Join(dir, "state")
	s := &Stage{Address: config.Listen, Config: config, program: program, File: filepath.Join(dir, "config.toml")}
	return raise(ctx, s, dir, config.Upstream, behind, (*Stage).startConfigured)
}

// OpenAlone starts a gateway whose upstream is the sample inside it. Its config lies in a directory of its own in
// dir, so that whatever else appears there is the gateway's doing.
func OpenAlone(ctx context.Context, dir, program string, config Config) (*Stage, error) {
	ports, err := FreePorts(2)
	if err != nil {
		return nil, err
	}
	config.Listen, config.Admin, config.Upstream = ports[0], ports[1], ""
	config.StateDir = filepath.Join(dir, "state")
	s := &Stage{Address: config.Listen, Config: config, program: program, File: filepath.Join(dir, "config", "config.toml")}
	if err := os.MkdirAll(filepath.Dir(s.File), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make a directory for the gateway's config: %w", err)
	}
	return raise(ctx, s, dir, "", upstream.Options{}, (*Stage).startConfigured)
}

// startConfigured writes the config and starts the gateway.
func (s *Stage) startConfigured(ctx context.Context) error {
	var text bytes.Buffer
	if err := s.Config.Write(&text); err != nil {
		return err
	}
	if err := os.WriteFile(s.File, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("cannot write the gateway's config: %w", err)
	}
	return s.startGateway(ctx)
}

// startGateway starts it on what its files say now.
func (s *Stage) startGateway(ctx context.Context) (err error) {
	if s.front, err = Start("gateway", s.Log, s.program, "run", "-config", s.File); err != nil {
		return err
	}
	return await(ctx, s.front, s.Log, "http://"+s.Config.Admin+"/readyz")
}

// RestartGateway starts a gateway that was killed once more. It returns when it is ready.
func (s *Stage) RestartGateway(ctx context.Context) error {
	<-s.front.done
	return s.startGateway(ctx)
}

// OpenFlat starts the upstream and, before it, a flat limit of qps requests a second.
func OpenFlat(ctx context.Context, dir string, qps int, behind upstream.Options) (*Stage, error) {
	ports, err := FreePorts(2)
	if err != nil {
		return nil, err
	}
	return raise(ctx, &Stage{Address: ports[0]}, dir, ports[1], behind, func(s *Stage, ctx context.Context) error {
		self, err := executable()
		if err != nil {
			return err
		}
		s.front, err = Start("flat limit", s.Log, self, "flat", "-listen", s.Address, "-upstream", ports[1], "-qps", strconv.Itoa(qps))
		if err != nil {
			return err
		}
		return await(ctx, s.front, s.Log, "http://"+s.Address+flat.ReadyPath)
	})
}

// OpenBare starts the upstream alone.
func OpenBare(ctx context.Context, dir string, behind upstream.Options) (*Stage, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	return raise(ctx, &Stage{Address: ports[0]}, dir, ports[0], behind, func(*Stage, context.Context) error { return nil })
}

// raise starts the upstream, where there is an address for it, and then the front. What was started ends again if
// that fails.
func raise(ctx context.Context, s *Stage, dir, address string, behind upstream.Options, front func(*Stage, context.Context) error) (*Stage, error) {
	err := s.openLog(dir)
	if err == nil && address != "" {
		err = s.startUpstream(ctx, address, behind)
	}
	if err == nil {
		err = front(s, ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stage) openLog(dir string) error {
	file, err := os.Create(filepath.Join(dir, "gateway.log"))
	if err != nil {
		return fmt.Errorf("cannot keep the gateway's log: %w", err)
	}
	s.logFile, s.Log = file, NewLog(file)
	return nil
}

func (s *Stage) startUpstream(ctx context.Context, address string, o upstream.Options) error {
	self, err := executable()
	if err != nil {
		return err
	}
	s.Config.Upstream = address
	args := []string{"upstream", "-listen", address, "-workers", strconv.Itoa(o.Workers), "-backlog", strconv.Itoa(o.Backlog)}
	for group, callers := range o.Groups {
		args = append(args, "-group", group+"="+strings.Join(callers, ","))
	}
	log := NewLog(io.Discard)
	if s.upstream, err = Start("upstream", log, self, args...); err != nil {
		return err
	}
	return await(ctx, s.upstream, log, s.statsURL())
}

// readyIn is the time a process has to answer.
const readyIn = 15 * time.Second

// await asks url until it answers 200.
func await(ctx context.Context, p *Process, log *Log, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyIn)
	defer cancel()
	for {
		_, err := fetch(ctx, url, "")
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

// Watch ends a run in which a process of the stage has ended: cancel gets the reason. It returns when ctx is done.
func (s *Stage) Watch(ctx context.Context, cancel context.CancelCauseFunc) {
	ended := s.front
	var front chan struct{} // nil, without a front: never
	if s.front != nil {
		front = s.front.done
	}
	select {
	case <-front:
	case <-s.upstream.done:
		ended = s.upstream
	case <-ctx.Done():
		return
	}
	cancel(fmt.Errorf("the %s ended during it: %w; the last words in the log:\n%s", ended.name, orClean(ended.err), s.Log.Tail()))
}

// KillGateway ends the gateway at once, as a crash would.
func (s *Stage) KillGateway() { s.front.cmd.Process.Kill() }

// Close stops the processes, the front first. What was not started is passed over.
func (s *Stage) Close() error {
	var errs []error
	for _, p := range []*Process{s.front, s.upstream} {
		if p != nil {
			errs = append(errs, p.Stop(10*time.Second))
		}
	}
	if s.logFile != nil {
		errs = append(errs, s.logFile.Close())
	}
	return errors.Join(errs...)
}
