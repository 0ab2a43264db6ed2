package detector

import (
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"
)

func TestASeasonIsSmallAndHasNoPointers(t *testing.T) {
	if n := unsafe.Sizeof(Season{}); n > 872 {
		t.Errorf("a season is %d bytes, at most 872 are allowed", n)
	}
	if testing.AllocsPerRun(100, func() {
		var s Season
		s.Learn(3, 5)
		Growth(&s, nil, 3, 4)
	}) != 0 {
		t.Error("a season allocates")
	}
}

func TestASlotIsAnHourOfTheWeekInTheZoneOfItsTime(t *testing.T) {
	west := time.FixedZone("west", -5*3600)
	for _, c := range []struct {
		at   time.Time
		want Slot
		text string
	}{
		{time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), 0, "Mon 00h"},
		{time.Date(2026, 3, 2, 9, 59, 59, 0, time.UTC), 9, "Mon 09h"},
		{time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC), 167, "Sun 23h"},
		{time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC).In(west), 164, "Sun 20h"},
		{time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC), 132, "Sat 12h"},
	} {
		if got := SlotAt(c.at); got != c.want || got.String() != c.text {
			t.Errorf("%v is in slot %d %s, want %d %s", c.at, got, got, c.want, c.text)
		}
	}
	if Slot(200).String() != "unknown" {
		t.Error("a slot that is none has a name")
	}
}

func TestAnHourIsKnownOnceTwoWeeksAgree(t *testing.T) {
	for _, c := range []struct {
		name  string
		weeks []float64
		rate  float64 // 0: not known
	}{
		{"one week", []float64{50}, 0},
		{"two that agree", []float64{50, 55}, 52.4},
		{"two that do not", []float64{50, 150}, 0},
		{"an attack first", []float64{500, 50}, 0},
		{"an attack first, then two", []float64{500, 50, 50}, 50},
		{"an attack second", []float64{50, 5000, 50}, 50},
		{"a change second", []float64{50, 150, 150}, 150},
		{"no number, no rate, no slot", []float64{math.NaN(), math.Inf(-1), -3}, 0},
	} {
		var s Season
		for _, rate := range c.weeks {
			s.Learn(33, rate)
		}
		s.Learn(slots, 10)
		rate, known := s.At(33)
		if known != (c.rate > 0) && c.name[:2] != "no" || math.Abs(rate-c.rate) > 0.02*c.rate+1e-9 {
			t.Errorf("%s: %v %v, want %v", c.name, rate, known, c.rate)
		}
		if s.Seen() != 1 || s.Known() > 1 {
			t.Errorf("%s: %d slots seen, %d known", c.name, s.Seen(), s.Known())
		}
		if _, known := s.At(34); known {
			t.Errorf("%s: the next slot is known too", c.name)
		}
	}
}

// Without noise the bound holds for each hour by itself.
func TestAnAttackRaisesWhatIsExpectedByATenthAtMost(t *testing.T) {
	for _, times := range []float64{1.5, 3, 10, 100} {
		for week := range 6 {
			for day := range Slot(7) {
				from := day*hours + 9
				calm, hit := newYear(1, office), newYear(1, attacked(office, week, from, times))
				calm.noise, hit.noise = 0, 0
				after := week*slots + int(day+1)*hours
				calm.hours(after)
				hit.hours(after)
				for later := range 8 { // tomorrow, and the days up to next week
					start := (from + Slot(later+1)*hours) % slots
					for to := start; to < start+8; to++ {
						without, with := calm.growth((to+slots-1)%slots, to%slots), hit.growth((to+slots-1)%slots, to%slots)
						if with > 1.1*without {
							t.Errorf("%v-fold in week %d on day %d: %v is allowed %.3f of the hour before, and was %.3f", times, week, day, to%slots, with, without)
						}
					}
					calm.hours(hours)
					hit.hours(hours)
				}
			}
		}
	}
}

