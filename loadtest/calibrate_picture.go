package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"tidegate/loadtest/knee"
	"tidegate/loadtest/sheet"
)

// The colours are told apart by those who see red and green alike, and in print.
var (
	blue   = color.RGBA{R: 0, G: 90, B: 181, A: 255}
	orange = color.RGBA{R: 217, G: 119, B: 6, A: 255}
	purple = color.RGBA{R: 126, G: 34, B: 106, A: 255}
	black  = color.RGBA{A: 255}
	gray   = color.RGBA{R: 130, G: 130, B: 130, A: 255}
	pale   = color.RGBA{R: 212, G: 212, B: 212, A: 255}
)

const (
	pictureWidth  = 8 * vg.Inch
	pictureHeight = 7.5 * vg.Inch
)

// drawCurve draws throughput and latency against the load, one above the other, into an SVG or PNG file.
func drawCurve(r *calibration, file string) error {
	steps := slices.DeleteFunc(slices.Clone(r.Steps), func(s stepFigure) bool { return s.Verdict == knee.Void.String() })
	slices.SortStableFunc(steps, func(a, b stepFigure) int { return int(math.Copysign(1, a.Rate-b.Rate)) })
	// Of a load that was played twice the second counts, and a line through both would go back and forth.
	slices.Reverse(steps)
	steps = slices.CompactFunc(steps, func(a, b stepFigure) bool { return a.Rate == b.Rate })
	slices.Reverse(steps)
	top, err := throughputPlot(r, steps)
	if err != nil {
		return fmt.Errorf("cannot draw the curve: %w", err)
	}
	bottom, err := latencyPlot(r, steps)
	if err != nil {
		return fmt.Errorf("cannot draw the curve: %w", err)
	}
	tiles := draw.Tiles{PadTop: vg.Points(8), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(16), PadY: vg.Points(14)}
	return sheet.Write(file, pictureWidth, pictureHeight, tiles, [][]*plot.Plot{{top}, {bottom}})
}

func throughputPlot(r *calibration, steps []stepFigure) (*plot.Plot, error) {
	p := newPlot(steps)
	p.Title.Text = pictureTitle(r)
	p.Y.Label.Text = "served, requests/s"
	low, high := steps[0].Rate, steps[len(steps)-1].Rate
	p.Y.Min, p.Y.Max = low/1.3, high*1.3
	all, err := plotter.NewLine(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}})
	if err != nil {
		return nil, err
	}
	all.Color, all.Dashes = gray, []vg.Length{vg.Points(2), vg.Points(3)}
	p.Add(all)
	p.Legend.Add("all that is offered", all)
	if err := markKnee(p, r); err != nil {
		return nil, err
	}
	return p, addCurve(p, "served", blue, steps, func(s *stepFigure) float64 { return s.Goodput })
}

func latencyPlot(r *calibration, steps []stepFigure) (*plot.Plot, error) {
	p := newPlot(steps)
	p.X.Label.Text = "offered, requests/s"
	p.Y.Label.Text = "latency from the intended moment, ms"
	high := func(s *stepFigure) float64 { return float64(s.High) / 1e6 }
	median := func(s *stepFigure) float64 { return float64(s.P50) / 1e6 }
	p.Y.Min, p.Y.Max = math.Inf(1), float64(r.Limit)/1e6
	for i := range steps {
		if v := median(&steps[i]); v > 0 {
			p.Y.Min = min(p.Y.Min, v)
		}
		p.Y.Max = max(p.Y.Max, high(&steps[i]))
	}
	p.Y.Min, p.Y.Max = min(p.Y.Min, p.Y.Max)/1.3, p.Y.Max*1.3
	limit, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: float64(r.Limit) / 1e6}, {X: p.X.Max, Y: float64(r.Limit) / 1e6}})
	if err != nil {
		return nil, err
	}
	limit.Color, limit.Width, limit.Dashes = black, vg.Points(1), []vg.Length{vg.Points(2), vg.Points(2)}
	p.Add(limit)
	p.Legend.Add(fmt.Sprintf("limit of %s, %v ms", r.Quantile, r.Limit), limit)
	if err := markKnee(p, r); err != nil {
		return nil, err
	}
	if err := addCurve(p, r.Quantile, orange, steps, high); err != nil {
		return nil, err
	}
	return p, addCurve(p, "p50", blue, steps, median)
}

