package detector

import (
	"math"
	"time"
)

// Slot is an hour of the week: 0 is Monday from 00:00 to 01:00, 167 Sunday from 23:00 on.
type Slot uint8

const (
	hours = 24
	slots = 7 * hours
)

// SlotAt is the hour of the week that t is in, by t's own zone.
func SlotAt(t time.Time) Slot {
	day := (int(t.Weekday()) + 6) % 7 // Monday first
	return Slot(day*hours + t.Hour())
}

// String is "Mon 09h".
func (s Slot) String() string {
	if s >= slots {
		return "unknown"
	}
	day, hour := s/hours, s%hours
	return "MonTueWedThuFriSatSun"[3*day:3*day+3] + " " + string([]byte{'0' + byte(hour/10), '0' + byte(hour%10), 'h'})
}

func (s Slot) weekend() bool { return s >= 5*hours }

// Season is what one flow usually does, by the calendar: in each hour of the week, and in each half minute of the hour
// (see habits), and the level that it had when it was last there. 872 bytes, without pointers. The zero Season knows
// nothing. Not safe for concurrent use.
//
// A slot's level is kept as y = log2(rate + 0.1/s), so that differences are ratios and a handful of arrivals in an hour
// is next to nothing. It is unknown until two weeks agree within a factor of 1.7; of two that do not, the lower is kept.
// From then on one week by itself moves a level by 4.7 % at most, either way: whatever an hour holds, an attack, a
// holiday, or nothing at all, it makes less than 10 % of difference to the next week. What has really changed is
// noticed by agreement: by twofold or more in two weeks running that are within a factor of two of each other, by 1.4
// or more in any three running. The level then follows to the nearest of them. Less than that is followed by 4.7 % a
// week. Where the mean of an hour varies by 30 % (coefficient of variation) a lasting change by threefold has been
// accepted after two weeks mostly, and after four by 9 flows of 10; one of half as much again after eight by 3 of 4.
// Weeks that were not seen are not counted.
type Season struct {
	level [slots]uint16 // y as a code; 0: never seen
	apart [slots]int8   // of the weeks running that were far from the level, the nearest: signed, in apartUnits
	past  [slots / 2]uint8
	hours uint32 // learned

	habits habits
	last   last
}

// The past of a slot, four bits: how many weeks agree, 0 to knownWeeks, and how many running were far from them.
const (
	knownWeeks = 2
	mostApart  = 3
)

const (
	sparse     = 0.1  // arrivals a second that rates are told apart by
	levelUnits = 2048 // codes for each octave
	apartUnits = 8
	lowestY    = -3.321928094887362 // log2(sparse)
	highestY   = lowestY + (math.MaxUint16-1)/float64(levelUnits)

	agreeY  = 0.75  // octaves: two weeks within a factor of 1.7 agree
	farY    = 0.5   // a factor of 1.4
	changeY = 1.    // twofold
	stepY   = 0.066 // 4.7 %: up and down are within 10 % of each other
	firstY  = 0.13  // 9.4 %: what the second of two weeks raises the first by
	gain    = 0.25  // of a small difference
)

func yOf(rate float64) float64 {
	if !(rate > 0) { // or is no number
		return lowestY
	}
	return min(math.Log2(rate+sparse), highestY)
}

func rateOf(y float64) float64 { return max(0, math.Exp2(y)-sparse) }

func encodeY(y float64) uint16 {
	return uint16(1 + math.Round(min(max(0, y-lowestY)*levelUnits, math.MaxUint16-1)))
}

func decodeY(code uint16) float64 { return lowestY + float64(code-1)/levelUnits }

func (s *Season) weeks(i Slot) uint8 { return s.past[i/2] >> (4 * (i & 1)) & 3 }

func (s *Season) running(i Slot) uint8 { return s.past[i/2] >> (4*(i&1) + 2) & 3 }

func (s *Season) setPast(i Slot, weeks, running uint8) {
	at := 4 * (i & 1)
	s.past[i/2] = s.past[i/2]&^(15<<at) | (weeks|running<<2)<<at
}

// Learn takes the mean rate, in arrivals a second, of one whole hour that was seen from its begin to its end. An hour
// that was not is left out by the caller: a gap is no silence.
func (s *Season) Learn(slot Slot, rate float64) {
	if slot >= slots {
		return
	}
	s.hours++
	y := yOf(rate)
	weeks := s.weeks(slot)
	if weeks == 0 {
		s.settle(slot, y, 1)
		return
	}
	level := decodeY(s.level[slot])
	off := y - level
	if weeks < knownWeeks {
		s.compare(slot, level, off)
		return
	}
	last := float64(s.apart[slot]) / apartUnits
	running, apart := s.runOn(slot, off)
	if running == mostApart || running == 2 && math.Abs(apart) >= changeY && math.Abs(off-last) <= changeY {
		s.settle(slot, level+apart, weeks)
		return
	}
	s.level[slot] = encodeY(level + min(max(-stepY, off*gain), stepY))
	s.keepRun(slot, weeks, running, apart)
}

