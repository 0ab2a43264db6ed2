package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rooms says what each room may import of ours. A new room has to be written down here, and whoever does so
// decides where it stands: imports go down this list and never up. The one step inside the lowest layer is
// that the scheduler is built on the meters of pools.
var rooms = map[string][]string{
	"":                      {"gateway", "gateway/config", "gateway/policy", "gateway/record", "gateway/replay"},
	"gateway":               {"gateway/octets", "gateway/config", "gateway/policy", "gateway/upstream", "gateway/console", "gateway/record", "gateway/replay", "gateway/watch", "gateway/history", "gateway/audit", "gateway/alert", "gateway/registration", "gateway/callerpage", "gateway/recent", "scheduler", "detector", "pools"},
	"gateway/replay":        {"gateway/config", "gateway/policy", "gateway/record", "gateway/watch", "scheduler", "detector", "pools"},
	"gateway/replay/trials": {"gateway/config", "gateway/record", "gateway/watch", "detector", "loadtest/sheet"}, // draws as calibrate does
	"gateway/watch":         {"gateway/config", "detector"},
	"gateway/console":       {"gateway/config", "dashboards"},
	"gateway/policy":        {"gateway/config", "scheduler", "pools"},
	"gateway/upstream":      {"gateway/config", "gateway/octets"},
	"gateway/octets":        {},
	"gateway/record":        {},
	"gateway/audit":         {},
	"gateway/alert":         {},
	"gateway/registration":  {"gateway/config"},
	"gateway/callerpage":    {},
	"gateway/config":        {},
	"gateway/history":       {},
	"gateway/recent":        {},
	"dashboards":            {},
	"scheduler":             {"pools"},
	"detector":              {},
	"pools":                 {},
}

// pure are the rooms that know neither the network nor files nor the clock.
var pure = []string{"scheduler", "detector", "pools"}

// blocking is the one file of them that waits in real time.
const blocking = "scheduler/scheduler.go"

const module = "tidegate"

type listed struct {
	ImportPath                         string
	Standard                           bool
	Imports, TestImports, XTestImports []string
}

// list is what the go command says of packages.
func list(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,TestImports,XTestImports"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var packages []listed
	for d := json.NewDecoder(out); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return packages
}

// room is the name of one of our packages, without the module; not ok: it is not ours.
func room(importPath string) (name string, ok bool) {
	if importPath == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// under says that a room is the given one or inside it.
func under(name, parent string) bool { return name == parent || strings.HasPrefix(name, parent+"/") }

func TestImportsPointOneWay(t *testing.T) {
	packages := list(t, "./...")
	if len(packages) < len(rooms)-1 {
		t.Fatalf("only %d packages were listed", len(packages))
	}
	for _, p := range packages {
		name, _ := room(p.ImportPath)
		if under(name, "loadtest") {
			continue // has a test of its own
		}
		allowed, known := rooms[name]
		if !known {
			t.Errorf("%s is a room that is not in the table of this test", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			if of, ours := room(path); ours && !slices.Contains(allowed, of) {
				t.Errorf("%s imports %s; it may import of ours only %q", p.ImportPath, path, allowed)
			}
		}
	}
}

// The table itself has no way up: following what it allows, no room leads back to itself.
func TestTheTableOfRoomsHasNoCircle(t *testing.T) {
	var follow func(from string, path []string)
	follow = func(from string, path []string) {
		if slices.Contains(path, from) {
			t.Fatalf("a circle: %q", append(path, from))
		}
		for _, to := range rooms[from] {
			follow(to, append(slices.Clone(path), from))
		}
	}
	for name := range rooms {
		follow(name, nil)
	}
}

func TestThePureRoomsNeedNothingButTheStandardLibrary(t *testing.T) {
	foreign := []string{"net", "os", "io", "log", "context", "syscall", "encoding", "database", "embed", "runtime", "html", "text", "archive", "compress"}
	for _, name := range pure {
		for _, p := range list(t, "-deps", "./"+name) {
			of, ours := room(p.ImportPath)
			if !ours {
				if !p.Standard {
					t.Errorf("%s needs %s", name, p.ImportPath)
				}
				continue
			}
			if !slices.Contains(pure, of) {
				t.Errorf("%s needs %s", name, p.ImportPath)
			}
			for _, direct := range p.Imports {
				// encoding/binary is numbers to bytes and back, in memory.
				if first, _, _ := strings.Cut(direct, "/"); slices.Contains(foreign, first) && direct != "encoding/binary" {
					t.Errorf("%s imports %s: what reads, writes or logs belongs to the gateway", p.ImportPath, direct)
				}
			}
		}
	}
}

func TestTheLoadTestIsAClientAndImportsNothingOfOurs(t *testing.T) {
	for _, p := range list(t, "./loadtest/...") {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if of, ours := room(path); ours && !under(of, "loadtest") {
				t.Errorf("%s imports %s", p.ImportPath, path)
			}
		}
	}
}

// What the load test measures and draws with is no part of the gateway.
func TestTheGatewayNeedsNothingThatIsForTheLoadTestOnly(t *testing.T) {
	foreign := []string{"gonum.org", "codeberg.org", "git.sr.ht", "github.com/HdrHistogram", "github.com/chromedp"}
	for _, p := range list(t, "-deps", ".") {
		for _, prefix := range foreign {
			if strings.HasPrefix(p.ImportPath, prefix) {
				t.Errorf("the gateway needs %s", p.ImportPath)
			}
		}
	}
}

// Who is asked for a decision is told what time it is; only the file that blocks looks at the clock.
func TestThePureRoomsNeverAskTheClock(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}
	looked, asks := 0, map[string][]string{}
	for _, name := range pure {
		files, err := filepath.Glob(name + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			looked++
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			local := importedAs(tree, "time")
			ast.Inspect(tree, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && x.Name == local && slices.Contains(clock, s.Sel.Name) {
					asks[filepath.ToSlash(file)] = append(asks[filepath.ToSlash(file)], s.Sel.Name)
				}
				return true
			})
		}
	}
	if looked < 20 {
		t.Fatalf("only %d files were looked at", looked)
	}
	for file, calls := range asks {
		if file != blocking {
			t.Errorf("%s asks the clock: time.%s", file, strings.Join(calls, ", time."))
		}
	}
	if len(asks[blocking]) == 0 {
		t.Errorf("%s is found not to ask the clock: this test does not see what it should", blocking)
	}
}

// importedAs is the name under which a file knows a package, "" if it does not.
func importedAs(file *ast.File, pkg string) string {
	for _, i := range file.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil && p == pkg {
			if i.Name != nil {
				return i.Name.Name
			}
			return path.Base(p)
		}
	}
	return ""
}
