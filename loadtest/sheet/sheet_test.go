package sheet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func TestASheetIsWrittenAsItsNameSays(t *testing.T) {
	dir := t.TempDir()
	plots := func() [][]*plot.Plot { return [][]*plot.Plot{{plot.New(), plot.New()}, {plot.New(), plot.New()}} }
	for name, begins := range map[string]string{"a.svg": "<?xml", "b.png": "\x89PNG", "c.SVG": "<?xml"} {
		file := filepath.Join(dir, name)
		if err := Write(file, 4*vg.Inch, 3*vg.Inch, draw.Tiles{}, plots()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(got), begins) {
			t.Errorf("%s begins with %.20q, %v", name, got, err)
		}
	}
	for _, name := range []string{"c.doc", filepath.Join("nowhere", "d.svg")} {
		if err := Write(filepath.Join(dir, name), vg.Inch, vg.Inch, draw.Tiles{}, plots()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
