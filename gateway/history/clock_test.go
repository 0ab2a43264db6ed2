package history

import (
	"context"
	"testing"
	"time"
)

func TestATickerThatTremblesMakesNoHole(t *testing.T) {
	d := newDesk(t)
	for i := range 600 {
		off := []time.Duration{0, -80, 120, 999, 0, 640, -300, 0}[i%8] * time.Millisecond
		d.Add(t0.Add(time.Duration(i+1)*time.Second+off), func(yield func(Key, *Sample)) { yield(alice, &Sample{Rate: float32(i)}) })
	}
	v, _ := d.Read(context.Background(), alice, t0.Add(600*time.Second), 600*time.Second)
	last := -1.0
	for i, rate := range v.Fields[Rate] {
		if rate != last+1 {
			t.Fatalf("value %d is %v after %v", i, rate, last)
		}
		last = rate
	}
}

func TestTwoSamplesOfOneMomentAreOne(t *testing.T) {
	d := newDesk(t)
	d.run(time.Minute, at(3))
	for range 5 {
		d.Add(d.now.Add(-900*time.Millisecond), func(yield func(Key, *Sample)) { yield(alice, &Sample{Rate: 99}) })
	}
	d.want("the minute", d.last(alice, time.Minute, Rate), "60x3")
}

func TestAClockThatIsSetBack(t *testing.T) {
	for _, tc := range []struct {
		what           string
		by             time.Duration
		seconds, after string // 90 s by the second, and an hour by the minute, 30 s after
	}{
		{"a little is waited for", 20 * time.Second, "80x5 10x7", "59x5 1x7"},
		{"further is written over", 5 * time.Minute, "60x5 30x7", "59x5 1x7"},
		{"over the turn of an hour as well", 25 * time.Minute, "60x- 30x7", "4x- 55x5 1x7"},
		{"and by years", 40 * 365 * 24 * time.Hour, "60x- 30x7", "59x- 1x7"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			d := newDesk(t)
			d.run(80*time.Minute, at(5))
			d.Flush()
			was := d.now
			d.now = d.now.Add(-tc.by)
			d.run(30*time.Second, at(7))
			d.want("by the second", d.last(alice, 90*time.Second, Rate), tc.seconds)
			d.want("by the minute", d.last(alice, time.Hour, Rate), tc.after)
			d.run(time.Minute, at(7))
			d.restart()
			d.now = was
			if d.run(30*time.Second, at(5)); tc.by > 24*time.Hour {
				d.want("the hour before is still there", d.last(alice, 100*time.Minute, Rate)[19:79], "60x5")
			}
			if len(d.failed) > 0 {
				t.Error(d.failed)
			}
		})
	}
}

// An hour that is in the file and comes again is mixed of both.
func TestAnHourThatComesAgainLosesNothingThatDoesNot(t *testing.T) {
	d := newDesk(t)
	d.run(70*time.Minute, at(5))
	d.Flush()
	d.now = t0.Add(45 * time.Minute)
	bob := Key{Caller, "bob", "chat"}
	d.run(30*time.Minute, func(time.Time) map[Key]Sample { return map[Key]Sample{bob: {Rate: 8}} })
	d.run(time.Hour, at(6))
	d.Flush()
	d.want("who was there first", d.last(alice, 135*time.Minute, Rate), "45x5 30x0 60x6")
	d.want("who was there then", d.last(bob, 135*time.Minute, Rate), "45x0 30x8 60x0")
}

// A clock that is wrong for some minutes, even by years, does not take the week along.
func TestAMomentInTheFarFutureCostsNothing(t *testing.T) {
	d := newDesk(t)
	d.run(70*time.Minute, at(5))
	was := d.now
	d.now = t0.AddDate(10, 0, 0)
	d.run(3*time.Minute, at(9))
	d.want("then", d.last(alice, 5*time.Minute, Rate)[300-180:], "180x9")
	d.Flush()
	d.now = was
	d.run(130*time.Minute, at(6))
	d.restart()
	d.want("back again", d.last(alice, 200*time.Minute, Rate), "70x5 130x6")
	if hours := d.count("SELECT count(*) FROM hours"); hours != 3 {
		t.Errorf("%d hours are kept", hours)
	}
	if len(d.failed) > 0 {
		t.Error(d.failed)
	}
}
