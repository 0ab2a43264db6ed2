package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tidegate/gateway/config"
)

// served is the OpenAPI document as a client reads it.
type served struct {
	t        *testing.T
	document map[string]any
	compiler *jsonschema.Compiler
	met      map[string]bool // "GET /path 200"
}

// readDocument gets the document. Its schemas are closed for the test: a field that is answered and not in them
// is a fault here, while a client that is older than the gateway must take it.
func readDocument(t *testing.T, d *desk) *served {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(body(t, d, documentPath)))
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, document: document.(map[string]any), compiler: jsonschema.NewCompiler(), met: map[string]bool{}}
	for _, of := range s.at("components", "schemas") {
		of.(map[string]any)["additionalProperties"] = false
	}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.AssertFormat()
	if err := s.compiler.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *served) at(names ...string) map[string]any {
	s.t.Helper()
	of := s.document
	for i, name := range names {
		next, ok := of[name].(map[string]any)
		if !ok {
			s.t.Fatalf("the document has no %q", names[:i+1])
		}
		of = next
	}
	return of
}

// holds checks an answer against what the document says of it.
func (s *served) holds(r request, status int, media string, answered []byte) {
	s.t.Helper()
	method, path := r.method, r.path
	if method == "" {
		method = get
	}
	path, _, _ = strings.Cut(path, "?")
	e, found, _ := find(method, path)
	if !found {
		s.t.Fatalf("%s %s is no endpoint", method, path)
	}
	operation := s.at("paths", e.documented(), strings.ToLower(method))
	responses := operation["responses"].(map[string]any)
	response, known := responses[fmt.Sprint(status)].(map[string]any)
	if !known {
		s.t.Errorf("%s %s answers %d %s, of which the document says nothing", method, r.path, status, answered)
		return
	}
	s.met[fmt.Sprint(e.method, " ", e.path, " ", status)] = true
	media, _, _ = strings.Cut(media, ";")
	content, _ := response["content"].(map[string]any)
	switch {
	case status == 304 && content == nil, content["*/*"] != nil && status == 200:
		return
	case content[media] == nil:
		s.t.Errorf("%s %s answers %d as %s, and the document says %v", method, r.path, status, media, slices.Collect(maps.Keys(content)))
		return
	case !strings.HasSuffix(media, "json"):
		return
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	compiled, err := s.compiler.Compile(strings.Join([]string{
		"openapi.json#", "paths", escape.Replace(e.documented()), strings.ToLower(method), "responses", fmt.Sprint(status), "content", escape.Replace(media), "schema",
	}, "/"))
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answered))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		s.t.Errorf("%s %s answers %s, and by the document: %v", method, r.path, answered, err)
	}
	var p problem
	if media == "application/problem+json" && json.Unmarshal(answered, &p) == nil && !strings.Contains(response["description"].(string), p.Code) {
		s.t.Errorf("%s %s answers %d %s, and the document has of that status: %v", method, r.path, status, p.Code, response["description"])
	}
}

