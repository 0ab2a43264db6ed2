package main

import (
	"fmt"
	"time"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/upstream"
)

// steady is one sender of the reload scenario: a caller, or one of its tenants. It sends below each rate that any
// of the configs gives it, so that no config is a reason to refuse it.
type steady struct {
	caller string
	row    string // of the report
	pool   string
	plan   string
	tenant string
	tag    string
	path   string
	rate   float64 // a second
	spread schedule.Spread
}

func (s *steady) key() string { return "reload-" + s.caller }

func (s *steady) service() time.Duration {
	if s.tag == "chat" {
		return upstream.ChatTime
	}
	return upstream.ExportTime
}

// digestInFlight is below what digests come in together, so that there are always some that wait.
const digestInFlight = 2

// reloadCast keeps both pools busy to 60 %: 38.6 of 64 seats, and 19.2 of 32.
func reloadCast() []steady {
	chat := func(caller, plan, tenant string, rate float64) steady {
		return steady{caller: caller, row: "chat, shared", pool: "shared", plan: plan, tenant: tenant, tag: "chat", path: "/v1/chat/x", rate: rate}
	}
	export := func(caller, plan, tenant string, rate float64) steady {
		return steady{caller: caller, row: "export, shared", pool: "shared", plan: plan, tenant: tenant, tag: "export", path: "/v1/reports/x", rate: rate, spread: schedule.Even}
	}
	cast := []steady{
		chat("shop", "standard", "", 100), chat("mobile", "standard", "", 50),
		export("reports", "standard", "", 120),
		{caller: "digests", row: "digest, shared", pool: "shared", plan: "digests", tag: "digest", path: upstream.ExportPrefix + "digest/x", rate: 8},
		{caller: "gold", row: "chat, vip", pool: "vip", plan: "gold", tag: "chat", path: "/v1/chat/x", rate: 100},
		{caller: "gold-books", row: "export, vip", pool: "vip", plan: "gold", tag: "export", path: "/v1/reports/x", rate: 86, spread: schedule.Even},
	}
	for i := range 4 {
		cast = append(cast, chat("app", "tenanted", fmt.Sprint("t", i+1), 25))
	}
	for i := range 2 {
		cast = append(cast, export("billing", "tenanted", fmt.Sprint("t", i+1), 20))
	}
	return cast
}

// load is the share of a pool's seats that the cast keeps busy (Little's law).
func reloadLoad(cast []steady, pool string, seats int) (busy float64) {
	for i := range cast {
		if s := &cast[i]; s.pool == pool {
			busy += s.rate * s.service().Seconds()
		}
	}
	return busy / float64(seats)
}

func reloadArrivals(cast []steady, length time.Duration, seed uint64) (arrivals []schedule.Arrival, err error) {
	for who, s := range cast {
		if arrivals, err = schedule.Make(arrivals, who, s.spread, seed, schedule.Steady(length, s.rate)); err != nil {
			return nil, err
		}
	}
	schedule.Sort(arrivals)
	return arrivals, nil
}

func reloadRequests(cast []steady, host string) []openloop.Request {
	requests := make([]openloop.Request, 0, len(cast))
	for i := range cast {
		s := &cast[i]
		headers := map[string]string{"X-API-Key": s.key(), "X-Semantic": s.tag}
		if s.tenant != "" {
			headers["X-Tenant-Id"] = s.tenant
		}
		requests = append(requests, openloop.NewRequest("POST", host, s.path, headers, `{"q":"when does the tide turn?"}`, 30*time.Second))
	}
	return requests
}

