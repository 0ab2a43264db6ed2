package knee

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
)

// Options bound a calibration. All but Start and Limit must be set.
type Options struct {
	Start   float64       // first step, requests a second; 0: what a lone request allows
	MaxRate float64       // highest load, requests a second
	Step    time.Duration // measured part of a step; few requests make it up to four times as long
	Times   float64       // the limit of latency, as a multiple of that without load; above 1
	Limit   time.Duration // the limit itself; 0: by Times
	MaxTime time.Duration // of all
}

// How the upstream is asked before the first step, and between steps.
const (
	lonely     = 0.25 // load without a queue: a request is out for at most a quarter of the gap to the next
	loneRate   = 100  // a second, at most
	warmUp     = 6    // requests
	recovery   = 30 * time.Second
	breath     = 250 * time.Millisecond // between questions while it recovers
	patience   = 20                     // it may take so many times the limit to recover, if that is longer than recovery
	fullSample = 100                    // requests that a step has, if four times its length is enough for that
)

// errEnded is for a calibration that has ended for the reason that Curve.End gives.
var errEnded = errors.New("ended")

// finder is one calibration.
type finder struct {
	Curve
	up      Upstream
	o       Options
	told    func(*Step)
	started time.Time
	voids   int // in a row
}

// Find calibrates an upstream. It tells each step as soon as it is judged. What it has found is good also where it
// ended early; Curve.End says so. An error means that nothing was found.
func Find(ctx context.Context, up Upstream, o Options, told func(*Step)) (*Curve, error) {
	f := &finder{up: up, o: o, told: told, started: time.Now()}
	if err := f.quiet(ctx); err != nil {
		return nil, err
	}
	err := f.climb(ctx)
	// What the load that was carried had in flight is known however it ended.
	f.Seats = Seats{
		Seats: max(1, int(math.Ceil(f.Knee.InFlight))), Goodput: f.Knee.Goodput, Highest: f.Knee.Goodput, Latency: f.Knee.Mean, High: f.Knee.High,
	}
	if err == nil {
		f.sit(ctx)
	}
	return &f.Curve, nil
}

// quiet finds what the upstream does without load.
func (f *finder) quiet(ctx context.Context) error {
	var longest time.Duration // the first is not counted: caches are cold, code is not compiled
	for i := range warmUp {
		a, err := f.up.Ask(ctx)
		if err != nil {
			return fmt.Errorf("cannot calibrate: ended before anything was known: %w", err)
		}
		if a.Reason != "" {
			return fmt.Errorf("cannot calibrate: a request sent alone got %s; see that target, path, method, headers and body are those of a request that is served", a.Reason)
		}
		if i > 0 {
			longest = max(longest, a.Latency)
		}
	}
	longest = max(longest, time.Microsecond)
	rate := min(lonely/longest.Seconds(), loneRate, f.o.MaxRate)
	load := Load{Rate: rate, Spread: schedule.Even, Length: max(f.length(rate), time.Duration(5/rate*float64(time.Second)))}
	if load.Length > f.o.MaxTime/2 {
		return fmt.Errorf("cannot calibrate within %v: a request alone takes %v, and the first step would need %v; give it more time", f.o.MaxTime, longest.Round(time.Millisecond), load.Length.Round(time.Second))
	}
	var err error
	for f.voids = 0; f.voids < tries; {
		if f.Unloaded, err = f.up.Play(ctx, load); err != nil {
			return fmt.Errorf("cannot calibrate: ended before anything was known: %w", err)
		}
		if f.Unloaded.Verdict = judge(&f.Unloaded, time.Hour); !lagged(&f.Unloaded, 0) {
			break
		}
		f.Unloaded.Verdict = Void
		f.told(&f.Unloaded)
		if time.Since(f.started) > f.o.MaxTime {
			break
		}
		if err := f.pause(ctx); err != nil {
			return fmt.Errorf("cannot calibrate: ended before anything was known: %w", err)
		}
	}
	s := &f.Unloaded
	if s.Verdict == Void {
		return fmt.Errorf("cannot calibrate: even without load the generator itself was late, by up to %v; run it on a quieter machine", s.LagMax)
	}
	if s.Verdict != Carried {
		return fmt.Errorf("cannot calibrate: one request at a time is too much for the upstream: %d of %d got no good answer (%v)", s.TurnedAway+s.Failed, s.Requests, s.Reasons)
	}
	if f.Limit = f.o.Limit; f.Limit == 0 {
		// The generator's own lag is in every latency, here and there: where latency is small a multiple alone would be all lag.
		f.Limit = max(time.Duration(f.o.Times*float64(s.High)), s.High+2*openloop.MaxLagP99)
	}
	if s.High > f.Limit {
		return fmt.Errorf("cannot calibrate: without load latency is %v already, and the limit is %v", s.High.Round(time.Microsecond), f.Limit)
	}
	f.Knee = *s
	f.note(*s)
	f.told(s)
	return nil
}

// length is the measured part of a step.
func (f *finder) length(rate float64) time.Duration {
	sample := time.Duration(fullSample / rate * float64(time.Second))
	return max(f.o.Step, min(sample, 4*f.o.Step))
}

