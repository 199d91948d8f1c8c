package report

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// drawing is an SVG in the making. Texts are escaped; names of elements, attributes and
// classes are those of this package. Colors are those of the page: see its style.
type drawing struct {
	b             strings.Builder
	width, height float64
}

func newDrawing(width, height float64, title string) *drawing {
	d := &drawing{width: width, height: height}
	fmt.Fprintf(&d.b, `<svg viewBox="0 0 %s %s" role="img" aria-label="%s">`, place(width), place(height), html.EscapeString(title))
	d.b.WriteByte('\n')
	return d
}

// end returns the whole.
func (d *drawing) end() markup {
	d.b.WriteString("</svg>")
	return markup(d.b.String())
}

// place is a length to a tenth, which no eye tells from less.
func place(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// anchor is which end of a text stands at its place.
type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
	end    anchor = "end"
)

func (d *drawing) text(x, y float64, at anchor, class, text string) {
	fmt.Fprintf(&d.b, `<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`+"\n", place(x), place(y), at, class, html.EscapeString(text))
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&d.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`+"\n", place(x1), place(y1), place(x2), place(y2), class)
}

// band is a rectangle between two corners.
func (d *drawing) band(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&d.b, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"/>`+"\n", place(x1), place(y1), place(x2-x1), place(y2-y1), class)
}

// path joins places.
func (d *drawing) path(places [][2]float64, class string) {
	if len(places) < 2 {
		return
	}
	d.b.WriteString(`<polyline points="`)
	for at, p := range places {
		if at > 0 {
			d.b.WriteByte(' ')
		}
		d.b.WriteString(place(p[0]) + "," + place(p[1]))
	}
	fmt.Fprintf(&d.b, `" class="%s"/>`+"\n", class)
}

// mark draws the sign of a series, with a text that is shown where a pointer rests on it.
// The shape tells series apart without their color.
func (d *drawing) mark(x, y float64, look int, hint string) {
	const r = 4
	class := fmt.Sprintf("mark s%d", look%looks)
	hint = "<title>" + html.EscapeString(hint) + "</title>"
	switch look % looks {
	case 1:
		fmt.Fprintf(&d.b, `<rect x="%s" y="%s" width="7" height="7" class="%s">%s</rect>`, place(x-3.5), place(y-3.5), class, hint)
	case 2:
		fmt.Fprintf(&d.b, `<polygon points="%s,%s %s,%s %s,%s" class="%s">%s</polygon>`,
			place(x), place(y-r-.5), place(x+r+.5), place(y+r-.5), place(x-r-.5), place(y+r-.5), class, hint)
	case 3:
		fmt.Fprintf(&d.b, `<polygon points="%s,%s %s,%s %s,%s %s,%s" class="%s">%s</polygon>`,
			place(x), place(y-r-1), place(x+r+1), place(y), place(x), place(y+r+1), place(x-r-1), place(y), class, hint)
	default:
		fmt.Fprintf(&d.b, `<circle cx="%s" cy="%s" r="%d" class="%s">%s</circle>`, place(x), place(y), r, class, hint)
	}
	d.b.WriteByte('\n')
}

// looks is how many series can be told apart.
const looks = 4
