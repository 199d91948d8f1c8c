package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
)

// Lanes, where an arrow crosses one, and where it begins in one. They are by the state of
// the lane; down is that of the sender.
var (
	laneSigns     = [...]rune{up: '│', leading: '║', down: ' '}
	crossingSigns = [...]rune{up: '┼', leading: '╫', down: '─'}
	rightTails    = [...]rune{up: '├', leading: '╟', down: '╶'}
	leftTails     = [...]rune{up: '┤', leading: '╢', down: '╴'}
)

// The other signs.
const (
	shaftSign, dotSign, leftSign, rightSign                = '─', '┄', '◄', '►'
	leadSign, joinSign, sendSign                           = '★', '☆', '●'
	startSign, timerSign, suspectSign, trustSign, lostSign = '○', '◷', '?', '!', '✕'
)

// ascii has another sign for each.
var ascii = strings.NewReplacer(
	"│", "|", "┼", "+", "├", "+", "┤", "+", "║", "#", "╫", "#", "╟", "#", "╢", "#", "─", "-", "╶", "-", "╴", "-", "┄", ".",
	"◄", "<", "►", ">", "★", "*", "☆", "^", "●", "o", "○", "0", "◷", "%", "✕", "x",
)

// page is a drawing in the making.
type page struct {
	strings.Builder
	d      *Diagram
	names  []string
	unit   string // of time
	digits int    // of times, after the point
	uneven bool   // it stands in the arrows when they were sent
	width  int    // of all
	time   int    // of the times
	pitch  int    // columns from one lane to the next
	beside int    // the width of the notes
	used   map[rune]bool
}

func newPage(d *Diagram, lanes []algo.NodeID, rows []*row, uneven bool) *page {
	p := &page{d: d, uneven: uneven, width: cmp.Or(d.Width, 100), unit: cmp.Or(d.UnitName, "ms"), used: make(map[rune]bool)}
	for _, id := range lanes {
		p.names = append(p.names, d.name(id))
	}
	p.time = utf8.RuneCountInString(p.unit)
	for _, r := range rows {
		p.digits = max(p.digits, d.digits(r.at))
	}
	for _, r := range rows {
		p.time = max(p.time, len(d.inUnits(r.at, p.digits)))
	}
	p.fit(rows)
	return p
}

const (
	margin      = 2  // left of the lanes, and right of them
	leastBeside = 24 // columns of notes that arrows must leave
)

// fit divides the width among lanes and notes. Arrows come first, until a label fits
// between two lanes.
func (p *page) fit(rows []*row) {
	least, label, said := 4, 0, 0
	for _, name := range p.names {
		least = max(least, utf8.RuneCountInString(name)+1)
	}
	for _, r := range rows {
		if len(r.arrow) > 0 {
			label = max(label, utf8.RuneCountInString(p.label(r.arrow)))
		}
		for _, text := range p.notes(r) {
			said = max(said, utf8.RuneCountInString(text))
		}
	}
	width := p.width - p.time - 2*margin - 2 // 2 is the last lane
	gaps := max(1, len(p.names)-1)
	p.pitch = max(least, min(label+6, (width-min(said, leastBeside))/gaps))
	p.beside = max(leastBeside, width-p.pitch*gaps)
}

// label returns the text in an arrow.
func (p *page) label(a arrow) string {
	switch f := a[0]; {
	case !f.known:
		return f.label + " @?"
	case p.uneven && f.ended:
		return f.label + " @" + p.d.inUnits(f.sent, min(p.digits, p.d.digits(f.sent)))
	}
	return a[0].label
}

// column returns the column of a lane.
func (p *page) column(lane int) int { return lane * p.pitch }

func (p *page) line(time, lanes, beside string) {
	lanes = strings.TrimRight(lanes, " ")
	text := fmt.Sprintf("%*s%*s%-*s%s", p.time, time, margin, "", p.column(len(p.names)-1)+2+margin, lanes, beside)
	p.WriteString(strings.TrimRight(text, " ") + "\n")
}

// draw draws the rows, below the names of the lanes.
func (p *page) draw(rows []*row, states []state) {
	head := ""
	for _, name := range p.names {
		head += fmt.Sprintf("%-*s", p.pitch, name)
	}
	p.line(p.unit, head, "")
	last := time.Duration(-1)
	for _, r := range rows {
		at := ""
		if r.at != last {
			at, last = p.d.inUnits(r.at, p.digits), r.at
		}
		notes := p.wrap(p.notes(r))
		cells := p.row(r, states)
		for _, s := range r.steps {
			states[s.lane] = s.state.after(states[s.lane])
		}
		for i, note := range append(notes, "")[:max(1, len(notes))] {
			if i > 0 {
				at, cells = "", p.lanes(states)
			}
			p.line(at, string(cells), note)
		}
	}
}

