package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

// maxConns bounds the generator's connections. The shared queue holds at most 5,000 of one caller (a quarter of
// 20,000); the others are a few hundred.
const maxConns = 8000

// promoOptions are the scenario's flags.
type promoOptions struct {
	json    string
	gateway string
	seconds int
	short   bool
	seed    uint64
	keep    string
}

func promo(ctx context.Context, args []string, out io.Writer) error {
	var o promoOptions
	flags := flag.NewFlagSet("promo", flag.ContinueOnError)
	flags.StringVar(&o.json, "json", "", "write the report as JSON to this `file` too")
	flags.StringVar(&o.gateway, "gateway", "", "`program` to run as the gateway; by default it is built from this module")
	flags.IntVar(&o.seconds, "seconds", 120, "length of the whole schedule in seconds, 60 to 600: what is left after the jump grows or shrinks")
	flags.BoolVar(&o.short, "short", false, "30 s in all, with a jump of 8 s")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the arrivals")
	flags.StringVar(&o.keep, "keep", "", "keep the gateway's config and log in this `directory`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("cannot play promo: unknown argument %q", flags.Arg(0))
	}
	when, grace, err := o.timeline()
	if err != nil {
		return err
	}
	played, err := playPromo(ctx, o, when, grace)
	if err != nil {
		return err
	}
	report := newReport(played)
	report.print(out)
	if o.json != "" {
		if err := report.writeJSON(o.json); err != nil {
			return err
		}
	}
	switch {
	case report.Void != "":
		return fmt.Errorf("the run is void: %s", report.Void)
	case !report.held():
		return errFailed
	}
	return nil
}

// The short run: the offender's queue is still full at its end, and is hung up.
var shortTimeline = timeline{warm: 4 * time.Second, quiet: 9 * time.Second, jump: 8 * time.Second, after: 9 * time.Second}

const shortGrace = 3 * time.Second

// timeline is when things happen, and how long the last answers are waited for.
func (o *promoOptions) timeline() (when timeline, grace time.Duration, err error) {
	if o.short {
		return shortTimeline, shortGrace, nil
	}
	if o.seconds < 60 || o.seconds > 600 {
		return when, 0, fmt.Errorf("cannot play promo for -seconds %d: it must be from 60 to 600, or use -short for 30", o.seconds)
	}
	when = timeline{warm: 5 * time.Second, quiet: 25 * time.Second, jump: 20 * time.Second}
	when.after = time.Duration(o.seconds)*time.Second - when.length()
	return when, 20 * time.Second, nil
}

// played is a run with all that was seen beside it.
type played struct {
	seed    uint64
	when    timeline
	cast    []member
	run     tally.Run
	start   time.Time // the schedule's zero
	surges  []stage.Surge
	metrics stage.Metrics // after less before
	counts  upstream.Counts
	stopped error // nil when gateway and upstream ended in order
}

func playPromo(ctx context.Context, o promoOptions, when timeline, grace time.Duration) (p *played, err error) {
	debug.SetGCPercent(400) // the live heap is small; collect seldom
	p = &played{seed: o.seed, when: when, cast: promoCast(when)}
	p.run.Quotas = promoQuotas(p.cast)
	if p.run.Arrivals, err = promoArrivals(p.cast, o.seed); err != nil {
		return nil, err
	}

	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "loadtest-"); err != nil {
			return nil, fmt.Errorf("cannot make a temporary directory: %w", err)
		}
		defer os.RemoveAll(dir)
	} else if err = os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot keep files in %s: %w", dir, err)
	}
	program := o.gateway
	if program == "" {
		progress("building the gateway")
		if program, err = stage.Build(ctx, dir); err != nil {
			return nil, err
		}
	}
	s, err := stage.Open(ctx, dir, program, promoConfig(p.cast), poolGroups(p.cast))
	if err != nil {
		return nil, err
	}
	stage.GoFirst() // after the gateway's start, which must not inherit it
	err = p.play(ctx, s, grace)
	p.stopped = s.Close()
	if err != nil {
		return nil, errors.Join(err, p.stopped)
	}
	return p, nil
}

// play runs the schedule on an open stage and collects what the gateway and the upstream say of it.
func (p *played) play(ctx context.Context, s *stage.Stage, grace time.Duration) error {
	before, err := s.Metrics(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the gateway's metrics: %w", err)
	}
	playing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.Watch(playing, cancel)
	go announce(playing, p.when.phases())

	var dialer net.Dialer
	p.start, p.run.Results, err = openloop.Run(playing, openloop.Plan{
		Arrivals: p.run.Arrivals,
		Requests: promoRequests(p.cast, s.Config.Listen),
		Dial:     func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", s.Config.Listen) },
		MaxConns: maxConns,
		Grace:    grace,
	})
	if err != nil {
		return fmt.Errorf("cannot finish the run: %w", context.Cause(playing))
	}
	after, err := s.Metrics(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the gateway's metrics: %w", err)
	}
	p.metrics = after.Since(before)
	if err := s.Stats(ctx, &p.counts); err != nil {
		return fmt.Errorf("cannot read the upstream's counts: %w", err)
	}
	snapshot, err := s.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the gateway's snapshot: %w", err)
	}
	p.surges = stage.MergeSurges(s.Log.Surges(), snapshot)
	return nil
}

// poolGroups are the callers that the upstream counts apart, by pool; the shared pool is the rest.
func poolGroups(cast []member) map[string][]string {
	groups := make(map[string][]string)
	for _, m := range cast {
		if m.pool != upstream.Rest {
			groups[m.pool] = append(groups[m.pool], m.name)
		}
	}
	return groups
}

// announce tells on standard error which phase begins.
func announce(ctx context.Context, phases []openloop.Phase) {
	for _, phase := range phases {
		progress("%s, %v", phase.Name, phase.To-phase.From)
		select {
		case <-time.After(phase.To - phase.From):
		case <-ctx.Done():
			return
		}
	}
	progress("waiting for the last answers")
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "loadtest: "+format+"\n", args...)
}
