package history

import (
	"os"
	"testing"
	"time"
)

func TestAfterARestartItIsAllThere(t *testing.T) {
	d := newDesk(t)
	d.run(2*time.Hour, at(5))
	d.run(10*time.Minute+30*time.Second, at(7))
	d.restart()
	d.want("seconds", d.last(alice, BySecond, Rate), "270x5 630x7")
	d.want("minutes", d.last(alice, 3*time.Hour, Rate), "49x- 120x5 11x7")
	d.now = d.now.Add(time.Minute) // it was down
	d.run(30*time.Second, at(9))
	d.restart()
	d.run(30*time.Second, at(9))
	d.want("seconds with a gap", d.last(alice, BySecond, Rate), "150x5 630x7 60x- 60x9")
	d.want("minutes with none", d.last(alice, 30*time.Minute, Rate), "17x5 11x7 2x9")
	if len(d.failed) > 0 {
		t.Error(d.failed)
	}
}

func TestWhoeverIsKilledLosesAMinuteAtMost(t *testing.T) {
	d := newDesk(t)
	d.run(2*time.Hour+90*time.Second, at(5))
	d.kill()
	d.want("seconds", d.last(alice, BySecond, Rate), "869x5 31x-")
	d.want("minutes", d.last(alice, 3*time.Hour, Rate), "58x- 121x5 1x-")
}

// A disk may be so slow at the start that samples come before what was kept.
func TestWhatIsReadLateIsPutInItsPlace(t *testing.T) {
	d := newDesk(t)
	d.run(80*time.Minute+20*time.Second, at(5))
	d.Close()
	from, err := openDisk(d.path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer from.close()
	path := d.path
	d.path = "" // nothing is there yet
	d.open()
	d.now = d.now.Add(10 * time.Second)
	d.run(10*time.Second, at(7))
	kept, err := from.load(t.Context(), d.now.Unix()/slots, mostNames(10))
	if err != nil {
		t.Fatal(err)
	}
	d.takeIn(kept)
	d.want("by the second", d.last(alice, 2*time.Minute, Rate), "100x5 10x- 10x7")
	d.want("by the minute", d.last(alice, 22*time.Minute, Rate)[:21], "1x- 20x5") // of the hour that runs
	d.run(2*time.Minute, at(7))
	d.want("by the second, later", d.last(alice, 4*time.Minute, Rate), "100x5 10x- 130x7")
	d.path = path
}

func TestNobodyElseMayReadTheFile(t *testing.T) {
	d := newDesk(t)
	d.run(2*time.Minute, at(5))
	d.Flush()
	for _, name := range append(beside(d.path), d.path) {
		if info, err := os.Stat(name); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, info.Mode())
		}
	}
}

// BySecond and minutes in which nothing was counted take no room.
func TestGapsTakeNoRoom(t *testing.T) {
	d := newDesk(t)
	for i := range 3 * 60 {
		if i%3 == 0 {
			d.run(7*time.Second, at(float32(1000+i%7)))
		}
		d.now = t0.Add(time.Duration(i+1) * time.Minute)
	}
	d.restart()
	if most := d.count("SELECT max(length(block)) FROM hours"); most > 30 {
		t.Errorf("an hour takes %d bytes", most)
	}
	if most := d.count("SELECT max(length(blocks)) FROM seconds"); most > 30 {
		t.Errorf("a minute takes %d bytes", most)
	}
}
