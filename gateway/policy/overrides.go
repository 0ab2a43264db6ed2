package policy

import (
	"fmt"
	"strings"
	"time"

	"tidegate/gateway/config"
)

// override is one that is in force, with its name taken apart.
type override struct {
	config.Override
	kind, id, field string
	was             string
	wasFor          map[string]string // by semantic, where the file leaves it to the semantic
}

// overrides notes what is in force, for explanations; the configuration has the values already.
func (k *compiler) overrides() {
	for _, o := range k.c.Overrides {
		v := override{Override: o, was: k.c.Was(o.Name, "")}
		v.kind, v.id, v.field = config.SplitOverride(o.Name)
		if v.was == "" {
			v.wasFor = make(map[string]string, len(k.p.semantics))
			for _, s := range k.p.semantics {
				v.wasFor[s.Name] = k.c.Was(o.Name, s.Name)
			}
		}
		k.p.overrides = append(k.p.overrides, v)
	}
}

// overridesOf lists the overrides that make a difference to a caller's work under a rule, in their order.
func (p *Policy) overridesOf(c *Caller, s *Semantic, r *Rule) []OverrideRef {
	list := []OverrideRef{}
	for _, o := range p.overrides {
		touches := false
		switch o.kind {
		case "callers":
			touches = o.id == c.ID
		case "flows":
			touches = o.id == c.ID+"/"+s.Name
		case "pools":
			touches = o.id == c.Pool
		case "rules":
			touches = o.id == r.Sources.of(o.field)
		case "server":
			touches = true
		}
		if !touches {
			continue
		}
		ref := OverrideRef{o.Name, o.Value, o.was, o.Actor, o.Reason, o.Made, o.Until}
		switch {
		case o.kind == "flows":
			ref.Was = r.FileRateText
		case o.wasFor != nil:
			ref.Was = o.wasFor[s.Name]
		}
		list = append(list, ref)
	}
	return list
}

// of is the source of a field by its key in the file; "" for a field that no operator can set.
func (s *Sources) of(key string) string {
	switch key {
	case "rate":
		return s.Rate
	case "burst":
		return s.Burst
	case "cost":
		return s.Cost
	case "max_wait":
		return s.MaxWait
	case "max_in_flight":
		return s.MaxInFlight
	case "over_in_flight":
		return s.OverInFlight
	case "over_rate":
		return s.OverRate
	case "level":
		return s.Level
	case "observe":
		return s.Observe
	}
	return ""
}

// OverrideRef is an override that an explanation names.
type OverrideRef struct {
	Name   string     `json:"name"`
	Value  string     `json:"value"`
	Was    string     `json:"was"` // what file and environment say
	Actor  string     `json:"actor"`
	Reason string     `json:"reason"`
	Made   time.Time  `json:"made"`
	Until  *time.Time `json:"until"` // null: until it is taken back
}

// String is the override on one line, for people.
func (o OverrideRef) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = %s (was %s) by %s, %s", o.Name, o.Value, o.Was, o.Actor, o.Made.UTC().Format(time.RFC3339))
	if o.Until != nil {
		b.WriteString(" until " + o.Until.UTC().Format(time.RFC3339))
	}
	if o.Reason != "" {
		b.WriteString(": " + o.Reason)
	}
	return b.String()
}
