package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the documents say of the tree, held against the tree.

var (
	inPitfalls = regexp.MustCompile("`\\./([a-z/]+)`|\\b((?:Test|Fuzz)[A-Z]\\w+)")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	target     = regexp.MustCompile(`(?m)^([a-z0-9-]+):.*## `)
	metric     = regexp.MustCompile(`\btidegate_[a-z_]+\b`)
	required   = regexp.MustCompile(`(?m)^\t(\S+\.\S+/\S+) v\S+( // indirect)?$`)
	tableRow   = regexp.MustCompile("(?m)^\\| `.*$")
	makeWord   = regexp.MustCompile("`make ([a-z0-9-]+)")
)

func TestEveryTestThatThePitfallsNameExists(t *testing.T) {
	rows := 0
	for _, line := range strings.Split(read(t, "docs/pitfalls.md"), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(cells[1], "#") || strings.Contains(cells[1], "---") {
			continue
		}
		rows++
		dir, named := "", 0
		for _, m := range inPitfalls.FindAllStringSubmatch(cells[3], -1) {
			if m[1] != "" {
				dir = m[1]
				continue
			}
			named++
			if !strings.Contains(tests(t, dir), "\nfunc "+m[2]+"(") {
				t.Errorf("case%s: there is no %s in ./%s", cells[1], m[2], dir)
			}
		}
		if named == 0 {
			t.Errorf("case%s: no test is named", cells[1])
		}
	}
	if rows < 30 {
		t.Errorf("%d cases were read, want more than 30", rows)
	}
}

func TestDocumentsLinkToFilesThatExist(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, doc), -1) {
			to, _, _ := strings.Cut(m[1], "#")
			if to == "" || strings.Contains(to, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), to)); err != nil {
				t.Errorf("%s links to %s, which is not there", doc, to)
			}
		}
	}
}

func TestDocumentsNameMakeTargetsThatExist(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[m[1]] = true
	}
	for _, doc := range documents(t) {
		for _, m := range makeWord.FindAllStringSubmatch(read(t, doc), -1) {
			if !targets[m[1]] {
				t.Errorf("%s says `make %s`, and the Makefile has no such target", doc, m[1])
			}
		}
	}
}

// tests is the text of all test files of a package.
func tests(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		all.WriteString(read(t, f))
	}
	return all.String()
}

func TestBothReadmesListEveryMetric(t *testing.T) {
	names := func(text string) []string {
		found := metric.FindAllString(text, -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	want := names(read(t, "gateway/exposition.go"))
	for _, doc := range []string{"README.md", "README.zh-CN.md"} {
		if got := names(read(t, doc)); !slices.Equal(got, want) {
			t.Errorf("%s lists\n%v\nand the gateway shows\n%v", doc, got, want)
		}
	}
}

func TestDependenciesSayWhyOfEveryModule(t *testing.T) {
	rows, modules := tableRow.FindAllString(read(t, "docs/dependencies.md"), -1), required.FindAllStringSubmatch(read(t, "go.mod"), -1)
	if len(modules) < 10 {
		t.Fatalf("only %d modules were found", len(modules))
	}
	for _, m := range modules {
		if name, indirect := m[1], m[2] != ""; !indirect && !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, "`"+name+"`") }) {
			t.Errorf("docs/dependencies.md has no row for %s", name)
		}
	}
}

func documents(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir("docs", func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			docs = append(docs, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return docs
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
