package scheduler

import (
	"fmt"
	"testing"
	"time"

	"tidegate/pools"
)

func full(t *testing.T, maxWaiting int, share float64) *hand {
	set := onePool(1, 10)
	set.Pools[0].MaxWaiting, set.Pools[0].MaxFlowShare = maxWaiting, share
	h := byHand(t, set)
	blocker := h.source("blocker", key(99, 9), terms(rule(10, time.Second, "realtime", time.Second)), time.Hour)
	h.sends(blocker, 0, 1)
	return h
}

func TestAFullQueueMakesRoomForBetterWork(t *testing.T) {
	h := full(t, 10, 1)
	paid := func(level string) Terms { return terms(rule(100, time.Second, level, time.Minute)) }
	few := h.source("few", key(1, export), paid("batch"), time.Second)
	many := h.source("many", key(2, export), paid("batch"), time.Second)
	chats := h.source("chat", key(3, chat), paid("realtime"), time.Second)
	h.sends(few, time.Millisecond, 3)
	h.sends(many, 2*time.Millisecond, 7)
	h.run(5 * time.Millisecond)
	h.arrive(chats)
	if many.refused[Displaced] != 1 || few.allRefused() != 0 || h.core.pools[0].waiting != 10 {
		t.Fatalf("many %v, few %v: the newest of who holds most in the lowest level gives way", many.refused, few.refused)
	}
	// Equal rank: only for a caller who holds less than half as much. 6 against 3: not less.
	h.arrive(few)
	if few.refused[QueueFull] != 1 {
		t.Errorf("few with 3 beside 6: %v, want queue_full", few.refused)
	}
	one := h.source("one", key(4, export), paid("batch"), time.Second)
	h.arrive(one)
	if many.refused[Displaced] != 2 || one.allRefused() != 0 {
		t.Errorf("one: %v, many: %v", one.refused, many.refused)
	}
	// Lower rank never displaces higher.
	h.arrive(many)
	if many.refused[QueueFull] != 1 {
		t.Errorf("many: %v, want queue_full", many.refused)
	}
}

func TestABoundThatShrinksSendsNobodyAwayByItself(t *testing.T) {
	set := onePool(1, 10)
	set.Pools[0].MaxWaiting, set.Pools[0].MaxFlowShare = 20, 1
	h := byHand(t, set)
	src := h.source("a", key(1, export), terms(rule(100, time.Second, "batch", time.Minute)), time.Hour)
	chats := h.source("chat", key(3, chat), terms(rule(100, time.Second, "realtime", time.Minute)), time.Second)
	h.sends(src, 0, 11)
	h.run(time.Millisecond)
	set.Pools[0].MaxWaiting, set.Pools[0].MaxWaitingBytes = 3, 3000
	h.core.Apply(h.now, set)
	h.arrive(chats)
	h.arrive(src)
	if src.refused[Displaced] != 1 || src.refused[QueueFull] != 1 || chats.allRefused() != 0 || h.core.pools[0].waiting != 10 {
		t.Errorf("a %v, chat %v, %d wait: want one to give way for one that is better", src.refused, chats.refused, h.core.pools[0].waiting)
	}
}

func TestTheNewestGivesWay(t *testing.T) {
	h := full(t, 3, 1)
	a := h.source("a", key(1, export), terms(rule(100, time.Second, "batch", time.Minute)), time.Second)
	chats := h.source("chat", key(3, chat), terms(rule(100, time.Second, "realtime", time.Minute)), time.Second)
	var items []*Item
	for i := range 3 {
		h.at(time.Duration(i+1)*time.Millisecond, func() { items = append(items, h.arrive(a)) })
	}
	h.run(5 * time.Millisecond)
	h.arrive(chats)
	if items[0].Verdict != Waiting || items[1].Verdict != Waiting || items[2].Verdict != Displaced {
		t.Errorf("%v %v %v", items[0].Verdict, items[1].Verdict, items[2].Verdict)
	}
}

