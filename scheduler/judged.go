package scheduler

import "time"

// Judged is what enforcing would have made of an item whose rule observes. It is a copy: it holds no
// memory of the request.
type Judged struct {
	Flow    *Flow // the one that the request came with
	Name    string
	Verdict Verdict // Granted, Gone, or why it would have been turned away
	Band    Band    // at dispatch, or where it stood when it was turned away
	Paid    bool    // the rate would have covered it when it was dispatched
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
