package main

import (
	"bytes"
	"html/template"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/elect-go/elect/internal/bench/report"
)

func init() { plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"} } // as wide as Arial

var faint = color.Gray{Y: 0xdd}

const width = 400 * vg.Inch / 96 // 400 px

// draw draws lines, or strips if the points have no position.
func (c chart) draw(lines []series) (template.HTML, error) {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Size, axis.Tick.Label.Font.Size = 9, 8
	}
	p.Legend.TextStyle.Font.Size = 9
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	p.Add(grid)
	height := width * 3 / 4
	var err error
	if c.point == "" {
		height = vg.Length(60+44*len(lines)) * vg.Inch / 96
		err = c.strips(p, lines)
	} else {
		err = c.lines(p, lines)
	}
	if err != nil {
		return "", err
	}
	canvas := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(canvas), 0, -12, 0, 0)) // room for the last tick
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	svg := b.Bytes()
	return template.HTML(svg[bytes.Index(svg, []byte("<svg")):]), nil // which has escaped all texts
}

func (c chart) lines(p *plot.Plot, lines []series) error {
	p.X.Label.Text, p.Y.Label.Text = "N", c.label
	switch {
	case c.across != "":
		p.X.Label.Text = "ms until a crash is found (median)"
	case c.point == followers.point:
		p.X.Label.Text = "watchers"
	}
	// The mistakes of a detector decrease with its detection time; all other values grow.
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, c.across == "", 4
	for _, s := range lines {
		marks := marksOf(s.points)
		line, scatter, err := plotter.NewLinePoints(marks.XYs)
		if err != nil {
			return err
		}
		bars, err := plotter.NewYErrorBars(marks)
		if err != nil {
			return err
		}
		scatter.GlyphStyle = glyph(s.look)
		line.Color, bars.Color, bars.CapWidth = scatter.Color, scatter.Color, 0
		if len(s.theory) > 0 {
			line.XYs, line.Dashes = marksOf(s.theory).XYs, plotutil.Dashes(1)
		} else if c.log {
			line.XYs = line.XYs[:1] // the theory is silent
		}
		p.Add(line, bars, scatter)
		p.Legend.Add(c.nameOf(s), scatter)
	}
	if c.across == "" {
		p.X.Tick.Marker = ticksAt(lines)
	}
	if c.log && p.X.Min > 0 && p.Y.Min > 0 {
		logarithmic(&p.X)
		logarithmic(&p.Y)
		p.Y.Tick.Marker = logTicks{}
	} else if c.parts != nil && p.Y.Min > 0 {
		p.Y.Max *= 3 // room for the legend
		logarithmic(&p.Y)
		p.Y.Tick.Marker = logTicks{}
	} else {
		p.Y.Min, p.Y.Max = min(p.Y.Min, 0), 1.4*p.Y.Max // room for the legend
	}
	return nil
}

// nameOf returns the name of a series, with words for true and false.
func (c chart) nameOf(s series) string {
	if c.line != detectors.line {
		return s.name
	}
	return map[string]string{"false": "fixed timeout", "true": "adapts"}[s.name]
}

// logarithmic sets a logarithmic axis with a margin at its ends.
func logarithmic(axis *plot.Axis) {
	axis.Scale = plot.LogScale{}
	axis.Min, axis.Max = axis.Min/1.15, axis.Max*1.15
}

// logTicks are the powers of ten. If they are few, their double and fivefold have labels, too.
type logTicks struct{}

func (logTicks) Ticks(least, most float64) []plot.Tick {
	ticks := plot.LogTicks{Prec: -1}.Ticks(least, most)
	if most > 1000*least {
		return ticks
	}
	for at, tick := range ticks {
		if digit := tick.Value / math.Pow10(int(math.Floor(math.Log10(tick.Value)+1e-9))); math.Abs(digit-2) < 1e-6 || math.Abs(digit-5) < 1e-6 {
			ticks[at].Label = report.Number(tick.Value)
		}
	}
	return ticks
}

// marks are medians with minimum and maximum.
type marks struct {
	plotter.XYs
	plotter.YErrors
}

func marksOf(points []point) (all marks) {
	for _, p := range points {
		y := report.Summarize(p.values).Center
		all.XYs = append(all.XYs, plotter.XY{X: p.x, Y: y})
		all.YErrors = append(all.YErrors, struct{ Low, High float64 }{y - slices.Min(p.values), slices.Max(p.values) - y})
	}
	return all
}

// ticksAt sets a tick at each measured N.
func ticksAt(lines []series) (ticks plot.ConstantTicks) {
	for _, s := range lines {
		for _, p := range s.points {
			tick := plot.Tick{Value: p.x, Label: report.Number(p.x)}
			if !slices.Contains(ticks, tick) {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

func glyph(look int) draw.GlyphStyle {
	colors := plotutil.DarkColors
	return draw.GlyphStyle{Color: colors[look%len(colors)], Radius: 3, Shape: plotutil.Shape(look)}
}

// strips draws every trial as a point next to a box.
func (c chart) strips(p *plot.Plot, lines []series) error {
	p.X.Label.Text = c.label
	var names []string
	least, most := math.Inf(1), 0.0
	for at := range lines {
		s := lines[len(lines)-1-at] // the first is on top
		names = append(names, s.name)
		values := s.points[0].values
		least, most = min(least, slices.Min(values)), max(most, slices.Max(values))
		box, err := plotter.NewBoxPlot(18, float64(at), plotter.Values(values))
		if err != nil {
			return err
		}
		box.Horizontal, box.GlyphStyle.Radius = true, 0 // all trials are points
		scatter, err := plotter.NewScatter(trialsOf(values, float64(at)))
		if err != nil {
			return err
		}
		scatter.GlyphStyle = glyph(s.look)
		p.Add(box, scatter)
	}
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.5, float64(len(lines))-0.5
	if least > 0 && most > 20*least { // a linear axis would press the lower ones into one point
		logarithmic(&p.X)
		p.X.Tick.Marker = logTicks{}
	} else {
		p.X.Min, p.X.Max = 0, max(most, 1)*1.05
	}
	return nil
}

// trialsOf returns points next to a position, in three rows in turn, so that equal trials are visible.
func trialsOf(values []float64, place float64) (all plotter.XYs) {
	for at, value := range values {
		all = append(all, plotter.XY{X: value, Y: place + float64(at%3-1)*0.15})
	}
	return all
}
