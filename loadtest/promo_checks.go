package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

// Check is one thing that the gateway promises, and whether it held.
type Check struct {
	Name   string `json:"name"`
	Figure string `json:"figure"`
	Held   bool   `json:"held"`
}

// The bounds that the checks hold the gateway to.
const (
	vipFactor   = 1.2
	vipSlack    = tally.Millis(3 * time.Millisecond)
	verdictIn   = time.Second
	shareBelow  = 0.8 // of the calculated share of the surge ceiling
	shareAbove  = 1.2
	shareSettle = 2 * time.Second // of the jump, before the share is measured: until the verdict, the surge is mere excess
	quotaWindow = 2               // seconds over which the offender must get its quota
)

// sighted is a surge that the gateway told of, in the time of the run.
type sighted struct {
	Caller   string       `json:"caller"`
	Semantic string       `json:"semantic"`
	At       tally.Millis `json:"at_ms"` // since the start of the run
}

// evidence is all that the checks look at.
type evidence struct {
	rows     []Row
	surges   []sighted
	jumpFrom time.Duration
	jumpTo   time.Duration
	spider   []int   // served, by second of the run
	share    float64 // of the surge ceiling, calculated, a second
	// brokenBySemantic is the gateway's own count of broken promises.
	brokenBySemantic map[string]float64
	counts           upstream.Counts
	stopped          error
}

func (e *evidence) row(name string) *Row {
	i := slices.IndexFunc(e.rows, func(r Row) bool { return r.Name == name })
	return &e.rows[i]
}

// verdictDelay is the time from the jump to the verdict on the offender.
func (e *evidence) verdictDelay() (delay time.Duration, found bool) {
	for _, s := range e.surges {
		if s.Caller == spider && time.Duration(s.At) >= e.jumpFrom {
			return time.Duration(s.At) - e.jumpFrom, true
		}
	}
	return 0, false
}

// falseSurges are the verdicts on everybody else, and on the offender before its jump.
func (e *evidence) falseSurges() []string {
	var found []string
	for _, s := range e.surges {
		if s.Caller != spider || time.Duration(s.At) < e.jumpFrom {
			found = append(found, fmt.Sprintf("%s (%s) at %.1f s", s.Caller, s.Semantic, time.Duration(s.At).Seconds()))
		}
	}
	return found
}

func judge(e *evidence) []Check {
	return []Check{
		e.promiseKept(), e.vipUndisturbed(), e.verdictInTime(), e.noFalseSurge(), e.overServed(),
		e.spiderQuota(), e.spiderShare(), e.comeBack(), e.seatsKept(), e.allAnswered(), e.countedAsDefault(), endedInOrder(e.stopped),
	}
}

func (e *evidence) promiseKept() Check {
	byClient := 0
	for _, r := range e.rows {
		if r.Name != spider {
			byClient += r.Whole.Broken
		}
	}
	// The gateway counts by semantic. The offender has export in common with the exporter, whose own refusals the
	// client sees in full.
	byGateway, exports := 0.0, 0.0
	for semantic, n := range e.brokenBySemantic {
		if semantic == "export" {
			exports += n
		} else {
			byGateway += n
		}
	}
	return Check{
		Name: "nobody but " + spider + " has a request refused within its rate",
		Figure: fmt.Sprintf("%d as the clients can tell; the gateway counts %.0f, and %.0f of export, which %s shares",
			byClient, byGateway, exports, spider),
		Held: byClient == 0 && byGateway == 0 && (exports == 0 || e.row("exporter").Whole.RefusedTotal() == 0),
	}
}

func (e *evidence) vipUndisturbed() Check {
	vip := e.row("vip-1")
	bound := tally.Millis(vipFactor*float64(vip.Quiet.P99)) + vipSlack
	return Check{
		Name: fmt.Sprintf("the VIP's p99 is at most %.1f times its quiet p99 plus %v ms", vipFactor, vipSlack),
		Figure: fmt.Sprintf("quiet %v ms, jump %v ms, overall %v ms, bound %v ms; %d refused, %d failed",
			vip.Quiet.P99, vip.Jump.P99, vip.Whole.P99, bound, vip.Whole.RefusedTotal(), vip.Whole.FailedTotal()),
		Held: vip.Quiet.Served() > 0 && vip.Jump.Served() > 0 && vip.Jump.P99 <= bound && vip.Whole.P99 <= bound &&
			vip.Whole.RefusedTotal() == 0 && vip.Whole.FailedTotal() == 0,
	}
}

func (e *evidence) verdictInTime() Check {
	c := Check{Name: fmt.Sprintf("a surge verdict on %s within %v of its jump", spider, verdictIn), Figure: "no verdict"}
	if delay, found := e.verdictDelay(); found {
		c.Figure = fmt.Sprintf("%d ms", delay.Milliseconds())
		c.Held = delay <= verdictIn
	}
	return c
}

func (e *evidence) noFalseSurge() Check {
	found := e.falseSurges()
	c := Check{Name: "no surge verdict on the morning, the one steadily over, or anybody else", Figure: "none", Held: len(found) == 0}
	if !c.Held {
		c.Figure = strings.Join(found, ", ")
	}
	return c
}

