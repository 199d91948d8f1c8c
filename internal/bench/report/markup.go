package report

import (
	"html"
	"strings"
)

// markup is text of a page, in which all that came from outside is escaped.
type markup string

// writer writes a page. A package of templates would do it too, and add a quarter to the
// size of the command.
type writer struct{ b strings.Builder }

// raw writes markup of this package.
func (w *writer) raw(m markup) { w.b.WriteString(string(m)) }

// text writes a text, escaped: it means the same within an element and within the quotes of
// an attribute.
func (w *writer) text(text string) { w.b.WriteString(html.EscapeString(text)) }

// element writes one that holds a text. The name and the class are those of this package.
func (w *writer) element(name, class, text string) {
	w.raw(markup("<" + name))
	if class != "" {
		w.raw(markup(` class="` + class + `"`))
	}
	w.raw(">")
	w.text(text)
	w.raw(markup("</" + name + ">\n"))
}

// table is what a table of the page holds. The first columns are text.
type table struct {
	names int
	head  []string
	rows  [][]string
}

func (w *writer) table(t table) {
	cells := func(kind string, texts []string) {
		w.raw("<tr>")
		for at, text := range texts {
			w.raw(markup("<" + kind))
			if at < t.names {
				w.raw(` class="text"`)
			}
			w.raw(">")
			w.text(text)
			w.raw(markup("</" + kind + ">"))
		}
		w.raw("</tr>\n")
	}
	w.raw("<div class=\"wide\"><table>\n<thead>")
	cells("th", t.head)
	w.raw("</thead>\n<tbody>\n")
	for _, row := range t.rows {
		cells("td", row)
	}
	w.raw("</tbody>\n</table></div>\n")
}

// section is figures that belong together.
type section struct {
	title   string
	text    string
	figures []figure
}

func (w *writer) section(s section) {
	w.element("h2", "", s.title)
	w.element("p", "soft", s.text)
	w.raw("<div class=\"figures\">\n")
	for _, f := range s.figures {
		w.raw("<figure>")
		w.element("figcaption", "", f.title)
		w.raw(f.svg + "\n</figure>\n")
	}
	w.raw("</div>\n")
}

// facts writes names and what they are.
func (w *writer) facts(all [][2]string) {
	w.raw("<dl>\n")
	for _, f := range all {
		w.element("dt", "", f[0])
		w.element("dd", "", f[1])
	}
	w.raw("</dl>\n")
}
