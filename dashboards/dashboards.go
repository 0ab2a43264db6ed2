// Package dashboards holds the files of the operators' page, embedded into the binary: nothing is
// read from the disk at run time, and nothing is loaded from another site.
package dashboards

import (
	"embed"
	"html/template"
	"io/fs"
)

//go:embed page.html
var page string

//go:embed style.css
var style []byte

//go:embed live
var live embed.FS

// Page parses the page's template with the functions it calls. It panics when the embedded file
// does not parse, which is a fault of the build and found by the first test.
func Page(funcs template.FuncMap) *template.Template {
	return template.Must(template.New("page.html").Funcs(funcs).Parse(page))
}

// Style is the page's style sheet, text/css in UTF-8. The caller must not change it.
func Style() []byte { return style }

// Live are the files of the live page: index.html, and what it names under /live/.
func Live() fs.FS {
	files, err := fs.Sub(live, "live")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

// Login is the page that asks for a token, complete in itself. The caller must not change it.
func Login() []byte {
	text, err := live.ReadFile("live/login.html")
	if err != nil {
		panic(err) // it is embedded
	}
	return text
}
