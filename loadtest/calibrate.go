package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tidegate/loadtest/knee"
	"tidegate/loadtest/stage"
)

// calibrateOptions are the flags of calibrate.
type calibrateOptions struct {
	aim     aim
	slo     objective
	find    knee.Options
	wishes  knee.Wishes
	conns   int
	seed    uint64
	picture string
	json    string
}

const calibrateUsage = `usage: loadtest calibrate -target URL [flags]

Finds how much an upstream can do: raises the load in steps until it is no longer carried, closes in on the knee, tries
how many seats are enough, and prints what it would write into the config. docs/calibrate.md says how.

This is load. Only this machine is a target, unless -may-load names the host once more.

`

func calibrate(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseCalibrate(args)
	if err != nil {
		return err
	}
	target, err := o.aim.target(ctx)
	if err != nil {
		return err
	}
	for _, file := range []string{o.picture, o.json} {
		if err := writable(file); err != nil {
			return err
		}
	}
	collectSeldom()
	stage.GoFirst()
	return calibrateOn(ctx, o, target, out)
}

// calibrateOn calibrates a target and reports.
func calibrateOn(ctx context.Context, o *calibrateOptions, target *target, out io.Writer) error {
	p := &printer{out: out, o: o, target: target}
	p.begin()
	up := &wire{target: target, conns: o.conns, quantile: o.slo.quantile, seed: o.seed}
	curve, err := knee.Find(ctx, up, o.find, p.step)
	if err != nil {
		return err
	}
	report := newCalibration(o, target, curve)
	report.print(out)
	if o.json != "" {
		if err := writeJSON(report, o.json); err != nil {
			return err
		}
	}
	if o.picture != "" {
		if err := drawCurve(report, o.picture); err != nil {
			return err
		}
		fmt.Fprintf(out, "\nThe curve is in %s.\n", o.picture)
	}
	if curve.End != knee.Found && curve.End != knee.NoKnee {
		return errFailed
	}
	return nil
}

func parseCalibrate(args []string) (*calibrateOptions, error) {
	o := &calibrateOptions{slo: objective{quantile: 0.99}}
	var slo string
	var seconds float64
	flags := flag.NewFlagSet("calibrate", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), calibrateUsage)
		flags.PrintDefaults()
	}
	o.aim.flags(flags)
	flags.StringVar(&slo, "slo", "p99", "the `quantile` of latency that is judged, and its limit if you have one: p99, p95=250ms")
	flags.Float64Var(&o.find.Times, "times", 3, "without a limit in -slo: the quantile may be so many times what it is without load")
	flags.Float64Var(&o.find.Start, "start-rate", 0, "first step, requests a second; by default what goes one at a time")
	flags.Float64Var(&o.find.MaxRate, "max-rate", 2000, "highest load, requests a second")
	flags.Float64Var(&seconds, "step-seconds", 5, "measured part of a step; at low rates it grows up to four times")
	flags.DurationVar(&o.find.MaxTime, "max-time", 10*time.Minute, "length of the whole at most")
	flags.IntVar(&o.conns, "max-conns", 1000, "connections at most")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the arrivals")
	flags.StringVar(&o.wishes.Pool, "pool", "shared", "`name` of the pool in the config")
	flags.StringVar(&o.wishes.Semantic, "semantic", "default", "`name` of the semantic in the config")
	flags.StringVar(&o.wishes.Level, "level", "standard", "`name` of its level in the config")
	flags.IntVar(&o.wishes.Callers, "callers", 1, "how many callers share the rate")
	flags.Float64Var(&o.wishes.Headroom, "headroom", 0.1, "share of the knee's throughput that is promised to nobody")
	flags.StringVar(&o.picture, "picture", "", "draw the curve into this `file`, .svg or .png")
	flags.StringVar(&o.json, "json", "", "write all figures as JSON to this `file`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("cannot calibrate: there are %d arguments that belong to no flag; quote values with spaces", flags.NArg())
	}
	var err error
	if o.slo, err = parseObjective(slo); err != nil {
		return nil, err
	}
	o.find.Limit = o.slo.limit
	o.find.Step = time.Duration(seconds * float64(time.Second))
	return o, o.check()
}

// check holds the numbers against what they may be.
func (o *calibrateOptions) check() error {
	for _, c := range []struct {
		flag       string
		value      float64
		least, top float64
	}{
		{"times", o.find.Times, 1.2, 100},
		{"max-rate", o.find.MaxRate, 0.1, 100000},
		{"start-rate", o.find.Start, 0, o.find.MaxRate},
		{"step-seconds", o.find.Step.Seconds(), 0.1, 600},
		{"max-time", o.find.MaxTime.Seconds(), 1, 86400},
		{"max-conns", float64(o.conns), 1, 60000},
		{"callers", float64(o.wishes.Callers), 1, 1e6},
		{"headroom", o.wishes.Headroom, 0, 0.9},
	} {
		if !(c.value >= c.least && c.value <= c.top) { // NaN is neither
			return fmt.Errorf("cannot calibrate with -%s %v: it must be from %v to %v", c.flag, c.value, c.least, c.top)
		}
	}
	for _, name := range []string{o.wishes.Pool, o.wishes.Semantic, o.wishes.Level} {
		if len(name) < 1 || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
			return fmt.Errorf("cannot calibrate for %q: names in the config are 1 to 64 of a-z 0-9 . _ -", name)
		}
	}
	if o.picture != "" && pictureKind(o.picture) == "" {
		return fmt.Errorf("cannot draw into %s: its name must end in .svg or .png", o.picture)
	}
	return nil
}

// objective is what the latency must be.
type objective struct {
	quantile float64       // from 0.5 to 0.999
	limit    time.Duration // 0: none is given
}

// String is the name of the quantile: "p99".
func (o objective) String() string {
	return "p" + strconv.FormatFloat(100*o.quantile, 'g', 4, 64)
}

// parseObjective reads "p99" or "p99=250ms".
func parseObjective(s string) (objective, error) {
	refuse := func() (objective, error) {
		return objective{}, fmt.Errorf("cannot calibrate for -slo %q: it must be p50 to p99.9, alone or with a limit as in p99=250ms", s)
	}
	name, limit, limited := strings.Cut(s, "=")
	digits, ok := strings.CutPrefix(name, "p")
	percent, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(percent >= 50 && percent <= 99.9) {
		return refuse()
	}
	o := objective{quantile: percent / 100}
	if limited {
		if o.limit, err = time.ParseDuration(limit); err != nil || o.limit <= 0 || o.limit > time.Hour {
			return refuse()
		}
	}
	return o, nil
}

// pictureKind is the ending of a picture's name, without the dot: "" if it is no kind that can be drawn.
func pictureKind(file string) string {
	switch kind := strings.ToLower(filepath.Ext(file)); kind {
	case ".svg", ".png":
		return kind[1:]
	}
	return ""
}

// writable sees, before minutes of load, that a file can be written.
func writable(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	return f.Close()
}
