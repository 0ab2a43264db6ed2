package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tidegate/pools"
)

// duel plays one program on the core and on the naive model, and compares them after every event.
type duel struct {
	t       testing.TB
	core    *Core
	model   *naive
	setup   Setup
	version uint64
	terms   [6]Terms // by flow: callers 0 to 2, two kinds of work each
	items   []*Item  // numbered as in the model
	trace   []string
	program []byte
}

func (d *duel) byte() int {
	if len(d.program) == 0 {
		return 0
	}
	b := d.program[0]
	d.program = d.program[1:]
	return int(b)
}

// pick takes the next byte as a choice.
func pick[T any](d *duel, of ...T) T { return of[d.byte()%len(of)] }

func (d *duel) logf(format string, args ...any) {
	d.trace = append(d.trace, fmt.Sprintf("%8v ", time.Duration(d.model.now))+fmt.Sprintf(format, args...))
}

func (d *duel) failf(format string, args ...any) {
	d.t.Helper()
	d.t.Fatalf("%s\nafter:\n%s", fmt.Sprintf(format, args...), strings.Join(d.trace, "\n"))
}

// odd is a span that no other rate has, a little over a second: when two rates free in one instant, it is nobody's rule which
// is first. It can be divided by every N.
func odd(i int) time.Duration {
	return time.Second + []time.Duration{7, 11, 13, 17, 19, 23, 29, 31, 37}[i]*20*time.Microsecond
}

// rule makes the rule of flow i. No conversion between its limits has a rest, as what is rounded twice is not what is
// rounded once.
func (d *duel) rule(i int) *Rule {
	r := &Rule{
		Limit: pools.Limit{N: pick[int64](d, 1, 2, 4, 5), Per: odd(i), Burst: pick[int64](d, 0, 0, 2, 4)},
		Cost:  pick[int64](d, 1, 1, 2), OverRate: pick(d, OverQueue, OverQueue, OverQueue, OverPace, OverReject),
		MaxWait: pick(d, 30*time.Second, 30*time.Second, 2*time.Second, 300*time.Millisecond), MaxInFlight: pick(d, 0, 0, 0, 1, 2),
		RejectInFlight: pick(d, false, false, false, true), Level: pick(d, "realtime", "batch"),
	}
	if long := pick(d, false, true); long && r.Limit.Burst == 0 {
		r.Limit.Per *= 2
	}
	r.Cost = min(r.Cost, r.Limit.Depth())
	return r
}

func (d *duel) rules() {
	d.version++
	var callerRates [3]*pools.Limit
	for i := range callerRates {
		callerRates[i] = pick(d, nil, nil, &pools.Limit{N: 4, Per: odd(6 + i)}, &pools.Limit{N: 1, Per: odd(6 + i), Burst: 2})
	}
	for i := range d.terms {
		d.terms[i] = Terms{Version: d.version, Rule: d.rule(i), Pool: pick(d, "shared", "vip"), Weight: 1, CallerRate: callerRates[i/2]}
		d.logf("rule %d: %+v in %s, caller rate %v", i, *d.terms[i].Rule, d.terms[i].Pool, d.terms[i].CallerRate)
	}
}

// pools chooses seats and bounds. No ceiling acts: a surge may use every seat, and long work twice as many.
func (d *duel) pools() {
	d.setup = Setup{Levels: []LevelSetup{{Name: "realtime"}, {Name: "batch"}}, MaxFlows: 100, MaxTenants: 10}
	if pick(d, false, true) {
		slices.Reverse(d.setup.Levels)
	}
	for _, name := range []string{"shared", "vip"} {
		d.setup.Pools = append(d.setup.Pools, PoolSetup{
			Name: name, Seats: pick(d, 1, 1, 2, 4), ExcessCeiling: 1, SurgeCeiling: 1, LongCeiling: 2, Callers: 3,
			MaxWaiting: pick(d, 20, 6, 3), MaxWaitingBytes: pick[int64](d, 2000, 600), MaxFlowShare: pick(d, 1, .5, .3),
		})
	}
	d.logf("setup %+v", d.setup)
}

func playAgainstNaiveModel(t testing.TB, program []byte) *duel {
	d := &duel{t: t, program: program, model: &naive{core: &choices{}}}
	d.pools()
	d.core, d.model.setup = NewCore(t0, d.setup), d.setup
	d.rules()
	for len(d.program) > 0 && len(d.items) < 200 {
		d.step()
	}
	return d
}

func (d *duel) now() time.Time { return t0.Add(time.Duration(d.model.now)) }

