package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidegate/detector"
	"tidegate/scheduler"
)

const week = 7 * 24

// taught is a season of some weeks in which each hour has a rate of its own.
func taught(weeks int, scale float64) (s detector.Season) {
	for range weeks {
		for hour := range detector.Slot(week) {
			s.Learn(hour, scale*float64(1+hour%24))
		}
	}
	return s
}

// lesson is what a season has of the hours of the week. What else it has goes on from day to day.
type lesson struct {
	rates [week]float64
	hours uint32
	seen  int
}

func lessonOf(s detector.Season) (l lesson) {
	for i := range l.rates {
		l.rates[i], _ = s.At(detector.Slot(i))
	}
	l.hours, l.seen = s.Hours(), s.Seen()
	return l
}

// data is what the gateway keeps of a flow; nil: there is no such flow.
func (w *world) data(caller, semantic, tenant string) (found *flowData) {
	w.g.scheduler.EachFlow(func(f scheduler.FlowStats) {
		if d, ok := f.Flow.Data.Load().(*flowData); ok && d.caller == caller && d.semantic == semantic && d.tenant == tenant {
			found = d
		}
	})
	return found
}

// season is what a flow knows. Its first request has been seen.
func (w *world) season(caller, semantic, tenant string) (l lesson) {
	w.t.Helper()
	d := w.data(caller, semantic, tenant)
	if d == nil {
		w.t.Fatalf("no flow of %s %s %s", caller, semantic, tenant)
	}
	w.g.watched.flows.Look(d, func(f *detector.Flow) { l = lessonOf(*f.Season()) })
	return l
}

// visit makes a request and lets the detector see it.
func (w *world) visit(lines ...string) {
	w.t.Helper()
	if a := w.do("GET /v1/chat/x", lines...); a.status != 200 {
		w.t.Fatalf("%d %s", a.status, a.body)
	}
	time.Sleep(250 * time.Millisecond)
	synctest.Wait()
}

// teach gives a flow that has been seen a season, as if it had been there for weeks.
func (w *world) teach(caller, tenant string, s detector.Season) {
	w.t.Helper()
	d := w.data(caller, "chat", tenant)
	w.g.watched.flows.Look(d, func(f *detector.Flow) { *f.Season() = s })
	time.Sleep(8 * time.Second) // until it is quiet
	synctest.Wait()
}

var annKey, shopKey = "X-API-Key: ann", "X-API-Key: shop"

func TestARestartKeepsSeasons(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), basic, mirror)
		w.visit(annKey)
		w.teach("ann", "", taught(3, 1))
		for _, tenant := range []string{"t1", "t2"} {
			w.visit(shopKey, "X-Tenant-Id: "+tenant)
		}
		w.teach("shop", "t1", taught(2, 5))

		for _, down := range []time.Duration{0, 3 * time.Hour, 20 * 24 * time.Hour} { // what was missed is no silence
			w = w.afterRestart(basic, down)
			w.visit(annKey)
			w.visit(shopKey, "X-Tenant-Id: t1")
			w.visit(shopKey, "X-Tenant-Id: t2")
			if w.season("ann", "chat", "") != lessonOf(taught(3, 1)) || w.season("shop", "chat", "t1") != lessonOf(taught(2, 5)) {
				t.Errorf("down for %v: another season came back", down)
			}
			if s := w.season("shop", "chat", "t2"); s.seen != 0 {
				t.Errorf("down for %v: who knew nothing knows %d hours", down, s.seen)
			}
		}
	})
}

