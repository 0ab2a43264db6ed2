package config

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxOverrides is how many overrides may be in force at once; what is meant to stay belongs into the file.
const MaxOverrides = 1000

// CheckOverride says whether an override can be set over c, beside those in force or in place of the one
// of its name. The error names the value and what is allowed, for the operator who sets it.
func CheckOverride(c *Config, o Override) error {
	if err := checkWords(o); err != nil {
		return err
	}
	below, f := c.below, c.finder
	if below == nil {
		below, f = c, newFinder(c)
	}
	t, err := f.find(o.Name)
	if missing, ok := err.(errMissing); ok {
		if hint := f.hint(o.Name); hint != "" {
			err = missing + errMissing("; "+hint)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", clip(o.Name), err)
	}
	l := newLayer(below, f)
	for _, other := range c.Overrides {
		if other.Name == o.Name {
			continue
		}
		if target, err := f.find(other.Name); err == nil {
			_ = l.put(other, target) // it is in force: it can be read
		}
	}
	if len(l.c.Overrides) >= MaxOverrides {
		return fmt.Errorf("%s: there are %d overrides, and there may be no more; take some back, or write into the file what is meant to stay",
			o.Name, len(l.c.Overrides))
	}
	if err = l.put(o, t); err == nil {
		err = t.withinBound(below, l.c, o)
	}
	if err == nil {
		if why := because(l.all(), t.key); why != "" {
			err = errors.New(why)
		}
	}
	if err != nil {
		return fmt.Errorf("%s = %s: %w", o.Name, show(o.Value), err)
	}
	return nil
}

// checkWords holds what an operator says of an override.
func checkWords(o Override) error {
	r := newReport(&origin{})
	v := &validator{report: r}
	v.text("actor", o.Actor, 128)
	v.text("reason", o.Reason, 1000)
	if ps := r.problems(); len(ps) > 0 {
		return fmt.Errorf("%s: %s: %s", clip(o.Name), ps[0].Key, ps[0].Message)
	}
	if !utf8.ValidString(o.Actor) || !utf8.ValidString(o.Reason) {
		return fmt.Errorf("%s: actor and reason must be UTF-8", clip(o.Name))
	}
	if o.Until != nil && !o.Until.After(o.Made) {
		return fmt.Errorf("%s: it would end before it begins; give a later end, or none", clip(o.Name))
	}
	return nil
}

// clip shows a name that may be anything.
func clip(name string) string {
	if s := show(name); s != `"`+name+`"` {
		return s
	}
	return name
}
