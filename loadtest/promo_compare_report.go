package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

// Comparison is the outcome of the three plays.
type Comparison struct {
	Scenario string         `json:"scenario"`
	Command  string         `json:"command"`
	Seed     uint64         `json:"seed"`
	Workers  int            `json:"upstream_workers"`
	Backlog  int            `json:"upstream_backlog"`
	FlatQPS  int            `json:"flat_qps"`
	FlatWhy  string         `json:"flat_qps_chosen"`
	Rows     []comparedRow  `json:"rows"`
	Plays    []comparedPlay `json:"plays"`
}

// comparedRow is a kind of caller in all plays.
type comparedRow struct {
	Name    string           `json:"name"`
	Callers int              `json:"callers"`
	Treated [ways]*treatment `json:"treated"`
}

// treatment is what a kind of caller got in one play.
type treatment struct {
	Through string        `json:"through"`
	Whole   tally.Figures `json:"whole"`
	Jump    tally.Figures `json:"jump"`
	Within  int           `json:"within_quota"`
	Wronged int           `json:"wrongly_refused"` // of Within: not served
	// Why is what the wrongly refused met.
	Why map[string]int `json:"wrongly_refused_by"`
}

// comparedPlay is one play as a whole.
type comparedPlay struct {
	Through  string          `json:"through"`
	Start    time.Time       `json:"start"`
	Phases   []phase         `json:"phases"`
	Void     string          `json:"void,omitempty"`
	Offender string          `json:"offender"`
	Quiet    int             `json:"refused_in_quiet_time"`
	Upstream upstream.Counts `json:"upstream"`
}

func newComparison(plays [ways]*played, limit flatChoice, workers int, command string) *Comparison {
	c := &Comparison{
		Scenario: "promo -compare", Command: command, Seed: plays[0].seed,
		Workers: workers, Backlog: upstream.Backlog, FlatQPS: limit.qps, FlatWhy: limit.String(),
	}
	names, members := castRows(plays[0].cast)
	for _, name := range names {
		c.Rows = append(c.Rows, comparedRow{Name: name, Callers: len(members[name])})
	}
	for way, p := range plays {
		whole := openloop.Phase{From: 0, To: p.when.length()}
		within := p.run.WithinQuota()
		wronged := p.run.Wronged(within)
		for i, name := range names {
			of := members[name]
			c.Rows[i].Treated[way] = &treatment{
				Through: wayNames[way],
				Whole:   p.run.Figures(wronged, whole, of...),
				Jump:    p.run.Figures(wronged, p.when.jumpPhase(), of...),
				Within:  p.run.Count(within, whole, of...),
				Wronged: p.run.Count(wronged, whole, of...),
				Why:     p.run.Reasons(wronged, whole, of...),
			}
		}
		play := comparedPlay{Through: wayNames[way], Start: p.start, Upstream: p.counts}
		play.Phases, play.Void = phasesOf(p)
		last := c.Rows[len(c.Rows)-1].Treated[way] // the offender is last in the cast
		play.Offender = offenderGot(last, p.when.jump)
		for who := range p.cast {
			f := p.run.Figures(wronged, p.when.phases()[1], who)
			play.Quiet += f.RefusedTotal()
		}
		c.Plays = append(c.Plays, play)
	}
	return c
}

// offenderGot says what became of the work that the offender sent in its jump.
func offenderGot(t *treatment, jump time.Duration) string {
	f := &t.Jump
	parts := []string{fmt.Sprintf("%d of %d sent in the jump served (%.0f/s)", f.Served(), f.Offered, float64(f.Served())/jump.Seconds())}
	if f.Waited > 0 {
		parts = append(parts, fmt.Sprintf("%d of them after waiting in the gateway", f.Waited))
	}
	if f.RefusedTotal() > 0 {
		parts = append(parts, byReason(f.Refused)+" refused")
	}
	if f.FailedTotal() > 0 {
		parts = append(parts, byReason(f.Failed)+" failed")
	}
	if f.GivenUp > 0 {
		parts = append(parts, fmt.Sprintf("%d still waiting when the run ended", f.GivenUp))
	}
	return strings.Join(parts, ", ")
}

func (c *Comparison) wronged(way int) (n int) {
	for _, r := range c.Rows {
		n += r.Treated[way].Wronged
	}
	return n
}

// void says why the comparison tells nothing, or "".
func (c *Comparison) void() string {
	var why []string
	for _, p := range c.Plays {
		if p.Void != "" {
			why = append(why, fmt.Sprintf("play %q: %s", p.Through, p.Void))
		}
	}
	return strings.Join(why, "; ")
}