func (d *duel) step() {
	switch op := d.byte() % 16; op {
	default:
		d.arrive()
	case 9, 10:
		if busy := d.of(inFlight); len(busy) > 0 {
			i := busy[d.byte()%len(busy)]
			d.logf("release %d", i)
			d.core.Release(d.items[i], d.now())
			d.core.Unpin(d.items[i].Flow)
			d.decided(-1)
			d.model.items[i].state = done
			d.model.settle()
		}
	case 11:
		if waits := d.of(waiting); len(waits) > 0 {
			i := waits[d.byte()%len(waits)]
			d.logf("cancel %d", i)
			d.core.Cancel(d.now(), d.items[i])
			d.decided(-1)
			d.model.end(i, Gone)
			d.model.settle()
		}
	case 12, 13:
		d.wait(pick[time.Duration](d, 1, 7, 50, 130, 500, 1000, 2500) * time.Millisecond)
	case 14:
		i, surging := d.byte()%len(d.terms), pick(d, false, true)
		if flow := d.flow(i); flow >= 0 {
			d.logf("flow %d surges: %v", flow, surging)
			d.core.SetSurging(d.now(), d.core.flows[d.key(i)], surging)
			d.decided(-1)
			d.model.flows[flow].surging = surging
			d.model.settle()
		}
	case 15:
		if pick(d, false, true) {
			d.pools()
			d.core.Apply(d.now(), d.setup)
			d.decided(-1)
			d.model.setup = d.setup
			d.model.settle()
		} else {
			d.rules()
		}
	}
	d.compare()
}

func (d *duel) of(s state) (found []int) {
	for i := range d.model.items {
		if d.model.items[i].state == s {
			found = append(found, i)
		}
	}
	return found
}

func (d *duel) key(i int) Key { return key(int32(i/2), int32(i%2)) }

func (d *duel) flow(i int) int {
	return slices.IndexFunc(d.model.flows, func(f naiveFlow) bool { return f.key == d.key(i) })
}

func (d *duel) arrive() {
	i := d.byte() % len(d.terms)
	tm := d.terms[i]
	if flow := d.flow(i); flow >= 0 && d.model.flows[flow].terms.Version < d.version {
		d.wait(time.Millisecond) // what is paid in the instant in which the limit changes is paid before or after it
	}
	f := d.core.Meter(d.now(), d.key(i), tm)
	d.decided(-1)
	flow := d.model.meter(d.key(i), tm)
	d.compare()
	it := &Item{Flow: f, MaxWait: tm.Rule.MaxWait, Bytes: pick[int64](d, 0, 100, 250, 700)}
	if own := pick(d, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, 150*time.Millisecond, 0); own < it.MaxWait {
		it.MaxWait, it.OwnWait = own, true
	}
	if it.MaxWait > 0 {
		// No two waits end in one instant, nor one when a rate frees.
		it.MaxWait += time.Duration(len(d.items)+1) * 1013
	}
	d.items = append(d.items, it)
	d.core.Arrive(d.now(), it)
	d.logf("arrive %d in flow %d, %d bytes, waits %v: %v, estimate %v", len(d.items)-1, flow, it.Bytes, it.MaxWait, it.Verdict, it.Estimate)
	if it.Verdict != Granted && it.Verdict != Waiting {
		d.core.Unpin(f)
	}
	d.decided(len(d.items) - 1)
	d.model.arrive(flow, it.Bytes, int64(it.MaxWait), int64(it.Estimate))
}

// wait goes on, and stops wherever either has something to do.
func (d *duel) wait(by time.Duration) {
	to := d.model.now + int64(by)
	for d.model.now < to {
		at := min(to, d.model.next())
		if next, some := d.core.Next(); some {
			at = min(at, int64(next.Sub(t0)))
		}
		if at < d.model.now {
			d.failf("the next thing to do was at %v, and it is %v", time.Duration(at), time.Duration(d.model.now))
		}
		d.core.Advance(t0.Add(time.Duration(at)))
		d.decided(-1)
		d.model.advance(at)
		d.compare()
	}
	d.logf("go on")
}

// decided tells the model what the core chose; arrived is the item that has just arrived, or -1.
func (d *duel) decided(arrived int) {
	c := &choices{}
	for _, it := range d.core.Decided() {
		i := slices.Index(d.items, it)
		d.logf("  %d: %v", i, it.Verdict)
		switch it.Verdict {
		case Granted:
			c.granted = append(c.granted, i)
		case Displaced:
			c.displaced = append(c.displaced, i)
			fallthrough
		default:
			d.core.Unpin(it.Flow)
		}
	}
	if arrived >= 0 && d.items[arrived].Verdict == Granted {
		c.granted = append(c.granted, arrived)
	}
	d.model.core = c
}

