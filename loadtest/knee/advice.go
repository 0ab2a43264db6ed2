package knee

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Wishes are what the user knows and the upstream cannot say.
type Wishes struct {
	Pool, Semantic, Level string  // names in the config
	Callers               int     // that share the rate; at least 1
	Headroom              float64 // share of the knee's throughput that is promised to nobody, from 0 to below 1
}

// Advice is what the config should say.
type Advice struct {
	Seats    int
	PoolRate float64 // what all callers together may be promised, a second
	Rate     string  // for each caller, as the config writes it
	MaxWait  time.Duration
	Ceiling  bool // the rate should be one, as the upstream itself turns away what is beyond
}

// Advise turns a curve into advice.
func Advise(c *Curve, w Wishes) Advice {
	rate := (1 - w.Headroom) * min(c.Knee.Goodput, c.Seats.Highest)
	return Advice{
		Seats:    c.Seats.Seats,
		PoolRate: rate,
		Rate:     configRate(rate / float64(w.Callers)),
		MaxWait:  configWait(waits * c.Seats.High),
		Ceiling:  c.Beyond != nil && c.Beyond.Verdict == Refused,
	}
}

// waits is how many times its own latency a request may wait. It is a matter of taste: who waits ten times as long as the
// work takes would rather have been told. Where there is an objective for the whole, that less the latency is better.
const waits = 10

// configRate writes a rate, a second, as the config does, rounded down to two digits. Below ten a second
// it is counted over a minute, below ten a minute over an hour, so that it stays a whole number.
func configRate(rate float64) string {
	for _, span := range []struct {
		seconds float64
		name    string
	}{{1, "s"}, {60, "60s"}, {3600, "1h"}} {
		if n := rate * span.seconds; n >= 10 || span.seconds == 3600 {
			digit := math.Pow(10, max(0, math.Floor(math.Log10(max(n, 1)))-1))
			return fmt.Sprintf("%.0f/%s", max(1, math.Floor(n/digit+1e-9)*digit), span.name)
		}
	}
	panic("unreachable")
}

// configWait rounds up to 1, 2 or 5 times a power of ten of milliseconds, from 100 ms to a minute.
func configWait(d time.Duration) time.Duration {
	for unit := 100 * time.Millisecond; unit < time.Minute; unit *= 10 {
		for _, step := range []time.Duration{1, 2, 5} {
			if d <= step*unit {
				return min(step*unit, time.Minute)
			}
		}
	}
	return time.Minute
}

// TOML is the piece of the config, with the reasons beside it.
func (a Advice) TOML(c *Curve, w Wishes) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	because := func(format string, args ...any) { comment(&b, fmt.Sprintf(format, args...)) }
	line("[[pools]]")
	line("name = %q", w.Pool)
	because("%.1f in flight at the knee, by Little's law: %s/s x %s. %s",
		c.Knee.Goodput*c.Knee.Mean.Seconds(), figure(c.Knee.Goodput), short(c.Knee.Mean), c.seatReason())
	line("seats = %d", a.Seats)
	line("")
	line("[[semantics]]")
	line("name = %q", w.Semantic)
	line("level = %q   # one of yours", w.Level)
	because("%s/s is the most that was served with latency within its limit. Less %.0f %% of headroom, for bad days and "+
		"for what this one request does not show, it is %s/s for all callers of the pool together. %s Beyond its rate a caller still gets what is idle.",
		figure(c.Knee.Goodput), 100*w.Headroom, figure(a.PoolRate), shares(w.Callers))
	line("rate = %q", a.Rate)
	if a.Ceiling {
		because("The upstream turns away what is beyond a rate of its own, so that the rate here is a ceiling: what is beyond it waits.")
		line(`over_rate = "pace"`)
	}
	because("Such a request holds a seat for %s. Where a kind of work holds one n times as long, cost = n makes both worth "+
		"the same under one caller_rate; no cost may be more than its rate.", short(c.service()))
	line("cost = 1")
	because("%d times the %s that nearly all stay under at the upstream: who would wait longer has rather been told. "+
		"At %s/s no more than %d requests wait that long.", waits, short(c.Seats.High), figure(c.Seats.Highest), int(math.Ceil(c.Seats.Highest*a.MaxWait.Seconds())))
	line("max_wait = %q", a.MaxWait)
	return b.String()
}

func shares(callers int) string {
	if callers > 1 {
		return fmt.Sprintf("This is for each of %d.", callers)
	}
	return "This is for one; divide it by how many are busy at the same time."
}

// seatReason says where the number of seats comes from.
func (c *Curve) seatReason() string {
	s := &c.Seats
	switch {
	case s.Measured:
		return fmt.Sprintf("Some of that may be the upstream's own queue, so it was tried: behind a queue, %d seats serve %s/s "+
			"and plenty of seats %s/s. No headroom: more seats than work can use only move the queue into the upstream.", s.Nearest, figure(s.Goodput), figure(s.Highest))
	case c.Beyond == nil:
		return "The knee was not reached: this is the least that is known to be good, not the most. Headroom: rounded up."
	case c.Beyond.Verdict == Refused:
		return "The upstream turns away by a limit of its own and not for lack of places. Headroom: rounded up."
	}
	return "It was not tried behind seats, so that the upstream's own queue may be part of it. Headroom: rounded up."
}

// comment writes a text as comments of a bearable width.
func comment(b *strings.Builder, text string) {
	const width = 110
	column := 0
	for word := range strings.FieldsSeq(text) {
		if column > 0 && column+1+len(word) > width {
			b.WriteByte('\n')
			column = 0
		}
		if column == 0 {
			b.WriteByte('#')
			column = 1
		}
		b.WriteString(" " + word)
		column += 1 + len(word)
	}
	b.WriteByte('\n')
}

// figure writes a rate with as many digits as it is good for.
func figure(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.2g", rate)
	}
	return fmt.Sprintf("%.0f", rate)
}

// short writes a latency in milliseconds, or in seconds from ten on.
func short(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
