package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elect-go/elect/internal/proccluster"
)

// faultSpan is a fault as it is drawn: what happened, and from when to when.
type faultSpan struct {
	*faultObject
	began, ended int64
}

// The measures of a picture, in pixels.
const (
	chaosWidth  = 800
	chaosLeft   = 42  // x of the first work
	chaosRight  = 788 // x of the end
	chaosTop    = 46  // y of the first member
	chaosRow    = 24  // height of a member
	chaosBar    = 8   // height of work
	chaosLetter = 6.6 // average width of a letter of a label
	chaosLine   = 17  // height of a line of text
)

// chaosStyle is readable on light and on dark.
const chaosStyle = `text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}
.bg{fill:#fff}.lane{stroke:#d0d7de}.name{font-weight:600}.time{fill:#59636e;font-size:11px}.label{font-size:11px}.work{fill:#1a7f37}
.kill{fill:#ff818266}.pause{fill:#d4a72c66}.freeze{fill:#54aeff66}.partition{fill:#c297ff66}.two{fill:#cf222e}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bg{fill:#0d1117}.lane{stroke:#30363d}.time{fill:#9198a1}.work{fill:#3fb950}.two{fill:#ff7b72}}`

// faultWords describe a fault in the legend and in a label.
var faultWords = []struct {
	kind faultKind
	word string
}{{faultKill, "killed"}, {faultPause, "elect is paused"}, {faultFreeze, "frozen, with its command"}, {faultPartition, "cut off"}}

// chaosPicture draws a chaos run as an SVG: a row for each member, time from left to right, the work of its commands as
// bars, and the faults behind them. The lines of text are below.
type chaosPicture struct {
	strings.Builder
	nodes        int
	began, until int64
	faults       []faultSpan
	shifts       []shift
	freezes      []freeze // that excuse work of two
}

// x returns the place of a moment.
func (p *chaosPicture) x(at int64) float64 {
	share := float64(min(max(at, p.began), p.until)-p.began) / float64(max(1, p.until-p.began))
	return chaosLeft + share*(chaosRight-chaosLeft)
}

// y returns the middle of the row of a member.
func (p *chaosPicture) y(node string) int {
	return chaosTop + (proccluster.Number(node)-1)*chaosRow + chaosRow/2
}

func (p *chaosPicture) bottom() int { return chaosTop + p.nodes*chaosRow }

// draw returns the picture.
func (p *chaosPicture) draw(title string, lines []string) string {
	p.text("name", 8, 18, title)
	p.drawFaults()
	for number := 1; number <= p.nodes; number++ {
		name := proccluster.Name(number)
		p.text("name", 8, p.y(name)+4, name)
		fmt.Fprintf(p, `<line class="lane" x1="%d" y1="%d" x2="%d" y2="%[2]d"/>`+"\n", chaosLeft, p.y(name), chaosRight)
	}
	for _, s := range p.shifts {
		for _, w := range s.periods {
			p.rect("work", w.begin, w.end, p.y(s.node)-chaosBar/2, chaosBar)
		}
	}
	for _, w := range twoAtWork(p.shifts, p.freezes) {
		p.rect("two", w.begin, w.end, p.bottom()+1, 5)
	}
	p.drawTimes()
	y := p.drawLegend(p.bottom() + 42)
	for _, line := range lines {
		p.text("label", 8, y, line)
		y += chaosLine
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img"><title>%s</title>`+
		"\n<style>%s</style>\n<rect class=\"bg\" width=\"%[1]d\" height=\"%[2]d\"/>\n%[5]s</svg>\n", chaosWidth, y-4, escapeXML.Replace(title), chaosStyle, p.String())
}

var escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func (p *chaosPicture) text(class string, x float64, y int, text string) {
	fmt.Fprintf(p, `<text class="%s" x="%.1f" y="%d">%s</text>`+"\n", class, x, y, escapeXML.Replace(text))
}

// rect draws a time. A short one is a pixel wide, so that it is seen.
func (p *chaosPicture) rect(class string, begin, end int64, y, height int) {
	if end <= p.began || begin >= p.until {
		return
	}
	from, to := p.x(begin), p.x(end)
	fmt.Fprintf(p, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", class, from, y, max(1, to-from), height)
}

// drawFaults draws the faults, and the names of those for which there is room.
func (p *chaosPicture) drawFaults() {
	free := float64(chaosLeft)
	for _, f := range p.faults {
		for _, node := range f.Nodes {
			p.rect(string(f.Fault), f.began, f.ended, p.y(node)-chaosRow/2+1, chaosRow-2)
		}
		word, _, _ := strings.Cut(wordOf(f.Fault), ",")
		word = strings.TrimPrefix(word, "elect is ")
		if x := p.x(f.began); x >= free && x+float64(len(word))*chaosLetter < chaosRight {
			p.text("label", x, chaosTop-6, word)
			free = x + float64(len(word)+1)*chaosLetter
		}
	}
}

func wordOf(kind faultKind) string {
	for _, w := range faultWords {
		if w.kind == kind {
			return w.word
		}
	}
	return string(kind)
}

// drawTimes draws the axis, with 4 to 10 times.
func (p *chaosPicture) drawTimes() {
	took := time.Duration(p.until - p.began)
	every := time.Second
	for _, factor := range []time.Duration{2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600} {
		if took/every > 10 {
			every = factor * time.Second
		}
	}
	for at := time.Duration(0); at <= took; at += every {
		x := p.x(p.began + int64(at))
		fmt.Fprintf(p, `<line class="lane" x1="%.1f" y1="%d" x2="%.1[1]f" y2="%d"/>`+"\n", x, chaosTop, p.bottom()+4)
		p.text("time", min(max(chaosLeft, x-10), chaosWidth-40), p.bottom()+18, fmt.Sprintf("%.0f s", at.Seconds()))
	}
}

// drawLegend explains what was drawn, and returns the y below.
func (p *chaosPicture) drawLegend(y int) int {
	x := 8.0
	entry := func(class, word string) {
		if width := 18 + float64(len(word)+2)*chaosLetter; x+width > chaosRight {
			x, y = 8, y+chaosLine
		}
		fmt.Fprintf(p, `<rect class="%s" x="%.1f" y="%d" width="12" height="10"/>`+"\n", class, x, y-9)
		p.text("label", x+17, y, word)
		x += 18 + float64(len(word)+2)*chaosLetter
	}
	entry("work", "the command works")
	for _, w := range faultWords {
		if slices.ContainsFunc(p.faults, func(f faultSpan) bool { return f.Fault == w.kind }) {
			entry(string(w.kind), w.word)
		}
	}
	if len(twoAtWork(p.shifts, p.freezes)) > 0 {
		entry("two", "two work at once")
	}
	return y + chaosLine + 5
}

// twoAtWork returns the times at which at least two processes work, as the verdict counts them: without the work of a
// command right after it was frozen.
func twoAtWork(shifts []shift, freezes []freeze) (all []period) {
	var working []period
	for _, s := range shifts {
		for _, p := range s.periods {
			working = append(working, period{max(p.begin, wokenUntil(s, p, freezes)), p.end})
		}
	}
	slices.SortFunc(working, func(a, b period) int { return cmp.Compare(a.begin, b.begin) })
	end := int64(0) // of all work so far
	for i, w := range working {
		if i > 0 && w.begin < end && w.begin < w.end {
			all = append(all, period{w.begin, min(w.end, end)})
		}
		end = max(end, w.end)
	}
	return all
}
