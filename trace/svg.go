package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Sizes of a drawing, in pixels.
const (
	svgWidth  = 800
	svgLeft   = 64  // x of the first lane
	svgLanes  = 440 // maximum distance between the first and the last lane
	svgPitch  = 130 // maximum distance between two lanes
	svgTop    = 52  // y of the first moment
	svgLine   = 16  // height of a line of text
	svgLetter = 6.9 // average width of a letter
	minGap    = 34  // minimum distance between two moments
	maxGap    = 78  // maximum distance between two moments, unless notes need more
	unitGap   = 52  // distance that stands for the shortest transit time
)

// svgStyle is readable on a light and on a dark background. Colour and dashes show the kind of a message.
const svgStyle = `text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}
.bg{fill:#fff}.lane{stroke:#8b949e;stroke-width:1.5}.lead{stroke:#1a7f37;stroke-width:7;stroke-linecap:round}
.time,.note{fill:#59636e}.name{font-weight:600;font-size:14px}.label{font-size:11px;stroke:#fff;stroke-width:3px;paint-order:stroke}
.mark{fill:#fff;stroke:#1f2328;stroke-width:1.5}.dot{fill:#1f2328}.lost{stroke:#cf222e;stroke-width:2.5;fill:none}
.m0{stroke:#0969da;fill:#0969da}.m1{stroke:#9a6700;fill:#9a6700}.m2{stroke:#8250df;fill:#8250df}.m3{stroke:#bf3989;fill:#bf3989}.m4{stroke:#57606a;fill:#57606a}
.m0,.m1,.m2,.m3,.m4{stroke-width:1.8}.d1{stroke-dasharray:7 3}.d2{stroke-dasharray:2 3}.d3{stroke-dasharray:9 3 2 3}.d4{stroke-dasharray:4 4}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bg{fill:#0d1117}.lane{stroke:#7d8590}.lead{stroke:#3fb950}.time,.note{fill:#9198a1}
.label{stroke:#0d1117}.mark{fill:#0d1117;stroke:#e6edf3}.dot{fill:#e6edf3}.lost{stroke:#ff7b72}
.m0{stroke:#58a6ff;fill:#58a6ff}.m1{stroke:#d29922;fill:#d29922}.m2{stroke:#bc8cff;fill:#bc8cff}.m3{stroke:#ff80c8;fill:#ff80c8}.m4{stroke:#9198a1;fill:#9198a1}}`

// colours is the number of kinds of messages with a different look.
const colours = 5

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// SVG returns the events so far as a space-time diagram. Each node has a lane, and time runs down. A message is an
// arrow from its send to its arrival. The arrow of a lost message ends in a cross. A lane is thick while its node
// leads, and absent while the node is down. Distances are in proportion to time, except that a long wait is shortened
// and marked.
func (d *Diagram) SVG(title string) string {
	p := &picture{d: d, scene: d.scene()}
	p.layOut()
	p.drawLanes()
	for _, s := range p.steps {
		p.drawStep(s)
	}
	p.WriteString(p.labels.String() + p.front.String())
	p.drawLegend()
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img"><title>%s</title>`+"\n<style>%s</style>\n<rect class=\"bg\" width=\"%[1]d\" height=\"%[2]d\"/>\n%[5]s</svg>\n",
		svgWidth, p.height, escape.Replace(title), svgStyle, p.String())
}

// picture is an SVG under construction.
type picture struct {
	strings.Builder
	scene
	d       *Diagram
	labels  strings.Builder // elements in front of the arrows
	front   strings.Builder // elements in front of the labels
	moments []time.Duration
	y       map[time.Duration]float64  // y of each moment
	notes   map[time.Duration][]string // lines of notes of each moment
	pitch   float64                    // distance between two lanes
	height  int
	used    map[rune]bool      // signs of the drawing
	arrows  map[[4]float64]int // number of arrows from one point to another
}

// x returns the x of a lane.
func (p *picture) x(lane int) float64 { return svgLeft + float64(float64(lane)*p.pitch) }

// notesX returns the x of the notes.
func (p *picture) notesX() float64 { return p.x(len(p.lanes)-1) + 26 }

