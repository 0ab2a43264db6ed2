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
	"strings"
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

	compare  bool
	workers  int
	flatQPS  int
	markdown bool
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
	flags.BoolVar(&o.compare, "compare", false, "play it three times: straight at the upstream, through a flat limit, through the gateway")
	flags.IntVar(&o.workers, "workers", 0, fmt.Sprintf("requests that the upstream works on at a time, the others wait their turn; 0: all, and %d with -compare", sharedSeats+vipSeats))
	flags.IntVar(&o.flatQPS, "flat-qps", 0, "with -compare: the flat limit, requests a second; 0: the best for this incident")
	flags.BoolVar(&o.markdown, "markdown", false, "with -compare: print the table as Markdown")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("cannot play promo: unknown argument %q", flags.Arg(0))
	}
	if o.workers < 0 || o.flatQPS < 0 {
		return fmt.Errorf("cannot play promo with -workers %d and -flat-qps %d: neither may be negative", o.workers, o.flatQPS)
	}
	when, grace, err := o.timeline()
	if err != nil {
		return err
	}
	if o.compare {
		return comparePromo(ctx, o, when, grace, command("promo", args), out)
	}
	if o.markdown || o.flatQPS != 0 {
		return errors.New("cannot play promo with -markdown or -flat-qps: they belong to -compare")
	}
	played, err := playPromo(ctx, o, when, grace)
	if err != nil {
		return err
	}
	report := newReport(played)
	report.print(out)
	if o.json != "" {
		if err := writeJSON(report, o.json); err != nil {
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

// newPlayed is the run to be played: the same seed gives the same one.
func newPlayed(seed uint64, when timeline) (p *played, err error) {
	p = &played{seed: seed, when: when, cast: promoCast(when)}
	p.run.Quotas = promoQuotas(p.cast)
	p.run.Arrivals, err = promoArrivals(p.cast, seed)
	return p, err
}

// collectSeldom is for a generator whose live heap is small.
func collectSeldom() { debug.SetGCPercent(400) }

func playPromo(ctx context.Context, o promoOptions, when timeline, grace time.Duration) (*played, error) {
	collectSeldom()
	p, err := newPlayed(o.seed, when)
	if err != nil {
		return nil, err
	}
	dir, program, done, err := place(ctx, o.keep, o.gateway)
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := stage.Open(ctx, dir, program, promoConfig(p.cast), upstream.Options{Groups: poolGroups(p.cast), Workers: o.workers, Backlog: upstream.Backlog})
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

// place is where a run's files go, and its gateway: keep and gateway where they are named, else a directory that
// done removes, and a gateway built in it.
func place(ctx context.Context, keep, gateway string) (dir, program string, done func(), err error) {
	dir, done = keep, func() {}
	if keep == "" {
		if dir, err = os.MkdirTemp("", "loadtest-"); err != nil {
			return "", "", nil, fmt.Errorf("cannot make a temporary directory: %w", err)
		}
		done = func() { os.RemoveAll(dir) }
	} else if err = os.MkdirAll(dir, 0o700); err != nil {
		return "", "", nil, fmt.Errorf("cannot keep files in %s: %w", dir, err)
	}
	if gateway != "" {
		return dir, gateway, done, nil
	}
	progress("building the gateway")
	if program, err = stage.Build(ctx, dir); err != nil {
		done()
		return "", "", nil, err
	}
	return dir, program, done, nil
}

// play runs the schedule on an open stage and collects what the gateway and the upstream say of it.
func (p *played) play(ctx context.Context, s *stage.Stage, grace time.Duration) error {
	before, err := s.Metrics(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the gateway's metrics: %w", err)
	}
	if err := p.send(ctx, s, grace); err != nil {
		return err
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

// send runs the schedule against whatever stands on the stage.
func (p *played) send(ctx context.Context, s *stage.Stage, grace time.Duration) (err error) {
	playing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.Watch(playing, cancel)
	go announce(playing, p.when.phases())

	var dialer net.Dialer
	p.start, p.run.Results, err = openloop.Run(playing, openloop.Plan{
		Arrivals: p.run.Arrivals,
		Requests: promoRequests(p.cast, s.Address),
		Dial:     func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", s.Address) },
		MaxConns: maxConns,
		Grace:    grace,
	})
	if err != nil {
		return fmt.Errorf("cannot finish the run: %w", context.Cause(playing))
	}
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

// command is the line that makes this run again.
func command(name string, args []string) string {
	return strings.Join(append([]string{"go run ./loadtest", name}, args...), " ")
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "loadtest: "+format+"\n", args...)
}
