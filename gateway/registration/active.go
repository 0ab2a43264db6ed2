package registration

import (
	"maps"
	"sync/atomic"
)

// active is the set of registrations that act, as requests ask for it: without a lock, by index. A change copies one
// of its shards, so its cost does not grow with all that is registered.
type active struct {
	shards [64]atomic.Pointer[map[pair]struct{}]
}

// pair is a caller and a semantic by their indexes.
type pair struct{ caller, semantic int32 }

func (a *active) shard(caller int32) *atomic.Pointer[map[pair]struct{}] {
	return &a.shards[uint32(caller)%uint32(len(a.shards))]
}

func (a *active) has(p pair) bool {
	m := a.shard(p.caller).Load()
	if m == nil {
		return false
	}
	_, ok := (*m)[p]
	return ok
}

// set puts a pair in or takes it out. Writers take turns.
func (a *active) set(p pair, in bool) {
	if p.caller == 0 || p.semantic == 0 || a.has(p) == in {
		return
	}
	shard := a.shard(p.caller)
	next := map[pair]struct{}{}
	if m := shard.Load(); m != nil {
		next = maps.Clone(*m)
	}
	if in {
		next[p] = struct{}{}
	} else {
		delete(next, p)
	}
	shard.Store(&next)
}

// replace makes the given pairs the set. A pair that was and stays in is never missing in between.
func (a *active) replace(pairs []pair) {
	var next [len(a.shards)]map[pair]struct{}
	for i := range next {
		next[i] = map[pair]struct{}{}
	}
	for _, p := range pairs {
		next[uint32(p.caller)%uint32(len(next))][p] = struct{}{}
	}
	for i := range next {
		a.shards[i].Store(&next[i])
	}
}