// compare looks for two weeks that agree: the newest with the one that is kept, or with the last one, which was higher.
func (s *Season) compare(slot Slot, level, off float64) {
	last := float64(s.apart[slot]) / apartUnits
	switch {
	case math.Abs(off) <= agreeY:
		s.settle(slot, level+min(off/2, firstY), knownWeeks)
	case off < 0:
		s.settle(slot, level+off, 1)
	case s.running(slot) > 0 && math.Abs(off-last) <= agreeY:
		s.settle(slot, level+min(off, last), knownWeeks)
	default:
		s.keepRun(slot, 1, 1, off)
	}
}

// runOn is how many weeks running have been far from the level on this side, and the nearest of them.
func (s *Season) runOn(slot Slot, off float64) (running uint8, apart float64) {
	if math.Abs(off) < farY {
		return 0, 0
	}
	running, apart = s.running(slot), float64(s.apart[slot])/apartUnits
	if running == 0 || apart > 0 != (off > 0) {
		return 1, off
	}
	if math.Abs(off) < math.Abs(apart) {
		apart = off
	}
	return running + 1, apart
}

// settle gives a slot a level that the weeks to come are held against.
func (s *Season) settle(slot Slot, y float64, weeks uint8) {
	s.level[slot], s.apart[slot] = encodeY(y), 0
	s.setPast(slot, weeks, 0)
}

func (s *Season) keepRun(slot Slot, weeks, running uint8, apart float64) {
	s.apart[slot] = int8(math.Round(min(max(-math.MaxInt8, apart*apartUnits), math.MaxInt8)))
	s.setPast(slot, weeks, running)
}

// At is the usual rate of that hour, in arrivals a second. It is known when two weeks agree on it.
func (s *Season) At(slot Slot) (rate float64, known bool) {
	y, known := s.at(slot)
	if !known {
		return 0, false
	}
	return rateOf(y), true
}

func (s *Season) at(slot Slot) (y float64, known bool) {
	if slot >= slots || s.weeks(slot) < knownWeeks {
		return 0, false
	}
	return decodeY(s.level[slot]), true
}

// Known is how many of the 168 slots are known.
func (s *Season) Known() (n int) {
	for i := range Slot(slots) {
		if s.weeks(i) >= knownWeeks {
			n++
		}
	}
	return n
}

// Hours is how many hours have been learned in all.
func (s *Season) Hours() uint32 { return s.hours }

// Revision is another one when something was learned that is worth keeping, an hour or an excursion; 0: nothing was yet.
func (s *Season) Revision() uint64 {
	return uint64(s.hours)<<16 | uint64(s.habits.excursions)
}

// Level is what the flow did when it was last there, in arrivals a second, if that is known.
func (s *Season) Level() (rate float64, known bool) { return float64(s.last.long), s.last.seconds > 0 }

// Seen is how many of the 168 slots have been seen at least once.
func (s *Season) Seen() (n int) {
	for _, code := range s.level {
		if code != 0 {
			n++
		}
	}
	return n
}

// day is the level of that hour by the other days too, before its own weeks are known. A weekend is told by its own
// days where one is known, else, as weekdays are by themselves, by all days. It takes three days. Of three the lowest counts,
// of more the second: days that one attack, or noise, has raised are passed over, and since all hours are taken equally
// low the ratio of two is right.
func (s *Season) day(slot Slot) (y float64, known bool) {
	first, last := Slot(0), Slot(5*hours)
	if slot.weekend() {
		other := 5*hours + (slot-5*hours+hours)%(2*hours)
		if y, known = s.at(other); known {
			return y, true
		}
		last = slots
	}
	lowest, second, n := uint16(math.MaxUint16), uint16(math.MaxUint16), 0
	for i := first + slot%hours; i < last; i += hours {
		code := s.level[i]
		if code == 0 {
			continue
		}
		n++
		switch {
		case code < lowest:
			lowest, second = code, lowest
		case code < second:
			second = code
		}
	}
	switch {
	case n < 3:
		return 0, false
	case n == 3:
		return decodeY(lowest), true
	}
	return decodeY(second), true
}
