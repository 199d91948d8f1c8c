package trace

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/elect-go/elect/algo"
)

// alphabet is what a diagram is drawn with.
type alphabet struct {
	lanes                            [4]rune // by state
	crossings                        [4]rune // of an arrow and a lane
	toRight, toLeft                  [4]rune // where an arrow begins
	line, dots, left, right          rune
	lost, leads, joins, sends        rune
	crash, start, timer, doubt, hope rune
}

var (
	boxes = alphabet{
		lanes:     [...]rune{up: '│', leading: '║', down: ' '},
		crossings: [...]rune{up: '┼', leading: '╫', down: '─'}, // down: of its sender
		toRight:   [...]rune{up: '├', leading: '╟', down: '╶'},
		toLeft:    [...]rune{up: '┤', leading: '╢', down: '╴'},
		line:      '─', dots: '┄', left: '◄', right: '►', lost: '✕', leads: '★', joins: '☆', sends: '●',
		crash: '✕', start: '○', timer: '◷', doubt: '?', hope: '!',
	}
	ascii = alphabet{
		lanes:     [...]rune{up: '|', leading: '#', down: ' '},
		crossings: [...]rune{up: '+', leading: '#', down: '-'},
		toRight:   [...]rune{up: '+', leading: '#', down: '-'},
		toLeft:    [...]rune{up: '+', leading: '#', down: '-'},
		line:      '-', dots: '.', left: '<', right: '>', lost: 'x', leads: '*', joins: '^', sends: 'o',
		crash: 'x', start: '0', timer: '%', doubt: '?', hope: '!',
	}
)

// page is a drawing in the making.
type page struct {
	strings.Builder
	d        *Diagram
	alphabet *alphabet
	names    []string
	digits   int  // of times, after the point
	uneven   bool // it stands in the arrows when they were sent
	width    int  // of all
	time     int  // of the times
	pitch    int  // columns from one lane to the next
	beside   int  // the width of the notes
	used     map[rune]bool
}

func newPage(d *Diagram, lanes []algo.NodeID, rows []*row, uneven bool) *page {
	p := &page{d: d, alphabet: &boxes, uneven: uneven, width: cmp.Or(d.Width, 100), used: make(map[rune]bool)}
	if d.ASCII {
		p.alphabet = &ascii
	}
	for _, id := range lanes {
		p.names = append(p.names, d.name(id))
	}
	p.time = utf8.RuneCountInString(d.unitName())
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
		if r.arrow != nil {
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

// label is what stands in an arrow.
func (p *page) label(a *arrow) string {
	switch {
	case !a.known:
		return a.label + " @?"
	case p.uneven && !a.pending:
		return a.label + " @" + p.d.inUnits(a.sent, min(p.digits, p.d.digits(a.sent)))
	}
	return a.label
}

// column is where a lane is.
func (p *page) column(lane int) int { return lane * p.pitch }

func (p *page) line(time, lanes, beside string) {
	lanes = strings.TrimRight(lanes, " ")
	pad := func(text string, width int) string {
		return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	}
	text := strings.Repeat(" ", max(0, p.time-utf8.RuneCountInString(time))) + time + strings.Repeat(" ", margin)
	text += pad(lanes, p.column(len(p.names)-1)+2+margin) + beside
	p.WriteString(strings.TrimRight(text, " ") + "\n")
}

// draw draws the rows, below the names of the lanes.
func (p *page) draw(rows []*row, states []state) {
	head := ""
	for i, name := range p.names {
		head += strings.Repeat(" ", max(0, p.column(i)-utf8.RuneCountInString(head))) + name
	}
	p.line(p.d.unitName(), head, "")
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
		p.line(at, string(cells), first(notes))
		for _, more := range notes[min(1, len(notes)):] {
			p.line("", string(p.lanes(states)), more)
		}
	}
}

func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

// lanes are the bare lines of all lanes.
func (p *page) lanes(states []state) []rune {
	cells := []rune(strings.Repeat(" ", p.column(len(p.names)-1)+3))
	for i, s := range states {
		cells[p.column(i)] = p.alphabet.lanes[s]
	}
	return cells
}

// row draws one row.
func (p *page) row(r *row, states []state) []rune {
	cells := p.lanes(states)
	if r.arrow != nil {
		p.arrow(r.arrow, cells, states)
	}
	for _, s := range r.steps {
		at := p.column(s.lane)
		for i, mark := range p.marks(s) {
			cells[at+i] = mark
			p.used[mark] = true
		}
	}
	return cells
}

// marks are how a step shows in its lane: how it began, and what came of it.
func (p *page) marks(s *step) []rune {
	var marks []rune
	switch s.kind {
	case Crash:
		return []rune{p.alphabet.crash}
	case Start, Restart:
		marks = append(marks, p.alphabet.start)
	case Expire:
		marks = append(marks, p.alphabet.timer)
	case Suspect:
		marks = append(marks, p.alphabet.doubt)
	case Trust:
		marks = append(marks, p.alphabet.hope)
	}
	switch {
	case s.leads:
		marks = append(marks, p.alphabet.leads)
	case s.joins:
		marks = append(marks, p.alphabet.joins)
	case len(s.sent) > 0:
		marks = append(marks, p.alphabet.sends)
	}
	return marks
}

// arrow draws an arrow: to the left, to the right, or both.
func (p *page) arrow(a *arrow, cells []rune, states []state) {
	line := p.alphabet.line
	if a.pending {
		line = p.alphabet.dots
		p.used[line] = true
	}
	leftmost, rightmost := a.from, a.from
	for _, h := range a.heads {
		leftmost, rightmost = min(leftmost, h.to), max(rightmost, h.to)
	}
	for at := p.column(leftmost) + 1; at < p.column(rightmost); at++ {
		cells[at] = line
	}
	for lane := leftmost + 1; lane < rightmost; lane++ {
		if states[lane] != down {
			cells[p.column(lane)] = p.alphabet.crossings[states[lane]]
		}
	}
	tail := p.alphabet.crossings
	switch a.from {
	case leftmost:
		tail = p.alphabet.toRight
	case rightmost:
		tail = p.alphabet.toLeft
	}
	cells[p.column(a.from)] = tail[states[a.from]]
	for _, h := range a.heads {
		at, mark := p.column(h.to)-1, p.alphabet.right
		if h.to < a.from {
			at, mark = p.column(h.to)+1, p.alphabet.left
		}
		switch {
		case a.pending:
			mark = p.alphabet.dots
		case h.lost:
			mark = p.alphabet.lost
			p.used[mark] = true
		}
		cells[at] = mark
	}
	p.write(a, cells)
}

// write puts the label of an arrow into its shaft: between two lanes if there is
// room, else across lanes.
func (p *page) write(a *arrow, cells []rune) {
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
func (p *page) room(a *arrow) (low, high int, ok bool) {
	columns := utf8.RuneCountInString(p.label(a)) + 1
	for _, side := range [...]int{1, -1} {
		stops := []int{a.from}
		for _, h := range a.heads {
			if (h.to-a.from)*side > 0 {
				stops = append(stops, h.to)
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
	if a := r.arrow; a != nil {
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
		text := ""
		for _, word := range strings.Split(line, " ") {
			if text != "" && utf8.RuneCountInString(text)+1+utf8.RuneCountInString(word) > p.beside {
				all = append(all, text)
				text = " "
			}
			if text != "" {
				text += " "
			}
			text += word
		}
		all = append(all, text)
	}
	return all
}
