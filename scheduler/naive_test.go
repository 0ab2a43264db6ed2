package scheduler

import (
	"math/big"
	"slices"
	"time"

	"tidegate/pools"
)

// naive is admission written for obviousness: lists, and everything counted anew whenever it is asked for. All of it can be
// copied, so that a displacement can be tried out before it is decided. Time is ns since t0, and every wake-up is punctual.
//
// It knows: paying (windows of exact stamps and buckets, on arrival, by schedule, with a rate of the caller, given back, under
// other limits), bands, over_rate, max_in_flight, the door as far as the estimate says, standing queues, the bounds and who
// gives way, expiry, pools, levels, seats. Where the rules leave a choice (who goes first inside a level, which of two callers
// with as many items gives way) it follows the core, after it has looked that the core's choice is one of those.
//
// It does not know: the estimate itself (it takes the core's), seat times, and so ceilings and the fair order inside a level,
// shares of levels, windows of cells, late wake-ups, observing, and the bounds on flows and tenants.
type naive struct {
	setup   Setup
	now     int64
	items   []naiveItem // in the order of arrival
	flows   []naiveFlow
	callers []naiveCaller
	core    *choices
}

type naiveItem struct {
	flow         int
	rule         *Rule
	pool, level  string
	bytes        int64
	arrived      int64
	maxWait      int64
	state        state
	verdict      Verdict
	paid, onTime bool
	cost, drawn  int64 // what was paid for it, by its flow's rate and its caller's
	band         Band  // once it is decided
	place        int
}

type naiveFlow struct {
	key     Key
	terms   Terms
	meter   naiveMeter
	surging bool
	due     int64 // when the schedule pays its first unpaid item
	wake    int64 // when the rate and the schedule would do so; never: nothing to pay, or the caller's rate is lacking
	blocked bool  // that is what it lacks
	since   int64 // its queue is not empty
}

type naiveCaller struct {
	id      int32
	version uint64
	limited bool
	meter   naiveMeter
}

const never = int64(1) << 62

// choices is what the core chose in the operation under way.
type choices struct{ granted, displaced []int }

// naiveMeter is a rate with all it has paid.
type naiveMeter struct {
	limit  pools.Limit
	paid   []naivePayment
	tokens *big.Rat // never changed in place
	at     int64    // of tokens
}

type naivePayment struct {
	item     int // -1: what was counted when the limit changed
	at, cost int64
}

func ratio(a, b int64) *big.Rat { return big.NewRat(a, b) }

func newNaiveMeter(l pools.Limit, now int64) naiveMeter {
	return naiveMeter{limit: l, tokens: ratio(l.Burst, 1), at: now}
}

// used is what a window counts.
func (m *naiveMeter) used(now int64) (sum int64) {
	for _, p := range m.paid {
		if now < p.at+int64(m.limit.Per) {
			sum += p.cost
		}
	}
	return sum
}

// level is what a bucket holds.
func (m *naiveMeter) level(now int64) *big.Rat {
	level := new(big.Rat).Mul(ratio(now-m.at, int64(m.limit.Per)), ratio(m.limit.N, 1))
	level.Add(level, m.tokens)
	if depth := ratio(m.limit.Burst, 1); level.Cmp(depth) > 0 {
		return depth
	}
	return level
}

func (m *naiveMeter) has(now, cost int64) bool {
	if m.limit.Burst > 0 {
		return m.level(now).Cmp(ratio(cost, 1)) >= 0
	}
	return m.used(now)+cost <= m.limit.N
}

// free is when it has cost if nothing happens.
func (m *naiveMeter) free(now, cost int64) int64 {
	if m.has(now, cost) {
		return now
	}
	if m.limit.Burst > 0 {
		lacks := new(big.Rat).Sub(ratio(cost, 1), m.level(now))
		return now + ceil(lacks.Mul(lacks, ratio(int64(m.limit.Per), m.limit.N)))
	}
	first := never
	for _, p := range m.paid {
		if at := p.at + int64(m.limit.Per); at > now && m.has(at, cost) {
			first = min(first, at)
		}
	}
	return first
}

func floor(r *big.Rat) int64 { return new(big.Int).Div(r.Num(), r.Denom()).Int64() }

func ceil(r *big.Rat) int64 { return -floor(new(big.Rat).Neg(r)) }

func (m *naiveMeter) take(now int64, item int, cost int64) {
	if m.limit.Burst > 0 {
		m.tokens, m.at = new(big.Rat).Sub(m.level(now), ratio(cost, 1)), now
		return
	}
	m.paid = append(slices.Clone(m.paid), naivePayment{item, now, cost})
}

