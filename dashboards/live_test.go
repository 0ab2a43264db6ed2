package dashboards

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// files are the page's own of some kinds, vendored ones left out, by their paths.
func files(t *testing.T, kinds ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(Live(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "vendor/") || !slices.Contains(kinds, path.Ext(name)) {
			return err
		}
		text, err := fs.ReadFile(Live(), name)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no files of %v", kinds)
	}
	return found
}

// texts is a dictionary: strings, and objects of strings by plural.
func texts(t *testing.T, name string) map[string]map[string]string {
	t.Helper()
	data, err := fs.ReadFile(Live(), name)
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]any
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	out := map[string]map[string]string{}
	for key, value := range raw {
		out[key] = map[string]string{}
		switch v := value.(type) {
		case string:
			out[key][""] = v
		case map[string]any:
			for form, text := range v {
				out[key][form], _ = text.(string)
			}
		}
	}
	return out
}

var dictionaries = []string{"i18n/", "i18n/panels."}

func english(t *testing.T) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	for _, stem := range dictionaries {
		for key := range texts(t, stem+"en.json") {
			if keys[key] {
				t.Errorf("%s: two dictionaries have it", key)
			}
			keys[key] = true
		}
	}
	return keys
}

var variable = regexp.MustCompile(`\{\w+\}`)

func TestBothLanguagesSayTheSame(t *testing.T) {
	for _, stem := range dictionaries {
		en, zh := texts(t, stem+"en.json"), texts(t, stem+"zh.json")
		for key, forms := range en {
			if zh[key] == nil {
				t.Errorf("%szh.json lacks %q", stem, key)
				continue
			}
			var inEnglish, inChinese []string
			for form, text := range forms {
				if text == "" {
					t.Errorf("%sen.json: %q is empty (%s)", stem, key, form)
				}
				if form != "one" {
					inEnglish = variable.FindAllString(text, -1)
				}
			}
			for form, text := range zh[key] {
				if text == "" {
					t.Errorf("%szh.json: %q is empty (%s)", stem, key, form)
				}
				inChinese = variable.FindAllString(text, -1)
			}
			slices.Sort(inEnglish)
			slices.Sort(inChinese)
			if !slices.Equal(slices.Compact(inEnglish), slices.Compact(inChinese)) {
				t.Errorf("%q: English uses %v, Chinese %v", key, inEnglish, inChinese)
			}
		}
		for key := range zh {
			if en[key] == nil {
				t.Errorf("%sen.json lacks %q", stem, key)
			}
		}
	}
}

var (
	asked   = regexp.MustCompile(`\bt\(\s*(?:"([^"]+)"|'([^']+)')`)
	askedOf = regexp.MustCompile("\\bt\\(\\s*`([^`$]*)\\$\\{")
	quoted  = regexp.MustCompile(`"([^"\n]*)"`)
	started = regexp.MustCompile("`([^`$\n]+)\\$\\{")
)

func TestEveryTextIsThereAndEveryOneIsUsed(t *testing.T) {
	keys := english(t)
	used := map[string]bool{}
	for name, text := range files(t, ".js") {
		for _, m := range asked.FindAllStringSubmatch(text, -1) {
			if key := m[1] + m[2]; !keys[key] {
				t.Errorf("%s asks for %q, which no dictionary has", name, key)
			}
		}
		for _, m := range askedOf.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(keys)), func(key string) bool { return strings.HasPrefix(key, m[1]) }) {
				t.Errorf("%s asks for %q and more, and no key begins so", name, m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			used[m[1]] = true
		}
		for _, m := range started.FindAllStringSubmatch(text, -1) {
			for key := range keys {
				if strings.HasPrefix(key, m[1]) && strings.Contains(m[1], ".") {
					used[key] = true
				}
			}
		}
	}
	for key := range keys {
		if !used[key] {
			t.Errorf("nothing uses %q", key)
		}
	}
}

var (
	imported = regexp.MustCompile(`(?:\bfrom\s+|\bimport\s*\(?\s*)"([^"]+)"`)
	linked   = regexp.MustCompile(`\b(?:src|href)="([^"]+)"`)
)