func (e *evidence) overServed() Check {
	over := e.row("steady-over").Whole
	return Check{
		Name:   "steady-over is served from the headroom",
		Figure: fmt.Sprintf("%d of %d served, %d refused", over.Served(), over.Offered, over.RefusedTotal()),
		Held:   over.Offered > 0 && over.Served() == over.Offered,
	}
}

// spiderQuota looks at each window of the jump: what was served in it must reach the quota.
func (e *evidence) spiderQuota() Check {
	from, to := int((e.jumpFrom+time.Second-1)/time.Second), int(e.jumpTo/time.Second)
	least := -1
	for second := from; second+quotaWindow <= to; second++ {
		n := 0
		for _, served := range e.spider[second : second+quotaWindow] {
			n += served
		}
		if least < 0 || n < least {
			least = n
		}
	}
	// One answer of 200 ms work may fall to the other side of either end of a window.
	want := spiderQuota*quotaWindow - 1
	return Check{
		Name:   fmt.Sprintf("%s gets its %d/s in every %d s of the jump", spider, spiderQuota, quotaWindow),
		Figure: fmt.Sprintf("at least %d in %d s", least, quotaWindow),
		Held:   least >= want,
	}
}

// beyondQuota is what the offender got in the jump beyond its quota, a second, once the verdict had settled.
func (e *evidence) beyondQuota() float64 {
	from, to := int((e.jumpFrom+shareSettle)/time.Second), int(e.jumpTo/time.Second)
	sum := 0
	for _, served := range e.spider[from:to] {
		sum += served
	}
	return float64(sum)/float64(to-from) - spiderQuota
}

func (e *evidence) spiderShare() Check {
	got, low, high := e.beyondQuota(), shareBelow*e.share, shareAbove*e.share
	return Check{
		Name: fmt.Sprintf("%s also gets what the surge ceiling leaves, about %.0f/s", spider, e.share),
		Figure: fmt.Sprintf("%.0f/s beyond its %d/s; bound %.0f to %.0f (%.0f %% to %.0f %% of the calculated share)",
			got, spiderQuota, low, high, shareBelow*100, shareAbove*100),
		Held: got >= low && got <= high,
	}
}

func (e *evidence) comeBack() Check {
	refused, without := 0, 0
	for _, r := range e.rows {
		refused += r.Whole.RefusedTotal()
		without += r.Whole.NoRetry
	}
	return Check{
		Name:   "every refusal says in whole seconds when to come back",
		Figure: fmt.Sprintf("%d refusals, %d without", refused, without),
		Held:   without == 0,
	}
}

func (e *evidence) seatsKept() Check {
	c := e.counts
	shared, vip := c.Groups[upstream.Rest], c.Groups["vip"]
	return Check{
		Name: "in flight at the upstream never above the seats",
		Figure: fmt.Sprintf("%d of %d in all, %d of %d shared, %d of %d vip",
			c.Peak, sharedSeats+vipSeats, shared.Peak, sharedSeats, vip.Peak, vipSeats),
		// Without work of the VIP the upstream cannot tell the pools apart.
		Held: c.Peak <= sharedSeats+vipSeats && shared.Peak <= sharedSeats && vip.Peak <= vipSeats && vip.Served > 0,
	}
}

func (e *evidence) allAnswered() Check {
	failed, reasons := 0, []string{}
	for _, r := range e.rows {
		failed += r.Whole.FailedTotal()
		for reason, n := range r.Whole.Failed {
			reasons = append(reasons, fmt.Sprintf("%s: %d %s", r.Name, n, reason))
		}
		if r.Name != spider && r.Whole.GivenUp > 0 {
			failed += r.Whole.GivenUp
			reasons = append(reasons, fmt.Sprintf("%s: %d still out at the end", r.Name, r.Whole.GivenUp))
		}
	}
	slices.Sort(reasons)
	c := Check{Name: "every request is answered, none with a 5xx", Figure: fmt.Sprintf("%d failed", failed), Held: failed == 0}
	if !c.Held {
		c.Figure += " (" + strings.Join(reasons, ", ") + ")"
	}
	return c
}

// countedAsDefault holds that leaving the tag out gains nothing where a route accepts several semantics.
func (e *evidence) countedAsDefault() Check {
	tags := e.counts.Tags["untagged"]
	other := []string{}
	for semantic, n := range tags {
		if semantic != "default" {
			other = append(other, fmt.Sprintf("%d as %q", n, semantic))
		}
	}
	slices.Sort(other)
	return Check{
		Name:   "who never tags is counted as default where a route accepts two semantics",
		Figure: strings.Join(append([]string{fmt.Sprintf("%d as default", tags["default"])}, other...), ", "),
		Held:   tags["default"] > 0 && len(other) == 0,
	}
}

func endedInOrder(stopped error) Check {
	c := Check{Name: "the gateway ends in order on SIGTERM", Figure: "it did", Held: stopped == nil}
	if !c.Held {
		c.Figure = stopped.Error()
	}
	return c
}
