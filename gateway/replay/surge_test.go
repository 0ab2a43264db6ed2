package replay

import (
	"strings"
	"testing"
	"time"

	"tidegate/detector"
)

// 20 a second for five minutes, then 200 for one, then 20 again.
func step(s *play, caller string) {
	s.poisson(0, 300, 20, caller, "chat", 1)
	s.poisson(300, 60, 200, caller, "chat", 1)
	s.poisson(360, 120, 20, caller, "chat", 1)
}

func TestAStepIsASurgeWithItsReasonAndEndsWithACalm(t *testing.T) {
	s := newPlay(t, "[time]\nzone = \"UTC\"\n"+platform, Play{Plan: "paid"})
	step(s, "promo")
	verdicts := s.finished("surge", "calm")
	if len(verdicts) != 2 {
		t.Fatalf("got %+v", verdicts)
	}
	on, off := verdicts[0], verdicts[1]
	if on.Event != "surge" || on.T < 300_000 || on.T > 301_000 || on.T%100 != 0 {
		t.Errorf("the surge is found at %d ms", on.T)
	}
	if on.Caller != "promo" || on.Semantic != "chat" || on.Observed < 25 || on.Expected < 10 || on.Expected > 30 || on.Score < on.Needed || on.Needed <= 0 ||
		on.Ratio < 1.5 || on.Since < 299_000 || on.Since > on.T || on.Slot != "Thu 00h" || !on.Learning {
		t.Errorf("it is explained as %+v", on)
	}
	if off.Event != "calm" || off.T < 360_000 || off.T > 400_000 {
		t.Errorf("it ends with %+v", off)
	}
	if r := s.row("promo", "chat"); r.Surges != 1 || r.Surging {
		t.Errorf("told: %+v", r)
	}
}

func TestASurgeThatTheTraceEndsInIsToldAsOn(t *testing.T) {
	// What is in flight ends long after the last arrival.
	s := newPlay(t, platform, Play{Plan: "paid", Service: map[string]time.Duration{"chat": time.Minute}})
	s.poisson(0, 300, 20, "promo", "chat", 1)
	s.poisson(300, 10, 200, "promo", "chat", 1)
	if v := s.finished("surge", "calm"); len(v) != 1 {
		t.Errorf("got %+v: that nothing comes after the end is no calm", v)
	}
	if r := s.row("promo", "chat"); r.Surges != 1 || !r.Surging {
		t.Errorf("told: %+v", r)
	}
}

func TestADetectorThatIsOffFindsNothing(t *testing.T) {
	s := newPlay(t, strings.Replace(platform, "[detector]", "[detector]\nenabled = false", 1), Play{Plan: "paid"})
	step(s, "promo")
	if v := s.finished("surge", "calm"); len(v) != 0 {
		t.Errorf("got %+v", v)
	}
}

// A surging flow's unpaid work comes after everybody else's: the engine tells the core of the verdict.
func TestASurgeChangesTheBandOfUnpaidWork(t *testing.T) {
	s := newPlay(t, platform, Play{})
	step(s, "promo")
	bands := map[string]int{}
	for _, h := range s.finished("dispatched", "refused") {
		if h.T > 302_000 && h.T < 360_000 {
			bands[h.Band]++
		}
		if h.Band == "surge" && h.T < 300_000 {
			t.Fatalf("before it: %+v", h)
		}
	}
	if bands["surge"] == 0 || bands["excess"] > 0 {
		t.Errorf("bands %v", bands)
	}
}

// A verdict at t knows the arrivals before t, on the grid of the trace's clock.
func TestVerdictsLieOnTheGridAndComeBeforeWhatArrivesThen(t *testing.T) {
	for ns, want := range map[int64]int64{0: 100e6, 1: 100e6, 99_999_999: 100e6, 100e6: 200e6, -1: 0, -100e6: 0, -100_000_001: -100e6} {
		if got := gridAfter(ns); got != want {
			t.Errorf("after %d: %d, want %d", ns, got, want)
		}
	}
}

func TestAFlowThatIsSilentForLongCostsNoSteps(t *testing.T) {
	s := newPlay(t, platform, Play{})
	s.offer(0, "a", "chat")
	s.offer(60, "b", "chat")
	if s.engine.flows.Len() > 1 {
		t.Errorf("after a minute %d flows are stepped", s.engine.flows.Len())
	}
	s.engine.advance(80e9)
	if s.engine.flows.Len() != 0 || s.engine.step != never {
		t.Errorf("after twenty seconds more %d flows are stepped, the next time at %d", s.engine.flows.Len(), s.engine.step)
	}
	s.offer(100*365*86400/2, "a", "chat") // takes no time
}

func TestFlowsThatAreIdleForLongAreDroppedAsTheyAreLive(t *testing.T) {
	s := newPlay(t, platform, Play{})
	flows := func() int { return s.engine.core.Stats(s.engine.moment(s.engine.now), 0).FlowsTotal }
	s.offer(0, "a", "chat")
	s.offer(9*60, "b", "chat")
	if n := flows(); n != 2 {
		t.Errorf("after nine minutes there are %d flows of 2", n)
	}
	s.offer(11*60, "b", "chat")
	if n := flows(); n != 1 {
		t.Errorf("after eleven minutes there are %d flows, of which one is idle", n)
	}
	s.offer(1e6, "c", "chat")
	if n := flows(); n != 1 {
		t.Errorf("after days there are %d flows", n)
	}
}

// A flow is dropped when its caller is away for the night, and is known in the morning.
func TestWhatAFlowDoesInAnHourIsKnownAfterItWasDropped(t *testing.T) {
	s := newPlay(t, platform, Play{Plan: "paid"})
	const hour, day = 3600, 24 * 3600
	s.poisson(hour/2, 2*hour, 3, "shift", "chat", 1) // with a whole hour in it
	if n := s.engine.seasons.list; len(n) != 1 || n[0].season.Hours() != 1 {
		t.Fatalf("kept: %d seasons", len(n))
	}
	s.offer(20*hour, "other", "chat")
	s.poisson(day, 2, 3, "shift", "chat", 1)
	s.engine.advance(int64(day+2) * 1e9)
	found := false
	s.engine.flows.Sweep(10, func(d *flow, state *detector.Flow) {
		if d.lane.caller.ID == "shift" {
			found = true
			if n := state.Season().Hours(); n != 1 || state.State() != detector.Calm { // judged from its first step on
				t.Errorf("%d hours are known of a flow that is %v", n, state.State())
			}
		}
	})
	if !found {
		t.Error("the flow is not stepped")
	}
}

func TestWorkThatMovesToAnotherSemanticSurgesThereAlone(t *testing.T) {
	s := newPlay(t, platform, Play{Plan: "paid"})
	o := func(from, seconds, chat, export int) {
		for i := range seconds { // by the second, as both run beside each other
			for j := range 10 {
				at := float64(from+i) + float64(j)/10
				for k := range chat / 10 {
					s.offer(at+float64(k)/1000, "mover", "chat")
				}
				for k := range export / 10 {
					s.offer(at+0.01+float64(k)/1000, "mover", "export")
				}
			}
		}
	}
	o(0, 300, 40, 10)
	o(300, 20, 0, 50)
	for _, v := range s.finished("surge") {
		if v.Semantic != "export" || v.T < 300_000 || v.T > 302_000 {
			t.Errorf("got %+v", v)
		}
	}
	if r := s.row("mover", "export"); r.Surges != 1 {
		t.Errorf("%d surges of export, want 1", r.Surges)
	}
}
