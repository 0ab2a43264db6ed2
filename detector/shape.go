package detector

import "math"

// Shape is what the flows of one semantic do together: each hour of the week, against the mean of all hours. It is
// made by a Pool and does not change. The zero Shape knows nothing, and so does nil.
type Shape struct {
	bin [slots]uint8 // of the Pool, from 1 on; 0: unknown
}

// At is how many times a flow's own mean that hour usually has.
func (p *Shape) At(slot Slot) (relative float64, known bool) {
	y, known := p.at(slot)
	if !known {
		return 0, false
	}
	return math.Exp2(y), true
}

func (p *Shape) at(slot Slot) (y float64, known bool) {
	if p == nil || slot >= slots || p.bin[slot] == 0 {
		return 0, false
	}
	return float64(int(p.bin[slot])-1-poolBins/2) / poolUnits, true
}

const (
	poolCallers = 3  // who have to agree
	poolBins    = 97 // of an eighth octave, 6 octaves up and down
	poolUnits   = 8
	leastSlots  = hours // of a flow, to have a mean to be held against
)

// Pool gathers the seasons of a semantic's flows into a Shape: the median of each hour, over callers. So no caller alone
// can bend it, however many flows there are of that one and however large they are. The zero Pool is empty. Not safe for
// concurrent use.
type Pool struct {
	weight [slots][poolBins]float32
}

// Add takes one flow's season. The weights of one caller's flows come to 1 together.
func (p *Pool) Add(s *Season, weight float64) {
	mean, n := 0., 0
	for i := range Slot(slots) {
		if y, known := s.at(i); known {
			mean += y
			n++
		}
	}
	if n < leastSlots || !(weight > 0) {
		return
	}
	mean /= float64(n)
	for i := range Slot(slots) {
		if y, known := s.at(i); known {
			bin := poolBins/2 + math.Round((y-mean)*poolUnits)
			p.weight[i][int(min(max(0, bin), poolBins-1))] += float32(min(weight, 1))
		}
	}
}

// Shape is that of what was added: the lower median where at least three callers know the hour.
func (p *Pool) Shape() *Shape {
	shape := &Shape{}
	for i := range p.weight {
		sum := float32(0)
		for _, w := range p.weight[i] {
			sum += w
		}
		const rounding = 1e-3 // of weights like a third
		if sum < poolCallers-rounding {
			continue
		}
		below := float32(0)
		for bin, w := range p.weight[i] {
			if below += w; below >= sum/2-rounding {
				shape.bin[i] = uint8(bin + 1)
				break
			}
		}
	}
	return shape
}

const (
	// mostGrowth bounds what any season excuses. A profile can be wrong: a job that has moved, a week of attacks. What
	// is 16 times the level of a minute ago is said even where it comes each Monday; it costs the caller a place in
	// line, no more, while a profile that was led astray would cost all others theirs.
	mostGrowth = 16
	// mostPooled is the same where the profile is that of others.
	mostPooled = 4
)

// Growth is how many times the level of one hour another one usually has: what a flow whose level was learned in the
// slot from may have come to by the slot to without anything being odd. It is 1 to 16; when nothing is known, 1. By the
// flow's own weeks, else by its own days, else, at most 4, by the shape of its semantic, which may be nil. Rates far
// below 0.1/s are no different from none: what an hour of a few arrivals holds is chance.
func Growth(s *Season, p *Shape, from, to Slot) (factor float64, known bool) {
	if a, b, known := both(s.at, from, to); known {
		return bounded(b-a, mostGrowth), true
	}
	if a, b, known := both(s.day, from, to); known {
		return bounded(b-a, mostGrowth), true
	}
	if a, b, known := both(p.at, from, to); known {
		return bounded(b-a, mostPooled), true
	}
	return 1, false
}

func both(at func(Slot) (float64, bool), from, to Slot) (a, b float64, known bool) {
	a, knownA := at(from)
	b, knownB := at(to)
	return a, b, knownA && knownB
}

func bounded(octaves, most float64) float64 { return min(max(1, math.Exp2(octaves)), most) }
