package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

// watchOptions are the scenario's flags.
type watchOptions struct {
	json    string
	gateway string
	keep    string
	flows   int
	rate    int
	pages   int
	pairs   int
	seed    uint64
}

// watch plays steady traffic of many callers, and pages that are open in every other block: what looking costs, and whom.
func watch(ctx context.Context, args []string, out io.Writer) error {
	var o watchOptions
	flags := flag.NewFlagSet("watch", flag.ContinueOnError)
	flags.StringVar(&o.json, "json", "", "write the report as JSON to this `file` too")
	flags.StringVar(&o.gateway, "gateway", "", "`program` to run as the gateway; by default it is built from this module")
	flags.StringVar(&o.keep, "keep", "", "keep the gateway's config, state and log in this `directory`")
	flags.IntVar(&o.flows, "flows", 10000, "callers, each with one flow, 1 to 50000")
	flags.IntVar(&o.rate, "rate", 2000, "requests a second, of all together, 1 to 20000")
	flags.IntVar(&o.pages, "pages", 1, "pages that are open, 1 to 150")
	flags.IntVar(&o.pairs, "pairs", 8, "pairs of blocks of 5 s, without and with the pages, 2 to 60")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the arrivals")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("cannot play watch: unknown argument %q", flags.Arg(0))
	}
	for _, bound := range []struct {
		name       string
		value, top int
	}{{"flows", o.flows, 50000}, {"rate", o.rate, 20000}, {"pages", o.pages, 150}, {"pairs", o.pairs - 1, 59}} {
		if bound.value < 1 || bound.value > bound.top {
			return fmt.Errorf("cannot play watch with this -%s: see -h for what it may be", bound.name)
		}
	}
	w, err := playWatch(ctx, o)
	if err != nil {
		return err
	}
	report := newWatchReport(w, command("watch", args))
	report.print(out)
	if o.json != "" {
		if err := writeJSON(report, o.json); err != nil {
			return err
		}
	}
	return report.failed()
}

// watched is a run with all that was seen beside it.
type watched struct {
	o        watchOptions
	plan     blocks
	run      tally.Run
	start    time.Time
	spent    map[string]float64 // seconds of a core that the gateway used, by block
	seen     []pageSeen         // by block and page
	metrics  stage.Metrics
	resident int64
	stopped  error
}

func (w *watched) callers() []stage.Caller {
	list := make([]stage.Caller, w.o.flows)
	for i := range list {
		id := fmt.Sprintf("caller-%05d", i+1)
		list[i] = stage.Caller{ID: id, Key: "watch-" + id, Plan: "standard", Pool: "shared", Semantics: []string{"chat"}}
	}
	return list
}

// watchConfig has seats for twice what is sent: nobody waits, so that what latencies show is the gateway's own.
func (w *watched) config() stage.Config {
	seats := max(4, int(2*float64(w.o.rate)*upstream.ChatTime.Seconds()))
	return stage.Config{
		MaxConns:  maxConns + 1000,
		Levels:    []string{"realtime", "batch"},
		Pools:     []stage.Pool{{Name: "shared", Seats: seats, ExcessCeiling: 0.8, SurgeCeiling: surgeCeiling}},
		Semantics: []stage.Semantic{{Name: "chat", Level: "realtime", Rate: "20/s", MaxWait: "2s"}, {Name: "default", Level: "batch", Rate: "5/s", MaxWait: "5s"}},
		Plans:     []stage.Plan{{Name: "standard"}},
		Routes:    []stage.Route{{Name: "chat", Path: "/v1/chat/*", Semantics: []string{"chat"}}},
		Callers:   w.callers(),
	}
}

func playWatch(ctx context.Context, o watchOptions) (*watched, error) {
	collectSeldom()
	w := &watched{o: o, plan: blocks{start: 12 * time.Second, block: 5 * time.Second, pairs: o.pairs}, spent: map[string]float64{}}
	dir, program, done, err := place(ctx, o.keep, o.gateway)
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := stage.Open(ctx, dir, program, w.config(), upstream.Options{})
	if err != nil {
		return nil, err
	}
	stage.GoFirst() // after the gateway's start, which must not inherit it
	err = w.play(ctx, s)
	w.stopped = s.Close()
	if err != nil {
		return nil, errors.Join(err, w.stopped)
	}
	return w, nil
}

func (w *watched) play(ctx context.Context, s *stage.Stage) (err error) {
	w.run.Quotas = make([]tally.Quota, w.o.flows)
	requests := make([]openloop.Request, w.o.flows)
	for who, c := range w.callers() {
		requests[who] = openloop.NewRequest("POST", s.Address, "/v1/chat/x", map[string]string{"X-API-Key": c.Key, "X-Semantic": "chat"}, `{"q":"who is looking?"}`, chatTimeout)
		if w.run.Arrivals, err = schedule.Make(w.run.Arrivals, who, schedule.Poisson, w.o.seed, schedule.Steady(w.plan.length(), float64(w.o.rate)/float64(w.o.flows))); err != nil {
			return err
		}
	}
	schedule.Sort(w.run.Arrivals)

	playing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.Watch(playing, cancel)
	progress("%d callers, %d blocks of %v, without and with %d pages", w.o.flows, 2*w.plan.pairs, w.plan.block, w.o.pages)
	beside := make(chan struct{})
	zero := time.Now().Add(openloop.Lead)
	go func() {
		defer close(beside)
		w.look(playing, s, zero)
	}()
	var dialer net.Dialer
	w.start, w.run.Results, err = openloop.Run(playing, openloop.Plan{
		Arrivals: w.run.Arrivals, Requests: requests, MaxConns: maxConns, Grace: 3 * time.Second,
		Dial: func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", s.Address) },
	})
	<-beside
	if err != nil {
		return fmt.Errorf("cannot finish the run: %w", context.Cause(playing))
	}
	w.metrics, err = s.Metrics(ctx)
	w.resident = int64(w.metrics["process_resident_memory_bytes"])
	return err
}

// look opens the pages in every other block, and asks how much of a core the gateway has used at the ends of each.
func (w *watched) look(ctx context.Context, s *stage.Stage, zero time.Time) {
	without, with := w.plan.phases()
	admin := stage.NewAdmin(s.Config.Admin)
	used := func(at time.Duration) float64 {
		select {
		case <-time.After(time.Until(zero.Add(at))):
		case <-ctx.Done():
		}
		m, err := admin.Metrics(ctx)
		if err != nil {
			return 0
		}
		return m["process_cpu_seconds_total"]
	}
	last := used(without[0].From)
	for i := range with {
		now := used(without[i].To)
		w.spent[without[i].Name], last = now-last, now
		open := make(chan pageSeen, w.o.pages)
		for n := range w.o.pages {
			go func() { open <- lookAt(ctx, s.Config.Admin, zero.Add(with[i].To), w.o.flows, n, w.o.pages) }()
		}
		now = used(with[i].To)
		w.spent[with[i].Name], last = now-last, now
		for range w.o.pages {
			w.seen = append(w.seen, <-open)
		}
		last = used(with[i].To) // closing them belongs to nobody
	}
}

func plural(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return strconv.Itoa(n) + " " + of + "s"
}
