package config

import "reflect"

// Key is one entry of the reference: a key that a file may have.
type Key struct {
	Key     string // "server.listen"; "pools[].seats" for every element of a list
	Default string // as it would stand in the file; "": none
}

// Keys lists every scalar, and every list of scalars, that a file may give, in the order of the reference.
func Keys() []Key {
	return keysUnder("", reflect.TypeFor[Config](), tableOf(*Default()))
}

func keysUnder(prefix string, t reflect.Type, defaults map[string]any) []Key {
	var list []Key
	for _, f := range fields(t) {
		key := join(prefix, f.key)
		switch {
		case isTable(f.typ):
			sub, _ := defaults[f.key].(map[string]any)
			list = append(list, keysUnder(key, f.typ, sub)...)
		case isTableList(f.typ):
			element := f.typ.Elem()
			list = append(list, keysUnder(key+"[]", element, elementDefaults[element])...)
		default:
			list = append(list, Key{Key: key, Default: showDefault(defaults[f.key], f.typ)})
		}
	}
	return list
}

// showDefault writes a default; lists of text in full.
func showDefault(v any, t reflect.Type) string {
	list, ok := v.([]any)
	if !ok {
		if t == reflect.TypeFor[Seats]() && v != nil {
			return v.(string)
		}
		return show(v)
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i], _ = list[i].(string)
	}
	if len(texts) == 0 {
		return "[]"
	}
	return show(texts)
}

// Setting is one key of a loaded configuration.
type Setting struct {
	Key     string // "pools[0].seats"
	Name    string // "pools.shared.seats"
	Value   string // as it would stand in the file
	Default bool   // the value is the default: nobody gave the key
	At      string // as Config.At says; for a default the table that would hold it
}

// Settings lists every key of the configuration as it runs, defaults included, in the order of the reference.
func (c *Config) Settings() []Setting {
	return c.settings(nil, "", reflect.ValueOf(*c))
}

func (c *Config) settings(list []Setting, prefix string, v reflect.Value) []Setting {
	for _, f := range fields(v.Type()) {
		key, value := join(prefix, f.key), v.Field(f.index)
		if value.Kind() == reflect.Pointer {
			if value.IsNil() {
				continue // a rule that leaves it to the semantic
			}
			value = value.Elem()
		}
		switch {
		case isTable(f.typ):
			list = c.settings(list, key, value)
		case isTableList(f.typ):
			for i := range value.Len() {
				list = c.settings(list, index(key, i), value.Index(i))
			}
		default:
			_, inFile := c.origin.places[key]
			_, inEnv := c.origin.env[key]
			_, overridden := c.origin.over[key]
			list = append(list, Setting{
				Key:     key,
				Name:    c.origin.display(key),
				Value:   showDefault(tree(value), f.typ),
				Default: !inFile && !inEnv && !overridden,
				At:      c.At(key),
			})
		}
	}
	return list
}
