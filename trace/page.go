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

// Signs of a lane, of an arrow that crosses it, and of the tail of an arrow in it, by the state of the lane.
var (
	laneSigns     = [...]rune{up: '│', leading: '║', down: ' '}
	crossingSigns = [...]rune{up: '┼', leading: '╫', down: '─'}
	rightTails    = [...]rune{up: '├', leading: '╟', down: '╶'}
	leftTails     = [...]rune{up: '┤', leading: '╢', down: '╴'}
)

// Signs of arrows, of effects in a lane, and of the first events of steps.
const (
	shaftSign, dotSign, leftSign, rightSign                = '─', '┄', '◄', '►'
	leadSign, followSign, sendSign                         = '★', '☆', '●'
	startSign, timerSign, suspectSign, trustSign, lostSign = '○', '◷', '?', '!', '✕'
)

// ascii replaces each sign by a character of ASCII.
var ascii = strings.NewReplacer(
	"│", "|", "┼", "+", "├", "+", "┤", "+", "║", "#", "╫", "#", "╟", "#", "╢", "#", "─", "-", "╶", "-", "╴", "-", "┄", ".",
	"◄", "<", "►", ">", "★", "*", "☆", "^", "●", "o", "○", "0", "◷", "%", "✕", "x",
)

// page is a drawing under construction.
type page struct {
	strings.Builder
	d          *Diagram
	names      []string      // names of the lanes
	unit       string        // name of the unit of time
	digits     int           // number of digits of a time, after the point
	showSent   bool          // labels contain the times of sends
	width      int           // columns of a line
	timeWidth  int           // columns of a time
	pitch      int           // columns from one lane to the next
	notesWidth int           // columns of a note
	used       map[rune]bool // signs of the drawing
}

func newPage(d *Diagram, lanes []algo.NodeID, rows []*row, showSent bool) *page {
	p := &page{d: d, showSent: showSent, width: cmp.Or(d.Width, 100), unit: cmp.Or(d.UnitName, "ms"), used: make(map[rune]bool)}
	for _, id := range lanes {
		p.names = append(p.names, d.name(id))
	}
	p.timeWidth = utf8.RuneCountInString(p.unit)
	for _, r := range rows {
		p.digits = max(p.digits, d.digits(r.at))
	}
	for _, r := range rows {
		p.timeWidth = max(p.timeWidth, len(d.inUnits(r.at, p.digits)))
	}
	p.divideWidth(rows)
	return p
}

const (
	margin        = 2 // columns on each side of the lanes
	minNotesWidth = 24
)

// divideWidth divides the width among lanes and notes. Lanes are as far apart as the longest label needs, if the notes
// keep minNotesWidth.
func (p *page) divideWidth(rows []*row) {
	minPitch, label, note := 4, 0, 0
	for _, name := range p.names {
		minPitch = max(minPitch, utf8.RuneCountInString(name)+1)
	}
	for _, r := range rows {
		if len(r.arrow) > 0 {
			label = max(label, utf8.RuneCountInString(p.label(r.arrow)))
		}
		for _, text := range p.notes(r) {
			note = max(note, utf8.RuneCountInString(text))
		}
	}
	width := p.width - p.timeWidth - 2*margin - 2 // 2 columns for the last lane
	gaps := max(1, len(p.names)-1)
	p.pitch = max(minPitch, min(label+6, (width-min(note, minNotesWidth))/gaps))
	p.notesWidth = max(minNotesWidth, width-p.pitch*gaps)
}

// label returns the text of an arrow.
func (p *page) label(a arrow) string {
	switch f := a[0]; {
	case f.sender == nil:
		return f.label + " @?"
	case p.showSent && f.ended:
		return f.label + " @" + p.d.inUnits(f.sent, min(p.digits, p.d.digits(f.sent)))
	}
	return a[0].label
}

// column returns the column of a lane.
func (p *page) column(lane int) int { return lane * p.pitch }

// line writes one line.
func (p *page) line(time, lanes, note string) {
	lanes = strings.TrimRight(lanes, " ")
	text := fmt.Sprintf("%*s%*s%-*s%s", p.timeWidth, time, margin, "", p.column(len(p.names)-1)+2+margin, lanes, note)
	p.WriteString(strings.TrimRight(text, " ") + "\n")
}

// draw draws the names of the lanes, and the rows below. It updates states.
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
		notes := p.wrapNotes(p.notes(r))
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

// lanes returns the cells of a line without events.
func (p *page) lanes(states []state) []rune {
	cells := []rune(strings.Repeat(" ", p.column(len(p.names)-1)+3))
	for i, s := range states {
		cells[p.column(i)] = laneSigns[s]
	}
	return cells
}

// row returns the cells of a row.
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

// arrow draws an arrow with heads to the left, to the right, or both.
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
	p.writeLabel(a, cells)
}

// writeLabel writes the label of an arrow into its shaft: between two lanes if it fits, otherwise across lanes.
func (p *page) writeLabel(a arrow, cells []rune) {
	label := []rune(" " + p.label(a) + " ")
	low, high, ok := p.labelRange(a)
	if !ok {
		return
	}
	label = label[:min(len(label), high-low)]
	copy(cells[low+(high-low-len(label))/2:], label)
}

// labelRange returns the part of an arrow's shaft, nearest to its tail, in which the label and a space fit.
func (p *page) labelRange(a arrow) (low, high int, ok bool) {
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
			// First one gap between two lanes, then the shaft up to the next head.
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

// notes returns the notes of a row, before they are wrapped. A label that does not fit into its arrow is a note.
func (p *page) notes(r *row) []string {
	var all []string
	if a := r.arrow; len(a) > 0 {
		label := p.label(a)
		if _, _, ok := p.labelRange(a); !ok {
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

// wrapNotes breaks notes into lines of notesWidth, at words.
func (p *page) wrapNotes(notes []string) []string {
	var all []string
	for _, note := range notes {
		all = append(all, wrap(strings.Split(note, " "), " ", "  ", p.notesWidth)...)
	}
	return all
}

// wrap joins parts to lines of at most width columns. All lines but the first are indented.
func wrap(parts []string, gap, indent string, width int) (lines []string) {
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
