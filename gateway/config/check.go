package config

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// checker compares a decoded document with the schema. What does not fit is reported and taken out of the
// document, so that the rest can still be decoded and validated: the owner sees every fault at once.
type checker struct{ *report }

// table checks the keys of one table.
func (c checker) table(key string, m map[string]any, t reflect.Type) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at := join(key, k)
		f, ok := fieldOf(t, k)
		if !ok {
			c.lose(at, nil, unknownHint(k, t), "no such key%s", inTable(c.origin.display(key)))
			delete(m, k)
			continue
		}
		v, ok := c.value(at, m[k], f.typ)
		if !ok {
			delete(m, k)
			continue
		}
		m[k] = v
	}
}

// value checks a value against the type of its key; not ok: reported, and of no use.
func (c checker) value(key string, v any, t reflect.Type) (any, bool) {
	switch {
	case isTable(t):
		m, ok := v.(map[string]any)
		if !ok {
			hint := fmt.Sprintf("write [%s]", key)
			if strings.Contains(key, "[") {
				hint = "write { key = value, ... }"
			}
			c.lose(key, nil, hint, "a table is wanted here, not %s", kind(v))
			return nil, false
		}
		c.table(key, m, t)
	case t.Kind() == reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			hint := `write ["...", ...]`
			if isTableList(t) {
				hint = fmt.Sprintf("write [[%s]] above each element", key[strings.LastIndex(key, ".")+1:])
			}
			c.lose(key, nil, hint, "a list is wanted here, not %s", kind(v))
			return nil, false
		}
		for i := range list {
			element, ok := c.value(index(key, i), list[i], t.Elem())
			if !ok {
				// The place is kept, so that the numbers of the others stay right.
				element = blank(t.Elem())
			}
			list[i] = element
		}
	default:
		return c.scalar(key, v, t)
	}
	return v, true
}

// blank is an element of no content that decodes into the type.
func blank(t reflect.Type) any {
	if isTable(t) {
		return map[string]any{}
	}
	return reflect.Zero(t).Interface()
}

func (c checker) scalar(key string, v any, t reflect.Type) (any, bool) {
	if isText(t) {
		switch v.(type) {
		case string, int64, float64:
		default:
			c.lose(key, plain(v), "", "text is wanted here, not %s", kind(v))
			return nil, false
		}
		parsed := reflect.New(t).Interface().(encoding.TextUnmarshaler)
		if err := parsed.UnmarshalText([]byte(fmt.Sprint(v))); err != nil {
			c.lose(key, v, "", "%v", err)
			return nil, false
		}
		return fmt.Sprint(v), true
	}
	switch t.Kind() {
	case reflect.String:
		if _, ok := v.(string); ok {
			return v, true
		}
		c.lose(key, plain(v), "put it into quotes", "text is wanted here, not %s", kind(v))
	case reflect.Bool:
		if _, ok := v.(bool); ok {
			return v, true
		}
		c.lose(key, plain(v), "write true or false, without quotes", "true or false is wanted here, not %s", kind(v))
	case reflect.Int, reflect.Int64:
		if _, ok := v.(int64); ok {
			return v, true
		}
		c.lose(key, plain(v), "", "a whole number is wanted here, not %s", kind(v))
	case reflect.Float64:
		switch n := v.(type) {
		case int64:
			return float64(n), true
		case float64:
			if !math.IsNaN(n) && !math.IsInf(n, 0) {
				return v, true
			}
			c.lose(key, n, "", "not a number one can calculate with")
			return nil, false
		}
		c.lose(key, plain(v), "", "a number is wanted here, not %s", kind(v))
	}
	return nil, false
}

// plain is a value that can be shown as it stands in the file; nil for tables, lists and dates.
func plain(v any) any {
	switch v.(type) {
	case string, int64, float64, bool:
		return v
	}
	return nil
}

// kind names what was found, for the owner of the file.
func kind(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	}
	return "a date or time (is it meant to be in quotes?)"
}

func inTable(name string) string {
	if name == "" {
		return ""
	}
	return " in " + name
}
