package pools

import (
	"testing"
	"time"
)

func TestACloneGoesItsOwnWay(t *testing.T) {
	for _, l := range []Limit{{N: 4, Per: time.Second}, {N: 400, Per: time.Second}, {N: 4, Per: time.Second, Burst: 4}} {
		c := newTable(t, l)
		n := l.Depth()
		c.take(0.1, n/4, true)
		c.take(0.2, n/4, true)
		twin := table{t, c.m.Clone()}
		twin.left(0.2, n/2, n/2)
		c.take(0.3, n/2, true)
		c.left(0.3, 0, n)
		twin.left(0.3, twin.m.Remaining(after(0.3)), n-twin.m.Remaining(after(0.3)))
		if got := twin.m.Remaining(after(0.3)); got < n/2 {
			t.Errorf("%+v: the clone has %d left after the other paid, want at least %d", l, got, n/2)
		}
		twin.take(0.35, 1, true)
		twin.m.Return(after(0.4), after(0.1), n/4)
		if got := c.m.Remaining(after(0.3)); got != 0 {
			t.Errorf("%+v: %d left after the clone got something back, want 0", l, got)
		}
	}
}
