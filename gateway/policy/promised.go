package policy

import "time"

// Promise is what the rates of a pool's callers come to.
type Promise struct {
	Pool   string
	Seats  int
	Needed float64 // seats that all rates need together, when all of them are used
}

// Promised sums up, for each pool, rate x seat time over every enabled caller and all that it has
// registered. seatTime gives the mean seat time of a semantic by its index, 0 where it is not known: such
// work counts nothing. A caller whose plan counts by tenant or address counts once; its caller_rate
// bounds it, at the seat time of its slowest work.
func (p *Policy) Promised(seatTime func(semantic int32) time.Duration) []Promise {
	promises := make([]Promise, len(p.poolList))
	byName := make(map[string]*Promise, len(promises))
	for i, pool := range p.poolList {
		promises[i] = Promise{Pool: pool.Name, Seats: pool.Seats.N}
		byName[pool.Name] = &promises[i]
	}
	for _, c := range p.callerList {
		if c.Enabled {
			byName[c.Pool].Needed += p.promisedTo(c, seatTime)
		}
	}
	return promises
}

func (p *Policy) promisedTo(c *Caller, seatTime func(int32) time.Duration) (seats float64) {
	type flow struct{ semantic, route int32 }
	seen := make(map[flow]bool)
	slowest := 0.0
	for _, r := range p.routes {
		for _, s := range p.semantics {
			if s != p.fallback && !(r.accepts.has(s.position) && c.registers.has(s.position)) {
				continue
			}
			rule := p.Choose(c, r, s)
			f := flow{semantic: s.Index, route: -1}
			if rule.NamesRoute {
				f.route = r.Index
			}
			if seen[f] {
				continue
			}
			seen[f] = true
			each := seatTime(s.Index).Seconds() / float64(rule.Cost)
			slowest = max(slowest, each)
			seats += float64(rule.Limit.N) / rule.Limit.Per.Seconds() * each
		}
	}
	if limit := c.Plan.CallerRate; limit != nil {
		seats = min(seats, float64(limit.N)/limit.Per.Seconds()*slowest)
	}
	return seats
}
