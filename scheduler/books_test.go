package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tidegate/pools"
)

// check recounts everything that the core keeps count of, from the items themselves.
func check(t testing.TB, c *Core, items map[*Item]bool) {
	t.Helper()
	type tally struct {
		waiting, observed, inUse, long, longUnpaid, longObserved int
		bytes, observedBytes                                     int64
		held                                                     [bands]int
	}
	pool := map[*pool]*tally{}
	flowWaiting, flowUnpaid, flowBusy := map[*Flow]int{}, map[*Flow]int{}, map[*Flow]int{}
	queueWaiting, queueObserved := map[*fairQueue]int{}, map[*fairQueue]int{}
	entryWaiting, entryObserved := map[*entry]int{}, map[*entry]int{}
	queueBytes, entryBytes := map[*fairQueue]int64{}, map[*entry]int64{}
	for _, p := range c.pools {
		pool[p] = &tally{}
	}
	for it := range items {
		switch it.state {
		case waiting:
			l := it.line
			p := pool[l.place.pool]
			p.waiting++
			p.bytes += it.Bytes
			flowWaiting[it.Flow]++
			if it.owes() {
				flowUnpaid[it.Flow]++
			}
			if it.owes() == l.paid || it.rule.Observe != l.place.observe {
				t.Fatalf("item paid=%v observe=%v waits in the line paid=%v of a place observe=%v", it.Paid, it.rule.Observe, l.paid, l.place.observe)
			}
			if l.entry.queue != l.place.level.queues[l.band()] {
				t.Fatalf("a line of band %v waits in the queue of band %v", l.band(), l.entry.queue.band)
			}
			if it.rule.Observe {
				p.observed++
				p.observedBytes += it.Bytes
				queueObserved[l.entry.queue]++
				entryObserved[l.entry]++
			} else {
				queueWaiting[l.entry.queue]++
				entryWaiting[l.entry]++
				queueBytes[l.entry.queue] += it.Bytes
				entryBytes[l.entry] += it.Bytes
			}
			if limited := !it.rule.Observe || it.OwnWait; limited != (it.expiry.pos != 0) || limited && it.expiry.at < c.ns {
				t.Fatalf("a waiting item's longest wait has ended, or nothing watches it")
			}
			if it.Verdict != Waiting {
				t.Fatalf("verdict %v while waiting", it.Verdict)
			}
		case inFlight:
			p := pool[it.line.place.pool]
			p.inUse++
			p.held[it.counted]++
			flowBusy[it.Flow]++
			if it.long {
				p.long++
				if it.counted != Committed {
					p.longUnpaid++
				}
				if it.rule.Observe {
					p.longObserved++
				}
			}
		}
	}
	for _, p := range c.pools {
		w := pool[p]
		if p.waiting != w.waiting || p.waitingBytes != w.bytes || p.inUse != w.inUse || p.held != w.held || p.long != w.long || p.longUnpaid != w.longUnpaid ||
			p.observed != w.observed || p.observedBytes != w.observedBytes || p.longObserved != w.longObserved {
			t.Fatalf("pool %s: books %d %d %d %v %d %d %d %d %d, recounted %+v", p.setup.Name, p.waiting, p.waitingBytes, p.inUse, p.held, p.long, p.longUnpaid,
				p.observed, p.observedBytes, p.longObserved, *w)
		}
		if p.observed > 0 && p.inUse < p.setup.Seats {
			t.Fatalf("pool %s: %d wait that are only observed, and %d of %d seats are in use", p.setup.Name, p.observed, p.inUse, p.setup.Seats)
		}
		held := map[int32]holding{}
		heavy := 0
		for _, l := range p.levels {
			ready := 0
			for _, q := range l.queues {
				if q.waiting != queueWaiting[q] || q.bytes != queueBytes[q] || q.observed != queueObserved[q] {
					t.Fatalf("queue %s/%s/%v: books %d, recounted %d", p.setup.Name, l.name, q.band, q.waiting, queueWaiting[q])
				}
				for _, e := range q.callers {
					if e.waiting != entryWaiting[e] || e.bytes != entryBytes[e] || e.observed != entryObserved[e] {
						t.Fatalf("entry: books %d, recounted %d", e.waiting, entryWaiting[e])
					}
					h := held[e.caller.id]
					held[e.caller.id] = holding{h.items + e.waiting, h.bytes + e.bytes}
				}
				for s := range q.ready {
					for _, e := range q.ready[s].a {
						if e.lines[s].len() == 0 {
							t.Fatalf("a caller without ready lines is ready")
						}
						for _, line := range e.lines[s].a {
							if line.n == 0 || line.place.parked && !line.place.observe || line.speed != speed(s) {
								t.Fatalf("a line that may not go is ready")
							}
							if speed(s) != quick {
								heavy++
							}
						}
					}
				}
				for s := range q.ready {
					if q.band == Committed {
						for _, e := range q.ready[s].a {
							ready += e.lines[s].len()
						}
					}
				}
			}
			if ready != l.share.lines {
				t.Fatalf("level %s: %d ready lines on the books, %d recounted", l.name, l.share.lines, ready)
			}
		}
		for id, h := range p.holds {
			if *h != held[id] {
				t.Fatalf("pool %s: caller %d holds %+v on the books, %+v recounted", p.setup.Name, id, *h, held[id])
			}
		}
		if heavy != len(p.heavy) {
			t.Fatalf("%d heavy lines on the books, %d recounted", len(p.heavy), heavy)
		}
		if n := p.waiting - p.observed; n > p.setup.MaxWaiting && !p.gone {
			t.Fatalf("%d wait of at most %d", n, p.setup.MaxWaiting)
		}
		// Work-conserving: no seat is free that somebody who waits may take. Age alone can close a
		// speed between two looks, so what pick would say now counts.
		if p.waiting > 0 {
			c.countLong(p)
			if l := c.pick(p); l != nil {
				t.Fatalf("a seat is free for %v work of %v, and it waits", l.band(), l.place.flow.Key)
			}
		}
	}
	for _, f := range c.flows {
		if f.waiting != flowWaiting[f] || f.unpaid != flowUnpaid[f] || f.inFlight != flowBusy[f] {
			t.Fatalf("flow %v: books %d %d %d, recounted %d %d %d", f.Key, f.waiting, f.unpaid, f.inFlight, flowWaiting[f], flowUnpaid[f], flowBusy[f])
		}
		if f.unpaid > 0 && f.pay.pos == 0 && f.blocked == 0 {
			t.Fatalf("flow %v has unpaid work and nothing will pay it", f.Key)
		}
		// A paid item never stands behind an unpaid one.
		for _, p := range f.places {
			if p.parked != p.full() {
				t.Fatalf("flow %v stands aside: %v, has as many in flight as it may: %v", f.Key, p.parked, p.full())
			}
			if paid, unpaid := p.lines[0].tail, p.lines[1].head; paid != nil && unpaid != nil && paid.seq > unpaid.seq {
				t.Fatalf("flow %v: an item that arrived later was paid first", f.Key)
			}
		}
	}
}

