package scheduler

import "time"

// Judged is what enforcing would have made of an item whose rule observes. It is a copy: it holds no
// memory of the request.
type Judged struct {
	Flow    *Flow // the one that the request came with
	Name    string
	Verdict Verdict // Granted, Gone, or why it would have been turned away
	Band    Band    // at dispatch, or where it stood when it was turned away
	Paid    bool    // the rate had covered it by the time it was dispatched
	OnTime  bool    // the rate covered it on arrival
	Breach  bool    // turning it away would have broken the promise; see Item.Breach
	Waited  bool    // it would not have been decided at once

	Wait     time.Duration // from arrival to the verdict
	Estimate time.Duration // the wait expected at arrival; negative: unknown
	Back     time.Duration // turned away: when to come back
	Place    int           // its place in its flow at arrival; 0: did not wait
	Quota    Quota         // of the flow's rate, just after the verdict
	Load     Load          // turned away: how full its pool would have been
	At       time.Time     // of the verdict
}

// mostJudged is how many would-be decisions are kept until somebody asks for them: what ten thousand requests
// a second bring in more than a second, and some 5 MB.
const mostJudged = 1 << 14

// judged keeps would-be decisions until they are asked for.
type judged struct {
	kept []Judged
	lost uint64
}

// Judged hands out the would-be decisions since the last call, in the order in which they fell; the slice is
// the caller's. It has to be asked several times a second while anything observes: past 16,384 that nobody has
// asked for, the later ones are lost, and counted in Stats.Unheard.
//
// Each item whose rule observes is told once, when it would have been decided; that may be long after its
// request was served. Those that would still be waiting when the last rule stops observing are told as Draining.
// An item that arrives while the setup says that nothing observes is not told at all, whatever its rule says.
func (c *Core) Judged() []Judged {
	j := c.judged.kept
	c.judged.kept = nil
	return j
}

func (j *judged) tell(g *ghost, waited bool) {
	if len(j.kept) == mostJudged {
		j.lost++
		return
	}
	it := &g.item
	told := Judged{
		Flow: g.flow, Name: g.name, Verdict: it.Verdict, Band: it.Band, Paid: it.Paid, OnTime: it.OnTime, Breach: it.Breach(),
		Waited: waited, Wait: it.Waited, Estimate: it.Estimate, Back: it.Back, Place: it.Place, Quota: it.Quota, Load: it.Load,
		At: g.of.core.moment(it.arrived + int64(it.Waited)),
	}
	j.kept = append(j.kept, told)
}
