package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tidegate/loadtest/knee"
	"tidegate/loadtest/schedule"
	"tidegate/loadtest/tally"
)

// calibration is the outcome, as JSON shows it. Rates are per second.
type calibration struct {
	Scenario string    `json:"scenario"`
	Target   string    `json:"target"`
	Headers  []string  `json:"headers"` // names
	Time     time.Time `json:"time"`
	Quantile string    `json:"quantile"`

	End    string       `json:"end"`
	Limit  tally.Millis `json:"limit_ms"` // of the quantile
	Steps  []stepFigure `json:"steps"`    // the one without load first
	Knee   stepFigure   `json:"knee"`     // highest load that was carried
	Beyond *stepFigure  `json:"beyond"`   // lowest load that was not; null: none

	Seats         int          `json:"seats"`
	SeatsMeasured bool         `json:"seats_measured"`
	SeatRuns      []stepFigure `json:"seat_runs"`
	PoolRate      float64      `json:"pool_rate"`
	Rate          string       `json:"rate"`
	MaxWait       tally.Millis `json:"max_wait_ms"`
	TOML          string       `json:"toml"`

	curve *knee.Curve
	limit string // where it comes from
	slo   objective
}

// stepFigure is one step.
type stepFigure struct {
	Rate       float64        `json:"rate"` // planned
	Offered    float64        `json:"offered"`
	Goodput    float64        `json:"goodput"`
	Requests   int            `json:"requests"`
	Mean       tally.Millis   `json:"mean_ms"`
	P50        tally.Millis   `json:"p50_ms"`
	High       tally.Millis   `json:"quantile_ms"`
	InFlight   float64        `json:"in_flight"`
	Seats      int            `json:"seats,omitempty"` // 0: open
	TurnedAway int            `json:"turned_away"`
	Failed     int            `json:"failed"`
	Unsent     int            `json:"unsent"`
	Reasons    map[string]int `json:"reasons"`
	LagP99     tally.Millis   `json:"lag_p99_ms"`
	LagMax     tally.Millis   `json:"lag_max_ms"`
	Cut        bool           `json:"cut"`
	Verdict    string         `json:"verdict"`
}

func newStepFigure(s *knee.Step) stepFigure {
	return stepFigure{
		Rate: s.Load.Rate, Offered: s.Offered, Goodput: s.Goodput, Requests: s.Requests,
		Mean: tally.Millis(s.Mean), P50: tally.Millis(s.P50), High: tally.Millis(s.High),
		InFlight: s.InFlight, Seats: s.Load.Seats, TurnedAway: s.TurnedAway, Failed: s.Failed, Unsent: s.Unsent, Reasons: s.Reasons,
		LagP99: tally.Millis(s.LagP99), LagMax: tally.Millis(s.LagMax), Cut: s.Cut != knee.Whole, Verdict: s.Verdict.String(),
	}
}

func stepFigures(steps []knee.Step) []stepFigure {
	figures := make([]stepFigure, len(steps))
	for i := range steps {
		figures[i] = newStepFigure(&steps[i])
	}
	return figures
}

func newCalibration(o *calibrateOptions, target *target, c *knee.Curve) *calibration {
	advice := knee.Advise(c, o.wishes)
	r := &calibration{
		Scenario: "calibrate", Target: target.name, Headers: target.headers, Time: time.Now().UTC().Truncate(time.Second), Quantile: o.slo.String(),
		End: c.End.String(), Limit: tally.Millis(c.Limit), Steps: stepFigures(c.Steps), Knee: newStepFigure(&c.Knee),
		Seats: advice.Seats, SeatsMeasured: c.Seats.Measured, SeatRuns: stepFigures(c.Seats.Tried),
		PoolRate: advice.PoolRate, Rate: advice.Rate, MaxWait: tally.Millis(advice.MaxWait), TOML: advice.TOML(c, o.wishes),
		curve: c, slo: o.slo, limit: "as asked for",
	}
	if o.slo.limit == 0 {
		r.limit = fmt.Sprintf("%v times the %v ms without load, and at least 10 ms more", o.find.Times, tally.Millis(c.Unloaded.High))
	}
	if c.Beyond != nil {
		beyond := newStepFigure(c.Beyond)
		r.Beyond = &beyond
	}
	return r
}

// ends says in words why it ended, where there is more to say than the knee.
var ends = map[knee.End]string{
	knee.GeneratorLate: "Ended: this client was late each time it tried the next step. It, or the machine that it shares with the upstream, can do no more; use another machine",
	knee.NoConnections: "Ended: all connections were in use. If the upstream takes more at a time, raise -max-conns",
	knee.OutOfTime:     "Ended: out of time. Raise -max-time, or begin higher with -start-rate",
	knee.Interrupted:   "Ended: interrupted. This is what is known so far",
	knee.Trouble:       "Ended at once: the upstream answered with errors",
	knee.NotRecovered:  "Ended: a request alone was not quick again for long after the last step; look after the upstream",
}