// open is an open load at a rate.
func (f *finder) open(rate float64) Load {
	return Load{
		Rate: rate, Spread: schedule.Poisson,
		Settle: f.settle(), Length: max(f.length(rate), 10*f.Unloaded.P50),
		MaxOut: minOut + int(2*rate*f.Limit.Seconds()),
	}
}

// minOut is how many more may be out in any step than twice what the limit of latency allows for: at a low rate that is few,
// and the number out has a deviation of its root.
const minOut = 16

func (f *finder) settle() time.Duration { return max(f.o.Step/4, 3*f.Unloaded.High) }

// climb raises the load until the knee is known.
func (f *finder) climb(ctx context.Context) error {
	r := ramp{start: f.o.Start, limit: f.o.MaxRate, carried: f.Unloaded.Load.Rate}
	for {
		rate, end := r.next()
		if end != 0 {
			f.End = end
			return nil
		}
		s, err := f.play(ctx, f.open(rate))
		if err != nil {
			return err
		}
		r.add(rate, s.Verdict)
	}
}

// sit finds the seats. Where the upstream refuses by itself, or its limit was not reached, there is nothing to be tried:
// then Little's law at the knee says it.
func (f *finder) sit(ctx context.Context) {
	if f.Beyond == nil || f.Beyond.Verdict == Refused || f.Beyond.Verdict == Failing {
		return
	}
	search := seatSearch{unloaded: f.service(), plenty: f.Seats.Seats}
	for {
		n, ok := search.next()
		if !ok {
			break
		}
		s, err := f.behind(ctx, n, search.unloaded)
		if err == nil && n < search.plenty && s.Goodput < enough*search.best {
			// Noise makes throughput less and hardly ever more, so that too little is played once more.
			var again *Step
			if again, err = f.behind(ctx, n, search.unloaded); err == nil && again.Goodput > s.Goodput {
				s = again
			}
		}
		if err != nil {
			return
		}
		search.add(n, s.Goodput, s.Verdict == Carried)
	}
	for i := range f.Seats.Tried {
		if s := &f.Seats.Tried[i]; s.Load.Seats == search.plenty && s.Goodput == search.reached {
			f.Seats.Seats, f.Seats.Measured, f.Seats.Nearest = search.answer(), true, search.plenty
			f.Seats.Goodput, f.Seats.Highest, f.Seats.Latency, f.Seats.High = s.Goodput, search.best, s.Mean, s.High
		}
	}
}

// behind plays more load than a number of seats can serve.
func (f *finder) behind(ctx context.Context, seats int, unloaded time.Duration) (*Step, error) {
	s, err := f.play(ctx, Load{
		Rate: f.overfull(seats, unloaded), Spread: schedule.Poisson,
		Settle: f.settle(), Length: max(f.o.Step, 10*f.Unloaded.P50), Seats: seats,
	})
	if err == nil {
		f.Seats.Tried = append(f.Seats.Tried, *s)
	}
	return s, err
}

// overfull is more than that many seats can serve: each needs at least the latency without a queue for a request. Where
// service slows down with company that is far more than needed, so that the knee bounds it as well.
func (f *finder) overfull(seats int, unloaded time.Duration) float64 {
	return min(overfull*float64(seats)/unloaded.Seconds(), mostOver*f.Beyond.Load.Rate)
}

// play plays and judges a step, and waits until the upstream has got over it. Its error is errEnded.
func (f *finder) play(ctx context.Context, load Load) (*Step, error) {
	if time.Since(f.started)+load.whole() > f.o.MaxTime {
		return nil, f.end(OutOfTime)
	}
	s, err := f.up.Play(ctx, load)
	if err != nil {
		return nil, f.end(Interrupted)
	}
	if load.Seats == 0 {
		s.Verdict = judge(&s, f.Limit)
		f.note(s)
	} else {
		s.Verdict = judgeSeats(&s, f.Limit)
	}
	f.told(&s)
	if s.Cut == Failures || share(s.Failed, s.Requests) > tooFailing {
		return nil, f.end(Trouble)
	}
	if s.Verdict != Void {
		f.voids = 0
	} else if f.pause(ctx) != nil {
		return nil, f.end(Interrupted)
	}
	return &s, f.recover(ctx)
}

// pause waits after a step that was void, the longer the more there were in a row: what kept the generator from its work
// is seldom over at once.
func (f *finder) pause(ctx context.Context) error {
	f.voids++
	select {
	case <-time.After(time.Duration(f.voids) * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end ends the calibration, before its time unless the knee is known already.
func (f *finder) end(why End) error {
	f.End = why
	return errEnded
}

// recover waits until a lone request is quick again, twice in a row.
func (f *finder) recover(ctx context.Context) error {
	until := time.Now().Add(max(recovery, patience*f.Limit))
	for good := 0; good < 2; {
		a, err := f.up.Ask(ctx)
		if err != nil {
			return f.end(Interrupted)
		}
		if a.Reason == "" && a.Latency <= f.Limit {
			good++
			continue
		}
		if good = 0; time.Now().After(until) {
			return f.end(NotRecovered)
		}
		select {
		case <-time.After(breath):
		case <-ctx.Done():
			return f.end(Interrupted)
		}
	}
	return nil
}
