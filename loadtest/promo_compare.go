package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/upstream"
)

// The three ways of playing the incident, in the order of the table.
const (
	straight = iota
	flatly
	gated
	ways
)

var wayNames = [ways]string{"straight", "flat limit", "tidegate"}

// flatSpare is what the flat limit leaves of the upstream, so that chance does not make a queue that stays.
const flatSpare = 0.05

// comparePromo plays the same incident three times, each time on an upstream of its own with the same capacity.
func comparePromo(ctx context.Context, o promoOptions, when timeline, grace time.Duration, command string, out io.Writer) error {
	collectSeldom()
	if o.workers == 0 {
		o.workers = sharedSeats + vipSeats // as many as the gateway has seats: neither has more to give
	}
	cast := promoCast(when)
	limit := chooseFlat(cast, when, o.workers, o.flatQPS)
	dir, program, done, err := place(ctx, o.keep, o.gateway)
	if err != nil {
		return err
	}
	defer done()
	behind := upstream.Options{Groups: poolGroups(cast), Workers: o.workers, Backlog: upstream.Backlog}
	var plays [ways]*played
	for way, open := range [ways]func(dir string) (*stage.Stage, error){
		straight: func(dir string) (*stage.Stage, error) { return stage.OpenBare(ctx, dir, behind) },
		flatly:   func(dir string) (*stage.Stage, error) { return stage.OpenFlat(ctx, dir, limit.qps, behind) },
		gated: func(dir string) (*stage.Stage, error) {
			return stage.Open(ctx, dir, program, promoConfig(cast), behind)
		},
	} {
		progress("play %d of %d: %s", way+1, ways, wayNames[way])
		if plays[way], err = playWay(ctx, o.seed, when, grace, filepath.Join(dir, fmt.Sprint("play", way+1)), open); err != nil {
			return err
		}
	}
	c := newComparison(plays, limit, o.workers, command)
	if o.markdown {
		c.printMarkdown(out)
	} else {
		c.print(out)
	}
	if o.json != "" {
		if err := writeJSON(c, o.json); err != nil {
			return err
		}
	}
	switch {
	case c.void() != "":
		return fmt.Errorf("the comparison is void: %s", c.void())
	case c.wronged(gated) > 0:
		return errFailed
	}
	return nil
}

// playWay plays the incident once on a stage.
func playWay(ctx context.Context, seed uint64, when timeline, grace time.Duration, dir string, open func(dir string) (*stage.Stage, error)) (*played, error) {
	p, err := newPlayed(seed, when)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot keep files in %s: %w", dir, err)
	}
	stage.GoAlong() // what stands before the upstream must not inherit more
	s, err := open(dir)
	if err != nil {
		return nil, err
	}
	stage.GoFirst()
	if err = p.send(ctx, s, grace); err == nil {
		err = s.Stats(ctx, &p.counts)
	}
	if closing := s.Close(); err != nil || closing != nil {
		return nil, errors.Join(err, closing)
	}
	return p, nil
}

// flatChoice is a flat limit and where it comes from. All rates are requests a second.
type flatChoice struct {
	qps         int
	given       bool    // by the user
	quiet, jump float64 // offered
	quietCan    float64 // what the upstream can do at the quiet mix of work
	jumpCan     float64 // and at the mix of the jump
}

// chooseFlat is the best flat limit there is for this incident, unless one is given: the highest that keeps the
// upstream from being overrun even by the mix of work in the jump. An operator learns that mix from the incident;
// what he can measure before is what the upstream does at the quiet mix, which is far more, as a count of requests
// does not see that an export is ten times the work of a chat.
func chooseFlat(cast []member, when timeline, workers, given int) flatChoice {
	phases := when.phases()
	c := flatChoice{qps: given, given: given > 0}
	c.quiet, c.quietCan = offeredAndPossible(cast, phases[1], workers)
	c.jump, c.jumpCan = offeredAndPossible(cast, phases[2], workers)
	if !c.given {
		c.qps = max(1, int(math.Floor(min(c.quietCan, c.jumpCan)*(1-flatSpare))))
	}
	return c
}

// offeredAndPossible is what is sent in a phase, and how much of that mix the workers could do.
func offeredAndPossible(cast []member, phase openloop.Phase, workers int) (offered, possible float64) {
	busy := 0.0 // workers, if there were enough
	for i := range cast {
		rate := cast[i].meanRate(phase)
		offered += rate
		busy += rate * cast[i].service.Seconds()
	}
	return offered, offered * float64(workers) / busy
}

func (c flatChoice) String() string {
	if c.given {
		return fmt.Sprintf("%d/s over all callers, as -flat-qps says. Quiet time offers %.0f/s, the jump %.0f/s; the upstream can do %.0f/s of the quiet mix and %.0f/s of the jump's",
			c.qps, c.quiet, c.jump, c.quietCan, c.jumpCan)
	}
	return fmt.Sprintf("%d/s over all callers: the highest that keeps even the jump's mix of work from overrunning the upstream (%.0f/s, less %.0f %%), chosen with the hindsight of this very incident. "+
		"Quiet time offers %.0f/s, the jump %.0f/s. At the quiet mix the upstream can do %.0f/s; a limit found there would never act here, and play as none: -flat-qps %.0f",
		c.qps, c.jumpCan, flatSpare*100, c.quiet, c.jump, c.quietCan, math.Floor(c.quietCan))
}
