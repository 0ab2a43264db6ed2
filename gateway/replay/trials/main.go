// Trials measures the detector on traces that are no part of this project, and on traffic that it generates.
//
//	go run ./gateway/replay/trials curve -traces DIR -picture docs/detector.svg
//	go run ./gateway/replay/trials tenants -traces DIR
//	go run ./gateway/replay/trials splice -traces DIR
//	go run ./gateway/replay/trials quiet -traces DIR
//	go run ./gateway/replay/trials generated
//
// A trace lies in DIR as NAME.dense.csv.gz, NAME.events.csv.gz or NAME.bins.csv.gz, with NAME.labels.csv for what was found in
// it by hand and NAME.clean.csv for the times in which nothing is to be found. A trial that does not hold what was
// asked makes the exit status 1.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"tidegate/detector"
	"tidegate/gateway/config"
	"tidegate/gateway/watch"
)

// errAsked says that all was measured and something is not as asked.
var errAsked = errors.New("not all is as asked")

var commands = []struct {
	name, what string
	run        func(*flag.FlagSet, []string) error
}{
	{"curve", "delay against false alarms, beside plain rules", curveCommand},
	{"tenants", "false alarms of many tenants, from their rates", tenantsCommand},
	{"splice", "a scan that a quiet caller begins", spliceCommand},
	{"quiet", "traces in which nothing is to be found", quietCommand},
	{"generated", "steps and tides of Poisson traffic", generatedCommand},
}

func main() {
	if len(os.Args) > 1 {
		for _, c := range commands {
			if c.name != os.Args[1] {
				continue
			}
			if err := c.run(flag.NewFlagSet(c.name, flag.ExitOnError), os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, "trials:", err)
				os.Exit(1)
			}
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: trials COMMAND [FLAGS]")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.what)
	}
	os.Exit(2)
}

// settings are the detector's default settings but for min_rate, which is 1/s: the traces are small.
func settings() detector.Config {
	c := *watch.Config(&config.Default().Detector)
	c.MinRate = 1
	return c
}

// tracesFlag is the flag for where the traces are.
func tracesFlag(flags *flag.FlagSet) *string {
	return flags.String("traces", "", "`directory` of the traces")
}

func needTraces(dir string) error {
	if dir == "" {
		return errors.New("cannot find traces: say where they are with -traces DIR")
	}
	return nil
}

// verdictOf names a bound that holds or does not.
func verdictOf(ok bool) string {
	if ok {
		return "holds"
	}
	return "DOES NOT HOLD"
}
