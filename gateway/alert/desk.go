package alert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// mostAnHour bounds what is told of all kinds together: one a minute is more than anybody reads.
	mostAnHour = 60
	// mostConditions bounds what is remembered; those past it are counted as held back.
	mostConditions = 10_000
)

// desk decides what is told. It is pure: whoever asks says what time it is. It belongs to Alerts, under its lock.
type desk struct {
	kinds  []string // empty: all
	repeat time.Duration
	off    bool // there is nobody to tell

	on     map[key]*condition
	untold int               // of on
	told   map[key]time.Time // when its beginning was told last

	hour  time.Time // that is being counted; zero: none
	count int       // told in it
	held  map[string]int
	holds *entry // that says that alerts are held back, while they are
}

// condition is something that is true now.
type condition struct {
	Event
	since time.Time
	entry *entry // of its beginning
	told  bool
}

func newDesk() desk {
	return desk{on: map[key]*condition{}, told: map[key]time.Time{}, held: map[string]int{}}
}

// begin says that a condition is true. What is to be told of it is in the answer; an entry that is not pending is only
// shown. An answer may be nil.
func (d *desk) begin(now time.Time, e Event) (out []*entry) {
	k := key{e.Kind, e.Subject}
	if c := d.on[k]; c != nil {
		c.Event = e
		return nil
	}
	if len(d.on) >= mostConditions {
		return d.hold(now, e.Kind)
	}
	c := &condition{Event: e, since: now, entry: newEntry(now, e, now, false)}
	d.on[k] = c
	d.untold++
	return append(d.tell(now, c), c.entry)
}

// tell tells of a condition that was not told yet, if it may be. The answer is what else is to be told.
func (d *desk) tell(now time.Time, c *condition) (out []*entry) {
	last, before := d.told[key{c.Kind, c.Subject}]
	switch {
	case !d.wants(c.Kind):
		c.entry.Status = StatusOff
	case before && now.Sub(last) < d.repeat:
		c.entry.Status = StatusHeld
	case !d.mayTell(now):
		if c.entry.Status != StatusHeld { // is counted once
			out = d.hold(now, c.Kind)
		}
		c.entry.Status = StatusHeld
	default:
		c.entry.Status, c.entry.Text, c.entry.facts = StatusPending, head(c.Text, mostText), c.Facts
		c.told = true
		d.untold--
		d.count++
		d.told[key{c.Kind, c.Subject}] = now
	}
	return out
}

func (d *desk) wants(kind string) bool {
	return !d.off && (len(d.kinds) == 0 || slices.Contains(d.kinds, kind))
}

// mayTell says whether there is room for one more in this hour.
func (d *desk) mayTell(now time.Time) bool {
	if d.hour.IsZero() || now.Sub(d.hour) >= time.Hour {
		d.hour, d.count = now, 0
	}
	return d.count < mostAnHour
}

// hold counts one that is held back; the first time of an hour is told.
func (d *desk) hold(now time.Time, kind string) []*entry {
	if !d.wants(kind) {
		return nil
	}
	if d.held[kind]++; d.holds != nil {
		return nil
	}
	if d.hour.IsZero() {
		d.hour = now
	}
	d.holds = newEntry(now, Event{
		Kind: Held, Text: fmt.Sprintf("More than %d alerts came within an hour. Further ones are held back until %s.", mostAnHour, clock(d.hour.Add(time.Hour))),
	}, now, false)
	d.holds.Status = StatusPending
	return []*entry{d.holds}
}

// end says that a condition is not true any more.
func (d *desk) end(now time.Time, e Event) *entry {
	k := key{e.Kind, e.Subject}
	c := d.on[k]
	if c == nil {
		return nil
	}
	delete(d.on, k)
	if !c.told {
		d.untold--
		if c.entry.Status != StatusOff {
			return nil // nobody has heard of its beginning
		}
	}
	r := newEntry(now, e, c.since, true)
	if r.Status = StatusPending; !c.told || d.off {
		r.Status = StatusOff
	}
	return r
}

// tick tells what could not be told before, and is still true. It is called about once a second. Again are entries that were
// shown before.
func (d *desk) tick(now time.Time) (again, more []*entry) {
	for k, at := range d.told {
		if now.Sub(at) >= d.repeat && d.on[k] == nil {
			delete(d.told, k)
		}
	}
	more = d.release(now)
	if d.untold == 0 {
		return nil, more
	}
	var untold []*condition
	for _, c := range d.on {
		if !c.told {
			untold = append(untold, c)
		}
	}
	slices.SortFunc(untold, func(a, b *condition) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject))
	})
	for _, c := range untold {
		more = append(more, d.tell(now, c)...)
		if c.told {
			again = append(again, c.entry)
		}
	}
	return again, more
}

// release says what was held back, when the hour is over.
func (d *desk) release(now time.Time) []*entry {
	if len(d.held) == 0 || now.Sub(d.hour) < time.Hour {
		return nil
	}
	total, facts, said := 0, map[string]any{}, []string{}
	for _, kind := range slices.Sorted(maps.Keys(d.held)) {
		total += d.held[kind]
		facts[kind] = d.held[kind]
		said = append(said, fmt.Sprintf("%s %d", kind, d.held[kind]))
	}
	clear(d.held)
	began := d.holds
	if d.holds = nil; began == nil || d.off {
		return nil
	}
	r := newEntry(now, Event{
		Kind: Held, Facts: facts,
		Text: fmt.Sprintf("%d more alerts were held back since %s: %s.", total, clock(began.Time), strings.Join(said, ", ")),
	}, began.Time, true)
	r.Status = StatusPending
	return []*entry{r}
}

func clock(t time.Time) string { return t.UTC().Format("15:04") + " UTC" }
