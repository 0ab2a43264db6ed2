package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"tidegate/dashboards"
)

// livePrefix stands for all files of the page.
const livePrefix = "/live/"

// liveTypes are the kinds of files that the page may have. A browser is told not to guess, so a script
// of the wrong type does not run.
var liveTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".ico":  "image/x-icon",
}

// liveFile is one file of the page. All are immutable.
type liveFile struct {
	text        []byte
	contentType string
	etag        string
}

// page is what is embedded, read when it is first needed.
var page = sync.OnceValue(func() (p struct {
	files map[string]liveFile
	login loginPage
},
) {
	p.files, p.login = liveFiles(dashboards.Live()), newLoginPage(dashboards.Login())
	return p
})

// liveFiles are the files by their path in the file system. It panics when they cannot be read: they are
// embedded, so that is a fault of the build, found by the first test.
func liveFiles(of fs.FS) map[string]liveFile {
	files := map[string]liveFile{}
	err := fs.WalkDir(of, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(of, name)
		if err != nil {
			return err
		}
		kind, known := liveTypes[path.Ext(name)]
		if !known {
			kind = "text/plain; charset=utf-8"
		}
		sum := sha256.Sum256(text)
		files[name] = liveFile{text: text, contentType: kind, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
		return nil
	})
	if err != nil {
		panic(fmt.Errorf("cannot read the files of the page: %w", err))
	}
	return files
}

// showPage answers with the page.
func (c *Console) showPage(ctx *fasthttp.RequestCtx, _ visitor) error {
	return c.showFile(ctx, "index.html")
}

func (c *Console) showLive(ctx *fasthttp.RequestCtx, _ visitor) error {
	return c.showFile(ctx, strings.TrimPrefix(string(ctx.Path()), livePrefix))
}

// showFile answers with a file. A browser keeps it, and asks each time whether it is still the same: after
// an update of the program it must not run what it has from the one before.
func (c *Console) showFile(ctx *fasthttp.RequestCtx, name string) error {
	f, found := c.live[name]
	if !found {
		return newProblem(404, "not_found", "Nothing is here", fmt.Sprintf("The page has no file %.100q.", name))
	}
	h := &ctx.Response.Header
	h.Set("Content-Security-Policy", policyPage)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	if field, sent := conditions(ctx, "If-None-Match"); sent {
		if list, ok := parseTags(field); ok && list.match(f.etag, true) {
			ctx.SetStatusCode(fasthttp.StatusNotModified)
			return nil
		}
	}
	ctx.SetContentType(f.contentType)
	ctx.Response.SetBodyRaw(f.text)
	return nil
}