func TestAnswersAreAsTheDocumentSays(t *testing.T) {
	fresh := func(tokens ...config.Token) *desk {
		d := newDesk("127.0.0.1:8081", tokens...)
		d.snapshot = observing()
		end := t0
		d.control.overrides = []OverrideView{{Override: config.Override{Name: "x", Value: "1", Made: t0, Until: &end}, Aside: "why"}}
		return d
	}
	s := readDocument(t, fresh())
	ask := func(d *desk, r request) {
		t.Helper()
		a := d.ask(r)
		s.holds(r, a.StatusCode(), string(a.Header.ContentType()), a.Body())
	}
	// What each endpoint is for, and who is kept from it.
	tokens := []config.Token{tokenOf("v", "viewer"), tokenOf("w", "owner")}
	for _, c := range accessTable {
		for _, d := range []*desk{fresh(), fresh(tokens...)} {
			for _, secret := range []string{"w", "v", "x", ""} {
				headers := []string{"If-Match: *"}
				if secret != "" {
					headers = append(headers, "Authorization: Bearer "+secret)
				}
				ask(d, write(c.method, c.path, asJSON, c.body, headers...))
			}
		}
		closed := newDesk("0.0.0.0:8081")
		if c.method+c.path != "GET/healthz" && c.method+c.path != "GET/readyz" {
			ask(closed, write(c.method, c.path, asJSON, c.body))
			ask(fresh(), write(c.method, c.path, asJSON, c.body, "Origin: http://evil.example"))
		}
		if strings.HasPrefix(c.path, "/api/") {
			path, _, _ := strings.Cut(c.path, "?")
			ask(fresh(), write(c.method, path+"?zz=1", asJSON, "", "If-Match: *"))
		}
		if c.method != get {
			ask(fresh(), write(c.method, c.path, "Content-Type: text/plain", c.body))
		}
	}
	// What else may come of it.
	unready := newDesk("127.0.0.1:8081")
	bare := unready.options
	unready.options = Options{Snapshot: func() *Snapshot { return nil }, Ready: func() (bool, string) { return false, "draining" }, Control: bare.Control, Log: bare.Log}
	unready.cache.source = unready.options.Snapshot
	for _, path := range []string{
		"/readyz", "/api/v1/snapshot", "/api/v1/callers", "/api/v1/caller?id=x", "/api/v1/history?kind=total", "/api/v1/explain?route=x", "/api/v1/flows",
		"/api/v1/refusals", "/api/v1/queue", "/api/v1/registrations", "/api/v1/audit", "/api/v1/alerts",
	} {
		ask(unready, request{path: path})
	}
	for _, path := range []string{"/api/v1/config/check", "/api/v1/config/preview", "/api/v1/registrations", "/api/v1/alerts/test"} {
		ask(unready, write("POST", path, asJSON, "{}"))
	}
	for _, r := range []request{
		{path: "/live/nothing.js"},
		{path: "/", headers: []string{"If-None-Match: *"}},
		{path: "/api/v1/config", headers: []string{"If-None-Match: *"}},
		{path: "/debug/pprof/profile?seconds=-1"},
		{path: "/api/v1/caller?id=nobody"},
		{path: "/api/v1/history?kind=pool&name=gone"},
		{path: "/api/v1/explain?route=chat&caller=nobody"},
		{path: "/api/v1/flows?cursor=old"},
		{path: "/api/v1/config?version=9"},
		write("PUT", "/api/v1/config", asTOML, "a"),
		write("PUT", "/api/v1/config", asTOML, "fault", "If-Match: *"),
		write("PUT", "/api/v1/config", asTOML, "a", `If-Match: "x"`),
		write("POST", "/api/v1/config/check", asTOML, "fault"),
		write("POST", "/api/v1/config/preview", asTOML, "fault"),
		write("POST", "/api/v1/config/preview", asTOML, "busy"),
		write("POST", "/api/v1/config/rollback", asJSON, `{"version":9}`),
		write("POST", "/api/v1/config/rollback", asJSON, `{"version":1}`, `If-Match: "x"`),
		write("DELETE", "/api/v1/overrides?name=gone", asJSON, ""),
		write("POST", "/api/v1/registrations", asJSON, `{"caller":"nobody","semantic":"chat","decision":"forget"}`),
		write("POST", "/api/v1/registrations", asJSON, `{"caller":"acme","semantic":"gone","decision":"approve"}`),
		write("POST", "/api/v1/alerts/test", asJSON, `{"reason":"again"}`),
		write("POST", "/api/v1/reload", asJSON, `{"reason":"`+strings.Repeat("x", maxBody)+`"}`),
	} {
		ask(fresh(), r)
	}
	for _, code := range []string{CodeRateBound, CodeOverrideInvalid, CodeConfigInvalid, CodeStateNotWritten} {
		d := fresh()
		d.control.fails = &Failure{Code: code, Detail: "No."}
		ask(d, write("POST", "/api/v1/overrides", asJSON, `{"name":"x","value":1}`))
	}
	guesser := fresh(tokens...)
	for i := range maxAttempts + 1 {
		ask(guesser, request{path: "/api/v1/flows", headers: []string{fmt.Sprint("Authorization: Bearer guess", i)}})
	}
	ask(guesser, write("POST", "/api/v1/session", asJSON, `{"token":"w"}`))

	for _, e := range endpoints {
		if !s.met[e.method+" "+e.path+" 200"] {
			t.Errorf("no answer of %s %s was held against the document", e.method, e.path)
		}
	}
	if len(s.met) < 150 {
		t.Errorf("only %d kinds of answers were held against the document", len(s.met))
	}
}

