package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

const documentPath = "/api/v1/openapi.json"

// showDocument answers with the OpenAPI document.
func (c *Console) showDocument(ctx *fasthttp.RequestCtx, _ visitor) error {
	if _, err := readParams(ctx); err != nil {
		return err
	}
	encoded, err := c.document()
	if err != nil {
		return err
	}
	ctx.SetContentType(typeJSON)
	ctx.Response.SetBodyRaw(encoded)
	return nil
}

// encodeDocument is the OpenAPI 3.1 document of what this listener answers. It is made of the table of
// endpoints and of the types that are encoded, so it says what is, and not what once was. explained is
// a value of the type that Options.Explain answers with.
func encodeDocument(explained any) ([]byte, error) {
	types := &schemas{made: map[string]schema{}, says: comments()}
	paths := map[string]schema{}
	for _, e := range endpoints {
		d := descriptions[e.method+" "+e.path]
		if e.path == "/api/v1/explain" {
			d.answer = explained
		}
		path := e.documented()
		if paths[path] == nil {
			paths[path] = schema{}
		}
		paths[path][strings.ToLower(e.method)] = e.operation(d, types)
	}
	types.of(reflect.TypeFor[problem]())
	encoded, err := json.Marshal(schema{
		"openapi": "3.1.0",
		"info": schema{
			"title": "tidegate, operators' API", "version": "1",
			"description": "What the operators' listener answers. Where GET is answered HEAD is too. What is refused is application/problem+json with a code. " +
				"x-role is the least role that is needed: viewer, operator or owner.",
		},
		"servers":  []schema{{"url": "/"}},
		"security": []schema{{"token": []string{}}, {"session": []string{}}},
		"paths":    paths,
		"components": schema{
			"schemas": types.made,
			"securitySchemes": schema{
				"token":   schema{"type": "http", "scheme": "bearer"},
				"session": schema{"type": "apiKey", "in": "cookie", "name": sessionCookie},
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot encode the OpenAPI document: %w", err)
	}
	return append(encoded, '\n'), nil
}

// documented is the path as the document has it.
func (e endpoint) documented() string {
	if e.prefix() {
		return e.path + "{file}"
	}
	return e.path
}

func (e endpoint) operation(d description, types *schemas) schema {
	says := d.says
	if e.role > roleViewer {
		says += " For " + e.role.String() + "s."
	}
	o := schema{"operationId": d.name, "description": says, "x-role": e.role.String(), "responses": e.responses(d, types)}
	if e.open() || e.greets() {
		o["security"] = []schema{}
	}
	if e.open() {
		delete(o, "x-role")
	}
	params := []schema{}
	add := func(in string, list []param) {
		for _, p := range list {
			params = append(params, schema{"name": p.name, "in": in, "description": p.says, "required": p.required, "schema": p.schema})
		}
	}
	if e.prefix() {
		add("path", []param{{"file", "What is below.", aString, true}})
	}
	add("query", d.params)
	if e.method != get && e.path != sessionPath {
		add("query", []param{aReason})
	}
	add("header", d.headers)
	if len(params) > 0 {
		o["parameters"] = params
	}
	if d.body != nil {
		o["requestBody"] = d.takes()
	}
	return o
}

// takes is the body that an endpoint takes.
func (d description) takes() schema {
	members, required := schema{}, []string{}
	for _, p := range d.body {
		s := maps.Clone(p.schema)
		s["description"] = p.says
		members[p.name] = s
		if p.required {
			required = append(required, p.name)
		}
	}
	content := schema{typeJSON: schema{"schema": schema{"type": "object", "properties": members, "required": required, "additionalProperties": false}}}
	if d.toml {
		content[typeTOML] = schema{"schema": aString}
	}
	return schema{"required": len(required) > 0, "content": content}
}

// responses are the answer, and each problem by its status.
func (e endpoint) responses(d description, types *schemas) schema {
	var answered schema
	switch {
	case d.media != "":
		answered = schema{d.media: schema{"schema": aString}}
	case d.answer != nil:
		answered = schema{typeJSON: schema{"schema": types.of(reflect.TypeOf(d.answer))}}
	default:
		answered = schema{typeJSON: schema{"schema": schema{"type": "object"}}}
	}
	if e.path == streamPath {
		answered[d.media].(schema)["x-event-data"] = types.of(reflect.TypeFor[Snapshot]())
	}
	ok := schema{"description": "The answer.", "content": answered}
	if d.etag {
		ok["headers"] = schema{"ETag": schema{"schema": aString}}
	}
	all := schema{"200": ok}
	if slices.ContainsFunc(d.headers, func(p param) bool { return p.name == ifNoneOf.name }) {
		all["304"] = schema{"description": "It is the one that If-None-Match names."}
	}
	if e.path == "/readyz" {
		all["503"] = schema{"description": "Not ready.", "content": answered}
	}
	byStatus := map[string][]string{}
	for _, code := range e.codes(d) {
		status := fmt.Sprint(statuses[code])
		if !slices.Contains(byStatus[status], code) {
			byStatus[status] = append(byStatus[status], code)
		}
	}
	for status, codes := range byStatus {
		all[status] = schema{
			"description": "Refused: " + strings.Join(codes, ", ") + ".",
			"content":     schema{"application/problem+json": schema{"schema": types.of(reflect.TypeFor[problem]())}},
		}
	}
	return all
}

// codes are those of all problems that an endpoint may answer with.
func (e endpoint) codes(d description) []string {
	if e.open() {
		return nil
	}
	codes := slices.Concat(d.codes, []string{"token_missing", "token_unknown", "token_required", "host_forbidden", "cross_site", "too_many_attempts", "internal"})
	if e.role > roleViewer {
		codes = append(codes, codeRole)
	}
	if strings.HasPrefix(e.path, "/api/") {
		codes = append(codes, "bad_request")
	}
	if e.method != get {
		codes = append(codes, "unsupported_media_type", "body_too_large", "body_slow")
	}
	return codes
}
