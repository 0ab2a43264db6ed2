package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tidegate/detector"
)

const monthSeconds = 30 * 86400

// falseAsked is the most false verdicts a tenant and month.
const falseAsked = 1

func tenantsCommand(flags *flag.FlagSet, args []string) error {
	dir := tracesFlag(flags)
	of := flags.String("of", "servegen/week1", "`trace` with the columns time_ms,caller,count,iat_cv; a week of it follows on the other")
	months := flags.Float64("months", 0, "how many tenant-months to play, all tenants together; 0: the trace once")
	seed := flags.Uint64("seed", 1, "of the arrivals")
	unevenness := flags.String("uneven", "pauses", "what gaps of a cv above 2 come from: pauses or clumps")
	show := flags.Int("show", 12, "how many tenants to show the verdicts of, and how many of each")
	flags.Parse(args) // ends the program itself
	if err := needTraces(*dir); err != nil {
		return err
	}
	if *unevenness != "pauses" && *unevenness != "clumps" {
		return fmt.Errorf("cannot draw arrivals: -uneven %s must be pauses or clumps", *unevenness)
	}
	tenants, err := readTenants(*dir + "/" + *of + ".bins.csv.gz")
	if err != nil {
		return err
	}
	seconds := float64(len(tenants[0].rates)) * tenants[0].width
	if *months > 0 {
		seconds = *months * monthSeconds / float64(len(tenants))
	}
	if *unevenness == "pauses" {
		for _, t := range tenants {
			t.pause()
		}
	}
	began := time.Now()
	var played atomic.Int64
	stop := progress("arrivals", &played, expectedArrivals(tenants, seconds))
	each(len(tenants), func(i int) {
		t := tenants[i]
		c := settings()
		t.play(&c, seconds, rand.New(rand.NewPCG(*seed, uint64(i))), &played)
	})
	stop()
	all := float64(len(tenants)) * seconds / monthSeconds
	fmt.Printf("%d tenants, %.1f days each: %.1f tenant-months, %d million arrivals, in %v\n",
		len(tenants), seconds/86400, all, played.Load()/1e6, time.Since(began).Round(time.Second))
	return reportTenants(tenants, all, *show)
}

// play generates the tenant's arrivals for so long, and notes what the detector finds.
func (t *tenant) play(c *detector.Config, seconds float64, r *rand.Rand, played *atomic.Int64) {
	p := player{config: c}
	a := newRenewal(t, r)
	cells := int(seconds * cellsASec)
	told := int64(0)
	for i := range cells {
		n := a.cell(i)
		p.cell(t.start+int64(i+1)*cellMS, n)
		if told += n; i%65536 == 0 || i == cells-1 {
			played.Add(told)
			t.arrivals += told
			told = 0
		}
	}
	t.findings = p.findings
}

func expectedArrivals(tenants []*tenant, seconds float64) (n float64) {
	for _, t := range tenants {
		for _, rate := range t.rates {
			n += rate * seconds / float64(len(t.rates))
		}
	}
	return n
}

// progress tells on the standard error how far a number has come, until it is stopped.
func progress(what string, n *atomic.Int64, all float64) (stop func()) {
	tick := time.NewTicker(5 * time.Second)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(os.Stderr, "\r%d million %s, %.0f %%", n.Load()/1e6, what, 100*float64(n.Load())/all)
			case <-done:
				fmt.Fprint(os.Stderr, "\r\x1b[K")
				close(done)
				return
			}
		}
	}()
	return func() { tick.Stop(); done <- struct{}{}; <-done }
}

// reportTenants prints the verdicts. Those on what the source itself says is a burst are not false and counted apart.
func reportTenants(tenants []*tenant, months float64, show int) error {
	wrong, all := 0, 0
	kinds := make(map[string]int)
	for _, t := range tenants {
		for i, k := range t.kinds() {
			kinds[k]++
			all++
			if k != jump && k != packed {
				t.wrong = append(t.wrong, wrongOne{t.findings[i], k})
				wrong++
			}
		}
	}
	sources := 0
	for _, t := range tenants {
		sources += t.jumps()
	}
	fmt.Printf("%d verdicts; the source has %d bins of which the rise doubles quicker than rise\n", all, sources)
	for _, k := range []string{jump, packed} {
		fmt.Printf("  %4d %s: not false\n", kinds[k], k)
	}
	fmt.Printf("%d false verdicts, %.2f a tenant-month (asked: at most %d): %s\n", wrong, float64(wrong)/months, falseAsked, verdictOf(float64(wrong)/months <= falseAsked))
	for _, k := range []string{steady, uneven, clumps, again} {
		fmt.Printf("  %4d %s\n", kinds[k], k)
	}
	slices.SortStableFunc(tenants, func(a, b *tenant) int { return cmp.Compare(len(b.wrong), len(a.wrong)) })
	each := months / float64(len(tenants))
	fmt.Printf("\n%-26s%9s%9s%8s%8s%12s\n", "tenant", "mean/s", "median cv", "true", "false", "false/month")
	for _, t := range tenants {
		if len(t.findings) == 0 {
			continue
		}
		fmt.Printf("%-26s%9.2f%9.2f%8d%8d%12.2f\n", t.name, t.mean(), t.medianCV(), len(t.findings)-len(t.wrong), len(t.wrong), float64(len(t.wrong))/each)
	}
	for _, t := range tenants[:min(show, len(tenants))] {
		if len(t.wrong) > 0 {
			fmt.Printf("\n%s\n", t.name)
		}
		for _, f := range t.wrong[:min(show, len(t.wrong))] {
			fmt.Println("  " + t.describe(&f))
		}
	}
	if float64(wrong)/months > falseAsked {
		return errAsked
	}
	return nil
}

// describe tells a verdict and what the source's bins around it are.
func (t *tenant) describe(f *wrongOne) string {
	b := t.bin(f.at)
	var rates, cvs, pauses []string
	for i := b - 1; i <= b+1; i++ {
		rates = append(rates, fmt.Sprintf("%.2f", t.rate(i)))
		cvs = append(cvs, fmt.Sprintf("%.1f", t.told[t.again(i)]))
		pauses = append(pauses, fmt.Sprintf("%.0f", t.pauses[t.again(i)]))
	}
	at := time.UnixMilli(f.at).UTC()
	return fmt.Sprintf("day %.4f %s: observed %.1f/s, expected %.2f/s (x %.1f), score %.0f of %.0f, since %.1f s; bins %s /s, cv %s, pauses %s s; %s",
		float64(f.at-t.start)/86400e3, at.Format("15:04:05.0"), f.Observed, f.Expected, f.Ratio, f.Score, f.Needed, at.Sub(f.Since).Seconds(),
		strings.Join(rates, " "), strings.Join(cvs, " "), strings.Join(pauses, " "), f.kind)
}
