// Package dashboards holds the files of the operators' page, embedded into the binary: nothing is
// read from the disk at run time, and nothing is loaded from another site. It knows the page's
// looks only; what is shown is given by whoever renders it.
package dashboards

import (
	_ "embed"
	"html/template"
)

//go:embed page.html
var page string

//go:embed style.css
var style []byte

// Page parses the page's template with the functions it calls. It panics when the embedded file
// does not parse, which is a fault of the build and found by the first test.
func Page(funcs template.FuncMap) *template.Template {
	return template.Must(template.New("page.html").Funcs(funcs).Parse(page))
}

// Style is the page's style sheet, text/css in UTF-8. The caller must not change it.
func Style() []byte { return style }
