package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tidegate/loadtest/stage"
)

// fakeAdmin answers what the scenarios ask of the operators' API, as its contract says.
type fakeAdmin struct {
	mu        sync.Mutex
	file      string // the config file
	text      string
	versions  []stage.Version // newest first
	overrides []stage.Override
	mute      int // number of the version whose maker gets no answer
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func newFakeAdmin(t *testing.T, text string) (*fakeAdmin, *stage.Admin) {
	f := &fakeAdmin{file: filepath.Join(t.TempDir(), "config.toml")}
	f.take(text)
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, stage.NewAdmin(strings.TrimPrefix(server.URL, "http://"))
}

func (f *fakeAdmin) take(text string) {
	f.text = text
	f.note()
	os.WriteFile(f.file, []byte(text), 0o600)
}

func (f *fakeAdmin) note() {
	f.versions = append([]stage.Version{{Version: len(f.versions) + 1, Hash: hashOf(f.text)}}, f.versions...)
}

func (f *fakeAdmin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	changed := true
	switch etag := `"` + hashOf(f.text) + `"`; r.Method + " " + r.URL.Path {
	case "GET /api/v1/config":
		w.Header().Set("ETag", etag)
		io.WriteString(w, f.text)
		return
	case "GET /api/v1/config/versions":
		json.NewEncoder(w).Encode(f.versions)
		return
	case "GET /api/v1/overrides":
		json.NewEncoder(w).Encode(f.overrides)
		return
	case "GET /metrics":
		fmt.Fprintln(w, "go_goroutines 7")
		return
	case "PUT /api/v1/config":
		if r.Header.Get("If-Match") != etag || r.Header.Get("Content-Type") != "application/toml" {
			http.Error(w, `{"code":"precondition_failed"}`, http.StatusPreconditionFailed)
			return
		}
		if changed = f.text != string(body); changed {
			f.take(string(body))
		}
		w.Header().Set("ETag", `"`+hashOf(f.text)+`"`)
	case "POST /api/v1/overrides":
		var o stage.Override
		if json.Unmarshal(body, &o) != nil || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "no JSON", http.StatusBadRequest)
			return
		}
		f.drop(o.Name)
		f.overrides = append(f.overrides, o)
		f.note()
	case "DELETE /api/v1/overrides":
		f.drop(r.URL.Query().Get("name"))
		f.note()
	default:
		http.NotFound(w, r)
		return
	}
	if f.versions[0].Version == f.mute {
		panic(http.ErrAbortHandler)
	}
	json.NewEncoder(w).Encode(stage.Changed{Version: f.versions[0].Version, Hash: f.versions[0].Hash, Changed: changed})
}

func (f *fakeAdmin) drop(name string) {
	kept := []stage.Override{}
	for _, o := range f.overrides {
		if o.Name != name {
			kept = append(kept, o)
		}
	}
	f.overrides = kept
}
