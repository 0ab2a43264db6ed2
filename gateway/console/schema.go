package console

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// schemas makes JSON Schemas of Go types as package json encodes them.
type schemas struct {
	made map[string]schema // by the name of their type
	says map[string]string // comments, by Type and Type.Field
}

// enums are fields that have one of a few values.
var enums = map[string][]string{
	"SessionView.role":        {"", "viewer", "operator", "owner"},
	"CallerView.standing":     Standings,
	"SemanticUse.standing":    Standings,
	"HistoryView.kind":        HistoryKinds,
	"RegistrationView.status": {RegistrationActive, RegistrationWaiting, RegistrationRefused, RegistrationOff},
	"AuditEntry.outcome":      {outcomeDone, outcomeRefused},
	"AlertView.status":        {"sent", "pending", "failed", "held", "off"},
}

func (s *schemas) of(t reflect.Type) schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return schema{"type": "string", "format": "date-time"}
	case reflect.TypeFor[Series]():
		return schema{"type": "array", "items": schema{"type": []string{"number", "null"}}}
	}
	switch t.Kind() {
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return schema{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return schema{"type": "integer", "minimum": 0}
	case reflect.Slice:
		return schema{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Pointer:
		return schema{"anyOf": []schema{s.of(t.Elem()), {"type": "null"}}}
	case reflect.Struct:
		return s.named(t)
	case reflect.Interface:
		return schema{}
	}
	panic("cannot say in a schema what a " + t.String() + " is") // a new kind of field; the first test finds it
}

// named is a reference to the schema of a struct, which is made if it is not there yet.
func (s *schemas) named(t reflect.Type) schema {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		panic(t.String() + " encodes itself")
	}
	name := exported(t.Name())
	if _, made := s.made[name]; !made {
		s.made[name] = nil // a type may have itself in it
		members, required := schema{}, []string{}
		s.members(t, members, &required)
		made := schema{"type": "object", "properties": members, "required": required}
		if says := s.says[t.Name()]; says != "" {
			made["description"] = says
		}
		s.made[name] = made
	}
	return schema{"$ref": "#/components/schemas/" + name}
}

// members are the fields of a struct, and of those that are embedded in it.
func (s *schemas) members(t reflect.Type, members schema, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && !tagged:
			s.members(f.Type, members, required)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		of := s.of(f.Type)
		if values := enums[exported(t.Name())+"."+name]; values != nil {
			of["enum"] = values
		}
		if says := s.says[t.Name()+"."+f.Name]; says != "" {
			of["description"] = says
		}
		members[name] = of
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

func exported(name string) string {
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}
