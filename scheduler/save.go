package scheduler

import (
	"time"
)

// saveChunk is how many meters are saved while the lock is held; a full window takes some microseconds.
const saveChunk = 200

// Meters worth keeping are saved chunk by chunk: each of the three appends to into those from number i on whose rate pays
// over atLeast or longer, and returns the number to go on from; 0: those were the last.

func (c *Core) flowMeters(now time.Time, i int, atLeast time.Duration, into []SavedFlow) ([]SavedFlow, int) {
	c.advance(now)
	part := c.flowSlots.from(i, saveChunk)
	for _, f := range part {
		if f == nil || f.meter.Limit().Per < atLeast {
			continue
		}
		if s, some := f.meter.Save(c.now); some {
			into = append(into, SavedFlow{f.Key, s})
		}
	}
	return into, after(i, len(part))
}

func (c *Core) callerMeters(now time.Time, i int, atLeast time.Duration, into []SavedCaller) ([]SavedCaller, int) {
	c.advance(now)
	part := c.callerSlots.from(i, saveChunk)
	for _, cl := range part {
		if cl == nil || cl.limit == nil || cl.limit.Per < atLeast {
			continue
		}
		if s, some := cl.meter.Save(c.now); some {
			into = append(into, SavedCaller{cl.id, s})
		}
	}
	return into, after(i, len(part))
}

// unmetMeters are those not met since a restart, as they were saved then: bringing them to the present needs no lock.
func (c *Core) unmetMeters(now time.Time, i int, atLeast time.Duration, into []unmetMeter) ([]unmetMeter, int) {
	c.advance(now)
	n := 0
	for ; n < chunk && i+n < len(c.unmet.order); n++ {
		if m := c.unmet.order[i+n]; !m.met && m.saved.Limit.Per >= atLeast {
			into = append(into, *m)
		}
	}
	return into, after(i, n)
}

// after is the number to go on from after n from number i on.
func after(i, n int) int {
	if n == 0 {
		return 0
	}
	return i + n
}
