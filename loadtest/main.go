// Loadtest plays scenarios against the gateway and judges what it sees. It is a client: it knows the gateway
// by its HTTP contract alone and imports nothing of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"tidegate/loadtest/flat"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/upstream"
)

const usage = `usage: loadtest <scenario> [flags]; -h after a scenario shows its flags

  promo      one caller's promotion script beside a VIP, 20 ordinary callers and a morning peak
  reload     ten changed configs a second under load, beside the same load without
  crash      kill -9 in the middle of writes of the config, and what is left after it
  watch      what open pages cost beside the traffic of 10,000 flows
  calibrate  finds how much an upstream can do, and the seats and rates for the config
  upstream   the sample upstream alone
  flat       the flat limit alone, that promo -compare plays against

Exit status: 0 when every check holds, 1 when one fails, 2 when the run is void or cannot be made.
("go run" turns each of the last two into 1 and prints "exit status 2".)
`

// errFailed says that the run was good and a check failed; the report has told which.
var errFailed = errors.New("a check failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errFailed):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "loadtest:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("cannot play: no scenario is named\n%s", usage)
	}
	switch name, args := args[0], args[1:]; name {
	case "promo":
		return promo(ctx, args, out)
	case "reload":
		return reload(ctx, args, out)
	case "crash":
		return crash(ctx, args, out)
	case "watch":
		return watch(ctx, args, out)
	case "calibrate":
		return calibrate(ctx, args, out)
	case "upstream":
		return serveUpstream(ctx, args)
	case "flat":
		return serveFlat(ctx, args)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(out, usage)
		return nil
	default:
		return fmt.Errorf("cannot play %q: there is no such scenario\n%s", name, usage)
	}
}

func serveUpstream(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:9000", "address to listen on")
	o := upstream.Options{Groups: make(map[string][]string)}
	flags.IntVar(&o.Workers, "workers", 0, "requests worked on at a time, in order of arrival; 0: all")
	flags.IntVar(&o.Backlog, "backlog", upstream.Backlog, "requests that may wait for a worker; one beyond it is answered 503")
	flags.Func("group", "callers to count apart, as `name=caller,caller`; may be repeated", func(s string) error {
		name, callers, ok := strings.Cut(s, "=")
		if !ok || name == "" || callers == "" {
			return errors.New("it must read name=caller,caller")
		}
		o.Groups[name] = strings.Split(callers, ",")
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	stage.GoFirst()
	if err := upstream.Serve(ctx, *listen, o); err != nil {
		return fmt.Errorf("cannot serve on %s: %w", *listen, err)
	}
	return nil
}

func serveFlat(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("flat", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:8080", "address to listen on")
	behind := flags.String("upstream", "127.0.0.1:9000", "address to forward to")
	qps := flags.Int("qps", 100, "requests a second that may pass, of all callers together")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *qps < 1 {
		return fmt.Errorf("cannot let pass %d requests a second: -qps must be at least 1", *qps)
	}
	if err := flat.Serve(ctx, *listen, *behind, *qps); err != nil {
		return fmt.Errorf("cannot serve on %s: %w", *listen, err)
	}
	return nil
}
