package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidegate/gateway/alert"
	"tidegate/gateway/config"
	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// spell makes of single looks a condition: it begins, or ends, when some looks in a row say so.
type spell struct {
	run int
	on  bool
}

// see takes a look, and says whether the condition has begun or ended by it.
func (s *spell) see(is bool, begin, end int) (changed bool) {
	if is == s.on {
		s.run = 0
		return false
	}
	need := begin
	if s.on {
		need = end
	}
	if s.run++; s.run < need {
		return false
	}
	s.on, s.run = is, 0
	return true
}

// In looks, which are a second apart.
const (
	starvesAfter = 5
	downAfter    = 3 // one connection that failed is no outage
	upAfter      = 1
)

// starvation looks for committed work that has nearly waited as long as it may: a moment later the promise is broken.
func (a *alerting) starvation(now time.Time, st *scheduler.Stats, share float64, whose func(queueName) string) {
	seen := make(map[queueName]bool, len(st.Levels))
	for _, l := range st.Levels {
		name := queueName{l.Pool, l.Level}
		seen[name] = true
		s := a.starving[name]
		if s == nil {
			s = &spell{}
			a.starving[name] = s
		}
		if !s.see(l.Pressed.MaxWait > 0 && l.Pressed.Share() >= share, starvesAfter, starvesAfter) {
			continue
		}
		if !s.on {
			a.fed(now, name)
			continue
		}
		p := poolOf(st, l.Pool)
		a.Begin(now, alert.Event{
			Kind: alert.Starvation, Subject: l.Pool + "/" + l.Level,
			Text: fmt.Sprintf("Work of level %s in pool %s that its rate has paid waits for a seat for %v, and may wait %v. %d wait; %d of %d seats are taken. Waiting: %s.",
				l.Level, l.Pool, l.Pressed.Waited.Round(10*time.Millisecond), l.Pressed.MaxWait, l.Waiting, p.InUse, p.Seats, whose(name)),
			Facts: map[string]any{
				"pool": l.Pool, "level": l.Level, "waited_ms": l.Pressed.Waited.Milliseconds(), "max_wait_ms": l.Pressed.MaxWait.Milliseconds(),
				"waiting": l.Waiting, "in_use": p.InUse, "seats": p.Seats, "dispatched_per_s": round(l.PerSecond),
			},
		})
	}
	for name, s := range a.starving {
		if !seen[name] {
			delete(a.starving, name)
			if s.on {
				a.fed(now, name)
			}
		}
	}
}

func (a *alerting) fed(now time.Time, name queueName) {
	a.End(now, alert.Event{
		Kind: alert.Starvation, Subject: name.pool + "/" + name.level,
		Text:  fmt.Sprintf("Work of level %s in pool %s is served in time again.", name.level, name.pool),
		Facts: map[string]any{"pool": name.pool, "level": name.level},
	})
}

// targets looks for those that do not work.
func (a *alerting) targets(now time.Time, targets []console.TargetView) {
	seen := make(map[string]bool, len(targets))
	for _, t := range targets {
		subject := t.Upstream + " " + t.Target
		seen[subject] = true
		s := a.down[subject]
		if s == nil {
			s = &spell{}
			a.down[subject] = s
		}
		if !s.see(!t.Healthy, downAfter, upAfter) {
			continue
		}
		facts := map[string]any{"upstream": t.Upstream, "target": t.Target}
		if s.on {
			a.Begin(now, alert.Event{Kind: alert.UpstreamDown, Subject: subject, Text: fmt.Sprintf("Target %s of upstream %s does not take connections.", t.Target, t.Upstream), Facts: facts})
		} else {
			a.End(now, alert.Event{Kind: alert.UpstreamDown, Subject: subject, Text: fmt.Sprintf("Target %s of upstream %s takes connections again.", t.Target, t.Upstream), Facts: facts})
		}
	}
	for subject, s := range a.down {
		if !seen[subject] {
			delete(a.down, subject)
			if s.on {
				a.End(now, alert.Event{Kind: alert.UpstreamDown, Subject: subject, Text: "It is not in the configuration any more."})
			}
		}
	}
}

