package report

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// markup is text of a page, in which all that came from outside is escaped. A package of
// templates would do it too, and add a quarter to the size of the command.
type markup string

// escaped means the same within an element and within the quotes of an attribute.
func escaped(text string) markup { return markup(html.EscapeString(text)) }

// element holds something. Its name and those of its attributes, which come in pairs with their
// values, are of this package.
func element(name string, inside markup, attributes ...any) markup {
	return open(name, ">", attributes) + inside + "</" + markup(name) + ">"
}

// shape is an element of a drawing that holds nothing.
func shape(name string, attributes ...any) markup { return open(name, "/>", attributes) }

func open(name, end string, attributes []any) markup {
	var b strings.Builder
	b.WriteString("<" + name)
	for at := 0; at < len(attributes); at += 2 {
		value := attributes[at+1]
		if length, ok := value.(float64); ok {
			value = place(length)
		}
		if value != "" {
			fmt.Fprintf(&b, ` %s="%s"`, attributes[at], escaped(fmt.Sprint(value)))
		}
	}
	b.WriteString(end)
	return markup(b.String())
}

// place is a length to a tenth, which no eye tells from less.
func place(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// writer writes markup, a line each.
type writer struct{ b strings.Builder }

func (w *writer) line(m markup) { w.b.WriteString(string(m) + "\n") }

// drawing is an SVG in the making. Colors are those of the page: see its style.
type drawing struct {
	writer
	width, height float64
	title         string
}

// end returns the whole.
func (d *drawing) end() markup {
	return element("svg", markup("\n"+d.b.String()), "viewBox", "0 0 "+place(d.width)+" "+place(d.height), "role", "img", "aria-label", d.title)
}

// text stands at a place with one of its ends: "start", "middle" or "end".
func (d *drawing) text(x, y float64, at, class, text string) {
	d.line(element("text", escaped(text), "x", x, "y", y, "text-anchor", at, "class", class))
}

func (d *drawing) stroke(x1, y1, x2, y2 float64, class string) {
	d.line(shape("line", "x1", x1, "y1", y1, "x2", x2, "y2", y2, "class", class))
}

// points are places as an attribute has them.
func points(places ...[2]float64) string {
	var all []string
	for _, p := range places {
		all = append(all, place(p[0])+","+place(p[1]))
	}
	return strings.Join(all, " ")
}

// path joins places.
func (d *drawing) path(places [][2]float64, class string) {
	if len(places) > 1 {
		d.line(shape("polyline", "points", points(places...), "class", class))
	}
}

// looks is how many series can be told apart, by color and by shape.
const looks = 4

// class is that of what belongs to a series; of looks from there on it is hollow.
func class(what string, look int) string {
	if look >= looks {
		what += " hollow"
	}
	return fmt.Sprintf("%s s%d", what, look%looks)
}

// mark draws the sign of a series, with a text that is shown where a pointer rests on it.
func (d *drawing) mark(x, y float64, look int, hint string) {
	title := element("title", escaped(hint))
	class := class("mark", look)
	switch look % looks {
	case 1:
		d.line(element("rect", title, "x", x-3.5, "y", y-3.5, "width", "7", "height", "7", "class", class))
	case 2:
		d.line(element("polygon", title, "points", points([2]float64{x, y - 4.5}, [2]float64{x + 4.5, y + 3.5}, [2]float64{x - 4.5, y + 3.5}), "class", class))
	case 3:
		d.line(element("polygon", title, "points", points([2]float64{x, y - 5}, [2]float64{x + 5, y}, [2]float64{x, y + 5}, [2]float64{x - 5, y}), "class", class))
	default:
		d.line(element("circle", title, "cx", x, "cy", y, "r", "4", "class", class))
	}
}
