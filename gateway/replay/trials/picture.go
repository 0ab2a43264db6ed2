package main

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"tidegate/loadtest/sheet"
)

// What the picture shows of the axes: what is below has nothing to say to anybody.
const (
	least      = 0.4  // of the bursts, within 2 s
	fewest     = 0.1  // false verdicts a clean day; none at all is drawn here
	most       = 60.0 // false verdicts a clean day
	topOfShare = 1.01
)

// strokes are told apart by those who see red and green alike, and in print.
var strokes = []struct {
	color  color.RGBA
	dashes []vg.Length
	width  vg.Length
}{
	{color.RGBA{R: 0, G: 90, B: 181, A: 255}, nil, 2.2},
	{color.RGBA{R: 217, G: 119, B: 6, A: 255}, nil, 1.2},
	{color.RGBA{R: 126, G: 34, B: 106, A: 255}, []vg.Length{5, 2}, 1.2},
	{color.RGBA{R: 110, G: 110, B: 110, A: 255}, []vg.Length{2, 2}, 1.2},
}

var (
	pale  = color.RGBA{R: 225, G: 225, B: 225, A: 255}
	black = color.RGBA{A: 255}
)

// rows are the pictures of one trace, one above the other.
var rows = []struct {
	label string
	least float64
	names bool // the odds are written beside their points
	share func(*score) float64
	goal  func(*goal) float64
}{
	{"bursts found within 2 s", least, true, func(s *score) float64 { return s.Within2 }, func(g *goal) float64 { return g.within2 }},
	{"bursts found within 5 s", 0.7, false, func(s *score) float64 { return s.Within5 }, func(g *goal) float64 { return g.within5 }},
}

// drawPanels draws each trace's curves side by side into an SVG or PNG file.
func drawPanels(panels []panel, file string) error {
	grid := make([][]*plot.Plot, len(rows))
	for r := range rows {
		for i := range panels {
			p, err := drawPanel(&panels[i], r, i == 0, i == len(panels)-1)
			if err != nil {
				return fmt.Errorf("cannot draw the curves: %w", err)
			}
			grid[r] = append(grid[r], p)
		}
	}
	tiles := draw.Tiles{PadTop: 8, PadBottom: 6, PadLeft: 6, PadRight: 12, PadX: 16, PadY: 14}
	return sheet.Write(file, vg.Length(len(panels))*5.2*vg.Inch, 8.4*vg.Inch, tiles, grid)
}

func drawPanel(of *panel, row int, first, last bool) (*plot.Plot, error) {
	p := plot.New()
	p.X.Scale, p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogScale{}, decades{}, percents{}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = fewest, most, rows[row].least, topOfShare
	p.X.Padding, p.Y.Padding = 0, 0
	p.Title.Padding, p.X.Label.Padding, p.Y.Label.Padding = 8, 4, 4
	if row == 0 {
		s := of.Curves[0].Points[0].score
		p.Title.Text = fmt.Sprintf("%s: %d bursts, %.0f clean hours", of.Trace, s.Bursts, s.CleanHours)
	}
	if row == len(rows)-1 {
		p.X.Label.Text = "false verdicts a clean day"
	}
	if first {
		p.Y.Label.Text = rows[row].label
	}
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = pale, pale
	p.Add(g)
	legend := plot.NewLegend()
	legend.Left, legend.XOffs, legend.YOffs, legend.Padding, legend.ThumbnailWidth = false, -10, 8, 2, 28
	for i := range of.Curves {
		if err := drawCurve(p, &legend, &of.Curves[i], row, i); err != nil {
			return nil, err
		}
	}
	for i := range goals {
		if err := drawGoal(p, &legend, &goals[i], row, i); err != nil {
			return nil, err
		}
	}
	if last && row == len(rows)-1 {
		p.Legend = legend
	}
	return p, nil
}

func drawCurve(p *plot.Plot, legend *plot.Legend, c *curve, row, number int) error {
	var points plotter.XYs
	var names []string
	best := 0.0
	for i := range c.Points {
		pt := &c.Points[i]
		x, y := max(fewest, pt.FalseADay), rows[row].share(&pt.score)
		if x > most || y < rows[row].least || c.Method != ours && y <= best {
			continue // of the rules, what has more false alarms and finds no more is left out
		}
		best = y
		points = append(points, plotter.XY{X: x, Y: y})
		names = append(names, strings.TrimPrefix(pt.Setting, "odds "))
		if pt.Marked {
			ring, err := plotter.NewScatter(points[len(points)-1:])
			if err != nil {
				return err
			}
			ring.GlyphStyle = draw.GlyphStyle{Color: strokes[number].color, Radius: 6, Shape: draw.RingGlyph{}}
			p.Add(ring)
		}
	}
	if len(points) == 0 {
		return nil
	}
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	stroke := strokes[number%len(strokes)]
	line.Color, line.Dashes, line.Width = stroke.color, stroke.dashes, stroke.width
	dots.GlyphStyle = draw.GlyphStyle{Color: stroke.color, Radius: 1.8, Shape: draw.CircleGlyph{}}
	p.Add(line, dots)
	name := "best rules: " + c.Method
	if c.Method == ours {
		name = "tidegate, odds 1 to 2000; ring: the default"
	}
	if c.Method == ours && rows[row].names {
		if err := nameOdds(p, points, names); err != nil {
			return err
		}
	}
	legend.Add(name, line, dots)
	return nil
}

// nameOdds writes the odds beside their points.
func nameOdds(p *plot.Plot, points plotter.XYs, names []string) error {
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: points, Labels: names})
	if err != nil {
		return err
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].Color, labels.TextStyle[i].Font.Size = strokes[0].color, 8
		labels.TextStyle[i].XAlign = draw.XRight
	}
	labels.Offset = vg.Point{X: -4, Y: 5}
	p.Add(labels)
	return nil
}

func drawGoal(p *plot.Plot, legend *plot.Legend, g *goal, row, number int) error {
	mark, err := plotter.NewScatter(plotter.XYs{{X: g.falseIs, Y: rows[row].goal(g)}})
	if err != nil {
		return err
	}
	mark.GlyphStyle = draw.GlyphStyle{Color: black, Radius: 5, Shape: []draw.GlyphDrawer{draw.CrossGlyph{}, draw.PlusGlyph{}}[number%2]}
	p.Add(mark)
	legend.Add(g.name, mark)
	return nil
}

// decades are ticks for a logarithmic axis, named at 1, 2 and 5 times the powers of ten.
type decades struct{}

func (decades) Ticks(low, high float64) (ticks []plot.Tick) {
	for unit := math.Pow(10, math.Floor(math.Log10(low))); unit <= high; unit *= 10 {
		for n := 1.0; n < 10; n++ {
			v := n * unit
			if v < low*0.999 || v > high {
				continue
			}
			tick := plot.Tick{Value: v}
			if n == 1 || n == 2 || n == 5 {
				tick.Label = strconv.FormatFloat(v, 'g', 3, 64)
			}
			if v <= fewest*1.001 {
				tick.Label = "≤ " + tick.Label
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// percents are ticks for a share, each tenth.
type percents struct{}

func (percents) Ticks(low, high float64) (ticks []plot.Tick) {
	for n := math.Ceil(low*20 - 1e-9); n <= high*20; n++ {
		tick := plot.Tick{Value: n / 20}
		if math.Mod(n, 2) == 0 {
			tick.Label = fmt.Sprintf("%.0f %%", n*5)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}