// What the gateway did not see from begin to end is no lesson, least of all that nothing came.
func TestOnlyHoursThatWereSeenAreLearned(t *testing.T) {
	bubble(t, func(t *testing.T) { // it is midnight, UTC
		text := "[time]\nzone = \"UTC\"\n" + basic
		w := newWorldIn(t, t.TempDir(), text, mirror)
		until := func(hour, minute int) {
			for end := time.Date(2000, 1, 1, hour, minute, 0, 0, time.UTC); time.Now().Before(end); time.Sleep(3 * time.Second) {
				w.do("GET /v1/chat/x", annKey)
			}
		}
		until(2, 10)
		if s := w.season("ann", "chat", ""); s.hours != 2 {
			t.Errorf("%d hours were learned of two and a bit", s.hours)
		}
		w = w.afterRestart(text, 80*time.Minute) // until half past three
		until(4, 59)
		if s := w.season("ann", "chat", ""); s.hours != 2 {
			t.Errorf("%d hours were learned of two, some bits and a pause", s.hours)
		}
		until(5, 1)
		s := w.season("ann", "chat", "")
		if s.hours != 3 || s.seen != 3 {
			t.Errorf("%d hours were learned, %d slots seen, want three", s.hours, s.seen)
		}
		w = w.afterRestart(text, 0)
		w.do("GET /v1/chat/x", annKey)
		time.Sleep(250 * time.Millisecond)
		if w.season("ann", "chat", "") != s {
			t.Error("after another restart it is another")
		}
	})
}

func TestACrashForgetsNoMoreThanMinutesOfSeasons(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), basic, mirror)
		w.visit(annKey)
		w.teach("ann", "", taught(3, 1))
		time.Sleep(seasonsEvery + time.Minute)
		synctest.Wait()
		kept, err := os.ReadFile(seasonsIn(w.state))
		if err != nil {
			t.Fatal(err)
		}
		other := t.TempDir()
		half := filepath.Join(other, ".seasons.json.gz.123.tmp") // killed while it wrote the next
		if err := os.WriteFile(seasonsIn(other), kept, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(half, kept[:len(kept)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		v := newWorldIn(t, other, basic, mirror)
		v.visit(annKey)
		if v.season("ann", "chat", "") != lessonOf(taught(3, 1)) {
			t.Error("another season came back")
		}
		if _, err := os.Stat(half); err == nil {
			t.Error("half a file is left over")
		}
	})
}

func TestAFlowThatWasForgottenFindsItsSeasonAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, mirror) // without any state.dir
		w.visit(annKey)
		w.teach("ann", "", taught(3, 1))
		time.Sleep(time.Hour)
		if n := w.snapshot().FlowsTotal; n != 0 {
			t.Fatalf("%d flows are there after an hour of nothing", n)
		}
		w.visit(annKey)
		if w.season("ann", "chat", "") != lessonOf(taught(3, 1)) {
			t.Error("another season came back")
		}
		if f := w.flow("ann", "chat", ""); f.SeasonSlot == "" {
			t.Errorf("%+v", f)
		}
	})
}

func TestADetectorThatIsSwitchedOffForgetsNoSeason(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), basic, mirror)
		w.visit(annKey)
		w.teach("ann", "", taught(3, 1))
		for _, change := range []string{"[detector]\nenabled = false\n", "[detector]\nseason = \"off\"\n", ""} {
			w.reload(change + basic)
			w.visit(annKey)
			if w.season("ann", "chat", "") != lessonOf(taught(3, 1)) {
				t.Errorf("%q: the season is another", change)
			}
		}
		w = w.afterRestart("[detector]\nseason = \"off\"\n"+basic, 0)
		w = w.afterRestart(basic, 0)
		if w.visit(annKey); w.season("ann", "chat", "") != lessonOf(taught(3, 1)) {
			t.Error("after a run without seasons it is another")
		}
	})
}

