package upstream

import (
	"fmt"

	"tidegate/gateway/config"
)

type balance uint8

const (
	leastInFlight balance = iota
	roundRobin
)

// maxSchedule bounds the round-robin table. Weights whose sum is larger are scaled down to it.
const maxSchedule = 1024

func (f *fleet) setBalance(c config.Upstream) error {
	if len(c.Targets) == 0 {
		return fmt.Errorf("cannot use upstream %q: it has no targets; give it at least one", c.Name)
	}
	if len(c.Targets) > maxSchedule {
		return fmt.Errorf("cannot use upstream %q: it has %d targets, at most %d are allowed", c.Name, len(c.Targets), maxSchedule)
	}
	weights := make([]int, len(c.Targets))
	for i, t := range c.Targets {
		weights[i] = max(t.Weight, 1)
	}
	switch c.Balance {
	case "least_in_flight", "":
		f.balance = leastInFlight
	case "round_robin":
		f.balance = roundRobin
	default:
		return fmt.Errorf("cannot use balance %q of upstream %q: least_in_flight and round_robin are allowed", c.Balance, c.Name)
	}
	f.weights = weights
	f.schedule = spread(weights)
	return nil
}

// spread lays out the indexes of weights so that each comes as often as its weight and as evenly as
// can be: at each step every index gains its weight, and the richest one is taken and pays the sum.
func spread(weights []int) []uint16 {
	w, sum := scale(weights)
	credit := make([]int, len(w))
	out := make([]uint16, 0, sum)
	for range sum {
		best := 0
		for i := range w {
			credit[i] += w[i]
			if credit[i] > credit[best] {
				best = i
			}
		}
		credit[best] -= sum
		out = append(out, uint16(best))
	}
	return out
}

// scale divides weights by what they have in common and then, if their sum is still above
// maxSchedule, rounds them down to it, none below 1.
func scale(weights []int) (scaled []int, sum int) {
	common := 0
	for _, w := range weights {
		common = gcd(common, w)
	}
	for _, w := range weights {
		sum += w / common
	}
	total := sum
	scaled, sum = make([]int, len(weights)), 0
	for i, w := range weights {
		scaled[i] = w / common
		if total > maxSchedule {
			scaled[i] = max(1, scaled[i]*maxSchedule/total)
		}
		sum += scaled[i]
	}
	return scaled, sum
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// pick chooses the target for the next request, as an index of f.targets.
func (f *fleet) pick() int {
	if len(f.targets) == 1 {
		return 0
	}
	turn := int(f.turn.Add(1))
	if f.balance == roundRobin {
		return int(f.schedule[turn%len(f.schedule)])
	}
	// What counts is the load with this request on top, for each unit of weight. The first one looked
	// at moves on, so that equals take turns.
	n := len(f.targets)
	best := turn % n
	load := f.targets[best].inFlight.Load() + 1
	for step := 1; step < n; step++ {
		i := (turn + step) % n
		l := f.targets[i].inFlight.Load() + 1
		if l*int64(f.weights[best]) < load*int64(f.weights[i]) {
			best, load = i, l
		}
	}
	return best
}
