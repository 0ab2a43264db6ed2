// Package dashboards holds the files of the operators' page, embedded into the binary: nothing is
// read from the disk at run time, and nothing is loaded from another site. It knows the page's
// looks only; what is shown comes from the API.
package dashboards

import (
	"embed"
	"io/fs"
)

//go:embed live
var live embed.FS

//go:embed live/login.html
var login []byte

// Live is the live page: index.html, to be served at /, and what it loads from below /live/. All of
// it is text in UTF-8. Safe for concurrent use.
func Live() fs.FS {
	sub, err := fs.Sub(live, "live")
	if err != nil {
		panic("dashboards: " + err.Error()) // the name is a constant that fs.Sub takes
	}
	return sub
}

// Login is the page that asks for a token, text/html in UTF-8. It loads nothing: its style and script are in
// it. The caller must not change it.
func Login() []byte { return login }
