package detector

import (
	"math"
	"testing"
)

// learned is a season of some weeks.
func learned(seed uint64, weeks int, source func(int, Slot) float64) *Season {
	w := newYear(seed, source)
	w.weeks(weeks)
	return &w.s
}

func TestANewFlowGoesByTheShapeOfOthers(t *testing.T) {
	var pool Pool
	for i := range uint64(9) {
		size := math.Pow(4, float64(i)) / 100 // from 0.2/s to 1,300/s at night
		pool.Add(learned(i, 5, func(week int, slot Slot) float64 { return size * office(week, slot) }), 1)
	}
	shape := pool.Shape()
	var fresh Season
	var m geometric
	for day := range Slot(5) {
		g, known := Growth(&fresh, shape, day*hours+5, day*hours+9)
		if !known {
			t.Fatal("nothing is known")
		}
		m.add(g)
	}
	if m.mean() < 2.3 || m.mean() > 4 {
		t.Errorf("from five to nine %.2f, want about 3.4, or 4 as the most", m.mean())
	}
	if r, known := shape.At(3); !known || r > 0.8 {
		t.Errorf("at night %v %v of the mean", r, known)
	}
}

func TestOneCallerCannotBendTheShape(t *testing.T) {
	var usual, bent Pool
	for i := range uint64(20) {
		s := learned(i, 5, office)
		usual.Add(s, 1)
		bent.Add(s, 1)
	}
	odd := learned(99, 5, func(_ int, slot Slot) float64 {
		if slot%hours == 9 {
			return 1e4
		}
		return 1
	})
	for range 1000 {
		bent.Add(odd, 1./1000)
	}
	a, b := usual.Shape(), bent.Shape()
	for i := range Slot(slots) {
		x, _ := a.At(i)
		if y, known := b.At(i); !known || y > 1.35*x || y < x/1.35 {
			t.Errorf("%v: %.2f with the odd caller, %.2f without", i, y, x)
		}
	}
}

func TestAShapeTakesThreeCallers(t *testing.T) {
	s := learned(1, 5, office)
	for _, c := range []struct {
		name  string
		add   func(p *Pool)
		known bool
	}{
		{"none", func(*Pool) {}, false},
		{"two callers", func(p *Pool) { p.Add(s, 1); p.Add(s, 1) }, false},
		{"one caller of a thousand flows", func(p *Pool) {
			for range 1000 {
				p.Add(s, 1e-3)
			}
		}, false},
		{"three callers of three flows", func(p *Pool) {
			for range 9 {
				p.Add(s, 1./3)
			}
		}, true},
		{"ten who know nothing yet", func(p *Pool) {
			for range 10 {
				p.Add(learned(1, 1, office), 1)
			}
		}, false},
		{"weights that are none", func(p *Pool) { p.Add(s, math.NaN()); p.Add(s, -1); p.Add(s, math.Inf(1)) }, false},
	} {
		var p Pool
		c.add(&p)
		if _, known := p.Shape().At(12); known != c.known {
			t.Errorf("%s: known is %v", c.name, known)
		}
	}
	var none *Shape
	if _, known := none.At(3); known {
		t.Error("no shape knows something")
	}
	if _, known := (&Shape{}).At(3); known {
		t.Error("the zero shape knows something")
	}
}

func TestWhatOthersDoExcusesLess(t *testing.T) {
	job := func(_ int, slot Slot) float64 {
		if slot%hours == 2 {
			return 500
		}
		return 1
	}
	var pool Pool
	for i := range uint64(5) {
		pool.Add(learned(i, 5, job), 1)
	}
	var fresh Season
	if g, known := Growth(&fresh, pool.Shape(), 1, 2); g != 4 || !known {
		t.Errorf("by others %v %v, want 4", g, known)
	}
	if g, _ := Growth(learned(6, 5, job), pool.Shape(), 1, 2); g != 16 {
		t.Errorf("by its own past %v, want 16", g)
	}
}
