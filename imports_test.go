package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tree's layers: a package imports only packages of layers below its own. Packages that are not
// listed are of no layer, and nobody's but loadtest's may be that.
var layers = map[string]int{
	"tidegate":                  5,
	"tidegate/gateway":          4,
	"tidegate/gateway/upstream": 3,
	"tidegate/gateway/policy":   3,
	"tidegate/gateway/console":  3,
	"tidegate/gateway/config":   2,
	"tidegate/scheduler":        1,
	"tidegate/detector":         0,
	"tidegate/pools":            0,
	"tidegate/dashboards":       0,
}

func TestImportsPointDownwards(t *testing.T) {
	seen := 0
	for _, line := range goList(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...") {
		name, imports, _ := strings.Cut(line, " ")
		if strings.HasPrefix(name, "tidegate/loadtest") {
			continue // a client: it has a test of its own
		}
		layer, ok := layers[name]
		if !ok {
			t.Errorf("%s is of no layer: give it one", name)
			continue
		}
		seen++
		for _, i := range strings.Fields(imports) {
			if i != "tidegate" && !strings.HasPrefix(i, "tidegate/") {
				continue
			}
			if below, ok := layers[i]; !ok || below >= layer {
				t.Errorf("%s imports %s, which is not below it", name, i)
			}
		}
	}
	if seen != len(layers) {
		t.Errorf("%d packages were seen, want %d", seen, len(layers))
	}
}

// What decides over requests knows neither HTTP nor files, logs or metrics.
func TestPurePackagesNeedNothingButTheStandardLibrary(t *testing.T) {
	for _, pure := range []string{"scheduler", "detector", "pools"} {
		for _, dep := range goList(t, "-deps", "-f", "{{.ImportPath}} {{.Standard}}", "./"+pure) {
			name, standard, _ := strings.Cut(dep, " ")
			switch {
			case standard == "true" && (name == "net" || strings.HasPrefix(name, "net/")):
				t.Errorf("%s depends on %s", pure, name)
			case standard == "true", name == "tidegate/"+pure, pure == "scheduler" && name == "tidegate/pools":
			default:
				t.Errorf("%s depends on %s", pure, name)
			}
		}
	}
}

var clock = regexp.MustCompile(`\btime\.(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTimer|NewTicker)\(`)

// They are told the present moment, all but the one file that blocks.
func TestPurePackagesNeverAskTheClock(t *testing.T) {
	for _, pure := range []string{"scheduler", "detector", "pools"} {
		files, err := filepath.Glob(filepath.Join(pure, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", pure, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || filepath.ToSlash(file) == "scheduler/scheduler.go" {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := clock.Find(text); found != nil {
				t.Errorf("%s: %s...)", file, found)
			}
		}
	}
}

// goList is the lines of go list with args.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("cannot list packages: %v", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
