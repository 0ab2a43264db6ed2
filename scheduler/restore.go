package scheduler

import (
	"cmp"
	"slices"
	"time"

	"tidegate/pools"
)

// SavedFlow is what the rate of one flow had paid.
type SavedFlow struct {
	Key   Key
	Meter pools.Saved
}

// SavedCaller is what the rate of all flows of one caller had paid.
type SavedCaller struct {
	Caller int32
	Meter  pools.Saved
}

// unmet are meters from before a restart whose flows, or callers, have not come yet. Each is forgotten once it is idle: a new
// one will do then.
type unmet struct {
	byKey map[Key]*unmetMeter
	order []*unmetMeter // the one that is idle first comes last
}

type unmetMeter struct {
	key   Key
	saved pools.Saved
	at    int64 // core time that it was saved at
	idle  int64 // core time from which it is
	met   bool
}

// noSemantic is the semantic of the key that the meter of a whole caller is kept under.
const noSemantic int32 = -1

func callerKey(id int32) Key { return Key{Caller: id, Semantic: noSemantic, Route: NoRoute} }

// Restore gives the core what an earlier one had paid, ago before now; below 0 it counts as 0. A flow or caller that is made
// later goes on from there, under the limit that its own rule has by then. Call it before the first arrival: it replaces what
// was restored before and has not been met. What is idle by now is passed over, what is not valid likewise, and past MaxFlows
// what will be idle first; of two with one key the later holds. It returns how many it kept.
func (c *Core) Restore(now time.Time, flows []SavedFlow, callers []SavedCaller, ago time.Duration) (kept int) {
	c.advance(now)
	at := c.ns - int64(max(ago, 0))
	u := unmet{byKey: make(map[Key]*unmetMeter)}
	add := func(k Key, s pools.Saved) {
		if s.Valid() != nil {
			return
		}
		m := pools.RestoreMeter(s, c.moment(at))
		if idle := c.core(m.Ready(c.moment(at), s.Limit.Depth())); idle > c.ns {
			u.byKey[k] = &unmetMeter{key: k, saved: s, at: at, idle: idle}
		}
	}
	for _, s := range flows {
		add(s.Key, s.Meter)
	}
	for _, s := range callers {
		add(callerKey(s.Caller), s.Meter)
	}
	for _, m := range u.byKey {
		u.order = append(u.order, m)
	}
	slices.SortFunc(u.order, func(a, b *unmetMeter) int { return cmp.Compare(b.idle, a.idle) })
	for len(u.order) > c.setup.MaxFlows {
		u.forgetLast()
	}
	c.unmet = u
	return len(u.order)
}

func (u *unmet) forgetLast() {
	last := len(u.order) - 1
	if m := u.order[last]; !m.met {
		delete(u.byKey, m.key)
	}
	u.order[last] = nil
	u.order = u.order[:last]
}

// expire forgets up to n meters that are idle.
func (u *unmet) expire(ns int64, n int) {
	for ; n > 0 && len(u.order) > 0 && u.order[len(u.order)-1].idle <= ns; n-- {
		u.forgetLast()
	}
}

// meter is what the flow or caller of key starts with: the meter that it had before the restart, brought under the limit that
// holds now, or a new one.
func (c *Core) meter(key Key, l pools.Limit) pools.Meter {
	before := c.unmet.byKey[key]
	if before == nil {
		return pools.NewMeter(l, c.now)
	}
	delete(c.unmet.byKey, key)
	m := pools.RestoreMeter(before.saved, c.moment(before.at))
	m.SetLimit(c.now, l)
	before.saved, before.met = pools.Saved{}, true
	return m
}