func TestACallersShareOfTheQueue(t *testing.T) {
	h := full(t, 100, .25)
	a := h.source("a", key(1, export), terms(rule(5, time.Second, "batch", time.Minute)), time.Second)
	aChat := h.source("a/chat", key(1, chat), terms(rule(100, time.Second, "realtime", time.Minute)), time.Second)
	b := h.source("b", key(2, export), terms(rule(5, time.Second, "batch", time.Minute)), time.Second)
	h.sends(a, time.Millisecond, 60)
	h.run(2 * time.Millisecond)
	if a.refused[QueueFull] != 35 {
		t.Fatalf("a: %v, want 25 waiting and 35 refused", a.refused)
	}
	h.arrive(b)
	if b.allRefused() != 0 {
		t.Errorf("b: %v; there is room for others", b.refused)
	}
	h.arrive(aChat)
	if aChat.allRefused() != 0 || a.refused[Displaced] != 1 {
		t.Errorf("a's chat %v, a's export %v: the flood makes room for better work of the same caller", aChat.refused, a.refused)
	}
}

func TestBytesAreBoundedToo(t *testing.T) {
	set := onePool(1, 10)
	set.Pools[0].MaxWaitingBytes, set.Pools[0].MaxFlowShare = 10000, 1
	h := byHand(t, set)
	src := h.source("a", key(1, export), terms(rule(100, time.Second, "batch", time.Minute)), time.Hour)
	h.sends(src, 0, 50) // 1,000 bytes each
	h.run(time.Millisecond)
	if p := h.core.pools[0]; p.waiting != 10 || p.waitingBytes != 10000 || src.refused[QueueFull] != 39 {
		t.Errorf("%d wait with %d bytes, refused %v", p.waiting, p.waitingBytes, src.refused)
	}
}

func TestWhatCanNeverFitDisplacesNobody(t *testing.T) {
	set := onePool(1, 10)
	set.Pools[0].MaxWaitingBytes, set.Pools[0].MaxFlowShare = 10000, 1
	h := byHand(t, set)
	src := h.source("a", key(1, export), terms(rule(100, time.Second, "batch", time.Minute)), time.Hour)
	h.sends(src, 0, 6) // one runs
	h.run(time.Millisecond)
	better := h.core.Meter(h.now, key(2, chat), terms(rule(100, time.Second, "realtime", time.Minute)))
	it := &Item{Flow: better, MaxWait: time.Minute, Bytes: 10001}
	h.core.Arrive(h.now, it)
	h.core.Unpin(better)
	if it.Verdict != QueueFull || src.refused[Displaced] != 0 || h.core.pools[0].waiting != 5 {
		t.Errorf("%v; %v displaced, %d wait", it.Verdict, src.refused, h.core.pools[0].waiting)
	}
}

func TestAFullQueueIsToldBeforeTheBody(t *testing.T) {
	set := onePool(1, 10)
	set.Pools[0].MaxWaiting, set.Pools[0].MaxFlowShare = 4, 1
	h := byHand(t, set)
	tm := terms(rule(100, time.Second, "batch", time.Minute))
	src := h.source("a", key(1, export), tm, time.Hour)
	full := func(f *Flow) (bool, *Item) {
		it := &Item{Flow: f, Bytes: 1000}
		return h.core.Full(h.now, it), it
	}
	f := h.core.Meter(h.now, src.key, tm)
	if is, it := full(f); is || it.Verdict != Waiting {
		t.Errorf("a free seat: full %v, %v", is, it.Verdict)
	}
	h.sends(src, 0, 5)
	h.run(2 * time.Second)
	left := f.meter.Remaining(h.now)
	is, it := full(f)
	if !is || it.Verdict != QueueFull || !it.OnTime || it.Paid || it.Back <= 0 || it.Quota.Remaining != left {
		t.Errorf("no place: full %v, %+v", is, it)
	}
	if f.meter.Remaining(h.now) != left || h.core.pools[0].waiting != 4 {
		t.Error("to ask has changed something")
	}

	// What the flow's rate has, but not the caller's, is not paid: no promise is broken.
	tm.CallerRate = &pools.Limit{N: 1, Per: time.Minute}
	poor := h.core.Meter(h.now, key(2, export), tm)
	poor.caller.meter.Take(h.now, 1)
	if is, it := full(poor); !is || it.OnTime || it.Breach() {
		t.Errorf("a caller whose rate is used up: full %v, on time %v", is, it.OnTime)
	}
}

