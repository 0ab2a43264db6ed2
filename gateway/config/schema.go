package config

import (
	"encoding"
	"reflect"
	"sync"
)

// The structs are the schema: what a key is called, where it stands and what it takes is read from them
// by reflection, so that there is no second list to keep in step.

var textType = reflect.TypeFor[encoding.TextUnmarshaler]()

// field is one key of a table.
type field struct {
	key   string
	typ   reflect.Type // without a pointer
	index int
}

// fieldLists keeps the fields of each struct: a file of a thousand callers asks for theirs many thousand times.
var fieldLists sync.Map // reflect.Type: []field

// fields lists the keys of a table's struct in the order of the reference. The list is not to be written.
func fields(t reflect.Type) []field {
	if list, ok := fieldLists.Load(t); ok {
		return list.([]field)
	}
	var list []field
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("toml")
		if key == "" || key == "-" {
			continue
		}
		typ := f.Type
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		list = append(list, field{key: key, typ: typ, index: i})
	}
	fieldLists.Store(t, list)
	return list
}

// fieldOf finds a key of a table's struct.
func fieldOf(t reflect.Type, key string) (field, bool) {
	for _, f := range fields(t) {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

// keysOf lists the names of a table's keys.
func keysOf(t reflect.Type) []string {
	var list []string
	for _, f := range fields(t) {
		list = append(list, f.key)
	}
	return list
}

// isText says that values of the type are written as text of their own notation.
func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textType) }

// isTable says that the type is a table of keys.
func isTable(t reflect.Type) bool { return t.Kind() == reflect.Struct && !isText(t) }

// isTableList says that the type is a list of tables.
func isTableList(t reflect.Type) bool { return t.Kind() == reflect.Slice && isTable(t.Elem()) }

// tableOf writes a struct as the tree of maps, lists and scalars that a TOML document would give for it.
// Nil pointers and nil lists are left out: they stand for "not said".
func tableOf(v any) map[string]any {
	m, _ := tree(reflect.ValueOf(v)).(map[string]any)
	return m
}

func tree(v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		return tree(v.Elem())
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, _ := m.MarshalText() // none of ours fails
		return string(text)
	}
	switch v.Kind() {
	case reflect.Struct:
		m := map[string]any{}
		for _, f := range fields(v.Type()) {
			if sub := tree(v.Field(f.index)); sub != nil {
				m[f.key] = sub
			}
		}
		return m
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = tree(v.Index(i))
		}
		return list
	}
	return v.Interface()
}
