// Package callerpage holds the page that a gateway shows its callers, in English and Chinese, with its files: nothing is
// read from the disk at run time, and nothing is loaded from another site. It knows what the page says; how keys and tags
// are sent, and which refusals there are, is given by whoever renders it.
package callerpage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
)

//go:embed page.html en.html zh.html static code
var files embed.FS

// Languages are those that the page is written in.
var Languages = []string{"en", "zh"}

// Facts are what the page says of one gateway.
type Facts struct {
	Key, Semantic, Tenant string // names of the headers; "" for one that no header has
	Bearer                bool   // the key is sent as a bearer token, and Key is Authorization
	Refusals              []Refusal
}

// Refusal is one code of a refusal.
type Refusal struct {
	Code   string
	Status int
	Retry  string // "later", "safe" (if the method changes nothing) or "never"
	Detail string // what to do, in the page's language
}

// Code is a complete client in one language.
type Code struct{ ID, Name, Text string }

// The names that the code has for what a configuration may call otherwise.
const (
	usualKey      = "X-API-Key"
	usualSemantic = "X-Semantic"
)

var clients = []struct{ id, name, file string }{
	{"sh", "curl", "code/client.sh"},
	{"py", "Python", "code/client.py"},
	{"mjs", "Node.js", "code/client.mjs"},
	{"go", "Go", "code/client.go.txt"},
}

// Codes are the clients that the page shows, with the headers of a gateway.
func Codes(f Facts) []Code {
	named := strings.NewReplacer(usualKey, or(f.Key, usualKey), usualSemantic, or(f.Semantic, usualSemantic))
	codes := make([]Code, len(clients))
	for i, c := range clients {
		codes[i] = Code{c.id, c.name, named.Replace(read(c.file))}
	}
	return codes
}

// Page renders the page in one of Languages. It panics where an embedded file does not parse, which is a fault of
// the build and found by the first test.
func Page(lang string, f Facts) []byte {
	t := template.Must(template.New("page.html").ParseFS(files, "page.html", lang+".html"))
	of := struct {
		Facts
		Lang  string
		Form  bool // the page can send a key
		Codes []Code
	}{f, lang, f.Key != "", Codes(f)}
	of.Key, of.Semantic, of.Tenant = or(f.Key, usualKey), or(f.Semantic, usualSemantic), or(f.Tenant, "X-Tenant-Id")
	var b bytes.Buffer
	if err := t.Execute(&b, of); err != nil {
		panic(fmt.Sprintf("callerpage: cannot render the page in %q: %v", lang, err))
	}
	return b.Bytes()
}

// File is a file that the page loads.
type File struct {
	Type    string
	Content []byte
	ETag    string // a strong one, in its quotes
}

// Files are all of them, by name.
var Files = func() map[string]File {
	all := map[string]File{}
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		panic(err) // is embedded
	}
	for _, e := range entries {
		kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}[path.Ext(e.Name())]
		content := []byte(read("static/" + e.Name()))
		all[e.Name()] = File{Type: kind, Content: content, ETag: ETag(content)}
	}
	return all
}()

// ETag is the entity tag of a content.
func ETag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

func read(name string) string {
	content, err := files.ReadFile(name)
	if err != nil {
		panic(err) // is embedded
	}
	return string(content)
}

func or(name, usual string) string {
	if name == "" {
		return usual
	}
	return name
}