func TestOnePoolsFullQueueIsNotTheOthers(t *testing.T) {
	set := onePool(1, 10)
	set.Pools[0].MaxWaiting, set.Pools[0].MaxFlowShare = 5, 1
	vip := set.Pools[0]
	vip.Name = "vip"
	set.Pools = append(set.Pools, vip)
	h := byHand(t, set)
	a := h.source("a", key(1, export), terms(rule(100, time.Second, "batch", time.Minute)), time.Hour)
	tm := terms(rule(100, time.Second, "realtime", time.Minute))
	tm.Pool = "vip"
	v := h.source("vip", key(2, chat), tm, 10*time.Millisecond)
	h.sends(a, 0, 100)
	h.sends(v, time.Millisecond, 3)
	h.run(time.Second)
	if a.allRefused() == 0 || v.granted != 3 || v.waits[2] > 20*time.Millisecond {
		t.Errorf("a refused %v; %v", a.refused, v)
	}
}

func TestTooManyInFlight(t *testing.T) {
	for _, reject := range []bool{true, false} {
		h := byHand(t, onePool(10, 3))
		r := rule(100, time.Second, "batch", time.Minute)
		r.MaxInFlight, r.RejectInFlight = 2, reject
		src := h.source("a", key(1, export), terms(r), 100*time.Millisecond)
		other := h.source("b", key(2, export), terms(rule(100, time.Second, "batch", time.Minute)), 100*time.Millisecond)
		h.warm(src, other)
		h.sends(src, 0, 5)
		h.sends(other, 0, 3)
		h.run(time.Second)
		if other.atOnce != 3 {
			t.Errorf("the flow that may not go is not passed over: %v", other)
		}
		if reject && (src.granted != 2 || src.refused[TooManyInFlight] != 3) {
			t.Errorf("reject: %v", src)
		}
		if !reject && (src.granted != 5 || src.peak != 2) {
			t.Errorf("queue: %v, %d at once", src, src.peak)
		}
	}
}

func TestTenantsAndFlowsAreBounded(t *testing.T) {
	set := onePool(4, 3)
	set.MaxTenants, set.MaxFlows = 10, 25
	c := NewCore(t0, set)
	tm := terms(rule(10, time.Minute, "batch", time.Minute))
	shared := map[*Flow]bool{}
	for i := range 100 {
		k := key(1, chat)
		k.Tenant = fmt.Sprint("t", i)
		f := c.Meter(t0, k, tm)
		shared[f] = true
		f.meter.Take(t0, 1) // its window is not empty: it may not be dropped
		c.Unpin(f)
	}
	if len(shared) != 11 {
		t.Errorf("%d flows for 100 tenants, want 10 and a shared one", len(shared))
	}
	for i := range int32(100) {
		k := key(2+i%2, i)
		k.Tenant = fmt.Sprint("t", i%5)
		f := c.Meter(t0, k, tm)
		f.meter.Take(t0, 1)
		c.Unpin(f)
	}
	if len(c.flows) > 25+100 {
		t.Errorf("%d flows", len(c.flows))
	}
	// When the windows are empty again the flows may go, and nothing is refilled by it.
	c.Tidy(t0.Add(time.Hour), 1000)
	if len(c.flows) != 0 || len(c.callers) != 0 {
		t.Errorf("%d flows and %d callers are left after an hour", len(c.flows), len(c.callers))
	}
}