func TestEveryFileThatIsNamedExists(t *testing.T) {
	for name, text := range files(t, ".js") {
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(m[1], "./") && !strings.HasPrefix(m[1], "../") {
				t.Errorf("%s imports %q: only files of the page can be", name, m[1])
				continue
			}
			file := path.Join(path.Dir(name), m[1])
			if _, err := fs.Stat(Live(), file); err != nil {
				t.Errorf("%s imports %s, which is not there", name, file)
			}
		}
	}
	index := files(t, ".html")["index.html"]
	links := linked.FindAllStringSubmatch(index, -1)
	if len(links) < 6 {
		t.Errorf("index.html names %d files", len(links))
	}
	for _, m := range links {
		file, ok := strings.CutPrefix(m[1], "live/")
		if !ok {
			t.Errorf("index.html names %q, which is not below live/", m[1])
			continue
		}
		if _, err := fs.Stat(Live(), file); err != nil {
			t.Errorf("index.html names %s, which is not there", m[1])
		}
	}
}

var (
	inlineStyle   = regexp.MustCompile(`(?i)<style|\sstyle\s*=`)
	inlineScript  = regexp.MustCompile(`(?i)\son\w+\s*=|javascript:|<script(?:\s[^>]*)?>[^<]`)
	markup        = regexp.MustCompile(`\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write|DOMParser)\b|\beval\(|new Function\(|setAttribute\("style"`)
	foreign       = regexp.MustCompile(`(?:https?:)?//[a-zA-Z0-9-]+\.[a-zA-Z]`)
	namespaceOnly = strings.NewReplacer("http://www.w3.org/2000/svg", "")
)

// The content security policy forbids inline code and other hosts; what breaks it would just not work.
func TestThePageHasNoInlineCodeAndNoOtherHosts(t *testing.T) {
	index := files(t, ".html")["index.html"]
	for _, forbidden := range []*regexp.Regexp{inlineStyle, inlineScript} {
		if found := forbidden.FindString(index); found != "" {
			t.Errorf("index.html has %q", found)
		}
	}
	for name, text := range files(t, ".js") {
		if found := markup.FindString(text); found != "" {
			t.Errorf("%s has %q: data reach the page as text only", name, found)
		}
	}
	for name, text := range files(t, ".js", ".css", ".html", ".json", ".svg") {
		if found := foreign.FindString(namespaceOnly.Replace(text)); found != "" {
			t.Errorf("%s names another host: %q", name, found)
		}
	}
}

func TestVendoredFilesAreThoseOfTheirRelease(t *testing.T) {
	data, err := fs.ReadFile(Live(), "vendor/VENDOR.json")
	if err != nil {
		t.Fatal(err)
	}
	var libraries []struct {
		Name, Version, License, Source, Integrity string
		Files                                     map[string]string
	}
	if err := json.Unmarshal(data, &libraries); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"VENDOR.json": true}
	for _, library := range libraries {
		if library.Version == "" || library.License == "" || library.Source == "" || library.Integrity == "" {
			t.Errorf("%s: version, license, source and integrity must be said", library.Name)
		}
		for name, want := range library.Files {
			known[name] = true
			text, err := fs.ReadFile(Live(), "vendor/"+name)
			if err != nil {
				t.Error(err)
				continue
			}
			if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
				t.Errorf("%s of %s %s has sha256 %x, and VENDOR.json says %s", name, library.Name, library.Version, sum, want)
			}
		}
	}
	entries, err := fs.ReadDir(Live(), "vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !known[e.Name()] {
			t.Errorf("vendor/%s is not in VENDOR.json", e.Name())
		}
	}
}

func TestTheLoginPageStandsAlone(t *testing.T) {
	for _, m := range linked.FindAllStringSubmatch(string(Login()), -1) {
		if !strings.HasPrefix(m[1], "data:") {
			t.Errorf("login.html loads %q; it must have all in itself, since nothing is served without a token", m[1])
		}
	}
}
