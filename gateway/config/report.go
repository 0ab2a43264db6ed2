package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxProblems bounds a report: past it nobody reads on, and a file of megabytes can hold very many.
const maxProblems = 1000

// report gathers problems. A key that has one gets no second, and what could not be decoded gets none
// below it: what follows from a bad value is noise.
type report struct {
	origin *origin
	list   Problems
	bad    map[string]bool // keys that have a problem
	lost   map[string]bool // keys whose value could not be decoded at all
}

func newReport(o *origin) *report {
	return &report{origin: o, bad: map[string]bool{}, lost: map[string]bool{}}
}

// full says that no more problems are taken.
func (r *report) full() bool { return len(r.list) >= maxProblems }

// lose notes a problem of a value that cannot be decoded.
func (r *report) lose(key string, value any, hint, format string, args ...any) {
	r.add(key, value, hint, format, args...)
	r.lost[key] = true
}

// add notes a problem of a key. A nil value means that the key is missing or that no single value is wrong.
func (r *report) add(key string, value any, hint, format string, args ...any) {
	if r.known(key) || r.full() {
		return
	}
	r.bad[key] = true
	p := Problem{
		File:    r.origin.file,
		Key:     key,
		Name:    r.origin.display(key),
		Value:   shown(key, value),
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

// known says that a further problem of the key would be noise.
func (r *report) known(key string) bool {
	if r.bad[key] {
		return true
	}
	for ; key != ""; key = parent(key) {
		if r.lost[key] {
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
	if r.full() {
		return append(r.list, Problem{File: r.origin.file, Message: "and more: only the first " + strconv.Itoa(maxProblems) + " problems are listed"})
	}
	return r.list
}

// shown is a value as a problem may show it. Where the hash of a key belongs, somebody may have put the
// key itself, and problems go to logs and pages: of a hash the first 8 digits are shown, of anything else
// nothing. A webhook's address is a secret but for its host.
func shown(key string, value any) string {
	field := key[strings.LastIndex(key, ".")+1:]
	if text, ok := value.(string); ok && field == "webhook" {
		if urlScheme([]byte(text), 0) < 0 {
			return ""
		}
		return show(string(RedactURLs([]byte(text))))
	}
	if field != "sha256" && !strings.HasPrefix(field, "keys[") {
		return show(value)
	}
	text, _ := value.(string)
	if _, err := ParseHash(text); err != nil {
		return ""
	}
	return show(strings.TrimPrefix(text, "sha256:")[:8] + "...")
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
