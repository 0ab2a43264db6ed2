package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// described is the OpenAPI document of a gateway that runs.
type described struct {
	compiler *jsonschema.Compiler
	held     int // answers
}

func documentOf(t *testing.T, admin string) *described {
	t.Helper()
	req, err := http.NewRequest("GET", "http://"+admin+"/api/v1/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+docsToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	document, err := jsonschema.UnmarshalJSON(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range document.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any) {
		of.(map[string]any)["additionalProperties"] = false // a field that is not described is a fault here
	}
	d := &described{compiler: jsonschema.NewCompiler()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	return d
}

var (
	askedPath = regexp.MustCompile(`\$TG(/api/[^"? ]*)`)
	askedWith = regexp.MustCompile(` -X ([A-Z]+) `)
)

// validate holds what an example was answered against the document, where it is JSON of the API.
func (d *described) validate(e example, answered string) error {
	path := askedPath.FindStringSubmatch(e.command)
	if path == nil || !strings.HasSuffix(e.media, "json") {
		return nil
	}
	method := "get"
	if m := askedWith.FindStringSubmatch(e.command); m != nil {
		method = strings.ToLower(m[1])
	} else if strings.Contains(e.command, " -d ") || strings.Contains(e.command, " --data-binary ") {
		method = "post"
	}
	escape := strings.NewReplacer("/", "~1").Replace
	compiled, err := d.compiler.Compile(fmt.Sprintf("openapi.json#/paths/%s/%s/responses/%s/content/%s/schema", escape(path[1]), method, e.status, escape(e.media)))
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(answered))
	if err != nil {
		return err
	}
	d.held++
	return compiled.Validate(value)
}