// With hours whose means vary by 30 %, two seasons that differ in a few hours differ by chance too: on average by far
// less than 10 %, and once there is a level, at 95 % of the hours by no more.
func TestAnAttackRaisesWhatIsExpectedByATenthAtMostAmongNoise(t *testing.T) {
	for _, times := range []float64{3, 10, 100} {
		for _, week := range []int{0, 1, 2, 5} {
			const from = 2*hours + 9
			var tomorrow, nextWeek, edge geometric
			var all []float64
			for seed := range uint64(200) {
				calm, hit := newYear(seed, office), newYear(seed, attacked(office, week, from, times))
				compare := func(to Slot) float64 { return hit.growth(to-1, to) / calm.growth(to-1, to) }
				calm.hours(week*slots + 3*hours)
				hit.hours(week*slots + 3*hours)
				for to := Slot(from + hours); to < from+hours+7; to++ {
					tomorrow.add(compare(to))
				}
				edge.add(compare(from + hours)) // from an hour before it into it: nothing cancels
				calm.hours(slots - hours)
				hit.hours(slots - hours)
				for to := Slot(from); to < from+7; to++ {
					nextWeek.add(compare(to))
					all = append(all, compare(to))
				}
			}
			if tomorrow.mean() > 1.05 || nextWeek.mean() > 1.05 {
				t.Errorf("%v-fold in week %d: tomorrow %.3f, next week %.3f", times, week, tomorrow.mean(), nextWeek.mean())
			}
			if edge.mean() > 1.12 { // 1.09, give or take what 200 seasons leave open
				t.Errorf("%v-fold in week %d: tomorrow at its begin %.3f", times, week, edge.mean())
			}
			slices.Sort(all)
			if q := all[len(all)*95/100]; week >= 3 && q > 1.105 {
				t.Errorf("%v-fold in week %d: in 5 %% of the hours of next week above %.3f", times, week, q)
			}
		}
	}
}

func TestALastingChangeIsAcceptedWithinWeeks(t *testing.T) {
	const job = 2*hours + 2
	for _, c := range []struct {
		name  string
		times float64
		weeks int
		least int // of 100
	}{{"half as much again", 1.5, 8, 70}, {"threefold", 3, 4, 90}, {"thirtyfold", 30, 4, 90}, {"a third", 1. / 3, 4, 90}, {"nothing any more", 0, 4, 90}} {
		accepted := 0
		for seed := range uint64(100) {
			w := newYear(seed, func(week int, slot Slot) float64 {
				if slot == job && week >= 6 {
					return 20 * c.times
				}
				return 20
			})
			w.weeks(6 + c.weeks)
			if rate, _ := w.s.At(job); math.Abs(math.Log2((rate+0.1)/(20*c.times+0.1))) < math.Abs(math.Log2((rate+0.1)/20.1)) {
				accepted++ // it is nearer to the new than to the old
			}
		}
		if accepted < c.least {
			t.Errorf("%s: after %d weeks accepted by %d of 100 seasons", c.name, c.weeks, accepted)
		}
	}
}

func TestANightJobThatMovesByAnHourIsKnownThereAfterTwoWeeks(t *testing.T) {
	w := newYear(3, func(week int, slot Slot) float64 {
		hour := Slot(2)
		if week >= 5 {
			hour = 3
		}
		if slot%hours == hour {
			return 200
		}
		return 1
	})
	w.weeks(5)
	if g := w.growth(1, 2); g != mostGrowth {
		t.Errorf("to the job %v, want all that is ever allowed", g)
	}
	w.weeks(3)
	if old, now := w.growth(1, 2), w.growth(2, 3); old > 2 || now != mostGrowth {
		t.Errorf("three weeks later: %v where it was, %v where it is", old, now)
	}
}

func TestAGapIsNoSilence(t *testing.T) {
	seen := newYear(5, office)
	seen.weeks(4)
	down := newYear(5, func(week int, slot Slot) float64 {
		if week >= 4 {
			return -1
		}
		return office(week, slot)
	})
	down.weeks(12)
	if seen.s != down.s || seen.s.Hours() != 4*slots {
		t.Error("eight weeks that nobody saw have changed the season")
	}
}

