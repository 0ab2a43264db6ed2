package history

import (
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
