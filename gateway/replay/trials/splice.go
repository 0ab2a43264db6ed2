package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	places      = 10
	leastOfHost = 20 // requests of a caller that is known at all
	delayAsked  = 1000
)

func spliceCommand(flags *flag.FlagSet, args []string) error {
	dir := tracesFlag(flags)
	into := flags.String("into", "nasa_hosts", "`trace` with the quiet caller, or the folder it is alone in")
	of := flags.String("of", "webscan/acunetix", "`trace` with bursts in its labels")
	out := flags.String("out", "", "`directory` for the ten traces of each burst; empty: they are not written")
	seed := flags.Uint64("seed", 1, "of the moments within a second")
	flags.Parse(args) // ends the program itself
	if err := needTraces(*dir); err != nil {
		return err
	}
	host, err := eventsOf(*dir, *into)
	if err != nil {
		return err
	}
	times, types, err := readEvents(host)
	if err != nil {
		return err
	}
	stem := filepath.Join(*dir, *of)
	l, err := readLabels(stem)
	if err != nil {
		return err
	}
	scans, _, err := readEvents(stem + ".events.csv.gz")
	if err != nil {
		return err
	}
	caller := quietest(times)
	quiet := times[caller]
	if len(quiet) == 0 {
		return fmt.Errorf("cannot splice: no caller of %s has %d requests", host, leastOfHost)
	}
	fmt.Printf("into %s, %d requests in %.1f h: of the callers with %d requests or more, the one that is there for longest\n",
		caller, len(quiet), float64(quiet[len(quiet)-1]-quiet[0])/3.6e6, leastOfHost)
	held := true
	for n, b := range l.bursts() {
		scan := cut(scans[b.caller], b)
		fmt.Printf("\nburst %d of %s: %d requests in %.0f s, by the second from its onset: %v\n",
			n+1, *of, len(scan), float64(b.end-b.onset)/1000, firstSeconds(scan, b.onset))
		ok, err := spliceBurst(n, quiet, caller, types[caller], scan, b, *out, *seed)
		if err != nil {
			return err
		}
		held = held && ok
	}
	if !held {
		return errAsked
	}
	return nil
}

// spliceBurst plays the caller ten times, with the scan beginning in another tenth of its time each.
func spliceBurst(n int, quiet []int64, caller, kind string, scan []int64, b label, out string, seed uint64) (held bool, err error) {
	held = true
	fmt.Printf("%-8s%-14s%22s%28s%22s\n", "place", "onset", "verdict after onset", "after its first request", "as the file has it")
	for p := range places {
		r := rand.New(rand.NewPCG(seed, uint64(n*places+p)))
		from, to := quiet[0], quiet[len(quiet)-1]
		onset := (from + (to-from)*(2*int64(p)+1)/(2*places)) / 1000 * 1000
		shifted := make([]int64, len(scan))
		for i, t := range scan {
			shifted[i] = t - b.onset + onset
		}
		all := append(slices.Clone(quiet), shifted...)
		slices.Sort(all)
		spread := within(all, r)
		first := spread[slices.IndexFunc(spread, func(t int64) bool { return t >= onset })]
		at, asIs := firstFrom(playTimes(settings(), spread), onset), firstFrom(playTimes(settings(), all), onset)
		held = held && at <= onset+delayAsked
		fmt.Printf("%-8d%-14s%22s%28s%22s\n", p, fmt.Sprintf("%.0f s", float64(onset-from)/1000), after(at, onset), after(at, first), after(asIs, onset))
		if out != "" {
			path := filepath.Join(out, fmt.Sprintf("burst%d-place%d", n+1, p))
			if err := writeSpliced(path, caller, kind, spread, label{caller, b.kind, onset, onset + b.end - b.onset}); err != nil {
				return false, err
			}
		}
	}
	fmt.Printf("asked: each within 1 s of its onset: %s\n", verdictOf(held))
	return held, nil
}

// eventsOf is the file of requests of that name, or the only one in the folder of that name.
func eventsOf(dir, name string) (string, error) {
	const ending = ".events.csv.gz"
	if path := filepath.Join(dir, name) + ending; exists(path) {
		return path, nil
	}
	found, err := stems(filepath.Join(dir, name), ending)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s has %d files NAME%s, must be one", name, len(found), ending)
	}
	if err != nil {
		return "", err
	}
	return found[0] + ending, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// quietest is, of the callers with leastOfHost requests or more, the one whose first and last are farthest apart; of
// several, the first by name.
func quietest(times map[string][]int64) (caller string) {
	longest := int64(-1)
	for _, name := range sortedNames(times) {
		t := times[name]
		if len(t) < leastOfHost {
			continue
		}
		if d := t[len(t)-1] - t[0]; d > longest {
			longest, caller = d, name
		}
	}
	return caller
}

func sortedNames(times map[string][]int64) (names []string) {
	for name := range times {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}

// cut is what belongs to a burst: up to a second before its onset, which is the label's grain, until its end.
func cut(times []int64, b label) (scan []int64) {
	for _, t := range times {
		if b.onset+earliest <= t && t <= b.end {
			scan = append(scan, t)
		}
	}
	return scan
}

func firstSeconds(times []int64, onset int64) (counts [5]int) {
	for _, t := range times {
		if s := (t - onset) / 1000; t >= onset && s < int64(len(counts)) {
			counts[s]++
		}
	}
	return counts
}

// never is for a verdict that did not come.
const never = int64(1) << 62

// firstFrom is the first verdict from a second before the onset on.
func firstFrom(findings []finding, onset int64) int64 {
	for _, f := range findings {
		if f.at >= onset+earliest {
			return f.at
		}
	}
	return never
}

func after(at, onset int64) string {
	if at == never {
		return "none"
	}
	return fmt.Sprintf("%.2f s", float64(at-onset)/1000)
}

// writeSpliced writes a trace of requests, and its label.
func writeSpliced(stem, caller, kind string, times []int64, l label) error {
	var b strings.Builder
	b.WriteString("timestamp_ms,caller,type,size\n")
	for _, t := range times {
		fmt.Fprintf(&b, "%d,%s,%s,0\n", t, caller, kind)
	}
	if err := os.MkdirAll(filepath.Dir(stem), 0o755); err != nil {
		return fmt.Errorf("cannot write the spliced trace: %w", err)
	}
	if err := os.WriteFile(stem+".events.csv", []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("cannot write the spliced trace: %w", err)
	}
	labels := fmt.Sprintf("caller,onset_ms,end_ms,kind\n%s,%d,%d,%s\n", l.caller, l.onset, l.end, l.kind)
	if err := os.WriteFile(stem+".labels.csv", []byte(labels), 0o644); err != nil {
		return fmt.Errorf("cannot write the spliced trace's label: %w", err)
	}
	return nil
}
