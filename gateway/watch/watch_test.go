package watch

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidegate/detector"
	"tidegate/gateway/config"
)

type flow struct{ watch Flow }

func (f *flow) Watch() *Flow { return &f.watch }

var (
	t0       = time.Unix(1_700_000_000, 0)
	settings = detector.Config{Window: time.Second, Ratio: 1.5, Rise: time.Minute, MinRate: 1, Learn: 30 * time.Minute, Hold: 10 * time.Second}
)

// walk is a set of flows and a clock that goes from step to step.
type walk struct {
	flows Flows[*flow]
	now   time.Time
	last  detector.Verdict // of the last step
}

func (w *walk) offer(f *flow, n int) {
	for range n {
		if f.watch.Count() {
			w.flows.Come(f)
		}
	}
}

func (w *walk) step(c *detector.Config) {
	w.now, w.last = w.now.Add(Every), detector.None
	w.flows.Step(c, w.now, func(_ *flow, v detector.Verdict) { w.last = v })
}

func TestAFlowIsSteppedWhileItHasTrafficAndNoLongerOnceItIsQuiet(t *testing.T) {
	w, f := walk{now: t0}, &flow{}
	w.offer(f, 3)
	if w.flows.Len() != 0 {
		t.Error("a flow that has come is among those that were stepped")
	}
	steps := 0
	for w.step(&settings); w.flows.Len() > 0; w.step(&settings) {
		if steps++; steps > 1000 {
			t.Fatal("a flow that has gone silent is stepped for ever")
		}
	}
	w.step(&settings)
	if w.offer(f, 1); f.watch.seen != 3 {
		t.Error("a quiet flow is looked at")
	}
	if w.step(&settings); w.flows.Len() != 1 || f.watch.seen != 4 {
		t.Error("a flow that came back is not stepped")
	}
}

func TestWhatIsKnownOfAFlowOutlivesItsSilence(t *testing.T) {
	w, f := walk{now: t0}, &flow{}
	for range 600 {
		w.offer(f, 5)
		w.step(&settings)
	}
	for range 6000 {
		w.step(&settings)
	}
	w.offer(f, 5)
	if w.step(&settings); f.watch.State.State() == detector.Learning {
		t.Error("the flow is learned anew")
	}
}

func TestASurgeIsFoundAndEndsWhenTheDetectorIsSwitchedOff(t *testing.T) {
	w, f := walk{now: t0}, &flow{}
	for range 1200 {
		w.offer(f, 5)
		w.step(&settings)
	}
	f.watch.State.Season().Learn(3, 50)
	for i := 0; w.last != detector.SurgeBegan; i++ {
		if i > 50 {
			t.Fatal("ten times the rate is no surge after five seconds")
		}
		w.offer(f, 50)
		w.step(&settings)
	}
	if w.step(nil); w.last != detector.SurgeEnded || f.watch.State.Surging() {
		t.Errorf("switched off, the verdict is %v", w.last)
	}
	if f.watch.State.Season().Seen() != 1 {
		t.Error("switched off, the detector has forgotten the season")
	}
	if w.step(nil); w.last != detector.None {
		t.Errorf("and then %v", w.last)
	}
}