func TestTheDocumentAndTheTableNameTheSame(t *testing.T) {
	s := readDocument(t, newDesk("127.0.0.1:8081"))
	inTable, described, names := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range endpoints {
		inTable[e.method+" "+e.documented()] = true
		o := s.at("paths", e.documented(), strings.ToLower(e.method))
		id, _ := o["operationId"].(string)
		if says, _ := o["description"].(string); id == "" || names[id] || !strings.HasSuffix(says, ".") {
			t.Errorf("%s %s is called %q and said to be %q", e.method, e.path, id, says)
		}
		names[id] = true
		if role, _ := o["x-role"].(string); !e.open() && role != e.role.String() {
			t.Errorf("%s %s is for a %s by the document", e.method, e.path, role)
		}
		if _, ok := descriptions[e.method+" "+e.path]; !ok {
			t.Errorf("%s %s is not described", e.method, e.path)
		}
		described[e.method+" "+e.path] = true
	}
	for name := range descriptions {
		if !described[name] {
			t.Errorf("%s is described, and nothing answers it", name)
		}
	}
	for path, item := range s.at("paths") {
		for method := range item.(map[string]any) {
			if name := strings.ToUpper(method) + " " + path; !inTable[name] {
				t.Errorf("the document has %s, and nothing answers it", name)
			}
		}
	}
}

// What a parameter or member that there is not is answered with names those that there are.
func TestTheDocumentHasEveryParameterAndMember(t *testing.T) {
	s := readDocument(t, newDesk("127.0.0.1:8081"))
	there := regexp.MustCompile(`there is ([a-z_, ]+)\.|must be one JSON object with ([a-z_, ]+)\.`)
	list := func(a []byte) []string {
		m := there.FindStringSubmatch(detail(t, a))
		if m == nil {
			return nil
		}
		names := strings.Split(m[1]+m[2], ", ")
		slices.Sort(names)
		return names
	}
	for _, e := range endpoints {
		if !strings.HasPrefix(e.path, "/api/") {
			continue
		}
		o := s.at("paths", e.path, strings.ToLower(e.method))
		var query, members []string
		params, _ := o["parameters"].([]any)
		for _, p := range params {
			if p := p.(map[string]any); p["in"] == "query" {
				query = append(query, p["name"].(string))
			}
		}
		slices.Sort(query)
		if got := list(newDesk("127.0.0.1:8081").ask(write(e.method, e.path+"?zz=1", asJSON, "", "If-Match: *")).Body()); !slices.Equal(got, query) && e.path != sessionPath {
			t.Errorf("%s %s takes the parameters %q, and by the document %q", e.method, e.path, got, query)
		}
		if o["requestBody"] == nil {
			continue
		}
		of := s.at("paths", e.path, strings.ToLower(e.method), "requestBody", "content", typeJSON, "schema", "properties")
		for name := range of {
			members = append(members, name)
		}
		slices.Sort(members)
		d := newDesk("127.0.0.1:8081", tokenOf("w", "owner"))
		got := list(d.ask(write(e.method, e.path, asJSON, `{"zz":1}`, "If-Match: *", "Authorization: Bearer w")).Body())
		if e.path == sessionPath { // a login has no reason
			got = slices.DeleteFunc(got, func(name string) bool { return name == "reason" })
		}
		if !slices.Equal(got, members) {
			t.Errorf("%s %s takes the members %q, and by the document %q", e.method, e.path, got, members)
		}
	}
}

// The sources' comments are the document's.
func TestTheDocumentSaysWhatFieldsMean(t *testing.T) {
	s := readDocument(t, newDesk("127.0.0.1:8081"))
	for name, want := range map[string]string{"occupancy": "of the fullest flow, 0 to 1", "standing": ""} {
		field := s.at("components", "schemas", "SemanticUse", "properties", name)
		if got, _ := field["description"].(string); got != want {
			t.Errorf("%s is said to be %q, want %q", name, got, want)
		}
	}
	if of := s.at("components", "schemas", "Snapshot"); !strings.HasPrefix(of["description"].(string), "Snapshot is the read model") {
		t.Errorf("a snapshot is said to be %q", of["description"])
	}
}
