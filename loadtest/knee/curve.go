package knee

import "time"

// End says why a calibration ended.
type End uint8

// The ends. With Found and NoKnee it is complete; with the others it is known what Curve.Knee and Curve.Beyond say.
const (
	Unfinished    End = iota
	Found             // the knee is in the bracket
	NoKnee            // the highest load that is allowed is carried
	GeneratorLate     // the generator cannot send more, on this machine
	NoConnections     // the generator may not have more connections
	OutOfTime
	Interrupted
	Trouble      // too many answers were errors
	NotRecovered // after a step the upstream did not become quick again
)

var endNames = [...]string{"unfinished", "found", "no_knee", "generator_late", "no_connections", "out_of_time", "interrupted", "trouble", "not_recovered"}

func (e End) String() string { return endNames[e] }

// Curve is what is known of an upstream.
type Curve struct {
	Unloaded Step
	Limit    time.Duration // of the high quantile of latency
	Steps    []Step        // in the order played, the one without load first
	Knee     Step          // the highest load that was carried: the one without load, if no other
	Beyond   *Step         // the lowest load above it that was not, one of Steps; nil: none was
	Seats    Seats
	End      End
}

// note keeps a step, and what it means for the bracket.
func (c *Curve) note(s Step) {
	c.Steps = append(c.Steps, s)
	if s.Verdict == Carried && s.Load.Rate >= c.Knee.Load.Rate {
		c.Knee = s
	}
	// From the start each time: one that was late at first and carried then is beyond nothing.
	c.Beyond = nil
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Verdict != Carried && s.Verdict != Void && s.Load.Rate > c.Knee.Load.Rate &&
			(c.Beyond == nil || s.Load.Rate < c.Beyond.Load.Rate) {
			c.Beyond = s
		}
	}
}

// service is the mean latency without a queue: the least that was seen, as a queue only ever adds to it. Steps
// with few requests are left out, for their mean is luck.
func (c *Curve) service() time.Duration {
	least := c.Unloaded.Mean
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Verdict == Carried && s.Requests >= 100 {
			least = min(least, s.Mean)
		}
	}
	return least
}
