package detector

import (
	"math/rand/v2"
	"testing"
	"time"
)

const (
	aMinute = 60.
	anHour  = 3600.
	aDay    = 24 * anHour
)

// opensAtNine is 20/s at night and on Sundays, and 100/s from nine to six on all other days.
func opensAtNine(slot Slot) float64 {
	if hour := slot % hours; slot/hours < 6 && hour >= 9 && hour < 18 {
		return 100
	}
	return 20
}

// onADay is a flow that knows three weeks of opensAtNine, ten minutes before an hour of a day, times scale. Day 0 is Monday.
func onADay(t *testing.T, r *rand.Rand, day, hour int, scale float64) *sim {
	m := newSim(t)
	m.c.Season = true
	for range 3 {
		for slot := range Slot(slots) {
			m.f.Season().Learn(slot, opensAtNine(slot)*(0.9+0.2*r.Float64()))
		}
	}
	m.s = time.Date(2026, 3, 2+day, hour, -10, 0, 0, time.UTC).Sub(t0).Seconds()
	m.run(10*aMinute, poisson(r, at(20*scale)))
	return m
}

func TestWhatEachWeekBringsAtItsHourIsTheTide(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	for _, c := range []struct {
		name      string
		day, hour int
		scale, to float64
		surge     bool
	}{
		{"a Monday at nine, as usual", 0, 9, 1, 100, false},
		{"a Saturday at nine, as usual", 5, 9, 1, 100, false},
		{"a Monday of twice as much", 0, 9, 2, 200, false},
		{"a Monday of half as much", 0, 9, 0.5, 50, false},
		{"a Monday at nine, twice the usual step", 0, 9, 1, 200, true},
		{"a Monday at ten", 0, 10, 1, 100, true},
		{"a Monday at nine, a holiday", 0, 9, 1, 20, false},
		{"a Sunday at nine", 6, 9, 1, 100, true},
		{"a Sunday at three in the night", 6, 3, 1, 100, true},
	} {
		m := onADay(t, r, c.day, c.hour, c.scale)
		m.run(5*aMinute, poisson(r, at(c.to)))
		if got := len(m.began) > 0; got != c.surge {
			t.Errorf("%s: verdicts at %v, want a surge: %v", c.name, m.began, c.surge)
		}
	}
}

func TestStepAMomentBeforeTheHourIsTheTideToo(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 2))
	for _, early := range []float64{2, 60, 240} {
		m := onADay(t, r, 0, 9, 1)
		m.s -= early
		m.run(5*aMinute, poisson(r, at(100)))
		if len(m.began) > 0 {
			t.Errorf("%v s before nine: verdicts at %v", early, m.began)
		}
	}
}

func TestSeasonExcusesItsStepOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 12))
	m := onADay(t, r, 0, 9, 1)
	m.s -= 4 * aMinute
	m.run(6*aMinute, poisson(r, at(100)))
	begin := m.s
	m.run(10, poisson(r, at(500)))
	if len(m.began) != 1 || m.began[0]-begin > 1 {
		t.Errorf("five times the usual step at %v: verdicts at %v", begin, m.began)
	}
}

func TestSeasonExcusesNothingOnceItsHourHasBegun(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 3))
	m := onADay(t, r, 0, 9, 1)
	m.run(20*aMinute, poisson(r, at(20))) // a holiday
	begin := m.s
	m.run(10, poisson(r, at(100)))
	if len(m.began) != 1 || m.began[0]-begin > 1 {
		t.Errorf("five times as much at %v: verdicts at %v", begin, m.began)
	}
}

func TestSeasonThatIsOffSaysNothing(t *testing.T) {
	m := onADay(t, rand.New(rand.NewPCG(41, 4)), 0, 8, 1)
	m.c.Season = false
	r := rand.New(rand.NewPCG(41, 5))
	m.run(59*aMinute, poisson(r, at(20)))
	m.run(3*aMinute, poisson(r, at(100)))
	if len(m.began) != 1 {
		t.Errorf("verdicts at %v", m.began)
	}
}