// An arrival that meets the step in which its flow is found quiet must not be lost.
func TestNoArrivalIsLostBetweenQuietAndBack(t *testing.T) {
	const each = 20000
	var flows Flows[*flow]
	var stop atomic.Bool
	fs := []*flow{{}, {}, {}}
	var senders, stepper sync.WaitGroup
	for _, f := range fs {
		senders.Go(func() {
			for range each {
				if f.watch.Count() {
					flows.Come(f)
				}
			}
		})
	}
	now := t0
	step := func() {
		now = now.Add(10 * time.Second) // past a gap: the flow is quiet at once
		flows.Step(&settings, now, func(*flow, detector.Verdict) {})
	}
	stepper.Go(func() {
		for !stop.Load() {
			step()
		}
	})
	senders.Wait()
	stop.Store(true)
	stepper.Wait()
	step()
	step()
	for i, f := range fs {
		if f.watch.seen != each {
			t.Errorf("flow %d: %d of %d arrivals were seen by the detector", i, f.watch.seen, each)
		}
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	f := &flow{}
	f.watch.Count()
	if n := testing.AllocsPerRun(1000, func() { f.watch.Count() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWhatTheConfigurationSays(t *testing.T) {
	d := config.Detector{
		Enabled: true, Window: config.Duration{Duration: time.Second}, Ratio: 2, Rise: config.Duration{Duration: time.Minute},
		MinRate: config.Rate{N: 30, Per: time.Minute}, Learn: config.Duration{Duration: time.Hour}, Hold: config.Duration{Duration: 5 * time.Second},
	}
	want := detector.Config{Window: time.Second, Ratio: 2, Rise: time.Minute, MinRate: 0.5, Learn: time.Hour, Hold: 5 * time.Second, Season: true}
	if c := Config(&d); c == nil || *c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if d.Season = "off"; Config(&d).Season {
		t.Error("seasons are off, and the detector goes by them")
	}
	if d.Enabled = false; Config(&d) != nil {
		t.Error("a detector that is off has settings")
	}
}

func TestAFlowThatIsNewIsGivenWhatIsKnownOfIt(t *testing.T) {
	w, f := walk{now: t0}, &flow{}
	asked, left := 0, 0
	w.flows.Recall = func(_ *flow, s *detector.Season) {
		asked++
		s.Learn(3, 50)
	}
	w.flows.Left = func(*flow) { left++ }
	w.flows.Look(f, func(*detector.Flow) { t.Error("there is something to see of a flow before its first step") })
	for range 3 {
		w.offer(f, 3)
		for range 200 {
			w.step(&settings)
		}
	}
	if asked != 1 || left != 3 {
		t.Errorf("asked %d times, want once; left %d times, want 3", asked, left)
	}
	seen := 0
	w.flows.Look(f, func(f *detector.Flow) { seen = f.Season().Seen() })
	if seen != 1 {
		t.Error("the season is not what was recalled")
	}
	other := &flow{}
	w.flows.Recall = nil
	w.offer(other, 1)
	w.step(&settings)
	w.flows.Look(other, func(f *detector.Flow) { seen = f.Season().Seen() })
	if seen != 0 {
		t.Error("a flow has the season of another")
	}
}

func TestASweepComesToEachFlowInTurn(t *testing.T) {
	w, fs := walk{now: t0}, [7]flow{}
	w.flows.Sweep(3, func(*flow, *detector.Flow) { t.Error("there is no flow") })
	for i := range fs {
		w.offer(&fs[i], 1)
	}
	w.step(&settings)
	met := map[*flow]int{}
	for range 7 {
		w.flows.Sweep(3, func(f *flow, _ *detector.Flow) { met[f]++ })
	}
	w.flows.Sweep(100, func(f *flow, _ *detector.Flow) { met[f]++ })
	for i := range fs {
		if met[&fs[i]] != 4 {
			t.Errorf("flow %d was met %d times, want 4", i, met[&fs[i]])
		}
	}
}

// Readers may look at any flow at any time.
func TestAFlowIsReadWhileItIsStepped(t *testing.T) {
	w := walk{now: t0}
	fs := make([]flow, 300)
	var reading sync.WaitGroup
	var stop atomic.Bool
	reading.Go(func() {
		for i := 0; !stop.Load(); i++ {
			w.flows.Look(&fs[i%len(fs)], func(f *detector.Flow) {
				if r := f.Report(); r.Observed < 0 {
					t.Error(r)
				}
			})
		}
	})
	for range 100 {
		for i := range fs {
			w.offer(&fs[i], 2)
		}
		w.step(&settings)
	}
	stop.Store(true)
	reading.Wait()
}
