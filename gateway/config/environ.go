package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// envPrefix begins the variables that are ours: TIDEGATE__SERVER__LISTEN is server.listen.
const envPrefix = "TIDEGATE__"

// environment reads the variables that are ours as a tree like a document's, and notes in the origin which
// keys they give. Only scalars that do not stand in a list can be given; anything else is a problem.
func environment(environ []string, r *report) map[string]any {
	given := map[string]string{}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok && strings.HasPrefix(name, envPrefix) {
			given[name] = value
		}
	}
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	root := map[string]any{}
	for _, name := range names {
		path := strings.Split(strings.ToLower(strings.TrimPrefix(name, envPrefix)), "__")
		key := strings.Join(path, ".")
		if other, ok := r.origin.env[key]; ok {
			r.environ(name, key, "", "leave one of them out", "it gives the same key as %s", other)
			continue
		}
		v, ok := variable(name, given[name], path, r)
		if !ok {
			continue
		}
		r.origin.env[key] = name
		at := root
		for _, step := range path[:len(path)-1] {
			sub, ok := at[step].(map[string]any)
			if !ok {
				sub = map[string]any{}
				at[step] = sub
			}
			at = sub
		}
		at[path[len(path)-1]] = v
	}
	return root
}

// variable finds the key that a variable means, and reads its text.
func variable(name, text string, path []string, r *report) (any, bool) {
	t, key := reflect.TypeFor[Config](), strings.Join(path, ".")
	for i, step := range path {
		f, ok := fieldOf(t, step)
		if !ok {
			hint := ""
			if near := nearest(step, keysOf(t)); near != "" {
				like := append(slices.Clone(path[:i]), near)
				like = append(like, path[i+1:]...)
				hint = "did you mean " + envPrefix + strings.ToUpper(strings.Join(like, "__")) + "?"
			}
			r.environ(name, key, "", hint, "no such key")
			return nil, false
		}
		t = f.typ
		if t.Kind() == reflect.Slice {
			r.environ(name, key, "", "write it into the file", "lists, and what stands in them, cannot be given by the environment")
			return nil, false
		}
		if !isTable(t) && i < len(path)-1 {
			r.environ(name, key, "", "", "%s holds one value and no keys", strings.Join(path[:i+1], "."))
			return nil, false
		}
	}
	if isTable(t) {
		r.environ(name, key, "", "two underscores and one of its keys must follow, e.g. "+name+"__"+strings.ToUpper(keysOf(t)[0]),
			"this is a table")
		return nil, false
	}
	v, err := fromText(text, t)
	if err != nil {
		r.environ(name, key, text, "", "%v", err)
		return nil, false
	}
	return v, true
}

// fromText reads a scalar of the type from the text of a variable.
func fromText(text string, t reflect.Type) (any, error) {
	if isText(t) {
		return text, reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	}
	switch t.Kind() {
	case reflect.Bool:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("true or false is wanted here")
		}
		return text == "true", nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("a whole number is wanted here")
		}
		return n, nil
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("a number is wanted here")
		}
		return n, nil
	}
	return text, nil
}

// environ notes a problem of a variable. The value of one that means no key is not shown: it may be meant
// for somebody else, and secret.
func (r *report) environ(name, key, value, hint, format string, args ...any) {
	if r.full() {
		return
	}
	p := Problem{File: name, Key: key, Name: key, Message: fmt.Sprintf(format, args...), Hint: hint}
	if value != "" {
		p.Value = show(value)
	}
	r.list = append(r.list, p)
	r.bad[key] = true
}
