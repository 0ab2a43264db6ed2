package scheduler

import (
	"testing"
	"time"
)

// pressed is what is told of a level, a while after the start.
func (h *hand) pressed(at time.Duration, level string, want Pressed) {
	h.at(at, func() {
		for _, l := range h.core.Stats(h.now, 0).Levels {
			if l.Level == level && l.Pressed != want {
				h.t.Errorf("at %v %s is pressed %+v, want %+v", at, level, l.Pressed, want)
			}
		}
	})
}

func TestPressedIsThePaidWorkNearestToTheEndOfItsWait(t *testing.T) {
	h := byHand(t, onePool(1, 4))
	holder := h.source("holder", key(1, chat), terms(rule(100, time.Second, "realtime", time.Minute)), 10*time.Second)
	h.sends(holder, 0, 1)
	h.pressed(time.Second, "realtime", Pressed{}) // runs, and nothing waits

	slow := h.source("slow", key(2, chat), terms(rule(100, time.Second, "realtime", 40*time.Second)), time.Millisecond)
	h.sends(slow, 2*time.Second, 5)
	h.pressed(4*time.Second, "realtime", Pressed{2 * time.Second, 40 * time.Second})
	quick := h.source("quick", key(3, chat), terms(rule(100, time.Second, "realtime", 8*time.Second)), time.Millisecond)
	h.sends(quick, 5*time.Second, 1)
	h.pressed(6*time.Second, "realtime", Pressed{time.Second, 8 * time.Second}) // 1/8 is more than 4/40
	h.pressed(6*time.Second, "batch", Pressed{})
	h.pressed(11*time.Second, "realtime", Pressed{})
	h.run(12 * time.Second)
}

func TestWhatWaitsAsItWasMeantToIsNotPressed(t *testing.T) {
	h := byHand(t, onePool(2, 4))
	// One within its rate, and one that its rate pays later: it counts only from then.
	own := rule(1, 5*time.Second, "realtime", time.Minute)
	own.OverRate = OverPace
	// One at once, and no more of it.
	few := rule(100, time.Second, "realtime", time.Minute)
	few.MaxInFlight = 1
	a := h.source("its own rate", key(1, chat), terms(own), 3*time.Second)
	b := h.source("its own bound", key(2, chat), terms(few), 20*time.Second)
	h.sends(a, 0, 2)
	h.sends(b, 0, 3)
	h.pressed(4*time.Second, "realtime", Pressed{})
	c := h.source("holder", key(3, chat), terms(rule(100, time.Second, "realtime", time.Minute)), 20*time.Second)
	h.sends(c, 4*time.Second, 1)
	h.pressed(8*time.Second, "realtime", Pressed{3 * time.Second, time.Minute})
	h.run(9 * time.Second)

	o := byHand(t, onePool(1, 2))
	seen := rule(100, time.Second, "realtime", time.Second)
	seen.Observe = true
	d := o.source("observed", key(1, chat), terms(seen), 20*time.Second)
	o.sends(d, 0, 3)
	o.pressed(5*time.Second, "realtime", Pressed{})
	o.run(6 * time.Second)
}

func TestTheOldestWaitIsToldBesideHowLongItMayBe(t *testing.T) {
	h := byHand(t, onePool(1, 2))
	oldest := func(at, waited, most time.Duration) {
		h.at(at, func() {
			l := h.core.Stats(h.now, 0).Levels[0]
			if l.OldestWait != waited || l.OldestMost != most {
				t.Errorf("at %v the oldest has waited %v of %v, want %v of %v", at, l.OldestWait, l.OldestMost, waited, most)
			}
		})
	}
	holder := h.source("holder", key(1, chat), terms(rule(100, time.Second, "realtime", time.Minute)), 10*time.Second)
	h.sends(holder, 0, 1)
	oldest(time.Second, 0, 0)
	patient := h.source("patient", key(2, chat), terms(rule(100, time.Second, "realtime", 40*time.Second)), time.Millisecond)
	hasty := h.source("hasty", key(3, chat), terms(rule(100, time.Second, "realtime", 20*time.Second)), time.Millisecond)
	h.sends(patient, 2*time.Second, 1)
	h.sends(hasty, 3*time.Second, 1)
	oldest(4*time.Second, 2*time.Second, 40*time.Second)
	oldest(11*time.Second, 0, 0)
	h.run(12 * time.Second)

	o := byHand(t, onePool(1, 2))
	seen := rule(100, time.Second, "realtime", time.Second)
	seen.Observe = true
	o.sends(o.source("observed", key(1, chat), terms(seen), 20*time.Second), 0, 2)
	o.at(5*time.Second, func() {
		if l := o.core.Stats(o.now, 0).Levels[0]; l.OldestWait != 5*time.Second || l.OldestMost != 0 {
			t.Errorf("what is only observed has waited %v of %v, want 5s of no bound", l.OldestWait, l.OldestMost)
		}
	})
	o.run(6 * time.Second)
}
