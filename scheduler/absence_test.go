package scheduler

import (
	"testing"
	"time"
)

// stood sends paid work to four seats until some of it waits, lets nobody do anything for a while but what
// meanwhile does, and then has forty more arrive at once, before anything that has ended is told.
func stood(t *testing.T, away time.Duration, meanwhile func(c *Core, at time.Time, f *Flow)) (refused int) {
	t.Helper()
	c := NewCore(t0, onePool(4, 2))
	tm := terms(rule(1000, time.Second, "realtime", 5*time.Second))
	now := t0
	arrive := func() *Item {
		it := &Item{Flow: c.Meter(now, key(1, chat), tm), MaxWait: 5 * time.Second}
		c.Arrive(now, it)
		return it
	}
	for range 100 { // it is known to take 20 ms
		it := arrive()
		now = now.Add(20 * time.Millisecond)
		c.Release(it, now)
		c.Unpin(it.Flow)
	}
	var flow *Flow
	for range 8 {
		flow = arrive().Flow
	}
	for at := now.Add(20 * time.Millisecond); meanwhile != nil && at.Before(now.Add(away)); at = at.Add(20 * time.Millisecond) {
		meanwhile(c, at, flow)
	}
	now = now.Add(away)
	for range 40 {
		if arrive().Verdict == WaitTooLong {
			refused++
		}
	}
	return refused
}

func TestTimeInWhichTheProcessStoodStillMakesNoQueueLookStuck(t *testing.T) {
	for _, away := range []time.Duration{200 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second} {
		if n := stood(t, away, nil); n != 0 {
			t.Errorf("after %v: %d of 40 refused at the door, and four seats serve 200 a second", away, n)
		}
	}
}

// The core is asked all the time, and nobody's work ends: then it is the upstream that stands still.
func TestTimeInWhichTheUpstreamStoodStillCounts(t *testing.T) {
	asks := func(c *Core, at time.Time, f *Flow) { c.Quota(at, f) }
	if n := stood(t, 1500*time.Millisecond, asks); n != 40 {
		t.Errorf("%d of 40 refused at the door of an upstream that has done nothing for 1.5 s", n)
	}
}
