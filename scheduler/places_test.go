package scheduler

import (
	"testing"
	"time"
)

// What a flow has waiting in two places, after a reload that gave it another pool or rule.

// inBoth is a core with two pools of one seat each, and a way to let items of a flow arrive under a rule.
type inBoth struct {
	core    *Core
	version uint64
}

func newInBoth(seats int) *inBoth { return &inBoth{core: NewCore(t0, withVIP(seats))} }

func (b *inBoth) arrive(caller int32, pool string, maxInFlight int) *Item {
	b.version++
	r := rule(100, time.Second, "standard", time.Minute)
	r.MaxInFlight = maxInFlight
	tm := terms(r)
	tm.Version, tm.Pool = b.version, pool
	it := &Item{Flow: b.core.Meter(t0, key(caller, chat), tm), MaxWait: time.Minute}
	b.core.Arrive(t0, it)
	return it
}

func TestASeatThatComesBackInOnePoolLetsTheFlowGoInAnother(t *testing.T) {
	b := newInBoth(2)
	first := b.arrive(1, "shared", 1)
	next := b.arrive(1, "vip", 1)
	if first.Verdict != Granted || next.Verdict != Waiting {
		t.Fatal(first.Verdict, next.Verdict)
	}
	b.core.Release(first, t0)
	if next.Verdict != Granted {
		t.Errorf("%v: its pool is idle, and nothing of its flow is in flight", next.Verdict)
	}
}

func TestEachItemIsHeldByItsOwnRulesLimitInFlight(t *testing.T) {
	b := newInBoth(1)
	other := b.arrive(2, "vip", 0)
	held := b.arrive(1, "shared", 0)
	old := b.arrive(1, "vip", 0) // waits for vip's seat, without a limit
	b.core.Release(held, t0)
	running := b.arrive(1, "shared", 0)
	big := withVIP(4)
	big.Pools[1].Seats = 1
	b.core.Apply(t0, big)
	limited := b.arrive(1, "shared", 1)
	free := b.arrive(1, "shared", 1)
	if running.Verdict != Granted || old.Verdict != Waiting || limited.Verdict != Waiting || free.Verdict != Waiting {
		t.Fatalf("%v %v %v %v: with one in flight, a rule that allows one lets nobody go", running.Verdict, old.Verdict, limited.Verdict, free.Verdict)
	}
	b.core.Release(other, t0)
	if old.Verdict != Granted {
		t.Errorf("%v: the rule that took it in has no limit", old.Verdict)
	}
	b.core.Release(running, t0)
	if limited.Verdict != Waiting {
		t.Errorf("%v with one of the flow in flight, and one allowed", limited.Verdict)
	}
	b.core.Release(old, t0)
	if limited.Verdict != Granted || free.Verdict != Waiting {
		t.Errorf("%v, %v: want the first of the two", limited.Verdict, free.Verdict)
	}
}

func TestWhatHasWaitedLongerInAnotherPlaceGoesFirst(t *testing.T) {
	b := newInBoth(3)
	a, c := b.arrive(1, "shared", 2), b.arrive(1, "shared", 2)
	older, newer := b.arrive(1, "shared", 2), b.arrive(1, "vip", 2)
	if older.Verdict != Waiting || newer.Verdict != Waiting {
		t.Fatal(older.Verdict, newer.Verdict)
	}
	b.core.Release(a, t0)
	if older.Verdict != Granted || newer.Verdict != Waiting {
		t.Errorf("older %v, newer %v", older.Verdict, newer.Verdict)
	}
	b.core.Release(c, t0)
	if newer.Verdict != Granted {
		t.Errorf("newer %v", newer.Verdict)
	}
}

func TestTheNextInLineIsHeldByItsOwnRuleOnceItIsFirst(t *testing.T) {
	b := newInBoth(1)
	running := b.arrive(1, "shared", 0)
	first := b.arrive(1, "shared", 0)
	second := b.arrive(1, "shared", 1)
	b.core.Apply(t0, withVIP(1))
	b.core.Cancel(t0, first)
	b.core.Apply(t0, withVIP(2))
	if second.Verdict != Waiting {
		t.Errorf("%v with one in flight, and one allowed", second.Verdict)
	}
	b.core.Release(running, t0)
	if second.Verdict != Granted {
		t.Error(second.Verdict)
	}
}