// print writes the result below the lines of the steps.
func (r *calibration) print(out io.Writer) {
	c := r.curve
	fmt.Fprintln(out)
	if why := ends[c.End]; why != "" {
		fmt.Fprintf(out, "%s.\n", why)
	}
	k := &r.Knee
	switch {
	case r.Beyond == nil:
		fmt.Fprintf(out, "No knee up to %.4g/s: %s %v ms, in flight %.1f.\n", k.Rate, r.Quantile, k.High, k.InFlight)
	case k.Rate == c.Unloaded.Load.Rate:
		fmt.Fprintf(out, "The knee is somewhere between one request at a time (%.4g/s) and %.4g/s, where it was: %s.\n", k.Rate, r.Beyond.Rate, why(r.Beyond))
	default:
		fmt.Fprintf(out, "Knee: %.0f/s served of %.0f/s, %s %v ms, in flight %.1f. At %.0f/s: %s.\n", k.Goodput, k.Rate, r.Quantile, k.High, k.InFlight, r.Beyond.Rate, why(r.Beyond))
	}
	fmt.Fprintf(out, "Limit of %s: %v ms (%s).\n", r.Quantile, r.Limit, r.limit)
	if r.SeatsMeasured {
		fmt.Fprintf(out, "Seats: %d. Behind a queue %d serve %.0f/s in %v ms each; plenty of seats serve %.0f/s.\n",
			r.Seats, c.Seats.Nearest, c.Seats.Goodput, tally.Millis(c.Seats.Latency), c.Seats.Highest)
	} else {
		fmt.Fprintf(out, "Seats: %d, by Little's law only.\n", r.Seats)
	}
	fmt.Fprintf(out, "\nFor the config, instead of the pool and the semantic of these names:\n\n%s", r.TOML)
}

// why says what was wrong with a step.
func why(s *stepFigure) string {
	switch s.Verdict {
	case knee.Late.String():
		return fmt.Sprintf("too slow, %v ms", s.High)
	case knee.Short.String():
		return "answers fell behind"
	case knee.Full.String():
		return fmt.Sprintf("%d found no connection free", s.Unsent)
	}
	return byReason(s.Reasons)
}

// printer writes a line for each step as it ends.
type printer struct {
	out    io.Writer
	o      *calibrateOptions
	target *target
	steps  int
	seats  bool
}

func (p *printer) begin() {
	fmt.Fprintf(p.out, "%s: at most %v/s, %d connections, %v. Ctrl-C ends it with what is known.\n",
		p.target.name, p.o.find.MaxRate, p.o.conns, p.o.find.MaxTime)
	if p.target.headers != nil {
		fmt.Fprintf(p.out, "With the headers %s.\n", strings.Join(p.target.headers, ", "))
	}
}

const stepLine = "%9s %9s %9s %9s %7s %9s %8s  %s\n"

func (p *printer) step(s *knee.Step) {
	if p.steps++; p.steps == 1 {
		fmt.Fprintf(p.out, "\n"+stepLine, "offered/s", "served/s", "p50 ms", p.o.slo.String()+" ms", "bad %", "in flight", "lag ms", "")
	}
	offered, lag, note := fmt.Sprintf("%.1f", s.Offered), tally.Millis(s.LagP99).String(), s.Verdict.String()
	switch {
	case s.Load.Seats > 0:
		if !p.seats {
			p.seats = true
			fmt.Fprintf(p.out, "\nBehind seats, with more load than they can serve; latency from a seat:\n\n")
		}
		offered, lag = "plenty", "-"
		note = fmt.Sprintf("%d seats", s.Load.Seats)
		if s.Verdict != knee.Carried {
			note += ", " + s.Verdict.String()
		}
	case s.Load.Spread == schedule.Even && s.Verdict == knee.Carried:
		note = "without load"
	case s.Verdict == knee.Void:
		note = fmt.Sprintf("void: this client itself was late, by up to %v ms", tally.Millis(s.LagMax))
	}
	if s.Cut != knee.Whole {
		note += fmt.Sprintf(", cut after %.1f s", s.CutAt.Seconds())
	}
	if len(s.Reasons) > 0 {
		note += ": " + byReason(s.Reasons)
	}
	bad := 100 * float64(s.TurnedAway+s.Failed) / float64(max(s.Requests, 1))
	fmt.Fprintf(p.out, stepLine, offered, fmt.Sprintf("%.1f", s.Goodput), tally.Millis(s.P50).String(), tally.Millis(s.High).String(),
		fmt.Sprintf("%.1f", bad), fmt.Sprintf("%.1f", s.InFlight), lag, note)
}
