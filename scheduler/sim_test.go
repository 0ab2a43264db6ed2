package scheduler

import (
	stdheap "container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidegate/pools"
)

// A discrete-event simulation plays sources of work against a Core in virtual time. It checks the
// invariants of every pool at every event, apart from the core's own books.

var t0 = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

type simulation struct {
	t     *testing.T
	core  *Core
	rng   *rand.Rand
	now   time.Time
	queue events
	seq   int
	flows map[string]*source
	order []*source
	busy  map[string]int // seats in use by pool, counted apart
	peak  map[string]int
	over  int // times a pool was seen over its seats

	dispatched map[string]uint64
	ended      map[string]Judged // what became of each item by name, where sources give their items names
}

// source is one flow's stream of work.
type source struct {
	name    string
	key     Key
	terms   Terms
	gap     func() time.Duration // to the next arrival; nil: arrivals are made by hand
	service func() time.Duration
	seatOf  func(n int) time.Duration // instead: of the n-th item, which gets a name
	from    time.Duration
	to      time.Duration
	surging bool
	onEnd   func(it *Item) // after its verdict, unless granted; after its release, if granted

	offered, granted, atOnce int
	refused                  map[Verdict]int
	breaches                 int
	waits                    []time.Duration
	seat                     time.Duration // seat time used, in all
	seatFrom, seatTo         time.Duration // count seat only in this span (0: all)
	peak, busy               int
	grants                   []time.Duration
	back                     []time.Duration
	would                    []Judged
}

type event struct {
	at  time.Time
	seq int
	do  func()
}
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}

func newSimulation(t *testing.T, s Setup) *simulation {
	return &simulation{
		t: t, core: NewCore(t0, s), rng: rand.New(rand.NewPCG(1, 2)), now: t0,
		flows: map[string]*source{}, busy: map[string]int{}, peak: map[string]int{},
		dispatched: map[string]uint64{}, ended: map[string]Judged{},
	}
}

func (s *simulation) at(d time.Duration, do func()) { s.push(t0.Add(d), do) }

func (s *simulation) push(at time.Time, do func()) {
	s.seq++
	stdheap.Push(&s.queue, event{at, s.seq, do})
}

func (s *simulation) add(src *source) *source {
	src.refused = map[Verdict]int{}
	if src.terms.Weight == 0 {
		src.terms.Weight = 1
	}
	s.flows[src.name] = src
	s.order = append(s.order, src)
	if src.gap != nil {
		var next func()
		next = func() {
			if src.to > 0 && s.now.Sub(t0) >= src.to {
				return
			}
			s.arrive(src)
			s.push(s.now.Add(src.gap()), next)
		}
		s.at(src.from+src.gap(), next)
	}
	return src
}

// poisson is the gap between arrivals of a Poisson process.
func (s *simulation) poisson(perSecond float64) func() time.Duration {
	return func() time.Duration { return time.Duration(s.rng.ExpFloat64() / perSecond * 1e9) }
}

func (s *simulation) exponential(mean time.Duration) func() time.Duration {
	return func() time.Duration { return time.Duration(s.rng.ExpFloat64() * float64(mean)) }
}

