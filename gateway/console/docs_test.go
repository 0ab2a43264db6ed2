package console

import (
	"fmt"
	"maps"
	"os"
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
		if strings.HasPrefix(e.path, "/api/") && (!strings.Contains(section, "    curl ") || !strings.Contains(section, "$TG"+e.path)) {
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

// What a client may see as a code is written down, and no other.
func TestEveryCodeIsInTheDocumentAndTheReverse(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[2], -1) {
				documented[strings.TrimSpace(cells[1])+" "+m[1]] = true
			}
		}
	}
	answered := map[string]bool{}
	for _, name := range []string{"problem.go", "lookup.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`newProblem\((\d+), "([a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
			answered[m[1]+" "+m[2]] = true
		}
	}
	for code, as := range failureAs {
		answered[fmt.Sprint(as.status, " ", code)] = true
	}
	if !maps.Equal(documented, answered) {
		t.Errorf("docs/api.md has the codes\n%q\nand answered are\n%q", slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(answered)))
	}
}