// reloadConfig is the config of step n. Step 0 is the one that holds while nothing is reloaded. Each step differs
// from its neighbours; over some dozens of them everything an operator turns is turned, each at a pace of its own:
//
//   - both pools shrink and grow, and their ceilings change;
//   - digest is removed and added again, while work of it waits: without it, its requests count as default;
//   - the plan tenanted counts by tenant, by caller, and so on;
//   - rates, a burst, the level of export and the list of levels change;
//   - rules come, go and change places; a caller gets a second key; a caller comes and goes.
//
// Every rate is above what is sent, and no pool shrinks below what all rates together need: no config is a reason to
// refuse anybody, nor to break a promise.
func reloadConfig(n int) stage.Config {
	gone := digestGone(n)
	turn := func(every int) bool { return n/every%2 == 1 }
	export := "batch"
	if turn(3) {
		export = "standard"
	}
	c := stage.Config{
		MaxConns: maxConns + 1000,
		Levels:   []string{"realtime", "standard", "batch"},
		Pools: []stage.Pool{
			{Name: "shared", Seats: []int{64, 58, 80, 60}[n%4], ExcessCeiling: 0.8 - 0.1*float64(n%2), SurgeCeiling: surgeCeiling},
			{Name: "vip", Seats: []int{32, 30, 40}[n%3], ExcessCeiling: 0.8, SurgeCeiling: surgeCeiling},
		},
		Semantics: []stage.Semantic{
			{Name: "chat", Level: "realtime", Rate: fmt.Sprintf("%d/s", 150+min(n, 1)+n%20), MaxWait: "5s"},
			{Name: "export", Level: export, Rate: "132/s", MaxWait: "20s"},
			{Name: "default", Level: "batch", Rate: "1/s", MaxWait: "20s"},
		},
		Plans: []stage.Plan{
			{Name: "standard"},
			{Name: "tenanted", CountBy: "tenant"},
			{Name: "gold", Rules: []stage.Rule{{Semantic: "export", Rate: "96/s"}}},
			{Name: "digests", Rules: []stage.Rule{{Semantic: "default", Rate: "24/s"}}},
		},
		Routes: []stage.Route{
			{Name: "chat", Path: "/v1/chat/*", Semantics: []string{"chat"}},
			{Name: "reports", Path: "/v1/reports/*", Semantics: []string{"export"}},
			{Name: "digests", Path: upstream.ExportPrefix + "digest/*"},
		},
	}
	if turn(5) {
		c.Semantics[0].Burst = 800
	}
	if !gone {
		c.Semantics = append(c.Semantics, stage.Semantic{Name: "digest", Level: "standard", Rate: "24/s", MaxWait: "20s", MaxInFlight: digestInFlight})
		c.Routes[2].Semantics = []string{"digest"}
	}
	if n%7 == 3 {
		c.Levels = append(c.Levels, "idle")
	}
	rules := []stage.Rule{{Semantic: "chat", Rate: "155/s"}, {Semantic: "export", Rate: "45/s"}}
	if n%3 == 1 {
		rules = append(rules, stage.Rule{Semantic: "export", Rate: "46/s", Route: "reports"})
	}
	if turn(1) {
		rules[0], rules[len(rules)-1] = rules[len(rules)-1], rules[0]
	}
	c.Plans[1].Rules = rules
	if turn(2) {
		c.Plans[1].CountBy = "caller"
	}
	c.Callers = reloadCallers(n, gone)
	return c
}

// digestGone says that step n has no semantic digest.
func digestGone(n int) bool { return n/8%2 == 1 }

func reloadCallers(n int, gone bool) (callers []stage.Caller) {
	seen := make(map[string]bool)
	for _, s := range reloadCast() {
		if seen[s.caller] {
			continue // another of its tenants
		}
		seen[s.caller] = true
		caller := stage.Caller{ID: s.caller, Key: s.key(), Plan: s.plan, Pool: s.pool, Semantics: []string{s.tag}}
		if gone && s.tag == "digest" {
			caller.Semantics = nil
		}
		if s.caller == "shop" && n%4 >= 2 {
			caller.Second = "reload-shop-second"
		}
		callers = append(callers, caller)
	}
	if n%5 == 4 {
		callers = append(callers, stage.Caller{ID: "guest", Key: "reload-guest", Plan: "standard", Pool: "vip", Semantics: []string{"chat"}})
	}
	return callers
}