// newPlot has the axis of the load, both axes logarithmic, and a grid behind what is added later.
func newPlot(steps []stepFigure) *plot.Plot {
	p := plot.New()
	p.Title.Padding, p.X.Label.Padding, p.Y.Label.Padding = vg.Points(8), vg.Points(4), vg.Points(4)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	p.X.Min, p.X.Max = steps[0].Rate/1.15, steps[len(steps)-1].Rate*1.15
	p.X.Padding, p.Y.Padding = 0, 0
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs, p.Legend.Padding = vg.Points(8), -vg.Points(6), vg.Points(2)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	p.Add(grid)
	return p
}

// markKnee draws the line of the highest load that was carried, if it is known to be the knee.
func markKnee(p *plot.Plot, r *calibration) error {
	if r.Beyond == nil {
		return nil
	}
	line, err := plotter.NewLine(plotter.XYs{{X: r.Knee.Rate, Y: p.Y.Min}, {X: r.Knee.Rate, Y: p.Y.Max}})
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = purple, vg.Points(1), []vg.Length{vg.Points(5), vg.Points(2)}
	p.Add(line)
	p.Legend.Add(fmt.Sprintf("knee, %.0f/s", r.Knee.Rate), line)
	return nil
}

// addCurve draws a figure of the steps, with a dot where a step was carried and a triangle where it was not. What is
// not above zero has no place on a logarithmic axis and is left out.
func addCurve(p *plot.Plot, name string, c color.Color, steps []stepFigure, of func(*stepFigure) float64) error {
	var all, good, bad plotter.XYs
	for i := range steps {
		s := &steps[i]
		point := plotter.XY{X: s.Rate, Y: of(s)}
		if !(point.Y > 0) {
			continue
		}
		all = append(all, point)
		if s.Verdict == knee.Carried.String() {
			good = append(good, point)
		} else {
			bad = append(bad, point)
		}
	}
	if len(all) == 0 {
		return nil
	}
	line, err := plotter.NewLine(all)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.5)
	p.Add(line)
	thumbs := []plot.Thumbnailer{line}
	for _, marks := range []struct {
		points plotter.XYs
		shape  draw.GlyphDrawer
		size   vg.Length
		name   string
	}{{good, draw.CircleGlyph{}, vg.Points(3.2), name}, {bad, draw.PyramidGlyph{}, vg.Points(5), name + ", not carried"}} {
		if len(marks.points) == 0 {
			continue
		}
		dots, err := plotter.NewScatter(marks.points)
		if err != nil {
			return err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: marks.size, Shape: marks.shape}
		p.Add(dots)
		p.Legend.Add(marks.name, append(thumbs, dots)...)
	}
	return nil
}

func pictureTitle(r *calibration) string {
	title := r.Target
	if len(title) > 70 {
		title = title[:67] + "..."
	}
	if r.Beyond == nil {
		return fmt.Sprintf("%s\nno knee up to %.4g/s", title, r.Knee.Rate)
	}
	return fmt.Sprintf("%s\nknee at %.0f/s, %d seats", title, r.Knee.Rate, r.Seats)
}

// decades are ticks for a logarithmic axis: labels at 1, 2 and 5 times the powers of ten, small marks between.
type decades struct{}

// Ticks are those from min to max.
func (decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for unit := math.Pow(10, math.Floor(math.Log10(low))); unit <= high; unit *= 10 {
		for n := 1.0; n < 10; n++ {
			v := n * unit
			if v < low || v > high {
				continue
			}
			tick := plot.Tick{Value: v}
			if n == 1 || n == 2 || n == 5 {
				tick.Label = strconv.FormatFloat(v, 'g', 4, 64)
				if v >= 1000 {
					tick.Label = strconv.FormatFloat(v, 'f', 0, 64)
				}
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}
