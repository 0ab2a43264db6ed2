package gateway

import (
	"sync"
	"time"

	"tidegate/pools"
)

// How often one caller may use the desk.
var (
	deskReads  = pools.Limit{N: 10, Per: time.Second}
	deskWrites = pools.Limit{N: 30, Per: time.Minute}
)

// How much of the audit trail is the callers': it is bounded, and must not lose what owners did because callers ask and
// take back all day, nor one caller's entries because another does. The log has all of it.
var (
	deskEntries    = pools.Limit{N: 20, Per: time.Hour}  // of one caller
	deskAllEntries = pools.Limit{N: 200, Per: time.Hour} // of all together
)

// deskAll stands for all callers in meters: no caller has that index.
const deskAll int32 = -1

// deskMeters have what each caller has used of one limit. They are of callers that the configuration knows, so their
// number is bounded by it; idle ones go as others come. Safe for concurrent use.
type deskMeters struct {
	limit pools.Limit
	mu    sync.Mutex
	by    map[int32]*pools.Meter // by the caller's index
}

// take counts one request: whether it passes and, if not, how long until one would.
func (d *deskMeters) take(now time.Time, caller int32) (ok bool, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.by[caller]
	if m == nil {
		d.tidy(now)
		made := pools.NewMeter(d.limit, now)
		m = &made
		d.by[caller] = m
	}
	if m.Take(now, 1) {
		return true, 0
	}
	return false, max(m.Ready(now, 1).Sub(now), time.Millisecond)
}

// entry says whether what a caller did goes into the trail.
func (d *callerDesk) entry(now time.Time, caller int32) bool {
	ok, _ := d.entries.take(now, caller)
	if ok {
		ok, _ = d.all.take(now, deskAll)
	}
	return ok
}

// tidy looks at a few meters, which ones is chance, and drops those that are as good as new.
func (d *deskMeters) tidy(now time.Time) {
	if d.by == nil {
		d.by = map[int32]*pools.Meter{}
	}
	looked := 0
	for caller, m := range d.by {
		if m.Idle(now) {
			delete(d.by, caller)
		}
		if looked++; looked == evictLooks {
			return
		}
	}
}