// layOut places each moment below the notes of the previous one, at a distance that shows the time between them.
func (p *picture) layOut() {
	p.used, p.arrows = make(map[rune]bool), make(map[[4]float64]int)
	p.pitch = min(svgPitch, svgLanes/float64(max(1, len(p.lanes)-1)))
	p.y, p.notes = make(map[time.Duration]float64), make(map[time.Duration][]string)
	for at, rows := range p.byMoment() {
		p.notes[at] = p.wrapNotes(rows)
	}
	fastest := time.Duration(0)
	for transit := range p.transitTimes {
		if transit > 0 && (fastest == 0 || transit < fastest) {
			fastest = transit
		}
	}
	y := float64(svgTop)
	for i, at := range p.moments {
		if i > 0 {
			before := p.moments[i-1]
			gap := minGap + 0.0
			if fastest > 0 {
				gap = min(maxGap, max(minGap, unitGap*float64(at-before)/float64(fastest)))
			}
			y += max(gap, float64(svgLine*len(p.notes[before])+6))
		}
		p.y[at] = y
	}
	last := 0
	if len(p.moments) > 0 {
		last = len(p.notes[p.moments[len(p.moments)-1]])
	}
	p.height = int(y) + max(40, svgLine*last+24)
}

// byMoment returns the rows of each moment, and sets p.moments.
func (p *picture) byMoment() map[time.Duration][]*row {
	all := make(map[time.Duration][]*row)
	for _, r := range layOut(p.steps, len(p.lanes)) {
		if _, seen := all[r.at]; !seen {
			p.moments = append(p.moments, r.at)
		}
		all[r.at] = append(all[r.at], r)
	}
	slices.Sort(p.moments)
	return all
}

// wrapNotes returns the notes of a moment, wrapped into lines.
func (p *picture) wrapNotes(rows []*row) (lines []string) {
	width := int((svgWidth - p.notesX() - 6) / svgLetter)
	var texts []string
	lanesOf := make(map[string][]int) // lanes of each note
	for _, r := range rows {
		for _, step := range r.steps {
			if step.kind == Drop {
				continue // shown as a cross
			}
			for _, text := range step.texts {
				if lanesOf[text] == nil {
					texts = append(texts, text)
				}
				lanesOf[text] = append(lanesOf[text], step.lane)
			}
		}
	}
	for _, text := range texts {
		var names []string
		for _, lane := range slices.Compact(slices.Sorted(slices.Values(lanesOf[text]))) {
			names = append(names, p.d.name(p.lanes[lane]))
		}
		lines = append(lines, wrap(strings.Split(strings.Join(names, " ")+": "+text, " "), " ", "  ", width)...)
	}
	return lines
}

// drawLanes draws the lanes, the names above them, the times at the left and the notes at the right.
func (p *picture) drawLanes() {
	for i, id := range p.lanes {
		fmt.Fprintf(p, `<text class="name" x="%.0f" y="26" text-anchor="middle">%s</text>`+"\n", p.x(i), escape.Replace(p.d.name(id)))
	}
	fmt.Fprintf(p, `<text class="time" x="8" y="26">%s</text>`+"\n", escape.Replace(cmp.Or(p.d.UnitName, "ms")))
	digits := 0
	for _, at := range p.moments {
		digits = max(digits, p.d.digits(at))
	}
	for i, at := range p.moments {
		fmt.Fprintf(p, `<text class="time" x="8" y="%.0f">%s</text>`+"\n", p.y[at]+4, p.d.inUnits(at, digits))
		if i > 0 && p.isShortened(p.moments[i-1], at) {
			p.used['⋮'] = true
			fmt.Fprintf(p, `<text class="time" x="14" y="%.0f">⋮</text>`+"\n", (p.y[at]+p.y[p.moments[i-1]])/2+4)
		}
		for n, line := range p.notes[at] {
			fmt.Fprintf(p, `<text class="note" xml:space="preserve" x="%.0f" y="%.0f">%s</text>`+"\n", p.notesX(), p.y[at]+4+float64(n*svgLine), escape.Replace(line))
		}
	}
	for lane := range p.lanes {
		now, since := p.states[lane], float64(svgTop-18)
		for _, s := range p.steps {
			if next := s.state.after(now); s.lane == lane && next != now {
				p.drawLane(lane, now, since, p.y[s.at])
				now, since = next, p.y[s.at]
			}
		}
		p.drawLane(lane, now, since, float64(p.height-14))
	}
}

