package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/elect-go/elect/internal/bench/result"
	"github.com/elect-go/elect/internal/sample"
)

// The measures of a plot. A phone shows it at about nine tenths of that size, so the text
// stays readable.
const (
	plotWidth  = 400.0
	plotHeight = 290.0
	plotLeft   = 54.0
	plotRight  = plotWidth - 12
	plotTop    = 48.0
	plotBottom = plotHeight - 44
)

// plot is points and lines against N, which has a logarithmic axis, or against something
// else.
type plot struct {
	title string // for those who do not see it
	x     string // what is on the horizontal axis, which is linear then; empty for N
	y     string // what is measured, with its unit
	log   bool   // the vertical axis, where it can be
	join  bool   // points are joined by lines: where there is no theory
	sets  []set
}

// set is what is drawn of one algorithm.
type set struct {
	name   string
	look   int
	points []point
	theory [][2]float64 // N and value
}

// draw draws it.
func (p *plot) draw() markup {
	var ns, values []float64
	for _, s := range p.sets {
		for _, at := range s.points {
			ns, values = append(ns, at.n), append(values, at.Min, at.Max)
		}
		for _, at := range s.theory {
			values = append(values, at[1])
		}
	}
	name := cmp.Or(p.x, "N")
	x := newScale(ns, p.x == "", plotLeft, plotRight)
	if p.x == "" {
		x.ticks = slices.Compact(slices.Sorted(slices.Values(ns)))
	}
	y := newScale(values, p.log, plotBottom, plotTop)
	d := &drawing{width: plotWidth, height: plotHeight, title: p.title}
	p.legend(d)
	d.axes(x, y, name, p.y)
	for _, s := range p.sets {
		s.draw(d, x, y, name, p.join)
	}
	return d.end()
}

func (p *plot) legend(d *drawing) {
	x := plotLeft
	for _, s := range p.sets {
		d.mark(x+4, 11, s.look, s.name)
		d.text(x+12, 15, "start", "name", s.name)
		x += 24 + 7.5*float64(len([]rune(s.name)))
	}
}

// axes draws both, and says what they are. A tick whose number would touch the one before
// has none.
func (d *drawing) axes(x, y scale, xName, yName string) {
	for _, tick := range y.ticks {
		d.stroke(x.from, y.at(tick), x.to, y.at(tick), "grid")
		d.text(x.from-6, y.at(tick)+4, "end", "tick", tickText(tick))
	}
	d.bottom(x, y.from, xName)
	d.text(6, plotTop-12, "start", "tick", yName)
}

// bottom draws the horizontal axis.
func (d *drawing) bottom(x scale, at float64, name string) {
	d.stroke(x.from, at, x.to, at, "axis")
	free := 0.0
	for _, tick := range x.ticks {
		text := tickText(tick)
		half := 4 * float64(len(text))
		d.stroke(x.at(tick), at, x.at(tick), at+4, "axis")
		if x.at(tick)-half < free {
			continue
		}
		if x.at(tick)+half > d.width {
			d.text(d.width-2, at+17, "end", "tick", text)
			break
		}
		d.text(x.at(tick), at+17, "middle", "tick", text)
		free = x.at(tick) + half + 4
	}
	d.text((x.from+x.to)/2, at+36, "middle", "tick", name)
}

func (s set) draw(d *drawing, x, y scale, xName string, join bool) {
	var line, measured [][2]float64
	for _, at := range s.theory {
		if y.shown(at[1]) {
			line = append(line, [2]float64{x.at(at[0]), y.at(at[1])})
		}
	}
	d.path(line, class("line", s.look))
	for _, p := range s.points {
		measured = append(measured, [2]float64{x.at(p.n), y.at(p.Mean)})
	}
	if join {
		d.path(measured, class("line", s.look))
	}
	for at, p := range s.points {
		place := measured[at]
		if y.at(p.Min)-y.at(p.Max) > 1 {
			d.stroke(place[0], y.at(p.Min), place[0], y.at(p.Max), class("whisker", s.look))
		}
		d.mark(place[0], place[1], s.look, p.hint(s.name, xName))
	}
}

func (p point) hint(name, xName string) string {
	text := fmt.Sprintf("%s, %s=%s: %s", name, xName, result.Number(p.n), result.Number(p.Mean))
	if p.Trials > 1 {
		text += fmt.Sprintf(" on the mean of %d, from %s to %s", p.Trials, result.Number(p.Min), result.Number(p.Max))
	}
	return text
}

// strip is every trial as a point, a row for each of those that are compared.
type strip struct {
	title string
	x     string
	rows  []lane
}

// lane is one of them.
type lane struct {
	name     string
	look     int
	values   []float64 // in the order of the trials
	estimate sample.Estimate
}

const rowHeight = 46.0

// draw draws it: the points, the median, and its interval of 95 % as a band.
func (p *strip) draw() markup {
	var values []float64
	widest := 0
	for _, r := range p.rows {
		values = append(values, r.values...)
		widest = max(widest, len([]rune(r.name)))
	}
	bottom := 8 + rowHeight*float64(len(p.rows))
	d := &drawing{width: plotWidth, height: bottom + 44, title: p.title}
	left := min(plotWidth/2, 14+7.5*float64(widest))
	x := newScale(values, wide(values), left, plotRight)
	for _, tick := range x.ticks {
		d.stroke(x.at(tick), 8, x.at(tick), bottom, "grid")
	}
	d.bottom(x, bottom, p.x)
	for at, r := range p.rows {
		r.draw(d, x, 8+rowHeight*(float64(at)+.5))
	}
	return d.end()
}

// wide reports whether values are so far apart that a linear axis would press the lower
// ones into one point.
func wide(values []float64) bool {
	return len(values) > 0 && slices.Min(values) > 0 && slices.Max(values) > 20*slices.Min(values)
}

func (r lane) draw(d *drawing, x scale, y float64) {
	d.text(4, y+4, "start", "name", r.name)
	low := x.at(r.estimate.Interval.Low)
	wide := max(x.at(r.estimate.Interval.High)-low, 1)
	d.line(shape("rect", "x", low, "y", y-13, "width", wide, "height", 26.0, "class", class("band", r.look)))
	for at, value := range r.values {
		// Three lanes, in turn, so that points that are equal are seen.
		d.mark(x.at(value), y+float64(at%3-1)*8, r.look, fmt.Sprintf("%s, round %d: %s", r.name, at+1, result.Number(value)))
	}
	median := x.at(r.estimate.Median)
	d.stroke(median, y-16, median, y+16, "median")
}