func (d *duel) compare() {
	d.t.Helper()
	for i, it := range d.items {
		want := &d.model.items[i]
		band := it.Band
		if it.state == waiting {
			band = it.line.band()
			want.band = d.model.bandOf(want)
		}
		if it.Verdict != want.verdict || it.state != want.state || it.OnTime != want.onTime || it.Place != want.place ||
			it.state != done && it.Paid != want.paid || band != want.band {
			d.failf("at %v item %d is %v (%d), %v, paid %v, on time %v, place %d; the rules say %v (%d), %v, paid %v, on time %v, place %d",
				d.model, i, it.Verdict, it.state, band, it.Paid, it.OnTime, it.Place,
				want.verdict, want.state, want.band, want.paid, want.onTime, want.place)
		}
	}
	for i := range d.model.flows {
		want := &d.model.flows[i]
		f := d.core.flows[want.key]
		waits := d.model.waiting(func(it *naiveItem) bool { return it.flow == i })
		if f.waiting != len(waits) || f.unpaid != len(d.model.unpaid(i)) || f.inFlight != d.model.inFlight(i) {
			d.failf("at %v flow %d has %d waiting, %d of them unpaid, %d in flight; the rules say %d, %d, %d", d.model, i,
				f.waiting, f.unpaid, f.inFlight, len(waits), len(d.model.unpaid(i)), d.model.inFlight(i))
		}
		if got, left := f.meter.Remaining(d.now()), want.meter.left(d.model.now); got != left {
			d.failf("at %v flow %d has %d left; the rules say %d", d.model, i, got, left)
		}
	}
	for i := range d.model.callers {
		want := &d.model.callers[i]
		cl := d.core.callers[want.id]
		if (cl.limit != nil) != want.limited {
			d.failf("at %v caller %d has the rate %v", d.model, want.id, cl.limit)
		}
		if want.limited && cl.meter.Remaining(d.now()) != want.meter.left(d.model.now) {
			d.failf("at %v caller %d has %d left; the rules say %d", d.model, want.id, cl.meter.Remaining(d.now()), want.meter.left(d.model.now))
		}
	}
	for _, p := range d.core.pools {
		was := d.model.fill(&naiveItem{pool: p.setup.Name})
		if p.inUse != d.model.inUse(p.setup.Name) || p.waiting != was.items || p.waitingBytes != was.bytes {
			d.failf("at %v pool %s has %d in use, %d waiting with %d bytes; the rules say %d, %d, %d", d.model, p.setup.Name,
				p.inUse, p.waiting, p.waitingBytes, d.model.inUse(p.setup.Name), was.items, was.bytes)
		}
	}
}

// left is what can be paid now.
func (m *naiveMeter) left(now int64) int64 {
	if m.limit.Burst > 0 {
		return floor(m.level(now))
	}
	return max(0, m.limit.N-m.used(now))
}

func randomProgram(rng *rand.Rand) []byte {
	program := make([]byte, 100+rng.IntN(500))
	for i := range program {
		program[i] = byte(rng.Uint32())
	}
	return program
}

func TestTheCoreAgreesWithTheNaiveModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	verdicts := map[Verdict]int{}
	promoted, displacedPaid := 0, 0
	for range 300 / shorter {
		d := playAgainstNaiveModel(t, randomProgram(rng))
		for i, it := range d.items {
			verdicts[it.Verdict]++
			if it.Paid && !it.OnTime {
				promoted++
			}
			if it.Verdict == Displaced && d.model.items[i].band == Committed {
				displacedPaid++
			}
		}
	}
	for _, v := range []Verdict{Waiting, Granted, RateExceeded, WaitTooLong, WaitExpired, QueueFull, Displaced, TooManyInFlight, Gone} {
		if verdicts[v] < 20/shorter {
			t.Errorf("%v came up %d times", v, verdicts[v])
		}
	}
	t.Logf("%v; %d paid by the schedule, %d displaced though paid", verdicts, promoted, displacedPaid)
}

func FuzzAgainstNaiveModel(f *testing.F) {
	rng := rand.New(rand.NewPCG(13, 14))
	for range 8 {
		f.Add(randomProgram(rng))
	}
	f.Fuzz(func(t *testing.T, program []byte) { playAgainstNaiveModel(t, program[:min(len(program), 700)]) })
}
