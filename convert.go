package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"tidegate/gateway/config"
	"tidegate/gateway/policy"
	"tidegate/gateway/record"
)

// convert makes a trace of access logs.
func convert(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("convert", flag.ContinueOnError)
	format := flags.String("format", "auto", "log `format`: nginx, combined, common or auto. nginx (and auto) take a time in seconds behind the user agent for $request_time")
	caller := flags.String("caller", "auto", "who sends: the remote `user`, addr, user where there is one and else addr (auto), or field:N, the log's Nth field from 1 (never a secret: it is written into the trace)")
	path := flags.String("config", "", "config `file`: the type is the one semantic that the route of method and path accepts")
	host := flags.String("host", "", "`host` of the requests, where routes of -config name one")
	semantic := flags.String("semantic", policy.DefaultSemantic, "`type` of requests for which -config does not say one")
	spread := flags.String("spread", "random", "logs have whole seconds: put a second's requests all over it (`random`, the same each time), or at its beginning (none)")
	window := flags.Duration("window", 2*time.Minute, "how far a line may stand from its place in time; this much of the log is held in memory")
	to := flags.String("out", "", "`file` to write, gzip if it ends in .gz (standard output)")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: tidegate convert [flags] [access log, plain or gzip, ...]\nWithout a file it reads standard input. Several files are merged by time, in any order. The flags are:")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return errHelped
		}
		return flag.ErrHelp
	}
	c := converter{window: window.Milliseconds(), semantic: *semantic, host: []byte(*host)}
	var err error
	if c.format, err = record.ParseAccessFormat(*format); err != nil {
		return fmt.Errorf("-format: %w", err)
	}
	if c.caller, err = parseCaller(*caller); err != nil {
		return err
	}
	if c.spread = *spread == "random"; !c.spread && *spread != "none" {
		return fmt.Errorf("-spread %q: must be random or none", *spread)
	}
	if *window < 0 {
		return fmt.Errorf("-window %v: must not be below 0", *window)
	}
	if *path != "" {
		if err := c.routesOf(*path); err != nil {
			return err
		}
	}
	files := flags.Args()
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		if err := c.open(name); err != nil {
			return err
		}
	}
	if len(c.waiting) == 0 {
		c.say()
		return errSaid
	}
	return c.writeTo(*to, out)
}

// converter is a conversion under way.
type converter struct {
	format   record.AccessFormat
	caller   func(*record.Access) []byte
	semantic string
	host     []byte
	spread   bool
	window   int64 // milliseconds

	policy *policy.Policy    // nil without -config
	types  map[string]string // of routes

	waiting, merged []*accessLog // the first ones not yet begun, by their first line

	last                        int64
	lines, unread, late, strays int
}

// shownLines is how many unreadable lines are shown.
const shownLines = 5

// routesOf finds the type of each route of a config file.
func (c *converter) routesOf(path string) error {
	loaded, err := load(path)
	if err != nil {
		return err
	}
	if c.policy, err = policy.Compile(loaded, &policy.Names{}, 1); err != nil {
		return sayProblems(os.Stderr, err)
	}
	c.types = soleSemantics(loaded.Routes)
	return nil
}

// soleSemantics has the semantic of each route that accepts exactly one.
func soleSemantics(routes []config.Route) map[string]string {
	types := map[string]string{}
	for _, r := range routes {
		names := slices.Compact(slices.Sorted(slices.Values(r.Semantics)))
		if len(names) == 1 {
			types[r.Name] = names[0]
		}
	}
	return types
}

// parseCaller reads -caller.
func parseCaller(s string) (func(*record.Access) []byte, error) {
	user := func(a *record.Access) []byte { return a.User }
	address := func(a *record.Access) []byte { return a.Address }
	switch s {
	case "auto":
		return func(a *record.Access) []byte {
			if len(a.User) > 0 {
				return a.User
			}
			return a.Address
		}, nil
	case "user":
		return user, nil
	case "addr":
		return address, nil
	}
	text, ok := strings.CutPrefix(s, "field:")
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n < 1 {
		return nil, fmt.Errorf("-caller %q: must be auto, addr, user or field:N with N from 1", s)
	}
	return func(a *record.Access) []byte {
		if n > len(a.Fields) || string(a.Fields[n-1]) == "-" {
			return nil
		}
		return a.Fields[n-1]
	}, nil
}

// callerName makes an id that a config could have.
func callerName(b []byte) string {
	if len(b) == 0 {
		return "anonymous"
	}
	name := []byte(string(b[:min(len(b), 128)]))
	for i, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("._:@-", c) >= 0:
		default:
			name[i] = '_'
		}
	}
	return string(name)
}

// record makes a record of a line.
func (c *converter) record(a *record.Access, fraction int64) record.Record {
	r := record.Record{
		At: a.Time*1000 + fraction, Caller: callerName(c.caller(a)), Type: c.semantic, Size: a.Bytes, Full: true,
		Cost: 1, Outcome: outcomeOf(a.Status),
	}
	if a.Ended {
		r.At -= a.Took.Milliseconds()
		r.Seat = a.Took
	}
	if c.policy == nil {
		return r
	}
	route := c.match(a)
	if route == nil {
		c.strays++
		return r
	}
	r.Route = route.Name
	if name := c.types[route.Name]; name != "" {
		r.Type = name
	}
	if s := c.policy.Semantic(r.Type); s != nil {
		r.Cost = s.Rule.Cost
	}
	return r
}

func (c *converter) match(a *record.Access) *policy.Route {
	target, _, _ := strings.Cut(string(a.Target), "?")
	path, ok := policy.NormalisePath(nil, []byte(target))
	if !ok {
		return nil
	}
	host := a.Host
	if len(host) == 0 {
		host = c.host
	}
	return c.policy.Match(host, a.Method, path)
}

// outcomeOf says with our word what a status says of a request's end.
func outcomeOf(status int) string {
	switch status {
	case 429:
		return "refused"
	case 499: // of nginx: the client has closed
		return "gone"
	case 408, 413, 431:
		return "body_error"
	case 502, 503:
		return "upstream_error"
	case 504:
		return "upstream_timeout"
	}
	return "served"
}

// writeTo writes the trace.
func (c *converter) writeTo(name string, out io.Writer) (err error) {
	var compressed *gzip.Writer
	if name != "" {
		f, err := os.Create(name)
		if err != nil {
			return fmt.Errorf("cannot write the trace: %w", err)
		}
		defer f.Close()
		if out = f; strings.HasSuffix(name, ".gz") {
			compressed = gzip.NewWriter(f)
			out = compressed
		}
	}
	b := bufio.NewWriterSize(out, 64<<10)
	b.WriteString(record.Header + "\n")
	c.merge(b)
	err = b.Flush()
	if compressed != nil {
		err = errors.Join(err, compressed.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot write the trace: %w", err)
	}
	c.say()
	return nil
}

// say says what came of the logs.
func (c *converter) say() {
	fmt.Fprintf(os.Stderr, "%d lines, %d of them not readable\n", c.lines, c.unread)
	if c.late > 0 {
		fmt.Fprintf(os.Stderr, "%d lines stood further from their place than -window and are written later than they were: give a larger one\n", c.late)
	}
	if c.strays > 0 {
		fmt.Fprintf(os.Stderr, "%d requests match no route of -config\n", c.strays)
	}
}
