package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"tidegate/gateway/config"
	"tidegate/gateway/replay"
)

// replayTrace plays traces through a config file.
func replayTrace(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	path := flags.String("config", "config.toml", "config `file`")
	var traces paths
	flags.Var(&traces, "trace", "trace `file` or directory of them, plain or gzip; may be given several times")
	events := flags.String("events", "", "`file` for a JSON line of each event")
	only := flags.String("events-only", "", "write only these `events`, e.g. surge,calm (all: surge,calm,refused,queued,dispatched)")
	service := flags.String("service", "", "service times, `chat=20ms,export=200ms`; else as recorded, else 20ms")
	seed := flags.Uint64("seed", 1, "seed of the moments that counts are spread to")
	spread := flags.String("spread", "random", "where a bin's arrivals are put: `random` moments, or even distances")
	plan := flags.String("plan", "", "`plan` of callers that the config lacks (the first)")
	semantic := flags.String("semantic", "", "`semantic` that all requests ask for, whatever the trace says")
	asJSON := flags.Bool("json", false, "as JSON")
	if err := parse(flags, args); err != nil {
		return err
	}
	if len(traces) == 0 {
		return errors.New("-trace: give a trace to play")
	}
	times, err := parseService(*service)
	if err != nil {
		return err
	}
	o := replay.Options{Seed: *seed, Semantic: *semantic}
	if o.Spread, err = replay.ParseSpread(*spread); err != nil {
		return fmt.Errorf("-spread: %w", err)
	}
	c, err := load(*path)
	if err != nil {
		return err
	}
	o.MaxOrigins = c.Limits.MaxFlows
	return playAll(c, o, replay.Play{Service: times, Plan: *plan}, traces, *events, *only, *asJSON, out)
}

func playAll(c *config.Config, o replay.Options, p replay.Play, traces []string, events, only string, asJSON bool, out io.Writer) error {
	if events != "" {
		f, err := os.Create(events)
		if err != nil {
			return fmt.Errorf("cannot write the events: %w", err)
		}
		defer f.Close()
		if p.Log, err = replay.NewLog(f, only); err != nil {
			return fmt.Errorf("-events-only: %w", err)
		}
	}
	e, err := replay.NewEngine(c, p)
	if err != nil {
		return sayProblems(os.Stderr, err)
	}
	t, err := replay.Open(traces, o)
	if err != nil {
		return err
	}
	defer t.Close()
	begun := time.Now()
	var a replay.Arrival
	for t.Next(&a) {
		e.Arrive(&a)
	}
	e.Finish()
	r := e.Report()
	fmt.Fprintf(os.Stderr, "%d requests in %v: %.0f/s\n", r.Requests, time.Since(begun), float64(r.Requests)/time.Since(begun).Seconds())
	if err := p.Log.Flush(); err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// paths is a flag that may be given several times.
type paths []string

func (p *paths) String() string { return fmt.Sprint([]string(*p)) }

func (p *paths) Set(s string) error {
	*p = append(*p, s)
	return nil
}