func TestWhoGoesFirstWhenThereAreTooManySeasons(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	var s seasons
	rich, poor := taught(2, 1), detector.Season{}
	poor.Learn(3, 1)
	name := func(kind string, i int) flowNames { return flowNames{kind, "chat", "", fmt.Sprint(i)} }
	put := func(kind string, n int, season *detector.Season, age int64) {
		for i := range n {
			s.put(name(kind, i), season, hourOf(now)-age)
		}
	}
	put("gone for long", 5, &rich, seasonKept+1)
	put("old", 100, &rich, 1000)
	put("scan", mostSeasons-150, &poor, 0)
	s.tidy(now)
	if n := len(s.table); n != mostSeasons-50 {
		t.Errorf("%d are left, want all but those that are too old", n)
	}
	put("scan of last week", 200, &poor, week)
	s.tidy(now)
	counts := map[string]int{}
	for n := range s.table {
		counts[n.caller]++
	}
	if counts["old"] != 100 || counts["scan"] != mostSeasons-150 || counts["scan of last week"] != 50 || counts["gone for long"] != 0 {
		t.Errorf("left: %v", counts)
	}
}

func TestWhatIsHandedOverIsBounded(t *testing.T) {
	var s seasons
	season := taught(1, 1)
	flows := make([]*flowData, mostHanded+10)
	for i := range flows {
		flows[i] = &flowData{caller: fmt.Sprint(i)}
		s.hand(flows[i], &season, mostHanded)
		s.hand(flows[i], &season, mostHanded) // no news
	}
	if len(s.handed) != mostHanded {
		t.Errorf("%d are handed over", len(s.handed))
	}
	s.fold(time.Now())
	for _, d := range flows {
		s.hand(d, &season, mostHanded)
	}
	if len(s.handed) != 10 {
		t.Errorf("%d of the 10 that had to wait are handed over later", len(s.handed))
	}
	if s.fold(time.Now()); len(s.table) != len(flows) {
		t.Errorf("%d are kept", len(s.table))
	}
}

func TestWhatAFlowLearnedLastIsTakenWhenItLeaves(t *testing.T) {
	var s seasons
	d := &flowData{caller: "ann", semantic: "chat"}
	*d.watch.State.Season() = taught(1, 1)
	s.left(d)
	s.left(d)
	if s.fold(time.Now()); len(s.handed) != 0 || len(s.table) != 1 || s.table[d.names()].season != taught(1, 1) {
		t.Errorf("%d kept", len(s.table))
	}
}

func TestTheShapeOfASemanticIsThatOfItsCallers(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	var s seasons
	day, odd := taught(2, 1), detector.Season{}
	for range 2 {
		for hour := range detector.Slot(week) {
			odd.Learn(hour, float64(25-hour%24))
		}
	}
	for i := range 4 {
		s.put(flowNames{fmt.Sprint("c", i), "chat", "", ""}, &day, hourOf(now))
	}
	for i := range 500 { // one caller's
		s.put(flowNames{"odd", "chat", "", fmt.Sprint(i)}, &odd, hourOf(now))
		s.put(flowNames{"odd", "export", "", fmt.Sprint(i)}, &odd, hourOf(now))
	}
	s.shape(now)
	chat, export := (*s.shapes.Load())["chat"], (*s.shapes.Load())["export"]
	early, ok := chat.At(2)
	late, also := chat.At(22)
	if !ok || !also || late < 3*early {
		t.Errorf("early %.2f %v, late %.2f %v", early, ok, late, also)
	}
	if _, known := export.At(2); known {
		t.Error("one caller alone makes a shape")
	}
	s.shape(now.Add(20 * 24 * time.Hour))
	if _, known := (*s.shapes.Load())["chat"].At(2); known {
		t.Error("what nobody has done for weeks is still the shape")
	}
}

func TestAFlowIsJudgedFromItsFirstSecondAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), basic, mirror)
		var answers sync.WaitGroup
		w.pace(&answers, 20, time.Minute, "GET /v1/chat/x", annKey)
		answers.Wait()
		w = w.afterRestart(basic, time.Minute)
		w.pace(&answers, 400, 2*time.Second, "GET /v1/chat/x", annKey)
		answers.Wait()
		time.Sleep(200 * time.Millisecond)
		if surges := w.said("surge"); len(surges) != 1 || surges[0]["caller"] != "ann" {
			t.Errorf("twenty times as much after a restart: surges %v", surges)
		}
	})
}
