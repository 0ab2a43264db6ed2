package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
)

// element is the struct in c that the target is a field of.
func (t target) element(c *Config) reflect.Value {
	var p any
	switch {
	case t.kind == "callers":
		p = &c.Callers[t.index]
	case t.kind == "flows":
		p = c.Callers[t.index].flow(t.semantic)
	case t.kind == "pools":
		p = &c.Pools[t.index]
	case t.kind == "server":
		p = &c.Server
	case t.rule.plan < 0:
		p = &c.Semantics[t.rule.rule]
	default:
		p = &c.Plans[t.rule.plan].Rules[t.rule.rule]
	}
	return reflect.ValueOf(p).Elem()
}

// set reads the text as the file would, and puts it in place. What c shares with others is not written to.
func (t target) set(c *Config, text string) error {
	v := reflect.New(t.field.typ)
	if text == "" {
		return errors.New("a value is needed here")
	}
	if isText(t.field.typ) {
		if err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			return err
		}
	} else {
		value, err := fromText(text, t.field.typ)
		if err != nil {
			return err
		}
		v.Elem().Set(reflect.ValueOf(value).Convert(t.field.typ))
	}
	element := t.element(c)
	if rule, ok := element.Addr().Interface().(*Rule); ok && (t.field.key == "rate" || t.field.key == "burst") {
		rule.Apart = rule.Apart || rule.Rate == nil
	}
	if to := element.Field(t.field.index); to.Kind() == reflect.Pointer {
		to.Set(v)
	} else {
		to.Set(v.Elem())
	}
	return nil
}

// Was is the value that an override of this name stands over: what file and environment say, without quotes.
// What a rule leaves to the semantic is the given semantic's own. It is "" where there is no such thing.
func (c *Config) Was(name, semantic string) string {
	below, f := c.below, c.finder
	if below == nil {
		below, f = c, newFinder(c)
	}
	t, err := f.find(name)
	if err != nil || t.kind == "flows" { // nothing stands below those: what a flow has is its rule's
		return ""
	}
	element := t.element(below)
	v := element.Field(t.field.index)
	if v.Kind() == reflect.Pointer {
		rule := element.Addr().Interface().(*Rule)
		switch {
		case !v.IsNil():
			v = v.Elem()
		case t.field.key == "burst" && rule.Rate != nil:
			return "0" // a rate without a burst is a window
		default:
			place, ok := f.rules["semantic/"+semantic]
			if !ok {
				return ""
			}
			own, _ := fieldOf(reflect.TypeFor[Semantic](), t.field.key)
			v = reflect.ValueOf(below.Semantics[place.rule]).Field(own.index)
		}
	}
	return fmt.Sprint(tree(v))
}
