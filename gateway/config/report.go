package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// report gathers problems. A key that has one gets no second: what follows from a bad value is noise, and
// so is whatever lies below a table that is none.
type report struct {
	origin *origin
	list   Problems
	bad    map[string]bool
}

func newReport(o *origin) *report { return &report{origin: o, bad: map[string]bool{}} }

// add notes a problem of a key. A nil value means that the key is missing or that no single value is wrong.
func (r *report) add(key string, value any, hint, format string, args ...any) {
	if r.known(key) {
		return
	}
	r.bad[key] = true
	p := Problem{
		File:    r.origin.file,
		Key:     key,
		Name:    r.origin.display(key),
		Value:   show(value),
		Message: fmt.Sprintf(format, args...),
		Hint:    hint,
	}
	if name, ok := r.origin.env[key]; ok {
		p.File = name
	} else {
		at := r.origin.of(key)
		p.Line, p.Column = at.line, at.column
	}
	r.list = append(r.list, p)
}

// known says that the key, or something that holds it, has a problem already.
func (r *report) known(key string) bool {
	for ; key != ""; key = parent(key) {
		if r.bad[key] {
			return true
		}
	}
	return false
}

// problems are the ones found, in the order of the file; those without a line come first.
func (r *report) problems() Problems {
	slices.SortStableFunc(r.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.list
}

// show writes a value as it would stand in the file, cut to a readable length; "" for none.
func show(value any) string {
	const longest = 80
	if value == nil {
		return ""
	}
	v := reflect.ValueOf(value)
	s := ""
	switch {
	case v.Kind() == reflect.Bool, v.CanInt() && !isText(v.Type()), v.CanFloat():
		s = fmt.Sprint(value)
	case v.Kind() == reflect.Map:
		s = "{...}"
	case v.Kind() == reflect.Slice:
		if v.Len() > 0 && v.Index(0).Kind() == reflect.String {
			quoted := make([]string, v.Len())
			for i := range quoted {
				quoted[i] = strconv.Quote(v.Index(i).String())
			}
			s = "[" + strings.Join(quoted, ", ") + "]"
		} else {
			s = "[...]"
		}
	case v.Type() == reflect.TypeFor[Seats]() && !value.(Seats).Auto:
		s = fmt.Sprint(value)
	default:
		s = strconv.Quote(fmt.Sprint(value))
	}
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "..."
	}
	return s
}
