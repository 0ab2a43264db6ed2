package scheduler

import (
	"strings"
	"time"
)

// sharedTenant stands for all tenants or addresses past the bounds. No tenant can be called so.
const sharedTenant = "*"

// idleAfter is how long a flow is kept though nobody needs its memory.
const idleAfter = 10 * time.Minute

// Meter finds the flow of key, or makes it, brings it under terms, and keeps it from being dropped
// until Unpin.
func (c *Core) Meter(now time.Time, key Key, terms Terms) *Flow {
	c.advance(now)
	f := c.flows[key]
	if f == nil {
		f = c.makeFlow(key, terms)
	}
	f.pins++
	c.touch(f)
	if f.terms.Rule != terms.Rule || f.terms.Version != terms.Version {
		c.bring(f, terms)
	}
	return f
}

// Unpin lets the flow be dropped again once it is idle.
func (c *Core) Unpin(f *Flow) { f.pins-- }

func (c *Core) makeFlow(key Key, terms Terms) *Flow {
	cl := c.callers[key.Caller]
	if cl == nil {
		cl = newCaller(key.Caller)
		c.callers[key.Caller] = cl
		cl.slot = c.callerSlots.put(cl)
	}
	cl.flows++ // from now on, so that the caller stays when it is a flow of its own that makes room
	if key.Tenant != "" && key.Tenant != sharedTenant {
		_, known := cl.tenants[key.Tenant]
		if !known && len(cl.tenants) >= c.setup.MaxTenants {
			key.Tenant = sharedTenant
		}
	}
	if key.Tenant != sharedTenant && len(c.flows) >= c.setup.MaxFlows && !c.evict() {
		// Past the bound a caller's new flows share one for each kind of work, which keeps the rule
		// of that one unambiguous. What multiplies flows is the tenant, and it is gone here.
		if key.Tenant != "" || cl.flows > 1 {
			key.Tenant = sharedTenant
		}
	}
	if f := c.flows[key]; f != nil {
		cl.flows--
		return f
	}
	key.Tenant = strings.Clone(key.Tenant) // the key may lie in the request's own buffer
	f := &Flow{Key: key, caller: cl, semantic: c.semantic(key.Semantic)}
	f.pay.flow = f
	f.terms = terms
	f.meter = c.meter(key, terms.Rule.Limit)
	c.settleIn(f)
	c.bringCaller(cl, terms)
	c.flows[key] = f
	f.slot = c.flowSlots.put(f)
	if key.Tenant != "" {
		if cl.tenants == nil {
			cl.tenants = make(map[string]int)
		}
		cl.tenants[key.Tenant]++
	}
	return f
}

// bring puts the flow under newer terms; what waits keeps the rule, level and pool that took it in.
func (c *Core) bring(f *Flow, terms Terms) {
	if terms.Version < f.terms.Version {
		return
	}
	old := f.terms
	f.terms = terms
	if old.Rule.Limit != terms.Rule.Limit {
		f.meter.SetLimit(c.now, terms.Rule.Limit)
	}
	c.settleIn(f)
	c.bringCaller(f.caller, terms)
	if f.unpaid > 0 {
		c.payFlow(f)
	}
	c.dispatchAll()
}

func (c *Core) bringCaller(cl *caller, terms Terms) {
	if terms.Version < cl.version {
		return
	}
	cl.version = terms.Version
	switch {
	case terms.CallerRate == nil:
		cl.limit = nil
		c.payCaller(cl)
	case cl.limit == nil:
		cl.limit = terms.CallerRate
		cl.rates++
		cl.meter = c.meter(callerKey(cl.id), *cl.limit)
	case *cl.limit != *terms.CallerRate:
		cl.limit = terms.CallerRate
		cl.meter.SetLimit(c.now, *cl.limit)
		c.payCaller(cl)
	}
	c.dispatchAll()
}

func (c *Core) semantic(i int32) *semantic {
	s := c.semantics[i]
	if s == nil {
		s = &semantic{}
		c.semantics[i] = s
	}
	return s
}

// touch makes f the most recently used flow.
func (c *Core) touch(f *Flow) {
	f.used = c.ns
	if c.newest == f {
		return
	}
	if f.prev != nil || f.next != nil || c.oldest == f {
		c.unlink(f)
	}
	f.prev, f.next = c.newest, nil
	if c.newest != nil {
		c.newest.next = f
	} else {
		c.oldest = f
	}
	c.newest = f
}

func (c *Core) unlink(f *Flow) {
	if f.prev != nil {
		f.prev.next = f.next
	} else {
		c.oldest = f.next
	}
	if f.next != nil {
		f.next.prev = f.prev
	} else {
		c.newest = f.prev
	}
	f.prev, f.next = nil, nil
}

// idle says that dropping the flow loses nothing: it has no work anywhere and its rate is whole.
func (c *Core) idle(f *Flow) bool {
	return f.pins == 0 && f.inFlight == 0 && f.waiting == 0 && f.meter.Idle(c.now)
}

// evict makes room for one flow by dropping an idle one among the least recently used. It looks at a
// few, so that a caller whose long windows fill the table cannot make every arrival slow.
func (c *Core) evict() bool {
	const looks = 8
	f := c.oldest
	for i := 0; i < looks && f != nil; i++ {
		next := f.next
		if c.idle(f) {
			c.drop(f)
			return true
		}
		// Not idle: it goes to the end of the list, so that the next look meets others.
		used := f.used
		c.touch(f)
		f.used = used
		f = next
	}
	return false
}

// Tidy drops up to n flows that have been idle for long. It is meant to be called now and then.
func (c *Core) Tidy(now time.Time, n int) {
	c.advance(now)
	c.unmet.expire(c.ns, n)
	for f := c.oldest; f != nil && n > 0; n-- {
		next := f.next
		if c.ns-f.used >= int64(idleAfter) && c.idle(f) {
			c.drop(f)
		}
		f = next
	}
	if c.shadow != nil {
		c.shadow.tidy(n)
	}
}

func (c *Core) drop(f *Flow) {
	c.unlink(f)
	delete(c.flows, f.Key)
	c.flowSlots.drop(f.slot)
	c.disarm(&f.pay)
	for _, p := range f.places {
		c.leave(p)
	}
	cl := f.caller
	cl.flows--
	if f.Key.Tenant != "" {
		if cl.tenants[f.Key.Tenant]--; cl.tenants[f.Key.Tenant] <= 0 {
			delete(cl.tenants, f.Key.Tenant)
		}
	}
	if cl.flows == 0 && (cl.limit == nil || cl.meter.Idle(c.now)) {
		c.disarm(&cl.pay)
		delete(c.callers, cl.id)
		c.callerSlots.drop(cl.slot)
	}
}
