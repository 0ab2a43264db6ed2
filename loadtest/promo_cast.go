package main

import (
	"fmt"
	"math"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

// The capacity that the promo scenario plays on. Chat takes 20 ms and export 200 ms of a seat.
const (
	sharedSeats  = 64
	vipSeats     = 32
	surgeCeiling = 0.5
)

// The offender's rates, requests a second.
const (
	spiderQuota = 20
	spiderCalm  = 15
	spiderJump  = 800
)

const ordinaryCallers = 20

// timeline is when things happen in a run. warm is for connections, and for the gateway to have met each flow;
// it is in the totals but compared with nothing.
type timeline struct{ warm, quiet, jump, after time.Duration }

func (t timeline) length() time.Duration { return t.warm + t.quiet + t.jump + t.after }

func (t timeline) phases() []openloop.Phase {
	var phases []openloop.Phase
	var at time.Duration
	for _, p := range []struct {
		name   string
		length time.Duration
	}{{"warm", t.warm}, {"quiet", t.quiet}, {"jump", t.jump}, {"after", t.after}} {
		phases = append(phases, openloop.Phase{Name: p.name, From: at, To: at + p.length})
		at += p.length
	}
	return phases
}

// jumpPhase is when the offender jumps.
func (t timeline) jumpPhase() openloop.Phase { return t.phases()[2] }

// member is one caller of the scenario, with its one flow.
type member struct {
	name     string
	row      string // of the report; members of a row are added up
	pool     string
	plan     string
	register []string // semantics
	tag      string   // X-Semantic; "": none
	counted  string   // the semantic it is counted under
	route    string   // path
	quota    int      // a second
	service  time.Duration
	spread   schedule.Spread
	traffic  []schedule.Piece
	timeout  time.Duration
}

func (m *member) key() string { return "promo-" + m.name }

// timeouts give the longest wait of the semantic and some seconds more: the client is never the first to give up.
const (
	chatTimeout   = 10 * time.Second
	mixedTimeout  = 15 * time.Second
	exportTimeout = 75 * time.Second
)

// promoCast is who takes part.
func promoCast(t timeline) []member {
	whole := t.length()
	chat := func(name, row, plan string, quota int, traffic ...schedule.Piece) member {
		return member{
			name: name, row: row, pool: "shared", plan: plan, register: []string{"chat"}, tag: "chat", counted: "chat",
			route: "/v1/chat/x", quota: quota, service: upstream.ChatTime, traffic: traffic, timeout: chatTimeout,
		}
	}
	export := func(name string, traffic ...schedule.Piece) member {
		return member{
			name: name, row: name, pool: "shared", plan: "standard", register: []string{"export"}, tag: "export", counted: "export",
			route: "/v1/reports/x", quota: spiderQuota, service: upstream.ExportTime, traffic: traffic, timeout: exportTimeout,
		}
	}

	// Steady, and enough for a p99: 100/s gives 2,000 requests in a jump of 20 s. Half its quota, 2 of its 32 seats.
	vip := chat("vip-1", "vip-1", "standard", 200, schedule.Steady(whole, 100))
	vip.pool, vip.spread = "vip", schedule.Even
	cast := []member{vip}
	// Poisson traffic of 8/s on a quota of 20/s: now and then a second above it, mostly far below.
	for i := range ordinaryCallers {
		cast = append(cast, chat(fmt.Sprintf("ordinary-%02d", i+1), "ordinary", "ordinary", 20, schedule.Steady(whole, 8)))
	}
	cast = append(cast, export("exporter", schedule.Steady(whole, 5)))
	// It doubles in 90 s, just slower than what the detector calls a tide (a minute), then stays.
	const double = 90 * time.Second
	rise := min(double, whole)
	peak := 20 * math.Exp2(rise.Seconds()/double.Seconds())
	cast = append(cast, chat("morning", "morning", "growing", 60,
		schedule.Piece{Length: rise, From: 20, To: peak}, schedule.Steady(whole-rise, peak)))
	cast = append(cast, chat("steady-over", "steady-over", "ordinary", 20, schedule.Steady(whole, 22)))
	// It registered chat and export but tags nothing, on a route that accepts both: counted as default, 5/s. It sends
	// 6/s, so about half of its seconds are within that rate and the rest above.
	cast = append(cast, member{
		name: "untagged", row: "untagged", pool: "shared", plan: "standard", register: []string{"chat", "export"}, counted: "default",
		route: "/v1/mixed/x", quota: 5, service: upstream.ChatTime, traffic: []schedule.Piece{schedule.Steady(whole, 6)}, timeout: mixedTimeout,
	})
	cast = append(cast, export(spider,
		schedule.Steady(t.warm+t.quiet, spiderCalm), schedule.Steady(t.jump, spiderJump), schedule.Steady(t.after, spiderCalm)))
	return cast
}

const spider = "spider-77"

// promoConfig is the gateway's configuration for the cast.
func promoConfig(cast []member) stage.Config {
	c := stage.Config{
		MaxConns: maxConns + 1000,
		Levels:   []string{"realtime", "standard", "batch"},
		Pools: []stage.Pool{
			{Name: "shared", Seats: sharedSeats, ExcessCeiling: 0.8, SurgeCeiling: surgeCeiling},
			{Name: "vip", Seats: vipSeats, ExcessCeiling: 0.8, SurgeCeiling: surgeCeiling},
		},
		Semantics: []stage.Semantic{
			{Name: "chat", Level: "realtime", Rate: "200/s", MaxWait: "2s"},
			{Name: "export", Level: "batch", Rate: fmt.Sprintf("%d/s", spiderQuota), MaxWait: "60s"},
			{Name: "default", Level: "batch", Rate: "5/s", MaxWait: "5s"},
		},
		Plans: []stage.Plan{
			{Name: "standard"},
			{Name: "ordinary", Rules: []stage.Rule{{Semantic: "chat", Rate: "20/s"}}},
			{Name: "growing", Rules: []stage.Rule{{Semantic: "chat", Rate: "60/s"}}},
		},
		Routes: []stage.Route{
			{Name: "chat", Path: "/v1/chat/*", Semantics: []string{"chat"}},
			{Name: "reports", Path: "/v1/reports/*", Semantics: []string{"export"}},
			{Name: "mixed", Path: "/v1/mixed/*", Semantics: []string{"chat", "export"}},
		},
	}
	for _, m := range cast {
		c.Callers = append(c.Callers, stage.Caller{ID: m.name, Key: m.key(), Plan: m.plan, Pool: m.pool, Semantics: m.register})
	}
	return c
}

// promoArrivals is the whole run's schedule.
func promoArrivals(cast []member, seed uint64) ([]schedule.Arrival, error) {
	var arrivals []schedule.Arrival
	for who, m := range cast {
		var err error
		if arrivals, err = schedule.Make(arrivals, who, m.spread, seed, m.traffic...); err != nil {
			return nil, err
		}
	}
	schedule.Sort(arrivals)
	return arrivals, nil
}

// promoRequests is what each member sends.
func promoRequests(cast []member, host string) []openloop.Request {
	requests := make([]openloop.Request, 0, len(cast))
	for _, m := range cast {
		headers := map[string]string{"X-API-Key": m.key()}
		if m.tag != "" {
			headers["X-Semantic"] = m.tag
		}
		requests = append(requests, openloop.NewRequest("POST", host, m.route, headers, `{"q":"when does the tide turn?"}`, m.timeout))
	}
	return requests
}

func promoQuotas(cast []member) []tally.Quota {
	quotas := make([]tally.Quota, 0, len(cast))
	for _, m := range cast {
		quotas = append(quotas, tally.Quota{N: m.quota, Per: time.Second})
	}
	return quotas
}

// surgeShare is what the surge ceiling leaves to the offender in the jump, requests a second beyond its quota: a surge
// may be dispatched while the seats in use, its own included, stay within the ceiling. The seats that others use
// and those of its own quota are rate x service time each (Little's law). 32 seats less 5.3 of the others and 4 of
// its own, at 200 ms: about 113/s.
func surgeShare(cast []member, jump openloop.Phase) float64 {
	free := surgeCeiling * sharedSeats
	for i := range cast {
		m := &cast[i]
		switch {
		case m.name == spider:
			free -= spiderQuota * m.service.Seconds()
		case m.pool == "shared":
			free -= m.meanRate(jump) * m.service.Seconds()
		}
	}
	return free / upstream.ExportTime.Seconds()
}

// meanRate is the traffic planned over a phase, requests a second.
func (m *member) meanRate(phase openloop.Phase) float64 {
	var sum float64
	var at time.Duration
	for _, p := range m.traffic {
		sum += p.MassBetween(phase.From-at, phase.To-at)
		at += p.Length
	}
	return sum / (phase.To - phase.From).Seconds()
}
