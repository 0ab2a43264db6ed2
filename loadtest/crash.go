package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"tidegate/loadtest/stage"
)

// crashOptions are the scenario's flags.
type crashOptions struct {
	json    string
	gateway string
	rounds  int
	seed    uint64
	keep    string
}

func crash(ctx context.Context, args []string, out io.Writer) error {
	var o crashOptions
	flags := flag.NewFlagSet("crash", flag.ContinueOnError)
	flags.StringVar(&o.json, "json", "", "write the report as JSON to this `file` too")
	flags.StringVar(&o.gateway, "gateway", "", "`program` to run as the gateway; by default it is built from this module")
	flags.IntVar(&o.rounds, "rounds", 100, "times that the gateway is killed, 1 to 1000")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the moments")
	flags.StringVar(&o.keep, "keep", "", "keep the gateway's config, state and log in this `directory`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("cannot play crash: unknown argument %q", flags.Arg(0))
	}
	if o.rounds < 1 || o.rounds > 1000 {
		return fmt.Errorf("cannot play crash for -rounds %d: it must be from 1 to 1000", o.rounds)
	}
	c, err := playCrash(ctx, o)
	if err != nil {
		return err
	}
	report := newCrashReport(c, command("crash", args))
	report.print(out)
	if o.json != "" {
		if err := writeJSON(report, o.json); err != nil {
			return err
		}
	}
	if !held(report.Checks) {
		return errFailed
	}
	return nil
}

// roundKind is what is written when the gateway is killed.
type roundKind int

const (
	writesConfig roundKind = iota
	writesOverrides
	spendsWindow
)

var roundKinds = [...]string{"config", "overrides", "window"}

func (k roundKind) String() string { return roundKinds[k] }

// kindOf is mostly the config; one round in ten each is for overrides and for a window.
func kindOf(round int) roundKind {
	switch round % 10 {
	case 3:
		return writesOverrides
	case 7:
		return spendsWindow
	}
	return writesConfig
}

// killWithin is the longest time from the first write of a round to the kill.
const killWithin = 150 * time.Millisecond

// crashed is a run: what must be true of the gateway, and where it was not.
type crashed struct {
	seed    uint64
	stage   *stage.Stage
	admin   *stage.Admin
	rng     *rand.Rand
	putter  *putter // renders the configs
	step    int
	ledger  ledger
	tally   crashTally
	windows []windowRound
	wrong   violations
}

// crashTally counts over all rounds.
type crashTally struct {
	Rounds    [len(roundKinds)]int `json:"rounds"` // config, overrides, window
	Written   int                  `json:"writes_acknowledged"`
	Underway  int                  `json:"kills_during_a_write"`
	Won       int                  `json:"writes_that_survived_unacknowledged"`
	SlowReady time.Duration        `json:"slowest_start_ns"`
	Versions  int                  `json:"newest_version"`
	Files     int                  `json:"most_files_in_state_dir"`
	Leftover  int                  `json:"most_unfinished_files"`
	Beside    int                  `json:"most_files_beside_the_config"`
}

func playCrash(ctx context.Context, o crashOptions) (*crashed, error) {
	dir, program, done, err := place(ctx, o.keep, o.gateway)
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := stage.OpenAlone(ctx, dir, program, crashConfig(0, o.rounds))
	if err != nil {
		return nil, err
	}
	c := &crashed{
		seed: o.seed, stage: s, rng: rand.New(rand.NewPCG(o.seed, 0)),
		putter: &putter{config: func(n int) stage.Config { return crashConfig(n, o.rounds) }, base: s.Config},
	}
	err = c.play(ctx, o.rounds)
	closing := s.Close()
	switch {
	case errors.Is(err, errNotReady): // it is told in the report, and there was nothing left to close
		return c, nil
	case err != nil || closing != nil:
		return nil, errors.Join(err, closing)
	}
	return c, nil
}

// errNotReady ends the rounds: a gateway that does not come up again leaves nothing to look at.
var errNotReady = errors.New("the gateway is not ready again")

func (c *crashed) play(ctx context.Context, rounds int) error {
	text, err := c.putter.render(0)
	if err != nil {
		return err
	}
	c.ledger = newLedger(text)
	c.admin = stage.NewAdmin(c.stage.Config.Admin)
	c.look(ctx, "before the first kill")
	for round := range rounds {
		kind := kindOf(round)
		c.tally.Rounds[kind]++
		if round%10 == 0 {
			progress("round %d of %d", round+1, rounds)
		}
		if err := c.round(ctx, kind, round); err != nil {
			return fmt.Errorf("round %d (%v): %w", round+1, kind, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// round writes, kills, starts again and looks. What the gateway gets wrong is a violation; the error says why there
// can be no next round.
func (c *crashed) round(ctx context.Context, kind roundKind, round int) error {
	when := fmt.Sprintf("round %d (%v)", round+1, kind)
	var window *windowRound
	writing, stop := context.WithCancel(ctx)
	defer stop()
	wrote := make(chan error, 1)
	began := time.Now()
	switch kind {
	case writesConfig:
		go func() { wrote <- c.writeConfigs(writing) }()
	case writesOverrides:
		go func() { wrote <- c.writeOverrides(writing) }()
	case spendsWindow:
		c.windows = append(c.windows, windowRound{caller: windowCaller(round)})
		window = &c.windows[len(c.windows)-1]
		if err := c.spend(ctx, window); err != nil {
			return err
		}
		began = time.Now()
		go func() { wrote <- c.spendOn(writing, window) }()
	}
	time.Sleep(time.Until(began.Add(time.Duration(c.rng.Int64N(int64(killWithin))))))
	c.stage.KillGateway()
	stop() // a connection that was accepted by nobody may hang
	if err := <-wrote; err != nil {
		c.wrong.add(lookWrites, when, "%v", err)
	}
	killed := time.Now()
	if c.ledger.underway() {
		c.tally.Underway++
	}
	c.admin = stage.NewAdmin(c.stage.Config.Admin)
	started := time.Now()
	if err := c.stage.RestartGateway(ctx); err != nil {
		c.wrong.add(lookReady, when, "%v", err)
		return errNotReady
	}
	c.tally.SlowReady = max(c.tally.SlowReady, time.Since(started))
	c.look(ctx, when)
	if window != nil {
		return c.spendRest(ctx, window, killed)
	}
	return nil
}

// violations are what the gateway got wrong, by the check that it fails. The first few of each are kept.
type violations map[string][]string

const violationsKept = 5

// gone says that an error means that nobody answers any more, as after a kill.
func gone(err error) bool {
	var refused *stage.Refused
	return err != nil && !errors.As(err, &refused)
}