// available is the share of what was within the quota that was served. Only all of it is 100 %.
func (t *treatment) available() string {
	if t.Within == 0 {
		return "-"
	}
	return percent(t.Within-t.Wronged, t.Within)
}

func percent(part, of int) string {
	switch {
	case of == 0:
		return "-"
	case part == of:
		return "100 %"
	}
	return fmt.Sprintf("%.2f %%", math.Floor(10000*float64(part)/float64(of))/100)
}

var compareHead = []string{
	"caller", "through", "offered", "served", "within quota", "wrongly refused", "availability", "p50", "p99", "jump p50", "jump p99",
}

// cells are the lines of the table. The kind of caller stands in the first of its three.
func (c *Comparison) cells() [][]string {
	var lines [][]string
	for _, r := range c.Rows {
		name := title(r.Callers, r.Name)
		for _, t := range r.Treated {
			f := &t.Whole
			lines = append(lines, []string{
				name, t.Through, fmt.Sprint(f.Offered), percent(f.Served(), f.Offered),
				fmt.Sprint(t.Within), fmt.Sprint(t.Wronged), t.available(), of(f, f.P50), of(f, f.P99), of(&t.Jump, t.Jump.P50), of(&t.Jump, t.Jump.P99),
			})
			name = ""
		}
	}
	return lines
}

// notes stand under the table, a paragraph each.
func (c *Comparison) notes() []string {
	notes := []string{
		"wrongly refused: refused, failed or timed out although the caller was surely within its own quota at that moment; availability: the share of what was within quota that was served. " +
			"Who is always over his quota is surely within it only at first. " +
			"Latencies in ms, of served requests, from the moment they were meant to be sent; jump: of what was sent while the offender jumped.",
		fmt.Sprintf("The upstream is the same in all plays: it works on %d requests at a time, in order of arrival; %d more may wait, what comes then is answered 503. "+
			"Whose client has left keeps its place. A chat takes 20 ms of a worker, an export 200 ms.", c.Workers, c.Backlog),
		fmt.Sprintf("The flat limit: %s. It refused %d in quiet time.", c.FlatWhy, c.Plays[flatly].Quiet),
	}
	for _, p := range c.Plays {
		notes = append(notes, fmt.Sprintf("%s, %s: %s.", spider, p.Through, p.Offender))
	}
	return notes
}

func (c *Comparison) print(out io.Writer) {
	fmt.Fprintf(out, "promo, seed %d, played %d times.\n\n", c.Seed, ways)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, line := range append([][]string{compareHead}, c.cells()...) {
		fmt.Fprintln(w, strings.Join(line, "\t")+"\t")
	}
	w.Flush()
	for _, note := range c.notes() {
		fmt.Fprintf(out, "\n%s\n", wrap(note, 120))
	}
	fmt.Fprintln(out)
	for _, p := range c.Plays {
		var lag tally.Millis
		for _, phase := range p.Phases {
			lag = max(lag, phase.LagP99)
		}
		fmt.Fprintf(out, "generator's lag, %s: p99 %v ms in the worst phase\n", p.Through, lag)
	}
	fmt.Fprintf(out, "\n%s\n", c.Command)
	switch n := c.wronged(gated); {
	case c.void() != "":
		fmt.Fprintln(out, "\nVOID: nothing above counts.")
	case n > 0:
		fmt.Fprintf(out, "\ntidegate wrongly refused %d.\n", n)
		for _, r := range c.Rows {
			if t := r.Treated[gated]; t.Wronged > 0 {
				fmt.Fprintf(out, "%s: %s\n", title(r.Callers, r.Name), byReason(t.Why))
			}
		}
	default:
		fmt.Fprintln(out, "\ntidegate wrongly refused nobody.")
	}
}

// printMarkdown prints what can be pasted into a document.
func (c *Comparison) printMarkdown(out io.Writer) {
	row := func(cells []string) { fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | ")) }
	row(compareHead)
	fmt.Fprintf(out, "| --- | --- |%s\n", strings.Repeat(" ---: |", len(compareHead)-2))
	for _, line := range c.cells() {
		row(line)
	}
	for _, note := range c.notes() {
		fmt.Fprintf(out, "\n%s\n", note)
	}
	fmt.Fprintf(out, "\n    %s\n", c.Command)
	if c.void() != "" {
		fmt.Fprintln(out, "\n**Void: nothing above counts.**")
	}
}

// wrap breaks a paragraph between words, so that no line has more than width characters unless one word has.
func wrap(text string, width int) string {
	var b strings.Builder
	line := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case line+1+len(word) > width:
			b.WriteByte('\n')
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}
