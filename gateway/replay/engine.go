package replay

import (
	"errors"
	"fmt"
	"math"
	"time"

	"tidegate/detector"
	"tidegate/gateway/config"
	"tidegate/gateway/policy"
	"tidegate/gateway/watch"
	"tidegate/scheduler"
)

// Engine plays requests through one configuration. Not safe for concurrent use.
type Engine struct {
	file     string
	policy   *policy.Policy
	names    *policy.Names
	detector *detector.Config // nil: off
	zone     *time.Location
	plan     string // of callers that are made
	live     bool
	anyRoute *policy.Route

	registered policy.Registrations // nil: nobody has registered anything at run time
	log        *Log                 // nil: none

	core  *scheduler.Core
	zero  time.Time // the core's moment of origin
	from  int64     // the same on the trace's clock
	setup scheduler.Setup
	flows watch.Flows[*flow]

	seasons seasons

	begun bool
	now   int64 // ns of the trace's clock
	first int64 // of the first arrival
	last  int64 // and of the last one
	step  int64 // when flows are stepped next; never: none has traffic
	tidy  int64 // when idle flows are dropped next
	ends  ends
	free  []*scheduler.Item
	own   map[*scheduler.Item]time.Duration // recorded seat times of what waits

	lanes    []*lane // by the number of their origin
	origins  []*Origin
	made     map[string]*policy.Caller
	byKey    map[tallyKey]*tally
	tallies  []*tally // in the order of their first request
	pools    []*poolTally
	services map[int32]*service
}

const (
	never     = math.MaxInt64
	tidyEvery = int64(time.Second)
	tidyFor   = int64(15 * time.Minute) // without an arrival, until every flow that may be dropped has been
)

// flow is what a replay keeps of a flow beside what the scheduler does.
type flow struct {
	watch watch.Flow
	flow  *scheduler.Flow
	lane  *lane
	kept  uint64 // the revision of its season that is kept
	names []byte // its caller, semantic, route and tenant as the log has them
}

// Watch is the part of the flow that is watched.
func (f *flow) Watch() *watch.Flow { return &f.watch }

// Play says how a configuration is played.
type Play struct {
	Service map[string]time.Duration // by semantic
	Plan    string                   // of callers that the configuration lacks; "": the first
	// Live says that what is played has come to a gateway that runs: a caller that the configuration lacks is refused as
	// unknown, and who came without a key is told apart by its tenant, which is its address. In a trace from elsewhere
	// such callers are made, and addresses are not known.
	Live bool
	Log  *Log // nil: none
	// Registered says whether a caller has registered a semantic beside what the configuration says; nil: nobody has.
	Registered func(caller, semantic string) bool
}

// registered is what callers have registered, by the engine's own names.
type registered struct {
	names *policy.Names
	has   func(caller, semantic string) bool
}

func (r *registered) Has(caller, semantic int32) bool {
	return r.has(r.names.Callers.Name(caller), r.names.Semantics.Name(semantic))
}

// NewEngine makes an engine of a configuration. What it is told of semantics and plans that the configuration lacks is left alone.
func NewEngine(c *config.Config, p Play) (*Engine, error) {
	e := &Engine{
		file: c.File, names: &policy.Names{}, log: p.Log, plan: p.Plan, live: p.Live, step: never,
		own: make(map[*scheduler.Item]time.Duration), made: make(map[string]*policy.Caller),
		byKey: make(map[tallyKey]*tally), seasons: seasons{of: make(map[scheduler.Key]*keptSeason)}, services: make(map[int32]*service),
	}
	if p.Registered != nil {
		e.registered = &registered{e.names, p.Registered}
	}
	var err error
	if e.policy, err = policy.Compile(c, e.names, 1); err != nil {
		return nil, err
	}
	if e.zone, err = c.Time.Location(); err != nil {
		return nil, err
	}
	e.detector = watch.Config(&c.Detector)
	e.flows.Recall, e.flows.Left = e.recall, e.left
	if e.anyRoute = e.policy.RouteFor(e.policy.Semantic(policy.DefaultSemantic)); e.anyRoute == nil {
		return nil, errors.New("the config has no [[routes]], so that every request is answered 404: add one")
	}
	if !e.policy.HasPlan(e.plan) {
		if e.plan = ""; !e.policy.HasPlan("") {
			return nil, errors.New("the config has no [[plans]], which callers that it lacks would need: add one")
		}
	}
	for name, d := range p.Service {
		if s := e.policy.Semantic(name); s != nil {
			if d <= 0 {
				return nil, fmt.Errorf("the service time of %s is %v: must be above 0", name, d)
			}
			e.services[s.Index] = &service{fixed: d}
		}
	}
	e.setup = e.policy.Setup()
	for _, s := range e.setup.Pools {
		e.pools = append(e.pools, &poolTally{name: s.Name, seats: s.Seats})
	}
	return e, nil
}

// Observing names what is only observed, in the words of the configuration.
func (e *Engine) Observing() []string { return e.policy.Observing() }

