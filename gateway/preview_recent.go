package gateway

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"tidegate/gateway/policy"
	"tidegate/gateway/recent"
	"tidegate/gateway/replay"
)

// rememberArrivals takes down what came since the last census, for previews.
func (g *Gateway) rememberArrivals(c *census) {
	g.recent.Add(c.at, c.span, func(yield func(recent.Flow, int, time.Duration)) {
		for i := range c.flows {
			f := &c.flows[i]
			if f.arrived > 0 {
				yield(recent.Flow{Caller: f.d.caller, Semantic: f.d.semantic, Route: f.d.route, Tenant: f.d.tenant}, int(f.arrived), f.seatTime)
			}
		}
	})
}

// mostPlayed is how many requests a preview plays. Each costs two microseconds under either configuration, and up to six where
// it is the only one of its flow in that second: in all eight seconds of a core, or at worst half a minute.
const mostPlayed = 2_000_000

// atOnce is how many requests are played before whoever waits for the core has it: some 100 microseconds.
const atOnce = 25

// player plays what is remembered into engines: each second's requests at random moments of it, the same ones for all.
type player struct {
	past    *recent.Past
	policy  *policy.Policy   // in force
	origins []*replay.Origin // by flow
	spread  *rand.Rand
	second  []replay.Arrival
	engines []*replay.Engine
	played  int
	unknown bool // the seat time of some
}

func newPlayer(past *recent.Past, inForce *policy.Policy, engines ...*replay.Engine) *player {
	return &player{past: past, policy: inForce, origins: make([]*replay.Origin, past.Flows()), spread: rand.New(rand.NewPCG(1, 2)), engines: engines}
}

func (p *player) play() {
	p.past.Each(p.add, p.arrive)
	for _, e := range p.engines {
		e.Finish()
	}
}

// arrive plays the second that has been taken up.
func (p *player) arrive(from, to time.Time) {
	begins, span := from.UnixNano(), int64(to.Sub(from))
	for i := range p.second {
		p.second[i].At = begins + p.spread.Int64N(span)
	}
	slices.SortFunc(p.second, func(a, b replay.Arrival) int { return cmp.Compare(a.At, b.At) })
	for i := range p.second {
		for _, e := range p.engines {
			e.Arrive(&p.second[i])
		}
		if p.played++; p.played%atOnce == 0 {
			runtime.Gosched()
		}
	}
	p.second = p.second[:0]
}

// add takes up what a flow sent in a second.
func (p *player) add(flow, arrivals int, seat time.Duration) {
	f := p.past.Flow(flow)
	if p.origins[flow] == nil {
		p.origins[flow] = replay.NewOrigin(flow, f.Caller, f.Semantic, p.routeOf(f), false)
	}
	p.unknown = p.unknown || seat == 0
	for range arrivals {
		p.second = append(p.second, replay.Arrival{Origin: p.origins[flow], Tenant: f.Tenant, Seat: seat})
	}
}

// routeOf is a route that a flow's requests came by. Where it is not told apart by its route, it is one on which it meets
// the rule that it met: else rules that name routes would be played that it never came under.
func (p *player) routeOf(f *recent.Flow) string {
	if f.Route != "" {
		return f.Route
	}
	c, s := p.policy.Caller(f.Caller), p.policy.Semantic(f.Semantic)
	if c == nil || s == nil {
		return ""
	}
	if r := p.policy.RouteOf(c, s, ""); r != nil {
		return r.Name
	}
	return ""
}
