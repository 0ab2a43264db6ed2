package scheduler

import (
	"time"

	"tidegate/pools"
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

// SaveMeters tells what the flows and callers whose rate pays over atLeast or longer have paid, those from before a restart
// included that have not come again since. flow and caller are called outside the lock, which is never held for more than
// 1,000 of them. One that comes while this goes on may be told twice: the later holds. The ages are those of the moment
// each was looked at, so give Restore a pause that begins when this has returned: a little too short, and nothing is given back.
func (s *Scheduler) SaveMeters(atLeast time.Duration, flow func(SavedFlow), caller func(SavedCaller)) {
	walk(s, func(now time.Time, i int, into []unmetMeter) ([]unmetMeter, int) {
		return s.core.unmetMeters(now, i, atLeast, into)
	}, func(u unmetMeter) {
		m := pools.RestoreMeter(u.saved, s.core.moment(u.at))
		switch saved, some := m.Save(time.Now()); {
		case !some:
		case u.key.Semantic == noSemantic:
			caller(SavedCaller{u.key.Caller, saved})
		default:
			flow(SavedFlow{u.key, saved})
		}
	})
	walk(s, func(now time.Time, i int, into []SavedFlow) ([]SavedFlow, int) {
		return s.core.flowMeters(now, i, atLeast, into)
	}, flow)
	walk(s, func(now time.Time, i int, into []SavedCaller) ([]SavedCaller, int) {
		return s.core.callerMeters(now, i, atLeast, into)
	}, caller)
}