func TestAQuietHolidayMakesNoDifference(t *testing.T) {
	usual, quiet := newYear(7, office), newYear(7, func(week int, slot Slot) float64 {
		rate := office(week, slot)
		if week == 5 && slot < hours { // a Monday
			rate *= 0.05
		}
		return rate
	})
	usual.noise, quiet.noise = 0, 0
	usual.weeks(6)
	quiet.weeks(6)
	for to := Slot(1); to < 2*hours; to++ {
		if a, b := usual.growth(to-1, to), quiet.growth(to-1, to); b > 1.1*a || b < a/1.1 {
			t.Errorf("%v: %.3f after a holiday, %.3f without", to, b, a)
		}
	}
}

func TestMonthsOfSilenceThenTrafficAgain(t *testing.T) {
	w := newYear(9, func(week int, slot Slot) float64 {
		if week >= 4 && week < 16 {
			return 0
		}
		return office(week, slot)
	})
	w.weeks(16)
	for to := Slot(1); to < slots; to++ {
		if g := w.growth(to-1, to); g > 1.1 {
			t.Errorf("%v: %.2f allowed where there has been nothing for months", to, g)
		}
	}
	w.weeks(4)
	var m geometric
	for day := range Slot(5) {
		m.add(w.growth(day*hours+5, day*hours+13))
	}
	if m.mean() < 3.5 || m.mean() > 6.5 {
		t.Errorf("four weeks after: %.2f from night to noon, want about 5", m.mean())
	}
}

func TestGrowthOfATenthAWeekKeepsTheShape(t *testing.T) {
	w := newYear(11, func(week int, slot Slot) float64 { return office(week, slot) * math.Pow(1.1, float64(week)) })
	w.weeks(26)
	var m geometric
	for day := range Slot(5) {
		m.add(w.growth(day*hours+5, day*hours+13))
	}
	if m.mean() < 3 || m.mean() > 6.5 {
		t.Errorf("from night to noon %.2f, want about 5", m.mean())
	}
}

func TestSparseHoursAllowNoGrowthByChance(t *testing.T) {
	for _, perHour := range []float64{1, 10, 36, 100} {
		w := newYear(13, nil)
		w.source = func(int, Slot) float64 { return float64(draw(w.r, perHour)) / 3600 }
		w.noise = 0
		w.weeks(8)
		for to := Slot(1); to < slots; to++ {
			if g := w.growth(to-1, to); g > 1.25 {
				t.Errorf("%v an hour: %v is allowed %.2f", perHour, to, g)
			}
		}
	}
}

func TestTheFirstWeekGoesByItsDays(t *testing.T) {
	w := newYear(15, office)
	w.noise = 0.1
	w.hours(2 * hours)
	if g, known := Growth(&w.s, nil, 2*hours+5, 2*hours+12); known || g != 1 {
		t.Errorf("after two days %v %v, want nothing known", g, known)
	}
	w.hours(hours)
	if g, known := Growth(&w.s, nil, 3*hours+5, 3*hours+12); !known || g < 3.5 || g > 6.5 {
		t.Errorf("after three days %v %v, want about 5", g, known)
	}
	if _, known := Growth(&w.s, nil, 5*hours+5, 5*hours+12); !known {
		t.Error("the first Saturday has nothing to go by")
	}
	if own, known := w.s.At(12); known {
		t.Errorf("%v is said to be known after one week", own)
	}
}

func TestGrowthIsBetweenOneAndSixteen(t *testing.T) {
	var s Season
	for range 3 {
		s.Learn(10, 0)
		s.Learn(11, 1e9)
		s.Learn(12, math.Inf(1))
	}
	for from := range Slot(255) {
		for _, to := range []Slot{10, 11, 12, 13, 200} {
			if g, known := Growth(&s, nil, from, to); g < 1 || g > 16 || known && (from > 12 || from < 10) {
				t.Errorf("%d to %d: %v %v", from, to, g, known)
			}
		}
	}
	if g, known := Growth(&s, nil, 10, 11); g != 16 || !known {
		t.Errorf("%v %v, want 16", g, known)
	}
	if g, known := Growth(&s, nil, 11, 10); g != 1 || !known {
		t.Errorf("%v %v, want 1", g, known)
	}
}
