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
	rate := (1 - w.Headroom) * min(c.Knee.Goodput, c.Seats.Goodput)
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
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("[[pools]]")
	say("name = %q", w.Pool)
	for _, line := range c.seatReasons() {
		say("# %s", line)
	}
	say("seats = %d", a.Seats)
	say("")
	say("[[semantics]]")
	say("name = %q", w.Semantic)
	say("level = %q   # one of yours", w.Level)
	say("# %s/s were served with %s %s. Without %.0f %% of headroom that is %s/s for all",
		figure(c.Knee.Goodput), "latency within its limit,", "the highest that was carried", 100*w.Headroom, figure(a.PoolRate))
	if w.Callers > 1 {
		say("# callers together, and this for each of %d.", w.Callers)
	} else {
		say("# callers together: this is for one; divide it by how many share the pool at the same time.")
	}
	say("rate = %q", a.Rate)
	if a.Ceiling {
		say("# The upstream turns away what is beyond its own rate, so ours is a ceiling: what is beyond it waits here.")
		say("over_rate = \"pace\"")
	}
	say("# One request holds a seat for %s. A kind of work that takes n times as long should cost n, where", short(c.service()))
	say("# both are paid from the same caller_rate.")
	say("cost = 1")
	say("# %d times the high latency of %s with all seats in use: a longer wait would be most of what the caller", waits, short(c.Seats.High))
	say("# feels. At %s/s at most %d requests then wait without being told.", figure(c.Seats.Goodput), int(math.Ceil(c.Seats.Goodput*a.MaxWait.Seconds())))
	say("max_wait = %q", a.MaxWait)
	return b.String()
}

// seatReasons says where the number of seats comes from.
func (c *Curve) seatReasons() []string {
	law := fmt.Sprintf("%.1f in flight at the knee, by Little's law: %s/s x %s.", c.Knee.Goodput*c.Knee.Mean.Seconds(), figure(c.Knee.Goodput), short(c.Knee.Mean))
	switch {
	case c.Seats.Measured:
		return []string{
			law + " Some of that is the upstream's own queue,",
			fmt.Sprintf("so it was tried: with %d seats and a queue in front it serves %s/s, and more seats", c.Seats.Seats, figure(c.Seats.Goodput)),
			"only make its own queue longer. Headroom: none; it is in the rates.",
		}
	case c.Beyond == nil:
		return []string{law, "The knee was not reached, so this is the least that is known to be good, not the most. Headroom: rounded up."}
	case c.Beyond.Verdict == Refused:
		return []string{law, "The upstream refuses by a limit of its own and not for lack of places. Headroom: rounded up."}
	}
	return []string{law, "It was not tried behind seats, so the upstream's own queue is part of it. Headroom: rounded up."}
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