// giveBack takes an item's payment back, or takes it from what the limit's change made of all that had been paid before.
func (m *naiveMeter) giveBack(now int64, item int, cost int64) {
	if m.limit.Burst > 0 {
		m.tokens, m.at = new(big.Rat).Add(m.level(now), ratio(cost, 1)), now
		return
	}
	m.paid = slices.Clone(m.paid)
	for _, of := range []int{item, -1} {
		for i := range m.paid {
			if p := &m.paid[i]; p.item == of {
				back := min(cost, p.cost)
				p.cost -= back
				cost -= back
			}
		}
	}
}

// change is what a reload does to what was paid.
func (m *naiveMeter) change(now int64, l pools.Limit) {
	was := *m
	left := ratio(was.limit.N-min(was.limit.N, was.used(now)), was.limit.N)
	if was.limit.Burst > 0 {
		left = new(big.Rat).Mul(was.level(now), ratio(1, was.limit.Burst))
	}
	switch {
	case l == was.limit:
	case l.Burst > 0 && was.limit.Burst > 0:
		m.limit, m.at = l, now
		m.tokens = new(big.Rat).Add(was.level(now), ratio(l.Burst-was.limit.Burst, 1))
		if m.tokens.Sign() < 0 {
			m.tokens = ratio(0, 1)
		}
	case l.Burst > 0:
		*m = newNaiveMeter(l, now)
		m.tokens = left.Mul(left, ratio(l.Burst, 1))
	case was.limit.Burst == 0 && l.Per == was.limit.Per:
		m.limit = l
	default:
		*m = newNaiveMeter(l, now)
		if used := l.N - floor(left.Mul(left, ratio(l.N, 1))); used > 0 {
			m.take(now, -1, used)
		}
	}
}

// copy is the model as it is now, to try something out.
func (n *naive) copy() *naive {
	c := *n
	c.items, c.flows, c.callers = slices.Clone(n.items), slices.Clone(n.flows), slices.Clone(n.callers)
	return &c
}

// waiting are the items that wait and that the condition holds for, in the order of arrival.
func (n *naive) waiting(which func(it *naiveItem) bool) (found []int) {
	for i := range n.items {
		if it := &n.items[i]; it.state == waiting && which(it) {
			found = append(found, i)
		}
	}
	return found
}

func (n *naive) bandOf(it *naiveItem) Band {
	switch {
	case it.paid:
		return Committed
	case n.flows[it.flow].surging:
		return Surge
	}
	return Excess
}

func (n *naive) rank(level string) int {
	return slices.IndexFunc(n.setup.Levels, func(l LevelSetup) bool { return l.Name == level })
}

func (n *naive) pool(name string) *PoolSetup {
	return &n.setup.Pools[slices.IndexFunc(n.setup.Pools, func(p PoolSetup) bool { return p.Name == name })]
}

func (n *naive) inUse(pool string) (seats int) {
	for i := range n.items {
		if n.items[i].state == inFlight && n.items[i].pool == pool {
			seats++
		}
	}
	return seats
}

func (n *naive) inFlight(flow int) (seats int) {
	for i := range n.items {
		if n.items[i].state == inFlight && n.items[i].flow == flow {
			seats++
		}
	}
	return seats
}

func (n *naive) unpaid(flow int) []int {
	return n.waiting(func(it *naiveItem) bool { return it.flow == flow && !it.paid })
}

func (n *naive) caller(flow int) *naiveCaller {
	id := n.flows[flow].key.Caller
	return &n.callers[slices.IndexFunc(n.callers, func(c naiveCaller) bool { return c.id == id })]
}

// next is when the model has something to do.
func (n *naive) next() int64 {
	at := never
	for i := range n.items {
		if it := &n.items[i]; it.state == waiting {
			at = min(at, it.arrived+it.maxWait)
		}
	}
	for i := range n.flows {
		at = min(at, n.flows[i].wake)
	}
	for i := range n.callers {
		at = min(at, n.callerWake(&n.callers[i]))
	}
	return at
}

// advance goes on to a moment, at most that of next.
func (n *naive) advance(to int64) {
	n.now = to
	for i := range n.flows {
		if f := &n.flows[i]; f.wake <= to {
			f.due = max(f.due, f.wake) // the rate had nothing before, so nothing is late
		}
	}
	for i := range n.items {
		if it := &n.items[i]; it.state == waiting && it.arrived+it.maxWait <= to {
			n.end(i, WaitExpired)
		}
	}
	n.settle()
}

// end lets a waiting item leave without a seat.
func (n *naive) end(i int, v Verdict) {
	n.leave(i, v)
	n.pay()
}

// leave is end without the payments that it makes possible.
func (n *naive) leave(i int, v Verdict) {
	it := &n.items[i]
	it.band = n.bandOf(it)
	it.state, it.verdict = done, v
	n.returns(i)
}

func (n *naive) String() string { return time.Duration(n.now).String() }
