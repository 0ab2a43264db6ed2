package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// CrashReport is the outcome of a crash run.
type CrashReport struct {
	Scenario string     `json:"scenario"`
	Command  string     `json:"command"`
	Seed     uint64     `json:"seed"`
	Tally    crashTally `json:"tally"`
	Windows  []string   `json:"windows"`
	Checks   []Check    `json:"checks"`
}

// leastUnderway is the share of the rounds that write in which a write was under way at the kill: with less the run
// does not show what it should.
const leastUnderway = 0.5

func newCrashReport(c *crashed, command string) *CrashReport {
	r := &CrashReport{Scenario: "crash", Command: command, Seed: c.seed, Tally: c.tally}
	for i := range c.windows {
		r.Windows = append(r.Windows, c.windows[i].String())
	}
	t := &c.tally
	kills := 0
	for _, n := range t.Rounds {
		kills += n
	}
	writing := t.Rounds[writesConfig] + t.Rounds[writesOverrides]
	r.Checks = []Check{
		c.wrong.check(lookReady, "the gateway is ready again after each kill -9",
			fmt.Sprintf("%d kills, the slowest start took %d ms", kills, t.SlowReady.Milliseconds())),
		c.wrong.check(lookWrites, "every write before a kill is taken", fmt.Sprintf("%d were acknowledged", t.Written)),
		{
			Name: "the kills meet writes", Held: writing == 0 || float64(t.Underway) >= leastUnderway*float64(writing),
			Figure: fmt.Sprintf("one was under way in %d of %d rounds that write; %d of these survived whole, the others left no trace", t.Underway, writing, t.Won),
		},
		c.wrong.check(lookConfig, "what runs is the last config that was acknowledged or the one under way, byte for byte, and so is the file",
			fmt.Sprintf("after %d kills", kills)),
		c.wrong.check(lookVersions, "the versions can be read, their numbers grow, nothing acknowledged is lost, and the newest is what runs",
			fmt.Sprintf("the newest is %d", t.Versions)),
		c.wrong.check(lookOverrides, "so are the overrides: those acknowledged, or with the one under way, and all of them act",
			fmt.Sprintf("%d rounds wrote some", t.Rounds[writesOverrides])),
		c.wrong.check(lookFiles, "nothing piles up on disk",
			fmt.Sprintf("at most %d files in state.dir (bound %d), %d of them unfinished, %d beside the config", t.Files, mostFiles, t.Leftover, t.Beside)),
		c.windowsKept(),
	}
	return r
}

// check is one that holds where nothing was found.
func (v violations) check(which, name, figure string) Check {
	found := v[which]
	if len(found) > 0 {
		figure += "; wrong: " + strings.Join(found, "; ")
	}
	return Check{Name: name, Figure: figure, Held: len(found) == 0}
}

func (c *crashed) windowsKept() Check {
	most, sure := 0, 0
	var wrong []string
	for i := range c.windows {
		w := &c.windows[i]
		most = max(most, w.before+w.after-windowCost)
		if w.recent < w.before {
			sure++
		}
		if !w.kept() && len(wrong) < violationsKept {
			wrong = append(wrong, w.String())
		}
	}
	check := Check{
		Name: fmt.Sprintf("a window of %d/10m outlives a kill: what it grants after it is what was left, and at most what it granted in the last %v before", windowCost, saveWithin),
		Figure: fmt.Sprintf("%d windows, %d of them with grants older than that; at most %d granted twice",
			len(c.windows), sure, most),
		Held: len(wrong) == 0,
	}
	if len(wrong) > 0 {
		check.Figure += "; wrong: " + strings.Join(wrong, "; ")
	}
	return check
}

func (r *CrashReport) print(out io.Writer) {
	t := &r.Tally
	fmt.Fprintf(out, "crash, seed %d: killed %d times while configs were put, %d while overrides were set, %d while a window was spent; each time 0 to %v after the first write.\n\n",
		r.Seed, t.Rounds[writesConfig], t.Rounds[writesOverrides], t.Rounds[spendsWindow], killWithin.Round(time.Millisecond))
	for _, w := range r.Windows {
		fmt.Fprintf(out, "      %s\n", w)
	}
	if r.Windows != nil {
		fmt.Fprintln(out)
	}
	printChecks(out, r.Checks, "")
	fmt.Fprintf(out, "\n%s\n", r.Command)
}