// isShortened reports whether the time between two moments is drawn much shorter than in proportion.
func (p *picture) isShortened(before, at time.Duration) bool {
	for transit := range p.transitTimes {
		if transit > 0 && unitGap*float64(at-before)/float64(transit) < 3*maxGap {
			return false
		}
	}
	return len(p.transitTimes) > 0
}

// drawLane draws a part of a lane in which its state is s.
func (p *picture) drawLane(lane int, s state, from, to float64) {
	class := map[state]string{up: "lane", leading: "lead"}[s]
	if class != "" {
		fmt.Fprintf(p, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1[2]f" y2="%.1[4]f"/>`+"\n", class, p.x(lane), from, to)
	}
}

// drawStep draws the arrow of an arriving message, the arrows of lost messages, and the marks of the step in its lane.
func (p *picture) drawStep(s *step) {
	if m := s.message; m != nil {
		p.drawMessage(m, s.at)
	}
	labelled := make(map[string]bool)
	for _, f := range s.sent {
		if !f.ended {
			p.drawMessage(f, -1)
		}
		if !labelled[f.label] {
			p.drawLabel(s, f)
			labelled[f.label] = true
		}
	}
	p.drawMarks(s)
}

// place returns the two ends of the arrow of a message, which arrives at arrives; negative if it has not arrived. The
// arrow of a message that does not arrive ends on the way. Arrows between the same points are shifted.
func (p *picture) place(f *inFlight, arrives time.Duration) (x1, y1, x2, y2 float64) {
	x1, x2 = p.x(f.from), p.x(f.to)
	y1, y2 = p.y[f.sent], p.y[arrives]
	if _, drawn := p.y[f.sent]; !drawn || f.sender == nil {
		y1 = y2 - minGap/2
	}
	if arrives < 0 {
		x2, y2 = x1+float64((x2-x1)*0.3), y1+minGap*0.5
	} else if f.lost && y1 == y2 { // lost at the time of the send
		x2, y2 = x1+float64((x2-x1)*0.6), y1+minGap*0.5
	}
	points := [4]float64{x1, y1, x2, y2}
	shift := float64(4 * p.arrows[points])
	p.arrows[points]++
	return x1, y1 + shift, x2, y2 + shift
}

// drawMessage draws the arrow of a message.
func (p *picture) drawMessage(f *inFlight, arrives time.Duration) {
	x1, y1, x2, y2 := p.place(f, arrives)
	look := p.look(f.kind)
	dx, dy := x2-x1, y2-y1
	length := max(1, root(float64(dx*dx)+float64(dy*dy)))
	dx, dy = dx/length, dy/length
	x2, y2 = x2-float64(5*dx), y2-float64(5*dy) // not on the line of the lane
	fmt.Fprintf(p, `<line class="m%d d%d" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", look, look, x1, y1, x2, y2)
	switch {
	case !f.ended:
		p.used[dotSign] = true
		fmt.Fprintf(&p.front, `<circle class="m%d" cx="%.1f" cy="%.1f" r="1.5"/>`+"\n", look, x2, y2)
	case f.lost:
		p.cross(x2, y2, 4.5)
	default:
		x, y := x2-float64(8*dx), y2-float64(8*dy)
		fmt.Fprintf(&p.front, `<polygon class="m%d" points="%.1f,%.1f %.1f,%.1f %.1f,%.1f"/>`+"\n", look,
			x2, y2, x-float64(3.5*dy), y+float64(3.5*dx), x+float64(3.5*dy), y-float64(3.5*dx))
	}
}

// root returns the square root, by Newton's method. As elsewhere in this file, a conversion to float64 stops the
// compiler from fusing a product with a sum, so a drawing is the same on all processors.
func root(square float64) float64 {
	r := max(square, 1)
	for range 40 {
		r = (r + square/r) / 2
	}
	return r
}

// drawLabel writes the fields of a message next to its sender. Its colour shows its kind.
func (p *picture) drawLabel(s *step, f *inFlight) {
	_, label, found := strings.Cut(f.label, " ")
	if !found || label == "e0" {
		return
	}
	side, anchor := 1, "start"
	if f.to < f.from {
		side, anchor = -1, "end"
	}
	y := p.y[s.at] - 3
	if s.message != nil && (s.message.from-s.lane)*side > 0 { // the label would cover the arriving message
		if y -= 6; s.message.from-s.lane == side {
			y += 24
		}
	}
	fmt.Fprintf(&p.labels, `<text class="label" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", p.x(f.from)+float64(side*9), y, anchor, escape.Replace(label))
}

// look returns the index of the style for a kind of message.
func (p *picture) look(kind string) int {
	return slices.IndexFunc(p.counts, func(c count) bool { return c.kind == kind }) % colours
}

// cross draws a cross.
func (p *picture) cross(x, y, r float64) {
	p.used[lostSign] = true
	fmt.Fprintf(&p.front, `<path class="lost" d="M%.1f %.1fL%.1f %.1fM%.1[1]f %.1[4]fL%.1[3]f %.1[2]f"/>`+"\n", x-r, y-r, x+r, y+r)
}

// drawMarks draws the sign of the first event of a step in the lane.
func (p *picture) drawMarks(s *step) {
	x, y := p.x(s.lane), p.y[s.at]
	p.used[s.firstSign] = true
	switch s.firstSign {
	case lostSign:
		p.cross(x, y, 6)
	case startSign:
		fmt.Fprintf(&p.front, `<circle class="mark" cx="%.1f" cy="%.1f" r="4"/>`+"\n", x, y)
	case timerSign:
		fmt.Fprintf(&p.front, `<rect class="mark" x="%.1f" y="%.1f" width="8" height="8"/>`+"\n", x-4, y-4)
	case suspectSign, trustSign:
		fmt.Fprintf(&p.front, `<circle class="mark" cx="%.1f" cy="%.1f" r="7"/><text x="%.1[1]f" y="%.1[3]f" text-anchor="middle">%[4]c</text>`+"\n", x, y, y+4, s.firstSign)
	case 0:
		if len(s.sent) > 0 {
			fmt.Fprintf(&p.front, `<circle class="dot" cx="%.1f" cy="%.1f" r="3"/>`+"\n", x, y)
		}
	}
}

// drawLegend draws the number of messages of each kind, and explains the signs, below the lanes.
func (p *picture) drawLegend() {
	type entry struct{ sign, text string }
	var all []entry
	for i, c := range p.counts {
		if c.sent+c.lost+c.delivered == 0 {
			continue
		}
		text := fmt.Sprintf("%s: %d sent", c.kind, c.sent)
		if c.lost > 0 {
			text += fmt.Sprintf(", %d lost", c.lost)
		}
		all = append(all, entry{fmt.Sprintf(`<line class="m%d d%d" x1="0" y1="-4" x2="26" y2="-4"/>`, i%colours, i%colours), text})
	}
	for _, sign := range []struct {
		mark        rune
		drawn, text string
	}{
		{lostSign, `<path class="lost" d="M8 -9L18 1M8 1L18 -9"/>`, "lost, or down"},
		{startSign, `<circle class="mark" cx="13" cy="-4" r="4"/>`, "starts"},
		{timerSign, `<rect class="mark" x="9" y="-8" width="8" height="8"/>`, "a timer ends"},
		{suspectSign, `<circle class="mark" cx="13" cy="-4" r="7"/><text x="13" text-anchor="middle">?</text>`, "suspects"},
		{trustSign, `<circle class="mark" cx="13" cy="-4" r="7"/><text x="13" text-anchor="middle">!</text>`, "trusts again"},
		{'⋮', `<text class="time" x="10">⋮</text>`, "time left out"},
	} {
		if p.used[sign.mark] {
			all = append(all, entry{sign.drawn, sign.text})
		}
	}
	all = append(all, entry{`<line class="lead" x1="4" y1="-4" x2="22" y2="-4"/>`, "leads"})
	x, y := 12.0, float64(p.height+14)
	for _, e := range all {
		width := 50 + svgLetter*float64(utf8.RuneCountInString(e.text))
		if x+width > svgWidth {
			x, y = 12, y+22
		}
		fmt.Fprintf(p, `<g transform="translate(%.0f %.0f)">%s<text class="note" x="32" y="0">%s</text></g>`+"\n", x, y, e.sign, escape.Replace(e.text))
		x += width
	}
	p.height = int(y) + 16
}
