package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"tidegate/gateway/config"
	"tidegate/gateway/replay"
)

// replayTrace plays traces through a config file, or compares what two would do.
func replayTrace(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	var p replaying
	var service, spread string
	flags.StringVar(&p.config, "config", "config.toml", "config `file`")
	flags.StringVar(&p.diff, "diff", "", "another config `file`: say what it changes, and for whom")
	flags.Var(&p.traces, "trace", "trace `file`, or directory of them, plain or gzip; may be given several times")
	flags.StringVar(&p.events, "events", "", "`file` to write events to, a JSON object a line")
	flags.StringVar(&p.only, "events-only", "", "write only these `kinds` of events: of surge,calm,refused,queued,dispatched (all)")
	flags.StringVar(&service, "service", "", "for how long work holds its seat, `chat=20ms,export=200ms` (as recorded; 20ms where it was not)")
	flags.Uint64Var(&p.options.Seed, "seed", 1, "`number`: the same one spreads counts to the same moments")
	flags.StringVar(&spread, "spread", "random", "put a bin's arrivals to `random` moments, or at even distances (even)")
	flags.StringVar(&p.play.Plan, "plan", "", "`plan` of callers that the config lacks (the first)")
	flags.StringVar(&p.options.Semantic, "semantic", "", "`semantic` that every request asks for, whatever the trace says")
	flags.IntVar(&p.rows, "rows", 20, "how many lines of callers and semantics are told one by one; 0: all")
	flags.BoolVar(&p.json, "json", false, "as JSON")
	flags.BoolVar(&p.bench, "bench", false, "measure the scheduler alone, too, to compare the speed with")
	if err := parse(flags, args); err != nil {
		return err
	}
	var err error
	if p.play.Service, err = parseService(service); err != nil {
		return err
	}
	if p.options.Spread, err = replay.ParseSpread(spread); err != nil {
		return fmt.Errorf("-spread: %w", err)
	}
	switch {
	case len(p.traces) == 0:
		return errors.New("-trace: give a file or a directory to replay")
	case p.only != "" && p.events == "":
		return errors.New("-events-only: give the file to write them to with -events")
	case p.rows < 0:
		return fmt.Errorf("-rows %d: must be at least 0; 0 is all", p.rows)
	}
	return p.run(out)
}

// replaying is one call of the command.
type replaying struct {
	config, diff string
	traces       paths
	events, only string
	options      replay.Options
	play         replay.Play
	rows         int
	json, bench  bool
}

func (p *replaying) run(out io.Writer) (err error) {
	configs, err := p.load()
	if err != nil {
		return err
	}
	t, err := replay.Open(p.traces, p.options)
	if err != nil {
		return err
	}
	defer t.Close()
	if p.events != "" {
		f, err := p.createEvents(t)
		if err != nil {
			return fmt.Errorf("cannot write the events: %w", err)
		}
		defer f.Close()
		if p.play.Log, err = replay.NewLog(f, p.only); err != nil {
			return fmt.Errorf("-events-only: %w", err)
		}
	}
	var engines []*replay.Engine
	for _, c := range configs {
		play := p.play
		if len(configs) > 1 {
			play.Log = play.Log.Of(c.File)
		}
		e, err := replay.NewEngine(c, play)
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		engines = append(engines, e)
	}
	shown := newProgress(os.Stderr, t)
	requests := replay.Run(t, engines, shown.look)
	shown.end(requests, len(engines))
	if p.bench {
		const requests = 2_000_000
		w := startWatch()
		if err := replay.Bench(configs[0], requests); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%d requests through the scheduler alone in %s\n", requests, w.text(requests))
	}
	if err := p.play.Log.Flush(); err != nil {
		return err
	}
	return p.tell(t, engines, out)
}

// createEvents makes the file of the events, which takes the place of one that is there: of none that is being read.
func (p *replaying) createEvents(t *replay.Trace) (*os.File, error) {
	if there, err := os.Stat(p.events); err == nil {
		for _, path := range append(t.Files(), p.config, p.diff) {
			if read, err := os.Stat(path); err == nil && os.SameFile(there, read) {
				return nil, fmt.Errorf("they would take the place of %s, which is read: name another file", path)
			}
		}
	}
	return os.Create(p.events)
}

// load reads the config files, and holds the flags to them.
func (p *replaying) load() ([]*config.Config, error) {
	var configs []*config.Config
	for _, path := range []string{p.config, p.diff} {
		if path == "" {
			continue
		}
		c, err := load(path)
		if err != nil {
			return nil, err
		}
		configs = append(configs, c)
		p.options.MaxOrigins = max(p.options.MaxOrigins, c.Limits.MaxFlows)
	}
	anyHas := func(has func(c *config.Config) bool) bool {
		for _, c := range configs {
			if has(c) {
				return true
			}
		}
		return false
	}
	hasSemantic := func(name string) bool {
		return anyHas(func(c *config.Config) bool {
			for _, s := range c.Semantics {
				if s.Name == name {
					return true
				}
			}
			return false
		})
	}
	for name := range p.play.Service {
		if !hasSemantic(name) {
			return nil, fmt.Errorf("-service: the config has no semantic %q", name)
		}
	}
	if name := p.options.Semantic; name != "" && !hasSemantic(name) {
		return nil, fmt.Errorf("-semantic: the config has no semantic %q", name)
	}
	hasPlan := func(c *config.Config) bool {
		for _, plan := range c.Plans {
			if plan.Name == p.play.Plan {
				return true
			}
		}
		return false
	}
	if p.play.Plan != "" && !anyHas(hasPlan) {
		return nil, fmt.Errorf("-plan: the config has no plan %q", p.play.Plan)
	}
	return configs, nil
}

// tell writes what came of it.
func (p *replaying) tell(t *replay.Trace, engines []*replay.Engine, out io.Writer) error {
	var told interface{ WriteText(io.Writer) error }
	if len(engines) > 1 {
		d := replay.Compare(engines[0], engines[1], p.rows)
		d.PassedOver(t)
		told = d
	} else {
		r := engines[0].Report(p.rows)
		r.PassedOver(t)
		told = r
	}
	if !p.json {
		return told.WriteText(out)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(told)
}

// paths is a flag that may be given several times.
type paths []string

func (p *paths) String() string { return strings.Join(*p, ", ") }

func (p *paths) Set(s string) error {
	*p = append(*p, s)
	return nil
}