// moment is a moment of the trace's clock as the core is told it. Only how far moments are apart counts there, and that is
// found three times faster between moments with a monotonic part, which only the machine's clock gives: so they are counted
// from the moment at which the engine began, and what the machine's clock says has no part in anything.
func (e *Engine) moment(ns int64) time.Time { return e.zero.Add(time.Duration(ns - e.from)) }

// next is when the core has something to do.
func (e *Engine) next() int64 {
	at, ok := e.core.Next()
	if !ok {
		return never
	}
	return e.from + int64(at.Sub(e.zero))
}

// date is a moment of the trace's clock with its date, as the detector is told it.
func (e *Engine) date(ns int64) time.Time { return time.Unix(0, ns).In(e.zone) }

// Arrive plays one request. Requests come in the order of their arrival.
func (e *Engine) Arrive(a *Arrival) {
	if !e.begun {
		e.begin(a.At)
	}
	e.advance(a.At)
	e.now, e.last = a.At, a.At
	l := e.lane(a.Origin)
	l.tally.offered++
	key := l.key
	if l.byTenant {
		if key.Tenant = a.Tenant; key.Tenant == "" && l.full && l.refused == 0 {
			e.refuseEarly(l, tenantMissing)
			return
		}
	}
	if l.refused != 0 {
		e.refuseEarly(l, l.refused)
		return
	}
	now := e.moment(a.At)
	f := e.core.Meter(now, key, l.terms)
	d, ok := f.Data.Load().(*flow)
	if !ok {
		d = e.newFlow(f, l)
	}
	if d.watch.Count() {
		e.flows.Come(d)
		if e.step == never {
			e.step = gridAfter(a.At)
		}
	}
	it := e.item()
	it.Flow, it.Bytes, it.MaxWait = f, policy.RequestOverhead, l.rule.MaxWait
	e.core.Arrive(now, it)
	switch it.Verdict {
	case scheduler.Granted:
		l.tally.passed++
		e.seat(it, d, a.Seat)
	case scheduler.Waiting:
		l.pool.queue()
		if a.Seat > 0 {
			e.own[it] = a.Seat
		}
		e.log.queued(e.now, d, it)
	default:
		e.refuse(it, d)
	}
	e.decided()
}

// begin starts the engine's time a step before the first arrival.
func (e *Engine) begin(at int64) {
	e.begun, e.first = true, at
	e.now = gridAfter(at) - 2*int64(watch.Every)
	e.tidy, e.seasons.shape = e.now+tidyEvery, e.now+shapeEvery
	e.from, e.zero = e.now, time.Now()
	e.core = scheduler.NewCore(e.moment(e.now), e.setup)
}

// gridAfter is the first moment of the grid after ns.
func gridAfter(ns int64) int64 {
	const every = int64(watch.Every)
	into := ns % every
	if into < 0 {
		into += every
	}
	return ns - into + every
}

func (e *Engine) newFlow(f *scheduler.Flow, l *lane) *flow {
	d := &flow{flow: f, lane: l}
	d.names = e.log.names(d)
	f.Data.Store(d)
	return d
}

func (e *Engine) item() *scheduler.Item {
	if n := len(e.free); n > 0 {
		it := e.free[n-1]
		e.free = e.free[:n-1]
		return it
	}
	return new(scheduler.Item)
}

// done lets go of an item and its flow.
func (e *Engine) done(it *scheduler.Item) {
	e.core.Unpin(it.Flow)
	it.Reset()
	e.free = append(e.free, it)
}

// seat lets a request hold the seat that it has got.
func (e *Engine) seat(it *scheduler.Item, d *flow, recorded time.Duration) {
	d.lane.pool.take(e.now)
	e.ends.push(e.now+int64(d.lane.service.of(recorded)), it)
	e.log.dispatched(e.now, d, it)
}

func (e *Engine) refuse(it *scheduler.Item, d *flow) {
	d.lane.tally.refused[it.Verdict]++
	e.log.refused(e.now, d, it)
	e.done(it)
}

func (e *Engine) refuseEarly(l *lane, why code) {
	l.tally.refused[why]++
	e.log.refusedEarly(e.now, l, why)
}

// decided takes up what the core has decided beside what it was asked.
func (e *Engine) decided() {
	for _, it := range e.core.Decided() {
		d := it.Flow.Data.Load().(*flow)
		d.lane.pool.waiting--
		recorded := time.Duration(0)
		if len(e.own) > 0 {
			recorded = e.own[it]
			delete(e.own, it)
		}
		if it.Verdict != scheduler.Granted {
			e.refuse(it, d)
			continue
		}
		d.lane.tally.wait(it.Waited)
		e.seat(it, d, recorded)
	}
	if e.setup.Observe {
		e.judged()
	}
}

// judged takes up what enforcing would have made of what is observed.
func (e *Engine) judged() {
	for _, j := range e.core.Judged() {
		t := j.Flow.Data.Load().(*flow).lane.tally
		switch {
		case j.Verdict != scheduler.Granted && j.Verdict != scheduler.Gone:
			t.wouldRefuse[j.Verdict]++
		case j.Waited:
			t.wouldWait++
		}
	}
}
