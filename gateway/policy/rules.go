package policy

import (
	"fmt"
	"slices"

	"tidegate/gateway/config"
	"tidegate/pools"
	"tidegate/scheduler"
)

// ruleTable is one plan's rules by what they name; "" is any.
type ruleTable struct {
	plan  string
	rules map[ruleName]ruleEntry
}

type ruleName struct{ route, semantic string }

type ruleEntry struct {
	config.Rule
	at   string
	file config.Rule // without what operators have set
}

// candidates returns the plan's rules for a route and a semantic, most specific first. A route of "" is one
// that no rule names. Each is completed from the semantic; the semantic's own stands last.
func (t *ruleTable) candidates(route string, s *Semantic, version uint64) []*Rule {
	names := []ruleName{{route, s.Name}, {route, ""}, {"", s.Name}, {"", ""}}
	if route == "" {
		names = names[2:]
	}
	var found []*Rule
	for _, name := range names {
		if s.Name == DefaultSemantic && name.semantic == "" {
			continue
		}
		if entry, ok := t.rules[name]; ok {
			found = append(found, complete(ruleID(t.plan, name), entry, s.Rule, version))
		}
	}
	found = append(found, s.Rule)
	for i, rule := range found[:len(found)-1] {
		rule.Overrode = slices.Clone(found[i+1:])
	}
	return found
}

func ruleID(plan string, name ruleName) string {
	return plan + "/" + orAny(name.route) + "/" + orAny(name.semantic)
}

func orAny(name string) string {
	if name == "" {
		return "*"
	}
	return name
}

// complete fills what the entry leaves out from the semantic's own rule.
func complete(id string, e ruleEntry, own *Rule, version uint64) *Rule {
	r := *own
	r.ID, r.At, r.Version, r.NamesRoute, r.Overrode = id, e.at, version, e.Route != "", nil
	if e.Rate != nil {
		r.Limit.N, r.Limit.Per = e.Rate.N, e.Rate.Per
		r.RateText, r.Sources.Rate = rateText(*e.Rate), id
		if !e.Apart {
			r.Limit.Burst, r.Sources.Burst = 0, id
		}
	}
	if e.file.Rate != nil {
		r.FileRateText, r.MaxRateText = rateText(*e.file.Rate), ""
	}
	if e.MaxRate != nil {
		r.MaxRateText = e.MaxRate.String()
	}
	if e.Burst != nil {
		r.Limit.Burst, r.Sources.Burst = *e.Burst, id
	}
	if e.Cost != nil {
		r.Cost, r.Sources.Cost = *e.Cost, id
	}
	if e.MaxWait != nil {
		r.MaxWait, r.Sources.MaxWait = e.MaxWait.Duration, id
	}
	if e.MaxInFlight != nil {
		r.MaxInFlight, r.Sources.MaxInFlight = *e.MaxInFlight, id
	}
	if e.OverInFlight != nil {
		r.RejectInFlight, r.Sources.OverInFlight = *e.OverInFlight == "reject", id
	}
	if e.OverRate != nil {
		r.OverRate, r.Sources.OverRate = overRates[*e.OverRate], id
	}
	if e.Level != nil {
		r.Level, r.Sources.Level = *e.Level, id
	}
	if e.Observe != nil && own.Sources.Observe != observedByMode {
		r.Observe, r.Sources.Observe = *e.Observe, id
	}
	if e.Message != nil {
		r.Message, r.Sources.Message = *e.Message, id
	}
	return &r
}

// observedByMode is the source of Observe where the whole gateway observes, whatever the rules say.
const observedByMode = "server.mode"

// ownRule is the rule that a semantic itself is.
func (k *compiler) ownRule(s config.Semantic, at string) *Rule {
	id := "semantic/" + s.Name
	observe, observeFrom := s.Observe, id
	if k.p.observeAll {
		observe, observeFrom = true, observedByMode
	}
	return &Rule{
		Rule: scheduler.Rule{
			Limit:          limitOf(s.Rate, s.Burst),
			Cost:           s.Cost,
			OverRate:       overRates[s.OverRate],
			MaxWait:        s.MaxWait.Duration,
			MaxInFlight:    s.MaxInFlight,
			RejectInFlight: s.OverInFlight == "reject",
			Level:          s.Level,
			Observe:        observe,
		},
		ID: id, RateText: rateText(s.Rate), MaxRateText: s.MaxRate.String(), Message: s.Message, At: at, Version: k.version,
		Sources: Sources{
			Rate: id, Burst: id, Cost: id, MaxWait: id, MaxInFlight: id, OverInFlight: id, OverRate: id, Level: id,
			Observe: observeFrom, Message: id,
		},
	}
}

var overRates = map[string]scheduler.OverRate{
	"queue":  scheduler.OverQueue,
	"pace":   scheduler.OverPace,
	"reject": scheduler.OverReject,
}

func limitOf(r config.Rate, burst int64) pools.Limit {
	return pools.Limit{N: r.N, Per: r.Per, Burst: burst}
}

// rateText is the rate as written; one that was made by a program has no text.
func rateText(r config.Rate) string {
	if r.Text != "" {
		return r.Text
	}
	return fmt.Sprintf("%d/%s", r.N, r.Per)
}

// check holds what the scheduler relies on. It sees the completed rule, since a cost may come from the semantic and
// the rate from the rule.
func (r *Rule) check() error {
	if err := r.Limit.Valid(); err != nil {
		return fmt.Errorf("rate = %q: %w", r.RateText, err)
	}
	switch {
	case r.Cost < 1:
		return fmt.Errorf("cost = %d: must be at least 1", r.Cost)
	case r.Cost > r.Limit.Depth():
		text, source := fmt.Sprintf("rate = %q", r.RateText), r.Sources.Rate
		if r.Limit.Burst > 0 {
			text, source = fmt.Sprintf("burst = %d", r.Limit.Burst), r.Sources.Burst
		}
		return fmt.Errorf("cost = %d (of %s) is more than %s (of %s) can ever pay; "+
			"lower the cost, raise the rate, or give a burst of at least the cost", r.Cost, r.Sources.Cost, text, source)
	case r.MaxWait < 0:
		return fmt.Errorf("max_wait = %q: must be at least 0", r.MaxWait)
	case r.MaxInFlight < 0:
		return fmt.Errorf("max_in_flight = %d: must be at least 0; 0 is no limit", r.MaxInFlight)
	}
	return nil
}