// play applies a sequence of operations, three bytes each, and checks the books after every one.
func play(t testing.TB, ops []byte) {
	set := onePool(4, 5)
	set.Pools = append(set.Pools, PoolSetup{Name: "vip", Seats: 2, ExcessCeiling: .8, SurgeCeiling: .5, LongCeiling: .5, MaxWaiting: 10, MaxWaitingBytes: 5000, MaxFlowShare: .5, Callers: 1})
	set.Pools[0].MaxWaiting = 30
	set.Pools[0].MaxWaitingBytes = 20000
	set.MaxFlows = 12
	c := NewCore(t0, set)
	now := t0
	level := []string{"realtime", "standard", "batch"}
	callerRate := &pools.Limit{N: 6, Per: time.Second}
	var rules []Terms
	for i := range 12 {
		r := rule(int64(1+i), time.Second*time.Duration(1+i%3), level[i%3], time.Duration(i%4)*400*time.Millisecond)
		r.OverRate = OverRate(i % 3)
		r.MaxInFlight = i % 4
		r.RejectInFlight = i%5 == 0
		r.Cost = int64(1 + i%2)
		if r.Limit.N < r.Cost {
			r.Limit.N = r.Cost
		}
		if i%4 == 1 {
			r.Limit.Burst = 3
		}
		tm := terms(r)
		if i%3 == 0 {
			tm.CallerRate = callerRate
		}
		if i == 4 || i == 5 {
			tm.Pool = "vip"
		}
		rules = append(rules, tm)
	}
	version := uint64(1)
	items := map[*Item]bool{}
	var held, queued []*Item
	arrived, observes, looser := 0, 0, make([]Rule, len(rules))
	for i := range rules {
		looser[i] = *observed(rules[i].Rule)
	}
	untold := map[string]bool{}
	collect := func() {
		for _, j := range c.Judged() {
			if !untold[j.Name] || j.Verdict == Waiting || j.Wait < 0 {
				t.Fatalf("%s: %v after %v, told twice or not at all to be told", j.Name, j.Verdict, j.Wait)
			}
			delete(untold, j.Name)
		}
		for _, it := range c.Decided() {
			if v := it.Verdict; it.rule.Observe && v != Granted && v != Gone && (v != WaitExpired || !it.OwnWait) {
				t.Fatalf("ended %v, though it is only observed", v)
			}
			if it.Verdict == Granted {
				held = append(held, it)
			} else if it.state != done {
				t.Fatalf("decided %v in state %d", it.Verdict, it.state)
			}
		}
	}
	for len(ops) >= 3 {
		op, a, b := ops[0], ops[1], ops[2]
		ops = ops[3:]
		switch op % 8 {
		case 0, 1, 2: // arrive
			tm := rules[int(a)%len(rules)]
			tm.Version = version
			if set.Observe && observes>>(int(a)%len(rules))&1 == 1 {
				tm.Rule = &looser[int(a)%len(rules)]
			}
			k := key(int32(a%4), int32(a%3))
			if b%7 == 0 {
				k.Tenant = fmt.Sprint("t", b)
			}
			f := c.Meter(now, k, tm)
			it := &Item{Flow: f, MaxWait: f.terms.Rule.MaxWait, Bytes: int64(b) * 10, Name: fmt.Append(nil, arrived)}
			if arrived++; b%5 == 0 && it.MaxWait > 0 {
				it.OwnWait, it.MaxWait = true, it.MaxWait/time.Duration(1+b%3)*time.Duration(b%2)
			}
			items[it] = true
			c.Arrive(now, it)
			if it.rule.Observe {
				if v := it.Verdict; v != Granted && v != Waiting && (v != WaitTooLong || !it.OwnWait || it.MaxWait > 0) {
					t.Fatalf("refused %v, though it is only observed", v)
				}
				if c.shadow != nil {
					untold[string(it.Name)] = true
				}
			}
			switch it.Verdict {
			case Granted:
				held = append(held, it)
			case Waiting:
				queued = append(queued, it)
			}
			if it.Verdict != Granted && it.Verdict != Waiting && it.Paid {
				t.Fatalf("refused %v and still paid", it.Verdict)
			}
		case 3, 4: // release
			if len(held) > 0 {
				i := int(a) % len(held)
				it := held[i]
				held = append(held[:i], held[i+1:]...)
				c.Release(it, now)
				c.Unpin(it.Flow)
				delete(items, it)
			}
		case 5: // time
			now = now.Add(time.Duration(a) * time.Duration(b) * 50 * time.Microsecond)
			c.Advance(now)
		case 6: // hang up, surge
			if len(queued) > 0 && b%2 == 0 {
				it := queued[int(a)%len(queued)]
				if was := it.state; c.Cancel(now, it) != (was == waiting && it.Verdict == Gone) {
					t.Fatalf("cancel of an item in state %d: verdict %v", was, it.Verdict)
				}
			} else {
				for _, f := range c.flows {
					if f.Key.Caller == int32(a%4) {
						c.SetSurging(now, f, b%4 == 1)
					}
				}
			}
		case 7: // reload
			if a%4 == 0 {
				version++
				set.Observe, observes = b%2 == 1, int(b)*37
				set := set
				set.Pools = append([]PoolSetup(nil), set.Pools...)
				set.Pools[0].Seats = 1 + int(b%6)
				if b%5 == 0 {
					set.Levels = []LevelSetup{{Name: "standard"}, {Name: "realtime"}, {Name: "batch", MinShare: .1}}
				}
				c.Apply(now, set)
				if b%3 == 0 {
					rules[0], rules[3] = rules[3], rules[0]
					looser[0], looser[3] = *observed(rules[0].Rule), *observed(rules[3].Rule)
				}
			} else {
				c.Tidy(now, 3)
			}
		}
		collect()
		check(t, c, items)
		if c.shadow != nil {
			c.Advance(now)
			collect()
			check(t, c.shadow.core, ghosts(c.shadow, items))
		}
	}
	// In the end everything drains: nothing is held, nothing waits, every count is back.
	for len(held) > 0 {
		now = now.Add(time.Millisecond)
		it := held[0]
		held = held[1:]
		c.Release(it, now)
		c.Unpin(it.Flow)
		collect()
	}
	for range 100 {
		now = now.Add(100 * time.Millisecond)
		c.Advance(now)
		collect()
		for _, it := range held {
			c.Release(it, now)
			c.Unpin(it.Flow)
		}
		held = nil
		collect()
	}
	if c.shadow != nil {
		// A ghost may have got its seat long after a request that held it for long.
		for at, ok := c.Next(); ok; at, ok = c.Next() {
			c.Advance(at)
			collect()
		}
		if n := c.shadow.leaving.len(); n > 0 || c.shadow.core.pools[0].inUse > 0 || len(untold) > 0 {
			t.Fatalf("%d ghosts are left, %d seats are held by them, and %d are not told", n, c.shadow.core.pools[0].inUse, len(untold))
		}
	} else if len(untold) > 0 {
		t.Fatalf("%d are never told", len(untold))
	}
	for _, p := range c.pools {
		if p.inUse != 0 || p.waiting != 0 || p.waitingBytes != 0 || p.long != 0 || p.held != [bands]int{} {
			t.Fatalf("pool %s is not empty in the end: %+v", p.setup.Name, c.Stats(now, 0).Pools)
		}
	}
	if c.timers.len() != 0 {
		t.Fatalf("%d timers left", c.timers.len())
	}
}

func TestBooksStayRightUnderRandomOperations(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 150 / shorter {
		ops := make([]byte, 3*400)
		for i := range ops {
			ops[i] = byte(rng.Uint32())
		}
		play(t, ops)
	}
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 1, 2, 0, 1, 3, 5, 200, 200, 3, 0, 0})
	f.Add([]byte{7, 4, 7, 0, 1, 2, 0, 1, 3, 1, 2, 5, 5, 200, 200, 3, 0, 0, 6, 0, 0, 7, 4, 8, 0, 1, 3, 7, 4, 9, 3, 0, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 3*1000 {
			return
		}
		play(t, ops)
	})
}
