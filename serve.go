package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"tidegate/gateway"
	"tidegate/gateway/config"
)

// serve runs the gateway until SIGTERM or SIGINT; a second one ends it at once.
func serve(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	path := flags.String("config", "config.toml", "config `file`")
	if err := parse(flags, args); err != nil {
		return err
	}
	text, c, err := readConfig(*path)
	if err != nil {
		return err
	}
	held, err := config.LockState(c.StateDir())
	if err != nil {
		return err
	}
	defer held.Close()
	g, err := gateway.New(c, gateway.Options{
		Path: *path, Text: text, State: c.StateDir(), Environ: os.Environ(), Version: programVersion(), MaxConnections: raiseFileLimit(c, os.Stderr),
		Started: func(data, admin net.Addr) { greet(out, c, data, admin) },
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // from now on a signal has its usual effect
	}()
	return g.Run(ctx)
}

// load reads the config file and says every problem on standard error.
func load(path string) (*config.Config, error) {
	_, c, err := readConfig(path)
	return c, err
}

// readConfig is load with the file's text.
func readConfig(path string) (text []byte, c *config.Config, err error) {
	if text, err = config.ReadFile(path); err == nil {
		c, err = config.LoadBytes(path, text, os.Environ())
	}
	if err != nil {
		return nil, nil, sayProblems(os.Stderr, err)
	}
	return text, c, nil
}

// greet says where the gateway is, and what to try, on a terminal or in a log.
func greet(out io.Writer, c *config.Config, data, admin net.Addr) {
	fmt.Fprintf(out, "tidegate %s serves %s, operators at http://%s/\n", programVersion(), "http://"+data.String(), admin)
	if len(c.Callers) == 0 {
		fmt.Fprintln(out, "nobody may send yet: tidegate key makes a key; write its sha256 into a [[callers]] of the config")
	}
	if key := config.DemoKey(c); key != "" {
		fmt.Fprintf(out, `try:
  curl -i -H 'X-API-Key: %[1]s' http://%[2]s/v1/chat/hello
  curl -sD - -o /dev/null -H 'X-API-Key: %[1]s' http://%[2]s/v1/reports/daily
  curl -i -H 'X-API-Key: wrong' http://%[2]s/v1/chat/hello
`, key, data)
	}
}