// lanes are the bare lines of all lanes.
func (p *page) lanes(states []state) []rune {
	cells := []rune(strings.Repeat(" ", p.column(len(p.names)-1)+3))
	for i, s := range states {
		cells[p.column(i)] = laneSigns[s]
	}
	return cells
}

// row draws one row.
func (p *page) row(r *row, states []state) []rune {
	cells := p.lanes(states)
	if len(r.arrow) > 0 {
		p.arrow(r.arrow, cells, states)
	}
	for _, s := range r.steps {
		at := p.column(s.lane)
		for i, mark := range s.marks() {
			cells[at+i] = mark
			p.used[mark] = true
		}
	}
	return cells
}

// arrow draws an arrow: to the left, to the right, or both.
func (p *page) arrow(a arrow, cells []rune, states []state) {
	line := shaftSign
	from, ended := a[0].from, a[0].ended
	if !ended {
		line = dotSign
		p.used[line] = true
	}
	leftmost, rightmost := from, from
	for _, f := range a {
		leftmost, rightmost = min(leftmost, f.to), max(rightmost, f.to)
	}
	for at := p.column(leftmost) + 1; at < p.column(rightmost); at++ {
		cells[at] = line
	}
	for lane := leftmost + 1; lane < rightmost; lane++ {
		if states[lane] != down {
			cells[p.column(lane)] = crossingSigns[states[lane]]
		}
	}
	tail := crossingSigns
	switch from {
	case leftmost:
		tail = rightTails
	case rightmost:
		tail = leftTails
	}
	cells[p.column(from)] = tail[states[from]]
	for _, f := range a {
		at, mark := p.column(f.to)-1, rightSign
		if f.to < from {
			at, mark = p.column(f.to)+1, leftSign
		}
		switch {
		case !ended:
			mark = dotSign
		case f.lost:
			mark = lostSign
			p.used[mark] = true
		}
		cells[at] = mark
	}
	p.write(a, cells)
}

// write puts the label of an arrow into its shaft: between two lanes if there is
// room, else across lanes.
func (p *page) write(a arrow, cells []rune) {
	label := []rune(" " + p.label(a) + " ")
	low, high, ok := p.room(a)
	if !ok {
		return
	}
	label = label[:min(len(label), high-low)]
	copy(cells[low+(high-low-len(label))/2:], label)
}

// room returns the part of an arrow's shaft in which its label fits, with a space before
// it, as near to its tail as can be.
func (p *page) room(a arrow) (low, high int, ok bool) {
	columns := utf8.RuneCountInString(p.label(a)) + 1
	for _, side := range [...]int{1, -1} {
		from, stops := a[0].from, []int{a[0].from}
		for _, f := range a {
			if (f.to-from)*side > 0 {
				stops = append(stops, f.to)
			}
		}
		slices.SortFunc(stops, func(x, y int) int { return side * cmp.Compare(x, y) })
		for i := range len(stops) - 1 {
			// One gap, from the lane where it begins; then all up to the next head.
			for _, end := range [...]int{stops[i] + side, stops[i+1]} {
				low, high := p.column(min(stops[i], end))+1, p.column(max(stops[i], end))
				if side > 0 {
					high-- // the head
				} else {
					low++
				}
				if high-low >= columns {
					return low, high, true
				}
			}
		}
	}
	return 0, 0, false
}

// notes are the lines that stand beside a row, before they are wrapped.
func (p *page) notes(r *row) []string {
	var all []string
	if a := r.arrow; len(a) > 0 {
		label := p.label(a)
		if _, _, ok := p.room(a); !ok {
			all = append(all, label)
		}
	}
	var last []int
	for _, n := range r.notes {
		if slices.Equal(n.lanes, last) {
			all[len(all)-1] += "; " + n.text
			continue
		}
		var names []string
		for _, lane := range n.lanes {
			names = append(names, p.names[lane])
		}
		all = append(all, strings.Join(names, " ")+": "+n.text)
		last = n.lanes
	}
	return all
}

// wrap breaks lines that are too long, at words.
func (p *page) wrap(lines []string) []string {
	var all []string
	for _, line := range lines {
		all = append(all, wrapped(strings.Split(line, " "), " ", "  ", p.beside)...)
	}
	return all
}

// wrapped joins parts to lines that are not too long. All lines but the first are indented.
func wrapped(parts []string, gap, indent string, width int) (lines []string) {
	for i, part := range parts {
		last := len(lines) - 1
		switch {
		case i == 0:
			lines = append(lines, part)
		case utf8.RuneCountInString(lines[last]+gap+part) <= width:
			lines[last] += gap + part
		default:
			lines = append(lines, indent+part)
		}
	}
	return lines
}