func TestABusyFlowIsNeverDropped(t *testing.T) {
	set := onePool(4, 3)
	set.MaxFlows = 2
	c := NewCore(t0, set)
	tm := terms(rule(10, time.Minute, "batch", time.Minute))
	f := c.Meter(t0, key(1, chat), tm)
	it := &Item{Flow: f, MaxWait: time.Minute}
	c.Arrive(t0, it)
	later := t0.Add(2 * time.Hour)
	for i := range int32(50) {
		k := key(2, chat)
		k.Tenant = fmt.Sprint(i)
		c.Unpin(c.Meter(later, k, tm))
	}
	c.Tidy(later, 1000)
	if c.flows[key(1, chat)] != f {
		t.Fatal("a flow with a seat was dropped")
	}
	c.Release(it, later)
	c.Unpin(f)
}

func TestNobodyGivesWayToWhoIsRefusedAllTheSame(t *testing.T) {
	set := onePool(1, 10)
	set.Pools[0].MaxWaitingBytes, set.Pools[0].MaxFlowShare = 10000, 1
	h := byHand(t, set)
	blocker := h.source("blocker", key(99, 9), terms(rule(10, time.Second, "realtime", time.Second)), time.Hour)
	small := h.source("small", key(1, export), terms(rule(100, time.Second, "batch", time.Minute)), time.Second)
	chats := h.source("chat", key(2, chat), terms(rule(100, time.Second, "realtime", time.Minute)), time.Second)
	h.sends(blocker, 0, 1)
	h.sends(small, time.Millisecond, 3)   // 3,000 bytes that could give way
	h.sends(chats, 2*time.Millisecond, 7) // 7,000 that could not
	h.run(5 * time.Millisecond)
	big := func(bytes int64) *Item {
		f := h.core.Meter(h.now, key(3, chat), chats.terms)
		it := &Item{Flow: f, MaxWait: time.Minute, Bytes: bytes}
		h.core.Arrive(h.now, it)
		h.decided()
		return it
	}
	f := h.core.Meter(h.now, key(3, chat), chats.terms)
	f.Data.Store(chats)
	if it := big(8000); it.Verdict != QueueFull || small.allRefused() != 0 {
		t.Errorf("8,000 bytes where 3,000 can be had: %v, and %v gave way", it.Verdict, small.refused)
	}
	if it := big(2500); it.Verdict != Waiting || small.refused[Displaced] != 3 {
		t.Errorf("2,500 bytes where 3,000 can be had: %v, and %v gave way", it.Verdict, small.refused)
	}
}

func TestACallerWhoseIdleFlowMakesRoomForItsNextStaysOneCaller(t *testing.T) {
	set := onePool(10, 3)
	set.MaxFlows = 1
	c := NewCore(t0, set)
	tm := terms(rule(10, time.Second, "batch", time.Second))
	tm.CallerRate = &pools.Limit{N: 1, Per: time.Second}
	tm.Rule.OverRate = OverReject
	sends := func(now time.Time, semantic int32) Verdict {
		it := &Item{Flow: c.Meter(now, key(1, semantic), tm), MaxWait: time.Second}
		if c.Arrive(now, it); it.Verdict == Granted {
			c.Release(it, now)
		}
		c.Unpin(it.Flow)
		return it.Verdict
	}
	if v := sends(t0, chat); v != Granted {
		t.Fatal(v)
	}
	now := t0.Add(time.Minute) // all is idle: the chat flow gives way to the export flow
	if v := sends(now, export); v != Granted {
		t.Fatal(v)
	}
	if v := sends(now, chat); v != RateExceeded {
		t.Errorf("the second in a second over all flows of the caller, paid 1/s: %v", v)
	}
	if len(c.callers) != 1 {
		t.Errorf("%d callers", len(c.callers))
	}
}

