package console

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryEndpointIsInTheDocumentAndTheReverse(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{} // the section of each
	heading := regexp.MustCompile("(?m)^### `([A-Z]+ /[^`]*)`$")
	at := heading.FindAllSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		documented[string(text[m[2]:m[3]])] = string(text[m[1]:end])
	}
	for _, e := range endpoints {
		name := e.method + " " + e.path
		section, ok := documented[name]
		if !ok {
			t.Errorf("docs/api.md lacks %s", name)
			continue
		}
		delete(documented, name)
		if strings.HasPrefix(e.path, "/api/") && !regexp.MustCompile(`(?m)^\$ curl .*\$TG`+regexp.QuoteMeta(e.path)+`["? ]?`).MatchString(section) {
			t.Errorf("docs/api.md has no curl line for %s", name)
		}
		for word, role := range map[string]role{"For operators": roleOperator, "For owners": roleOwner} {
			if strings.Contains(section, word) != (e.role == role) {
				t.Errorf("docs/api.md says %q of %s, which needs the role %s", word, name, e.role)
			}
		}
	}
	for name := range documented {
		t.Errorf("docs/api.md has %s, and nothing answers it", name)
	}
}

// answering are the files that have something to answer.
func answering(t *testing.T) (names []string) {
	t.Helper()
	all, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
	}
	return names
}

// What a client may see as a code is written down, and no other.
func TestEveryCodeIsInTheDocumentAndTheReverse(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	documented, status := map[string]bool{}, regexp.MustCompile(`^ \d{3} $`)
	for _, line := range strings.Split(string(text), "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 5 && status.MatchString(cells[1]) {
			for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[2], -1) {
				documented[strings.TrimSpace(cells[1])+" "+m[1]] = true
			}
		}
	}
	answered := map[string]bool{}
	for _, name := range answering(t) {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`newProblem\((\d+), "([a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
			answered[m[1]+" "+m[2]] = true
		}
	}
	answered["403 "+codeRole] = true
	for code, as := range failureAs {
		answered[fmt.Sprint(as.status, " ", code)] = true
	}
	listed := map[string]bool{}
	for code, status := range statuses {
		listed[fmt.Sprint(status, " ", code)] = true
	}
	if !maps.Equal(listed, answered) {
		t.Errorf("statuses has the codes\n%q\nand answered are\n%q", slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(answered)))
	}
	if !maps.Equal(documented, answered) {
		t.Errorf("docs/api.md has the codes\n%q\nand answered are\n%q", slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(answered)))
	}
}

// What a verdict says of itself is written down, and is what the API shows.
func TestWhatAVerdictRestsOnIsInTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "| of a flow | of a surge | |\n")
	if !found {
		t.Fatal("docs/api.md has no such table")
	}
	section, _, _ = strings.Cut(section, "\n\n")
	names := func(of any) (all []string) {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			all = append(all, f.Tag.Get("json"))
		}
		return all
	}
	documented := [2]map[string]bool{{}, {}}
	for _, line := range strings.Split(section, "\n")[1:] {
		cells := strings.Split(line, "|")
		for i, of := range []any{FlowView{}, SurgeView{}} {
			for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[1+i], -1) {
				documented[i][m[1]] = true
				if !slices.Contains(names(of), m[1]) {
					t.Errorf("docs/api.md has %s, and %T has not", m[1], of)
				}
			}
		}
	}
	for _, name := range names(SurgeView{}) {
		if name != "caller" && name != "semantic" && !documented[1][name] {
			t.Errorf("docs/api.md lacks %s of a surge", name)
		}
	}
	for _, name := range []string{"expected", "ratio", "score", "needed", "season_slot", "seasonal", "season_learning"} {
		if !documented[0][name] {
			t.Errorf("docs/api.md lacks %s of a flow", name)
		}
	}
}