func TestVerdictSaysWhatItRestsOn(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 6))
	m := onADay(t, r, 0, 9, 1)
	before := m.f.Report()
	if !before.Seasonal || before.Learning || before.Slot.String() != "Mon 09h" || before.Expected < 80 || before.Ratio > 0.4 {
		t.Errorf("at nine: %+v, want the season's part, about 100/s", before)
	}
	m = onADay(t, r, 6, 3, 1)
	begin := m.s
	for m.f.State() != Surge && m.s < begin+10 {
		m.run(0.1, poisson(r, at(100)))
	}
	got := m.f.Report()
	since := got.Since.Sub(t0).Seconds()
	if got.Seasonal || got.Slot.String() != "Sun 03h" || got.Score < got.Needed || got.Expected < 15 || got.Expected > 25 ||
		got.Ratio != got.Observed/got.Expected || since < begin-1 || since > begin+1 {
		t.Errorf("in the surge: %+v", got)
	}
	if fresh := newSim(t); !fresh.f.Report().Learning {
		t.Error("a new flow is not said to learn")
	}
}

// back is a flow that has been dropped and is back, by nothing but its season.
func back(t *testing.T, m *sim, after float64) *sim {
	again := newSim(t)
	again.c = m.c
	again.s = m.s + after
	again.f = NewFlow(again.now())
	*again.f.Season() = *m.f.Season()
	return again
}

func TestWhoIsBackIsJudgedByWhatHeDidBefore(t *testing.T) {
	for _, c := range []struct {
		name      string
		after, to float64
		surge     bool
	}{
		{"the same", 20 * aMinute, 20, false},
		{"not quite twice as much", 20 * aMinute, 36, false},
		{"a script", 20 * aMinute, 400, true},
		{"four times as much, at four in the night", 19 * anHour, 80, true},
		{"five times as much, as it is nine", aDay, 100, false},
		{"five times what nine brings", aDay, 500, true},
	} {
		r := rand.New(rand.NewPCG(41, 13))
		m := back(t, onADay(t, r, 0, 9, 1), c.after)
		begin := m.s
		m.run(2*aMinute, poisson(r, at(c.to)))
		if surged := len(m.began) > 0; surged != c.surge {
			t.Errorf("%s: verdicts at %v", c.name, m.began)
		} else if surged && m.began[0]-begin > 4 {
			t.Errorf("%s: found after %.1f s", c.name, m.began[0]-begin)
		}
	}
	fresh := newSim(t)
	fresh.f.Season().habits.hours = 7 // something is known, but no level
	fresh.run(2*aMinute, poisson(rand.New(rand.NewPCG(41, 14)), at(400)))
	if len(fresh.began) > 0 {
		t.Errorf("who was never there: verdicts at %v", fresh.began)
	}
}

// A new caller goes by the shape of its semantic.
func TestNewFlowFollowsTheShapeOfItsSemantic(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 7))
	var pool Pool
	for range 8 {
		pool.Add(onADay(t, r, 0, 8, 1).f.Season(), 1)
	}
	for _, shape := range []*Shape{pool.Shape(), nil} {
		m := newSim(t)
		m.c.Season = true
		m.f.Follow(shape)
		m.s = time.Date(2026, 3, 2, 8, 50, 0, 0, time.UTC).Sub(t0).Seconds()
		m.run(10*aMinute, poisson(r, at(20)))
		m.run(5*aMinute, poisson(r, at(70)))
		if surged := len(m.began) > 0; surged != (shape == nil) {
			t.Errorf("shape %v: verdicts at %v", shape != nil, m.began)
		}
		if !m.f.Report().Learning {
			t.Error("it is not said to learn")
		}
	}
}

func TestWholeHoursAreLearnedAndNoOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 8))
	for _, c := range []struct {
		name string
		play func(m *sim)
		want map[string]float64
	}{
		{"two hours", func(m *sim) { m.run(2*anHour, poisson(r, at(30))) }, map[string]float64{"Sun 09h": 30, "Sun 10h": 30}},
		{"an hour in which the gateway was down", func(m *sim) {
			m.run(anHour/2, poisson(r, at(30)))
			m.s += anHour
			m.run(1.5*anHour, poisson(r, at(30)))
		}, map[string]float64{"Sun 11h": 30}},
		{"a stall of ten seconds", func(m *sim) {
			m.run(anHour/2, poisson(r, at(30)))
			m.s += 10
			m.run(anHour/2, poisson(r, at(30)))
		}, map[string]float64{"Sun 09h": 30}},
		{"silence that nobody stepped", func(m *sim) {
			m.run(anHour/2, poisson(r, at(30)))
			m.run(10, steady(0))
			m.s += 3*anHour + anHour/2 - 10
			m.run(anHour, poisson(r, at(30)))
		}, map[string]float64{"Sun 09h": 15, "Sun 10h": 0, "Sun 11h": 0, "Sun 12h": 0, "Sun 13h": 30}},
		{"a clock set back within the hour", func(m *sim) {
			m.run(anHour/2, poisson(r, at(30)))
			m.s -= 20 * aMinute
			m.run(anHour*5/6, poisson(r, at(30)))
		}, map[string]float64{"Sun 09h": 30}},
	} {
		m := newSim(t)
		c.play(m)
		m.run(1, poisson(r, at(30))) // so that the hour has ended
		for slot := range Slot(slots) {
			want, learned := c.want[slot.String()]
			seen := m.f.season.level[slot] != 0
			if seen != learned {
				t.Errorf("%s: %v learned: %v, want %v", c.name, slot, seen, learned)
			} else if got := rateOf(decodeY(max(1, m.f.season.level[slot]))); learned && (got < want*0.9-0.1 || got > want*1.1+0.1) {
				t.Errorf("%s: %v learned as %.2f/s, want %v", c.name, slot, got, want)
			}
		}
	}
}

func TestAttackOfSixHoursIsFoundTheNextDayToo(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 9))
	m := newSim(t)
	m.c.Season = true
	m.run(aDay, poisson(r, at(30)))
	m.run(6*anHour, poisson(r, at(300)))
	if len(m.began) != 1 {
		t.Fatalf("the attack: verdicts at %v", m.began)
	}
	m.run(18*anHour, poisson(r, at(30)))
	if e := m.f.Report(); e.Expected > 33 || len(m.began) != 1 {
		t.Errorf("a day after the attack's begin %.1f/s are expected, want at most 33; verdicts at %v", e.Expected, m.began)
	}
	begin := m.s
	m.run(10, poisson(r, at(300)))
	if len(m.began) != 2 || m.began[1]-begin > 0.5 {
		t.Errorf("the same again at %v: verdicts at %v", begin, m.began)
	}
}

func TestSilenceOfADayIsFollowedByTheUsual(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 10))
	for _, stepped := range []bool{true, false} {
		m := newSim(t)
		m.c.Season = true
		m.run(2*anHour, poisson(r, at(80)))
		if stepped {
			m.run(aDay, steady(0))
		} else {
			m.run(10, steady(0))
			m.s += aDay
		}
		m.run(2*anHour, poisson(r, at(80)))
		if len(m.began) > 0 {
			t.Errorf("stepped %v: verdicts at %v", stepped, m.began)
		}
		begin := m.s
		m.run(5, poisson(r, at(400)))
		if len(m.began) != 1 || m.began[0]-begin > 0.5 {
			t.Errorf("stepped %v: five times as much at %v: verdicts at %v", stepped, begin, m.began)
		}
	}
}

func TestClockThatStepsIsNoSurgeAndHidesNone(t *testing.T) {
	for _, step := range []float64{-8 * anHour, -2, -0.5, 0.5, 2, 8 * anHour} {
		r := rand.New(rand.NewPCG(41, 11))
		m := newSim(t)
		m.run(10*aMinute, poisson(r, at(80)))
		m.s += step
		m.run(10*aMinute, poisson(r, at(80)))
		if len(m.began) > 0 {
			t.Errorf("a step of %v s: verdicts at %v", step, m.began)
		}
		m.s -= step
		m.run(aMinute, poisson(r, at(80)))
		begin := m.s
		m.run(5, poisson(r, at(400)))
		if len(m.began) != 1 || m.began[0]-begin > 0.5 {
			t.Errorf("after a step of %v s, five times as much at %v: verdicts at %v", step, begin, m.began)
		}
	}
}

func TestMorningsRampIsTheTideAndTheSameAtOnceIsNot(t *testing.T) {
	for seed := range 40 {
		r := rand.New(rand.NewPCG(42, uint64(seed)))
		m := newSim(t)
		m.c.Season = true
		m.s = time.Date(2026, 3, 2, 8, 50, 0, 0, time.UTC).Sub(t0).Seconds()
		m.run(10*aMinute, poisson(r, at(20)))
		m.run(20*aMinute, poisson(r, func(s float64) float64 { return 20 + 80*s/(20*aMinute) }))
		m.run(10*aMinute, poisson(r, at(100)))
		if len(m.began) > 0 {
			t.Errorf("seed %d: five times as much over 20 minutes: verdicts at %v", seed, m.began)
		}
	}
	r := rand.New(rand.NewPCG(42, 1000))
	m := onADay(t, r, 6, 3, 1)
	begin := m.s
	m.run(10, poisson(r, at(100)))
	if len(m.began) != 1 || m.began[0]-begin > 2 {
		t.Errorf("a Sunday at three, five times as much at %v: verdicts at %v", begin, m.began)
	}
}

