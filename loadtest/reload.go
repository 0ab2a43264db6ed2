package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

// reloadOptions are the scenario's flags.
type reloadOptions struct {
	json    string
	gateway string
	seconds int
	short   bool
	seed    uint64
	keep    string
}

func reload(ctx context.Context, args []string, out io.Writer) error {
	var o reloadOptions
	flags := flag.NewFlagSet("reload", flag.ContinueOnError)
	flags.StringVar(&o.json, "json", "", "write the report as JSON to this `file` too")
	flags.StringVar(&o.gateway, "gateway", "", "`program` to run as the gateway; by default it is built from this module")
	flags.IntVar(&o.seconds, "seconds", 60, "seconds with reloads, 10 to 600; as many without lie between them")
	flags.BoolVar(&o.short, "short", false, "8 s with reloads and 8 s without, in blocks of 2 s")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the arrivals")
	flags.StringVar(&o.keep, "keep", "", "keep the gateway's config, state and log in this `directory`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("cannot play reload: unknown argument %q", flags.Arg(0))
	}
	plan, err := o.plan()
	if err != nil {
		return err
	}
	r, err := playReload(ctx, o, plan)
	if err != nil {
		return err
	}
	report := newReloadReport(r, command("reload", args))
	report.print(out)
	if o.json != "" {
		if err := writeJSON(report, o.json); err != nil {
			return err
		}
	}
	return report.failed()
}

// blocks is when configs are changed and when not. Blocks without and with reloads take turns, so that what the
// machine does beside falls on both alike.
type blocks struct {
	warm  time.Duration // a run of its own, with reloads, so that all that is made once is there
	start time.Duration // of the run, before the first block: connections are made
	block time.Duration
	pairs int
}

func (o *reloadOptions) plan() (blocks, error) {
	if o.short {
		return blocks{warm: 3 * time.Second, start: time.Second, block: 2 * time.Second, pairs: 4}, nil
	}
	if o.seconds < 10 || o.seconds > 600 {
		return blocks{}, fmt.Errorf("cannot play reload for -seconds %d: it must be from 10 to 600, or use -short", o.seconds)
	}
	return blocks{warm: 6 * time.Second, start: 2 * time.Second, block: 5 * time.Second, pairs: o.seconds / 5}, nil
}

func (b blocks) length() time.Duration { return b.start + time.Duration(2*b.pairs)*b.block }

// phases are the blocks in order, in pairs: without reloads, with them.
func (b blocks) phases() (without, with []openloop.Phase) {
	at := b.start
	for i := range b.pairs {
		without = append(without, openloop.Phase{Name: fmt.Sprintf("%d without", i+1), From: at, To: at + b.block})
		with = append(with, openloop.Phase{Name: fmt.Sprintf("%d with", i+1), From: at + b.block, To: at + 2*b.block})
		at += 2 * b.block
	}
	return without, with
}

// memory is what the gateway holds when nothing is under way.
type memory struct {
	Goroutines int   `json:"goroutines"`
	Heap       int64 `json:"heap_bytes"`     // in use, just after a collection
	Resident   int64 `json:"resident_bytes"` // of the process
}

// reloaded is a run with all that was seen beside it.
type reloaded struct {
	seed          uint64
	plan          blocks
	cast          []steady
	warm          tally.Run // of the warm-up: nothing may be lost there either
	arrivals      []schedule.Arrival
	results       []openloop.Result
	start         time.Time
	puts          []put
	before, after memory
	// versions before the first and after the last put of the run, and what both runs sent to the upstream
	versionBefore, versionAfter int
	sent                        int64
	counts                      upstream.Counts
	metrics                     stage.Metrics // after less before
	stopped                     error
}

func playReload(ctx context.Context, o reloadOptions, plan blocks) (*reloaded, error) {
	collectSeldom()
	r := &reloaded{seed: o.seed, plan: plan, cast: reloadCast()}
	dir, program, done, err := place(ctx, o.keep, o.gateway)
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := stage.Open(ctx, dir, program, reloadConfig(0), upstream.Options{})
	if err != nil {
		return nil, err
	}
	stage.GoFirst() // after the gateway's start, which must not inherit it
	err = r.play(ctx, s)
	r.stopped = s.Close()
	if err != nil {
		return nil, errors.Join(err, r.stopped)
	}
	return r, nil
}