func constant(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func (s *simulation) arrive(src *source) *Item {
	f := s.core.Meter(s.now, src.key, src.terms)
	if src.surging != f.surging {
		s.core.SetSurging(s.now, f, src.surging)
	}
	it := &Item{Flow: f, MaxWait: src.terms.Rule.MaxWait, Bytes: 1000}
	f.Data.CompareAndSwap(nil, src)
	src.offered++
	if src.seatOf != nil {
		it.Name = fmt.Append(nil, src.name, "/", src.offered)
	}
	s.core.Arrive(s.now, it)
	if it.Verdict == Granted {
		src.atOnce++
	}
	if it.Verdict != Waiting {
		s.settle(it)
	}
	s.decided()
	return it
}

func (s *simulation) decided() {
	for _, it := range slices.Clone(s.core.Decided()) {
		s.settle(it)
	}
	for _, j := range s.core.Judged() {
		src := j.Flow.Data.Load().(*source)
		src.would = append(src.would, j)
	}
	for _, p := range s.core.pools {
		if p.inUse < p.setup.Seats && p.observed > 0 {
			s.t.Fatalf("at %v: pool %s has a free seat, and %d wait that are only observed", s.now.Sub(t0), p.setup.Name, p.observed)
		}
		if p.inUse > p.setup.Seats {
			// Only a pool that has shrunk may be so, and then it only goes down.
			if p.dispatch != s.dispatched[p.setup.Name] {
				s.t.Fatalf("at %v: pool %s dispatched with %d of %d seats in use", s.now.Sub(t0), p.setup.Name, p.inUse, p.setup.Seats)
			}
			s.over++
		}
		s.dispatched[p.setup.Name] = p.dispatch
		if p.inUse != s.busy[p.setup.Name] {
			s.t.Fatalf("at %v: pool %s holds %d of %d seats, counted %d", s.now.Sub(t0), p.setup.Name, p.inUse, p.setup.Seats, s.busy[p.setup.Name])
		}
	}
}

func (s *simulation) settle(it *Item) {
	src := it.Flow.Data.Load().(*source)
	if it.Name != nil {
		s.ended[string(it.Name)] = Judged{
			Name: string(it.Name), Verdict: it.Verdict, Band: it.Band, Paid: it.Paid, OnTime: it.OnTime, Breach: it.Breach(),
			Waited: it.line != nil && it.expiry.item != nil, Wait: it.Waited, Estimate: it.Estimate, Back: it.Back, Place: it.Place,
			Quota: it.Quota, Load: it.Load, At: s.now,
		}
	}
	if it.Verdict != Granted {
		src.refused[it.Verdict]++
		src.back = append(src.back, it.Back)
		if it.Breach() {
			src.breaches++
		}
		s.core.Unpin(it.Flow)
		if src.onEnd != nil {
			src.onEnd(it)
		}
		return
	}
	pool := it.line.place.pool.setup.Name
	s.busy[pool]++
	s.peak[pool] = max(s.peak[pool], s.busy[pool])
	src.granted++
	src.busy++
	src.peak = max(src.peak, src.busy)
	src.waits = append(src.waits, it.Waited)
	src.grants = append(src.grants, s.now.Sub(t0))
	start := s.now
	var held time.Duration
	if src.seatOf != nil {
		var n int
		fmt.Sscan(string(it.Name[len(src.name)+1:]), &n)
		held = src.seatOf(n)
	} else {
		held = src.service()
	}
	s.push(s.now.Add(held), func() {
		s.busy[pool]--
		src.busy--
		src.seat += src.overlap(start.Sub(t0), s.now.Sub(t0))
		s.core.Release(it, s.now)
		s.core.Unpin(it.Flow)
		s.decided()
		if src.onEnd != nil {
			src.onEnd(it)
		}
	})
}

// overlap is the part of a seat's time that lies in the span that is counted.
func (src *source) overlap(from, to time.Duration) time.Duration {
	if src.seatTo > 0 {
		from, to = max(from, src.seatFrom), min(to, src.seatTo)
	}
	return max(0, to-from)
}

func (s *simulation) run(until time.Duration) {
	end := t0.Add(until)
	for {
		wake, some := s.core.Next()
		if len(s.queue) > 0 && (!some || !wake.Before(s.queue[0].at)) {
			e := s.queue[0]
			if e.at.After(end) {
				break
			}
			stdheap.Pop(&s.queue)
			s.now = e.at
			s.core.Advance(s.now)
			s.decided()
			e.do()
			continue
		}
		if !some || wake.After(end) {
			break
		}
		s.now = wake
		s.core.Advance(s.now)
		s.decided()
	}
	s.now = end
}

func (src *source) allRefused() int {
	n := 0
	for v, c := range src.refused {
		if v != Gone {
			n += c
		}
	}
	return n
}

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Clone(d)
	slices.Sort(d)
	return d[min(len(d)-1, int(math.Ceil(q*float64(len(d)))))]
}

func (src *source) String() string {
	return fmt.Sprintf("%s: offered %d, at once %d, granted %d, refused %v, wait p50 %v p99 %v max %v", src.name, src.offered, src.atOnce,
		src.granted, src.refused, quantile(src.waits, .5), quantile(src.waits, .99), quantile(src.waits, 1))
}

func (s *simulation) log() {
	for _, src := range s.order {
		s.t.Log(src)
	}
}

// sum adds sources up.
func sum(name string, srcs ...*source) *source {
	all := &source{name: name, refused: map[Verdict]int{}}
	for _, src := range srcs {
		all.offered += src.offered
		all.granted += src.granted
		all.atOnce += src.atOnce
		all.breaches += src.breaches
		all.seat += src.seat
		all.waits = append(all.waits, src.waits...)
		for v, n := range src.refused {
			all.refused[v] += n
		}
	}
	return all
}

func onePool(seats, callers int) Setup {
	return Setup{
		Levels: []LevelSetup{{Name: "realtime"}, {Name: "standard"}, {Name: "batch", MinShare: 0.05}},
		Pools: []PoolSetup{{
			Name: "shared", Seats: seats, ExcessCeiling: .8, SurgeCeiling: .5, LongCeiling: .5,
			MaxWaiting: 20000, MaxWaitingBytes: 256 << 20, MaxFlowShare: .25, Callers: callers,
		}},
		MaxFlows: 200000, MaxTenants: 1000,
	}
}

func rule(n int64, per time.Duration, level string, maxWait time.Duration) *Rule {
	return &Rule{Limit: pools.Limit{N: n, Per: per}, Cost: 1, MaxWait: maxWait, Level: level}
}

func terms(r *Rule) Terms { return Terms{Version: 1, Rule: r, Pool: "shared", Weight: 1} }

func key(caller, semantic int32) Key { return Key{Caller: caller, Semantic: semantic, Route: NoRoute} }
