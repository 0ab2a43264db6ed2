package gateway

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tidegate/gateway/config"
	"tidegate/pools"
)

// addressLimit bounds the rate of every client address before any key is looked at. An address has a token
// bucket of N refilled over D: a tenth of a window's memory, and this is protection, not a promise;
// in any D at most 2N pass.
//
// The table is bounded. When a shard is full, addresses whose bucket is full again give way, which takes nothing from
// anybody: a new bucket is as full. If there is none, new addresses share one bucket of the shard, so that a
// flood of invented addresses cannot push out the ones that are being held back. Safe for concurrent use.
type addressLimit struct {
	limit  atomic.Pointer[pools.Limit] // nil: off
	seed   maphash.Seed
	shards [addressShards]addressShard
}

const (
	addressShards  = 64
	shardAddresses = 1024 // 65,536 together, at about 200 bytes each
	evictLooks     = 16   // addresses looked at to make room for one
	evictPause     = 10 * time.Millisecond
)

type addressShard struct {
	mu     sync.Mutex
	meters map[netip.Addr]*pools.Meter
	shared *pools.Meter
	limit  *pools.Limit // the one the meters were made for
	full   time.Time    // until then there is no use in looking for room
}

// newAddressLimit makes a table for rate; the zero rate is off.
func newAddressLimit(rate config.Rate) *addressLimit {
	a := &addressLimit{seed: maphash.MakeSeed()}
	a.apply(rate)
	return a
}

// apply takes another rate. Addresses keep what they had used, as far as the new bucket allows.
func (a *addressLimit) apply(rate config.Rate) {
	if rate.N <= 0 {
		a.limit.Store(nil)
		return
	}
	next := pools.Limit{N: rate.N, Per: rate.Per, Burst: rate.N}
	if was := a.limit.Load(); was != nil && *was == next {
		return
	}
	a.limit.Store(&next)
}

// take counts one request of the address at now: whether it passes and, if not, how long until one would.
func (a *addressLimit) take(now time.Time, address netip.Addr) (ok bool, wait time.Duration) {
	limit := a.limit.Load()
	if limit == nil {
		return true, 0
	}
	key := addressKey(address)
	s := &a.shards[maphash.Comparable(a.seed, key)%addressShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.meterLocked(now, key, limit)
	if m.Take(now, 1) {
		return true, 0
	}
	return false, max(m.Ready(now, 1).Sub(now), time.Millisecond)
}

func (s *addressShard) meterLocked(now time.Time, key netip.Addr, limit *pools.Limit) *pools.Meter {
	if s.limit != limit {
		s.setLocked(now, limit)
	}
	if m := s.meters[key]; m != nil {
		return m
	}
	if len(s.meters) >= shardAddresses && !s.evictLocked(now) {
		return s.shared
	}
	m := pools.NewMeter(*limit, now)
	s.meters[key] = &m
	return &m
}

// evictLocked drops the addresses it happens upon whose buckets are full, and says whether there were any. The
// map's order is random, so no address can hide from it. Having found none it rests, so that a flood pays for
// little searching.
func (s *addressShard) evictLocked(now time.Time) bool {
	if now.Before(s.full) {
		return false
	}
	looked, dropped := 0, false
	for key, m := range s.meters {
		if m.Idle(now) {
			delete(s.meters, key)
			dropped = true
		}
		if looked++; looked == evictLooks {
			break
		}
	}
	if !dropped {
		s.full = now.Add(evictPause)
	}
	return dropped
}

func (s *addressShard) setLocked(now time.Time, limit *pools.Limit) {
	s.limit = limit
	if s.meters == nil {
		m := pools.NewMeter(*limit, now)
		s.meters, s.shared = map[netip.Addr]*pools.Meter{}, &m
		return
	}
	s.shared.SetLimit(now, *limit)
	for _, m := range s.meters {
		m.SetLimit(now, *limit)
	}
}

// addresses is how many have a bucket of their own.
func (a *addressLimit) addresses() int {
	n := 0
	for i := range a.shards {
		s := &a.shards[i]
		s.mu.Lock()
		n += len(s.meters)
		s.mu.Unlock()
	}
	return n
}