// bytesQueue is a pool of one seat, which is taken, and a way to let items of some bytes wait.
func bytesQueue(t *testing.T, maxBytes int64, share float64) (*Core, func(caller int32, level string, bytes int64) *Item) {
	set := onePool(1, 10)
	set.Pools[0].MaxWaitingBytes, set.Pools[0].MaxFlowShare = maxBytes, share
	c := NewCore(t0, set)
	arrive := func(caller int32, level string, bytes int64) *Item {
		tm := terms(rule(100, time.Second, level, time.Minute))
		it := &Item{Flow: c.Meter(t0, Key{Caller: caller, Semantic: chat, Route: NoRoute, Tenant: level}, tm), MaxWait: time.Minute, Bytes: bytes}
		c.Arrive(t0, it)
		return it
	}
	if it := arrive(9, "realtime", 0); it.Verdict != Granted {
		t.Fatal(it.Verdict)
	}
	return c, arrive
}

func TestACallersOnlyWorkMayBeAnySizeWhenAllElseOfItGivesWay(t *testing.T) {
	_, arrive := bytesQueue(t, 2000, .3)
	small := arrive(1, "batch", 100)
	if big := arrive(1, "realtime", 700); big.Verdict != Waiting || small.Verdict != Displaced {
		t.Errorf("700 bytes beside 100 of 600: %v, and the 100 are %v; alone they are let in", big.Verdict, small.Verdict)
	}
}

func TestOfEqualRankOneGivesWayOrNobody(t *testing.T) {
	_, arrive := bytesQueue(t, 1000, 1)
	own := arrive(1, "batch", 0)
	big := arrive(2, "batch", 900)
	var zero []*Item
	for range 3 {
		zero = append(zero, arrive(2, "batch", 0))
	}
	it := arrive(1, "batch", 300)
	if it.Verdict != QueueFull {
		t.Errorf("%v: what holds the bytes is not the newest", it.Verdict)
	}
	for _, z := range append(zero, big, own) {
		if z.Verdict != Waiting {
			t.Errorf("%v, for an arrival that was refused all the same", z.Verdict)
		}
	}
	last := arrive(2, "batch", 100)
	if it := arrive(1, "batch", 100); it.Verdict != Waiting || last.Verdict != Displaced {
		t.Errorf("%v, and the newest of who holds most is %v", it.Verdict, last.Verdict)
	}
}

func TestNobodyIsPaidForWhoGivesWayBeforeRoomIsMade(t *testing.T) {
	c, _ := bytesQueue(t, 600, 1)
	caller := pools.Limit{N: 1, Per: time.Hour, Burst: 2}
	arrive := func(id int32, level string, cost, bytes int64) *Item {
		r := rule(10, time.Hour, level, time.Minute)
		r.Cost = cost
		tm := terms(r)
		tm.CallerRate = &caller
		it := &Item{Flow: c.Meter(t0, Key{Caller: id, Semantic: chat, Route: NoRoute, Tenant: level}, tm), MaxWait: time.Minute, Bytes: bytes}
		c.Arrive(t0, it)
		return it
	}
	arrive(1, "standard", 1, 0)
	dear := arrive(1, "batch", 2, 0)          // for which the caller's rate has too little,
	behind := arrive(1, "realtime", 1, 250)   // and so this one waits behind it
	other := arrive(2, "realtime", 1, 250)    // paid
	arriving := arrive(2, "realtime", 1, 250) // paid: it lacks 100 bytes
	if arriving.Verdict != Waiting || dear.Verdict != Displaced || behind.Verdict != Displaced || other.Verdict != Waiting {
		t.Errorf("%v, %v, %v, %v: paid when the first gave way, the second would not give way any more",
			arriving.Verdict, dear.Verdict, behind.Verdict, other.Verdict)
	}
}
