package detector

import "time"

const (
	ahead  = 5 * time.Minute // before an hour begins, what it usually brings may come
	behind = 5 * time.Minute // and until so long after it
	// A whole hour was seen if no more than this is missing of it.
	hourMisses = 36 * time.Second
)

// hour is where a flow stands in its week.
type hour struct {
	arrivals float64 // since the hour began
	until    int64   // allowed holds until then, ns since the flow's origin
	seen     float32 // seconds of it
	allowed  float32 // arrivals a second that the season allows; 0: it says nothing
	number   int32   // of the hour, see hourNumber
	begun    bool    // there is one
	slot     Slot
	learned  Slot // that the newest of the level is from
}

func (h *hour) count(cell uint32) {
	h.arrivals += float64(cell)
	h.seen += cellSeconds
}

// look looks at the calendar, once in each half minute of it.
func (f *Flow) look(c *Config, now time.Time) {
	at := int64(now.Sub(f.origin))
	now = c.in(now)
	into := intoHour(now)
	f.turn = at + (binSeconds-into%binSeconds)*int64(time.Second) - int64(now.Nanosecond())
	f.season.habits.enter(uint8(into / binSeconds))
	f.need(c)
	if number := hourNumber(now); number != f.hour.number || !f.hour.begun {
		f.endHour()
		f.hour.number, f.hour.slot, f.hour.begun = number, SlotAt(now), true
	}
	f.allow(c, at, now)
}

// hourNumber is the number of the hour that t is in, since 1970, and before it too, by t's own zone: there are zones whose hours
// begin at half past those of others.
func hourNumber(t time.Time) int32 { return int32((local(t) - intoHour(t)) / 3600) }

// intoHour is how many seconds of it have passed.
func intoHour(t time.Time) int64 {
	into := local(t) % 3600
	if into < 0 {
		into += 3600
	}
	return into
}

// local is what a clock on the wall shows, in seconds since it showed 1970.
func local(t time.Time) int64 {
	_, offset := t.Zone()
	return t.Unix() + int64(offset)
}

// in is a moment in the zone of the hours. Such a one has lost the monotonic clock, and so is for reading the calendar
// only.
func (c *Config) in(now time.Time) time.Time {
	if c.Zone == nil {
		return now
	}
	return now.In(c.Zone)
}

// endHour learns the hour if it was seen from its begin to its end.
func (f *Flow) endHour() {
	h := &f.hour
	if h.begun && h.seen >= 3600-float32(hourMisses.Seconds()) {
		f.season.Learn(h.slot, h.arrivals/float64(h.seen))
	}
	h.arrivals, h.seen = 0, 0
}

// silence goes through the hours of a silence that was not stepped: nothing came, as everybody was there to see.
func (f *Flow) silence(now time.Time, lasted time.Duration) {
	h := &f.hour
	begin := now.Add(-lasted)
	if h.begun && hourNumber(begin) != h.number { // the clock was set meanwhile
		h.arrivals, h.seen, h.begun = 0, 0, false
		return
	}
	left := time.Duration(3600-intoHour(begin))*time.Second - time.Duration(begin.Nanosecond())
	if h.begun && lasted >= left {
		h.seen += float32(left.Seconds())
		f.endHour()
		// By time and not by number: a clock on the wall leaves out an hour, and has one twice.
		for begin = begin.Add(left); now.Sub(begin) >= time.Hour; begin = begin.Add(time.Hour) {
			if now.Sub(begin) <= slots*time.Hour { // of the last week
				h.slot, h.seen = SlotAt(begin), 3600
				f.endHour()
			}
		}
		h.number, h.slot = hourNumber(now), SlotAt(now)
	}
	h.seen += float32(now.Sub(begin).Seconds())
}

// allow reckons what the season allows: around the begin of an hour, and to who is back after hours, as many times the
// level of before as the one hour usually has of the other. From then on the level stands by itself, scaled to today.
func (f *Flow) allow(c *Config, at int64, now time.Time) {
	h := &f.hour
	if h.allowed > 0 && at < h.until && c.Season {
		return // reckoned from the level of before
	}
	h.allowed = 0
	if !c.Season || f.Surging() || f.state == Learning {
		return
	}
	from, to, until := h.learned, h.slot, at+int64(behind)
	if from == to {
		left := time.Duration(3600-intoHour(now)) * time.Second
		if left > ahead {
			return
		}
		to, until = SlotAt(now.Add(left)), at+int64(left+behind)
	}
	if factor, known := Growth(&f.season, f.shape, from, to); known && factor > 1 {
		h.allowed, h.until = float32(f.level.long*factor), until
	}
}
