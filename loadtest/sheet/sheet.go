// Package sheet puts plots on one sheet of white paper and writes it to a file.
package sheet

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Write draws plots, by rows, their axes aligned, and writes the sheet to file, of the kind that its name ends in: svg,
// png or another that gonum's plot knows. Of tiles it takes the paddings. The error says what cannot be drawn or written.
func Write(file string, width, height vg.Length, tiles draw.Tiles, plots [][]*plot.Plot) error {
	kind := strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
	canvas, err := draw.NewFormattedCanvas(width, height, kind)
	if err != nil {
		return fmt.Errorf("cannot draw the picture for %s: %w", file, err)
	}
	paper := draw.New(canvas)
	paper.SetColor(color.White) // the plots fill their tiles only, and a page around the picture may be dark
	paper.Fill(paper.Rectangle.Path())
	tiles.Rows, tiles.Cols = len(plots), len(plots[0])
	for r, row := range plot.Align(plots, tiles, paper) {
		for i := range row {
			plots[r][i].Draw(row[i])
		}
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("cannot write the picture: %w", err)
	}
	_, err = canvas.WriteTo(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("cannot write the picture to %s: %w", file, err)
	}
	return nil
}