// play warms the gateway up, measures what it holds, runs the blocks, and measures again.
func (r *reloaded) play(ctx context.Context, s *stage.Stage) (err error) {
	admin := stage.NewAdmin(s.Config.Admin)
	p := &putter{admin: admin, config: reloadConfig, base: s.Config}
	progress("warm-up, %v", r.plan.warm)
	r.warm.Quotas = make([]tally.Quota, len(r.cast))
	r.warm.Arrivals, _, r.warm.Results, err = r.send(ctx, s, r.plan.warm, func(ctx context.Context, zero time.Time) {
		p.run(ctx, zero, r.plan.warm/2, r.plan.warm, 1)
	})
	if err != nil {
		return err
	}
	for _, put := range p.puts {
		if put.Err != nil {
			return fmt.Errorf("cannot warm up: %w", put.Err)
		}
	}
	if r.before, err = settled(ctx, admin); err != nil {
		return err
	}
	earlier, err := admin.Metrics(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the gateway's metrics: %w", err)
	}
	r.versionBefore = p.puts[len(p.puts)-1].Version
	p.puts = nil

	progress("%d blocks of %v, without and with reloads", 2*r.plan.pairs, r.plan.block)
	r.arrivals, r.start, r.results, err = r.send(ctx, s, r.plan.length(), func(ctx context.Context, zero time.Time) {
		_, with := r.plan.phases()
		next := 1
		for _, phase := range with {
			next = p.run(ctx, zero, phase.From, phase.To, next)
		}
	})
	if err != nil {
		return err
	}
	r.puts = p.puts
	if r.after, err = settled(ctx, admin); err != nil {
		return err
	}
	return r.collect(ctx, s, admin, earlier)
}

func (r *reloaded) collect(ctx context.Context, s *stage.Stage, admin *stage.Admin, earlier stage.Metrics) error {
	later, err := admin.Metrics(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the gateway's metrics: %w", err)
	}
	r.metrics = later.Since(earlier)
	r.sent = int64(len(r.warm.Arrivals) + len(r.arrivals))
	if err := s.Stats(ctx, &r.counts); err != nil {
		return fmt.Errorf("cannot read the upstream's counts: %w", err)
	}
	versions, err := admin.Versions(ctx)
	if err != nil || len(versions) == 0 {
		return fmt.Errorf("cannot read the versions (%d are listed): %w", len(versions), err)
	}
	r.versionAfter = versions[0].Version
	return nil
}

// send runs the cast's load for a time, and beside it what changes the configs.
func (r *reloaded) send(ctx context.Context, s *stage.Stage, length time.Duration, change func(ctx context.Context, zero time.Time)) (
	arrivals []schedule.Arrival, start time.Time, results []openloop.Result, err error,
) {
	if arrivals, err = reloadArrivals(r.cast, length, r.seed); err != nil {
		return nil, start, nil, err
	}
	playing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.Watch(playing, cancel)
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		change(playing, time.Now().Add(openloop.Lead))
	}()
	var dialer net.Dialer
	start, results, err = openloop.Run(playing, openloop.Plan{
		Arrivals: arrivals,
		Requests: reloadRequests(r.cast, s.Address),
		Dial:     func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", s.Address) },
		MaxConns: maxConns,
		Grace:    30 * time.Second,
	})
	if err != nil {
		err = fmt.Errorf("cannot finish the run: %w", context.Cause(playing))
	}
	<-changed
	return arrivals, start, results, err
}

// settle is how long what a load leaves behind is given to go: servers keep idle workers for ten seconds, and look
// for them every ten.
const settle = 22 * time.Second

// settled is what the gateway holds once it has come to rest.
func settled(ctx context.Context, admin *stage.Admin) (m memory, err error) {
	progress("coming to rest, %v", settle)
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return m, ctx.Err()
	}
	if err := admin.CollectGarbage(ctx); err != nil {
		return m, fmt.Errorf("cannot make the gateway collect its garbage: %w", err)
	}
	metrics, err := admin.Metrics(ctx)
	if err != nil {
		return m, fmt.Errorf("cannot read the gateway's metrics: %w", err)
	}
	return memory{
		Goroutines: int(metrics["go_goroutines"]),
		Heap:       int64(metrics["go_memstats_heap_alloc_bytes"]),
		Resident:   int64(metrics["process_resident_memory_bytes"]),
	}, nil
}
