// Package stage sets up what a scenario plays on: a gateway with a config of its own, an upstream behind it,
// both as processes on free loopback ports with a temporary directory, and takes all of it down again.
package stage

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a child process. It is stopped by its own pid and by nothing else.
type Process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how, once done is closed
}

// Start runs a program with its output going to out. The program gets a process group of its own, so that an
// interrupt at the terminal reaches this program alone, which then stops it in order; and it is ended by the
// system if this program dies without doing so.
func Start(name string, out io.Writer, program string, args ...string) (*Process, error) {
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = childAttributes()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the %s %s: %w", name, program, err)
	}
	p := &Process{name: name, cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop asks the process to end and waits up to patience, then ends it. A process that had to be ended, or that
// had ended before, is an error.
func (p *Process) Stop(patience time.Duration) error {
	select {
	case <-p.done:
		return fmt.Errorf("the %s had ended by itself: %w", p.name, orClean(p.err))
	default:
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("the %s did not end within %v of SIGTERM and was killed", p.name, patience)
	}
}

func orClean(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// FreePorts gives n loopback addresses that are free now. They are all held until the last is found, so that
// they differ.
func FreePorts(n int) ([]string, error) {
	addresses := make([]string, 0, n)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("cannot find a free loopback port: %w", err)
		}
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// executable is this program's own path, to run it again as an upstream.
func executable() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot find this program's own file: %w", err)
	}
	return self, nil
}