func TestHoursBefore1970AreHoursToo(t *testing.T) {
	c := config()
	c.Season = true
	for _, begin := range []time.Time{time.Date(1969, 12, 31, 22, 59, 17, 5, time.UTC), time.Date(1902, 3, 1, 8, 58, 30, 0, time.UTC)} {
		f, now := NewFlow(begin), begin
		for range 26 * 3600 * 10 { // over the midnight of 1970
			now = now.Add(cell)
			f.Step(c, now, 1)
			if slot := f.Report().Slot; slot != SlotAt(now) && slot != SlotAt(now.Add(-cell)) {
				t.Fatalf("at %v it is %v", now, slot)
			}
		}
		if f.Season().Hours() != 25 {
			t.Errorf("from %v: %d hours were learned, want 25", begin, f.Season().Hours())
		}
	}
}

// In India, Nepal, South Australia and Newfoundland, hours begin at half past those of Greenwich, or at a quarter to.
func TestHoursAreThoseOfTheZone(t *testing.T) {
	for _, offset := range []int{5*3600 + 1800, 5*3600 + 2700, -(3*3600 + 1800), 10 * 3600} {
		zone, r := time.FixedZone("", offset), rand.New(rand.NewPCG(41, 21))
		m := onADay(t, r, 0, 0, 1)
		m.c.Zone = zone
		m.s = time.Date(2026, 3, 3, 8, 20, 0, 0, zone).Sub(t0).Seconds()
		for range int(aDay * 10) {
			m.step(draw(r, opensAtNine(SlotAt(m.now().In(zone)))*cellSeconds))
			if now := m.now().In(zone); m.f.Report().Slot != SlotAt(now) {
				t.Fatalf("%d s east: at %v it is %v", offset, now, m.f.Report().Slot)
			}
		}
		if len(m.began) > 0 {
			t.Errorf("%d s east: verdicts at %v", offset, m.began)
		}
		seen := m.f.Season().Hours()
		m.s += 9 * anHour // in silence, of which nobody was told
		m.step(1)
		if got := m.f.Season().Hours() - seen; got != 0 {
			t.Errorf("%d s east: a gap was learned as %d hours", offset, got)
		}
	}
}

func TestSilenceIsLearnedByTheClockOnTheWall(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		begin      time.Time
		hours      float64
		want, seen int // hours learned, and slots seen
	}{
		{"east of Greenwich by half an hour more", time.Date(2026, 3, 3, 7, 58, 0, 0, time.FixedZone("", 5*3600+1800)), 10, 10, 10},
		{"summer begins", time.Date(2026, 3, 28, 20, 58, 0, 0, berlin), 10, 10, 10},
		{"summer ends", time.Date(2026, 10, 24, 20, 58, 0, 0, berlin), 10, 10, 9}, // two of them are of one name
	} {
		m := newSim(t)
		m.c.Season, m.c.Zone = true, c.begin.Location()
		m.s = c.begin.Sub(t0).Seconds()
		m.run(aMinute, steady(10))
		m.run(aMinute, steady(0))
		m.run(0.2*anHour, steady(0))
		seen := m.f.Season().Seen()
		hours := m.f.Season().Hours()
		if !m.f.Quiet(m.now()) {
			t.Fatalf("%s: it is not quiet", c.name)
		}
		m.s += c.hours * anHour
		m.step(1)
		if got := int(m.f.Season().Hours() - hours); got != c.want || m.f.Season().Seen()-seen != c.seen {
			t.Errorf("%s: %d hours were learned, %d slots seen, want %d and %d", c.name, got, m.f.Season().Seen()-seen, c.want, c.seen)
		}
		if got, want := m.f.Report().Slot, SlotAt(m.now().In(m.c.Zone)); got != want {
			t.Errorf("%s: it is %v, want %v", c.name, got, want)
		}
	}
}
