package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tidegate/gateway/config"
	"tidegate/gateway/policy"
)

// check says every problem of a config file, and whether its promises fit its pools.
func check(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	path := flags.String("config", "config.toml", "config `file`")
	service := flags.String("service", "", "seat times, `chat=20ms,export=200ms`: say whether the rates fit the seats")
	if err := parse(flags, args); err != nil {
		return err
	}
	times, err := parseService(*service)
	if err != nil {
		return err
	}
	c, err := load(*path)
	if err != nil {
		return err
	}
	names := &policy.Names{}
	p, err := policy.Compile(c, names, 1)
	if err != nil {
		return sayProblems(os.Stderr, err)
	}
	for name := range times {
		if p.Semantic(name) == nil {
			return fmt.Errorf("-service: the config has no semantic %q", name)
		}
	}
	fmt.Fprintf(out, "%s: ok (%d callers, %d routes, %d plans, %d pools)\n", *path, len(c.Callers), len(c.Routes), len(c.Plans), len(c.Pools))
	if len(times) == 0 {
		return nil
	}
	over := false
	for _, pool := range p.Promised(func(s int32) time.Duration { return times[names.Semantics.Name(s)] }) {
		word := "fits"
		if pool.Needed > float64(pool.Seats) {
			word, over = "does not fit", true
		}
		fmt.Fprintf(out, "pool %s: all rates together need %.1f of %d seats: %s\n", pool.Pool, pool.Needed, pool.Seats, word)
	}
	if over {
		return errSaid
	}
	return nil
}

// parseService reads "chat=20ms,export=200ms".
func parseService(s string) (map[string]time.Duration, error) {
	times := map[string]time.Duration{}
	if s == "" {
		return times, nil
	}
	for _, pair := range strings.Split(s, ",") {
		name, text, ok := strings.Cut(strings.TrimSpace(pair), "=")
		d, err := time.ParseDuration(text)
		if !ok || err != nil || d <= 0 {
			return nil, fmt.Errorf("-service: %q is not of the form chat=20ms", pair)
		}
		if _, twice := times[name]; twice {
			return nil, fmt.Errorf("-service: %s is given twice", name)
		}
		times[name] = d
	}
	return times, nil
}

// sayProblems writes a line for each problem and returns errSaid.
func sayProblems(w io.Writer, err error) error {
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Fprintln(w, p)
		}
		fmt.Fprintf(w, "%d problem(s)\n", len(problems))
		return errSaid
	}
	fmt.Fprintln(w, err)
	return errSaid
}

// loadInForce is load with the overrides that the gateway keeps in its state directory.
func loadInForce(path string) (*config.Config, error) {
	text, c, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	overrides, err := config.KeptOverrides(c.StateDir())
	if err != nil {
		return nil, err
	}
	now := time.Now()
	overrides = slices.DeleteFunc(overrides, func(o config.Override) bool { return o.Ended(now) })
	c, aside, err := config.LoadWith(path, text, os.Environ(), overrides)
	if err != nil {
		return nil, sayProblems(os.Stderr, err)
	}
	for _, a := range aside {
		fmt.Fprintf(os.Stderr, "override %s is set aside: %s\n", a.Override.Name, a.Why)
	}
	return c, nil
}

// explain says which rule a request meets, and why.
func explain(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	path := flags.String("config", "config.toml", "config `file`")
	asJSON := flags.Bool("json", false, "as JSON")
	var q policy.Query
	flags.StringVar(&q.Caller, "caller", "", "caller's `id`; empty: the anonymous caller")
	flags.StringVar(&q.Route, "route", "", "route's `name`, instead of -method, -host and -path")
	flags.StringVar(&q.Method, "method", "", "request's `method` (GET)")
	flags.StringVar(&q.Host, "host", "", "request's `host`")
	flags.StringVar(&q.Path, "path", "", "request's `path`")
	flags.StringVar(&q.Semantic, "semantic", "", "request's `tag`")
	flags.StringVar(&q.Tenant, "tenant", "", "request's `tenant`")
	if err := parse(flags, args); err != nil {
		return err
	}
	c, err := loadInForce(*path)
	if err != nil {
		return err
	}
	p, err := policy.Compile(c, &policy.Names{}, 1)
	if err != nil {
		return sayProblems(os.Stderr, err)
	}
	e, err := p.Explain(q, nil)
	if err != nil {
		return err
	}
	if !*asJSON {
		fmt.Fprintln(out, strings.TrimRight(e.String(), "\n"))
		return nil
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(e)
}
