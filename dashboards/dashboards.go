// Package dashboards holds the files of the operators' page, embedded into the binary: nothing is
// read from the disk at run time, and nothing is loaded from another site.
package dashboards

import (
	"embed"
	"io/fs"
)

//go:embed live
var live embed.FS

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
