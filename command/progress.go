package command

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progressLine says how far something is. A terminal has one line, that is drawn again in
// place; a pipe, a file or a terminal that cannot draw has lines that stay.
type progressLine struct {
	out   io.Writer
	width func() int // of the terminal, which may change; 0 where nothing is drawn in place
	drawn bool
}

func newProgressLine(out io.Writer) progressLine {
	width := func() int { return 0 }
	if redraws(out) {
		width = func() int {
			if columns, ok := terminalWidth(out); ok {
				return columns
			}
			return usualWidth
		}
	}
	return progressLine{out: out, width: width}
}

// usualWidth is that of a terminal that does not say it.
const usualWidth = 80

// inPlace reports whether a line is drawn again.
func (p *progressLine) inPlace() bool { return p.width() > 0 }

// period is how often something new is to be said.
func (p *progressLine) period() time.Duration {
	if p.inPlace() {
		return 200 * time.Millisecond
	}
	return 10 * time.Second
}

// say replaces the line, or writes one more.
func (p *progressLine) say(text string) {
	width := p.width()
	if width == 0 {
		fmt.Fprintln(p.out, text)
		return
	}
	// The last column stays free: in it some terminals would rub out what was just written.
	fmt.Fprintf(p.out, "\r%s\x1b[K", cut(span{text: text}, max(width-1, 1)).text)
	p.drawn = true
}

// note writes a line that stays.
func (p *progressLine) note(text string) {
	p.wipe()
	fmt.Fprintln(p.out, text)
}

// wipe leaves nothing of the line on a terminal.
func (p *progressLine) wipe() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

// redraws reports whether w is a terminal that can draw in place.
func redraws(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// terminalWidth is how many columns a terminal has, if w is one that says so: many that no
// window stands behind say 0.
func terminalWidth(w io.Writer) (int, bool) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(file.Fd()))
	return width, err == nil && width > 0
}