// state is told of each part that may be in trouble.
func (a *alerting) state(now time.Time, what, remedy string, since time.Time, err error) {
	switch {
	case what == troubleWebhook: // it could not be told of that
	case err != nil:
		a.Begin(now, alert.Event{
			Kind: alert.StateFailed, Subject: what, Text: fmt.Sprintf("%s: %v. The gateway runs on; %s.", what, err, remedy),
			Facts: map[string]any{"what": what, "since": since.UTC()},
		})
	default:
		a.End(now, alert.Event{Kind: alert.StateFailed, Subject: what, Text: what + " works again.", Facts: map[string]any{"what": what}})
	}
}

// vipRefusals counts refusals of callers in important pools. Safe for concurrent use.
type vipRefusals struct {
	pools atomic.Pointer[map[string]bool]

	mu    sync.Mutex
	fresh map[string]*vipRefused // by caller; since the last look

	on map[string]time.Time // when each was refused last; the detecting goroutine's own
}

// vipRefused is what was refused of one caller.
type vipRefused struct {
	pool  string
	codes [Codes]int
}

// vipCalmAfter is how long nothing may be refused before it is over.
const vipCalmAfter = time.Minute

func (v *vipRefusals) apply(c *config.Config) {
	names := c.Alerts.ImportantPools
	if len(names) == 0 {
		for _, p := range c.Pools[min(1, len(c.Pools)):] {
			names = append(names, p.Name)
		}
	}
	pools := make(map[string]bool, len(names))
	for _, name := range names {
		pools[name] = true
	}
	v.pools.Store(&pools)
}

// refused counts a refusal, if it is of an important caller and none of his own making. It takes no more than a lock for a
// moment: it is on the way of every refusal.
func (v *vipRefusals) refused(x *exchange) {
	switch x.code {
	case CodeRateExceeded, CodeWaitTooLong, CodeWaitExpired, CodeQueueFull, CodeDisplaced, CodeTooManyInFlight, CodeNoUpstream:
	default:
		return
	}
	if !(*v.pools.Load())[x.caller.Pool] || x.item.CutShort() {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.fresh[x.caller.ID]
	if r == nil {
		if v.fresh == nil {
			v.fresh = make(map[string]*vipRefused)
		}
		r = &vipRefused{pool: x.caller.Pool}
		v.fresh[x.caller.ID] = r
	}
	r.codes[x.code]++
}

// refusedVIPs looks at who was refused since the last look.
func (a *alerting) refusedVIPs(now time.Time) {
	v := &a.vips
	v.mu.Lock()
	fresh := v.fresh
	v.fresh = nil
	v.mu.Unlock()
	for _, caller := range slices.Sorted(maps.Keys(fresh)) {
		r := fresh[caller]
		if v.on == nil {
			v.on = make(map[string]time.Time)
		}
		v.on[caller] = now
		codes, said, n := map[string]int{}, []string{}, 0
		for code, count := range r.codes {
			if count > 0 {
				n += count
				codes[Code(code).String()] = count
				said = append(said, fmt.Sprintf("%s %d", Code(code), count))
			}
		}
		a.Begin(now, alert.Event{
			Kind: alert.VIPRefused, Subject: caller,
			Text:  fmt.Sprintf("Requests of %s, a caller of the important pool %s, are refused: %d within a second (%s).", caller, r.pool, n, strings.Join(said, ", ")),
			Facts: map[string]any{"caller": caller, "pool": r.pool, "refused": n, "codes": codes},
		})
	}
	for caller, last := range v.on {
		if now.Sub(last) >= vipCalmAfter {
			delete(v.on, caller)
			a.End(now, alert.Event{
				Kind: alert.VIPRefused, Subject: caller, Text: fmt.Sprintf("Nothing of %s was refused for a minute.", caller), Facts: map[string]any{"caller": caller},
			})
		}
	}
}
